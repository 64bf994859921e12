"""Looking at a web: the table and the pictures."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.commands import tres
from tres_crawler.errors import ConfigError
from tres_crawler.simweb.describe import describe, make_folder
from tres_crawler.simweb.model import Web
from tres_crawler.simweb.params import WebParams


def test_the_figures_are_those_of_the_parameters() -> None:
    params = WebParams.of(sites=300, pages=3000)
    found = describe(Web(params))
    assert sum(sites for sites, _ in found.kinds.values()) == 300
    assert sum(pages for _, pages in found.kinds.values()) == 3000
    assert abs(found.outcomes["dead"] - params.dead_links) < 0.01
    assert abs(found.anchors["generic"] - params.anchor_generic) < 0.04
    assert abs(found.forms["foreign"] - params.foreign_pages) < 0.015
    same = [row[at] for at, row in enumerate(found.mixing[:-1])]
    assert min(same) > 0.15, "links lean towards their page's topic"
    assert all(abs(sum(row) - 1) < 1e-9 for row in found.mixing)


def test_the_command_prints_the_table_and_writes_the_pictures(tmp_path: Path) -> None:
    told = tres("simweb", "--sites", "60", "--pages", "200", "--plots", "pictures", cwd=tmp_path)
    assert told.returncode == 0, told.stderr
    for word in ("topical", "sports", "sites about it", "breadth-first", "hidden regions", '"links_inside"'):
        assert word in told.stdout
    assert {path.name for path in (tmp_path / "pictures").iterdir()} == {"sizes.png", "degrees.png", "mixing.png"}


def test_what_cannot_be_done_is_said(tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("")
    with pytest.raises(ConfigError, match="taken cannot be a folder for pictures"):
        make_folder(tmp_path / "taken")
    (tmp_path / "web.toml").write_text("topical = 0.0\n")
    small = ("simweb", "--sites", "5", "--pages", "9", "--params", "web.toml")
    told = tres(*small, "--describe", "--write-topics", "topics", cwd=tmp_path)
    assert told.returncode == 0
    assert "No topic file was written" in told.stderr
