"""Settings come from the right place, and whatever is wrong is named."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import settings as checked
from hypothesis import strategies as st
from pydantic import ValidationError

from tres_crawler.caps import SiteCap, parse_site_cap
from tres_crawler.config import CrawlSettings, FetchSettings, Settings
from tres_crawler.errors import ConfigError
from tres_crawler.policies.registry import POLICIES


@pytest.fixture(autouse=True)
def _nobodys_own_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.upper().startswith("TRES_")]:
        monkeypatch.delenv(name)


def written(folder: Path, text: str) -> Path:
    path = folder / "settings.toml"
    path.write_text(text)
    return path


def trouble(path: Path | None) -> str:
    with pytest.raises(ConfigError) as caught:
        Settings.load(path)
    return str(caught.value)


# ---- where values come from ----


def test_the_environment_wins_over_the_file_and_the_file_over_defaults(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = written(tmp_path, "[fetch]\nslots = 7\ndelay_seconds = 2.5\n")
    monkeypatch.setenv("TRES_FETCH__SLOTS", "9")
    loaded = Settings.load(path)
    assert (loaded.fetch.slots, loaded.fetch.delay_seconds) == (9, 2.5)
    assert loaded.fetch.retries == FetchSettings().retries
    assert loaded.crawl == CrawlSettings()


def test_what_is_laid_over_a_section_is_checked_and_leaves_the_rest() -> None:
    before = Settings.load()
    after = before.replaced("crawl", {"max_pages": 5, "policy": None})
    assert after.crawl == CrawlSettings(max_pages=5)
    assert before.crawl.max_pages == CrawlSettings().max_pages
    assert before.replaced("crawl", {"max_pages": None}) is before
    with pytest.raises(ConfigError, match=r'"crawl\.max_pages" is 0: .*greater than or equal to 1'):
        before.replaced("crawl", {"max_pages": 0})
    with pytest.raises(ConfigError, match=r'Unknown key "crawl\.max_page"\. Did you mean "max_pages"\?'):
        before.replaced("crawl", {"max_page": 5})


def test_a_kept_setting_that_is_gone_is_left_and_told_once(caplog: pytest.LogCaptureFixture) -> None:
    for _ in range(2):
        kept = Settings.kept({"crawl": {"max_pages": 7, "gone_meanwhile": 1}, "gone": {"too": 1}})
        assert kept.crawl == CrawlSettings(max_pages=7)
    assert len(caplog.messages) == 1
    assert "crawl.gone_meanwhile" in caplog.text


def test_a_kept_value_that_is_no_longer_allowed_is_named() -> None:
    with pytest.raises(ConfigError, match=r'kept with a crawl.*"crawl\.max_pages" is 0'):
        Settings.kept({"crawl": {"max_pages": 0}})


def test_settings_cannot_be_changed_in_place() -> None:
    loaded = Settings.load()
    with pytest.raises(ValidationError, match="frozen"):
        loaded.fetch.slots = 3  # type: ignore[misc]  # the type checker knows as well
    with pytest.raises(ValidationError, match="frozen"):
        loaded.fetch = FetchSettings()  # type: ignore[misc]


def test_every_policy_that_is_allowed_can_be_made_and_no_other() -> None:
    assert set(get_args(CrawlSettings.model_fields["policy"].annotation)) == set(POLICIES)


def test_a_policy_that_does_not_exist_is_refused_with_those_that_do() -> None:
    with pytest.raises(ConfigError) as refused:
        Settings().replaced("crawl", {"policy": "oracle"})
    assert "\"crawl.policy\" is 'oracle'" in str(refused.value)
    assert all(f"'{name}'" in str(refused.value) for name in POLICIES)


# ---- what is refused ----


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[fetch]\ndelay_second = 1", 'Unknown key "fetch.delay_second". Did you mean "delay_seconds"?'),
        ("[fetsh]\nslots = 1", 'Unknown key "fetsh". Did you mean "fetch"?'),
        ("[log]\nzzz = 1", 'Unknown key "log.zzz". Allowed: format, level.'),
    ],
)
def test_an_unknown_key_is_refused_with_the_nearest_valid_one(tmp_path: Path, text: str, told: str) -> None:
    path = written(tmp_path, text)
    message = trouble(path)
    assert told in message
    assert str(path) in message


@pytest.mark.parametrize("name", ["TRES_FETCH__SLOT", "tres_fetch__slot", "TRES_FETSH__SLOTS", "TRES_FETCH_SLOTS"])
def test_an_unknown_variable_is_refused_with_the_nearest_valid_one(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv(name, "8")
    assert trouble(None) == f'Unknown environment variable {name}. Did you mean "TRES_FETCH__SLOTS"?'


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('[fetch]\nslots = "many"', "\"fetch.slots\" is 'many': "),
        ("[fetch]\ndelay_seconds = -1", '"fetch.delay_seconds" is -1: '),
        ("[fetch]\ndelay_seconds = nan", '"fetch.delay_seconds" is nan: '),
        ("[recrawl]\nhalf_life_seconds = inf", '"recrawl.half_life_seconds" is inf: Input should be a finite number'),
        ("[fetch]\ntimeout_seconds = nan", '"fetch.timeout_seconds" is nan: Input should be a finite number'),
        ('[fetch]\nconnect_to = "localhost"', "'localhost' is not HOST:PORT"),
        ("[crawl]\nmax_per_site = 0", "'0' is not a cap"),
        ('[crawl]\npolicy = "best"', "Input should be 'tres', 'tres-paper', "),
        ("[serve]\nport = 65536", '"serve.port" is 65536: '),
        ("fetch = 3", '"fetch" is 3: '),
    ],
)
def test_a_wrong_value_is_shown_with_its_key(tmp_path: Path, text: str, told: str) -> None:
    assert told in trouble(written(tmp_path, text))


def test_no_number_of_the_environment_is_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRES_RECRAWL__FIRST_GAP_SECONDS", "inf")
    assert "\"recrawl.first_gap_seconds\" is 'inf': Input should be a finite number" in trouble(None)


def test_everything_that_is_wrong_is_told_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRES_SERVE__PORT", "x")
    message = trouble(written(tmp_path, "[fetch]\nslots = 0\nretry = 1"))
    assert all(key in message for key in ('"fetch.slots"', '"fetch.retry"', '"serve.port"'))
    assert "\n" not in message


def test_a_file_that_cannot_be_read_is_told_with_its_name_and_line(tmp_path: Path) -> None:
    assert re.search(r"settings\.toml is not valid TOML: .*line 2", trouble(written(tmp_path, "[fetch]\nslots 3\n")))
    assert "There is no file" in trouble(tmp_path / "nowhere.toml")
    assert "cannot be read" in trouble(tmp_path)
    (tmp_path / "latin.toml").write_bytes(b'[fetch]\ncontact = "Andr\xe9"')
    assert "UTF-8" in trouble(tmp_path / "latin.toml")


# ---- values of their own kind ----


@pytest.mark.parametrize("address", ["", "127.0.0.1:8099", "localhost:1", "[::1]:65535"])
def test_an_address_is_host_and_port_or_nothing(address: str) -> None:
    assert FetchSettings(connect_to=address).connect_to == address


@pytest.mark.parametrize("address", ["127.0.0.1", ":80", "a:0", "a:65536", "a:http", "a:-1", "a:"])
def test_what_is_not_an_address_is_refused(address: str) -> None:
    with pytest.raises(ValidationError, match="is not HOST:PORT"):
        FetchSettings(connect_to=address)


def test_a_site_cap_is_a_number_or_two_or_none() -> None:
    assert parse_site_cap("100") == SiteCap(100, 100)
    assert parse_site_cap("5:2") == SiteCap(5, 2)
    assert parse_site_cap("none") is None
    assert Settings().replaced("crawl", {"max_per_site": 7}).crawl.max_per_site == "7"
    assert Settings().replaced("crawl", {"max_per_site": " None "}).crawl.max_per_site == "none"


@pytest.mark.parametrize("text", ["", "0", "-1", "2:5", "5:0", "5:", ":5", "5:2:1", "1.5", "true", "all"])
def test_what_is_not_a_site_cap_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match="is not a cap: give a number such as 100"):
        Settings().replaced("crawl", {"max_per_site": text})


def test_a_falling_cap_has_three_equal_stages() -> None:
    cap = SiteCap(50, 2)
    assert [cap.at(spent) for spent in (0, 0.33, 0.34, 0.66, 0.67, 1)] == [50, 50, 10, 10, 2, 2]


@checked(derandomize=True, database=None, deadline=None)
@given(st.integers(1, 10_000), st.integers(1, 10_000), st.floats(0, 1), st.floats(0, 1))
def test_a_cap_never_rises_and_stays_between_its_ends(one: int, other: int, early: float, late: float) -> None:
    cap = SiteCap(max(one, other), min(one, other))
    early, late = min(early, late), max(early, late)
    assert cap.start >= cap.at(early) >= cap.at(late) >= cap.end
