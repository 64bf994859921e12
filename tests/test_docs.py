"""Docs that can be wrong are tested."""

from __future__ import annotations

import re
from pathlib import Path
from typing import get_args

from tests.settings_page import settings_page
from tests.simweb_page import simweb_page
from tres_crawler.config import RecrawlPolicy, Settings
from tres_crawler.records import StopReason

ROOT = Path(__file__).parent.parent


def test_the_settings_page_is_made_from_the_settings() -> None:
    assert (ROOT / "docs/settings.md").read_text() == settings_page()


def test_the_page_on_the_simulated_web_is_made_from_its_parameters() -> None:
    assert (ROOT / "docs/simweb.md").read_text() == simweb_page()


def test_every_setting_says_what_it_does() -> None:
    for section in Settings.model_fields.values():
        for name, field in type(section.default).model_fields.items():
            assert field.description, name


def test_every_stop_reason_is_documented() -> None:
    text = (ROOT / "docs/architecture.md").read_text()
    assert all(f"`{reason}`" in text for reason in StopReason)


def test_links_between_documents_lead_somewhere() -> None:
    for page in [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")]:
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text()):
            assert (page.parent / target).exists(), f"{page.name} → {target}"


def test_the_modules_named_in_the_readme_exist() -> None:
    section = (ROOT / "README.md").read_text().partition("## Map of the package")[2]
    for name in re.findall(r"`(\w+(?:\.py|/))`", section.partition("Read on")[0]):
        assert (ROOT / "tres_crawler" / name).exists(), name


def test_every_recrawl_policy_is_told_of() -> None:
    text = (ROOT / "docs/recrawl.md").read_text()
    assert [name for name in get_args(RecrawlPolicy) if f"`{name}`" not in text] == []
