"""The fetch benchmark at its smallest: what it reports, not how fast anything is."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from tests.commands import tres
from tres_crawler.errors import TresError
from tres_crawler.experiments import fetch
from tres_crawler.experiments.report import Check, Report
from tres_crawler.simweb.model import Web
from tres_crawler.simweb.params import WebParams


def test_the_pages_are_different_ones_homes_first_and_far_apart_on_one_host() -> None:
    urls = fetch.first_urls(Web(WebParams.of("clean", sites=50, pages=1000)), 120)
    assert len(set(urls)) == 120
    assert len({url.split("/")[2] for url in urls[:50]}) == 50


def test_text_and_links_are_pulled_from_a_page() -> None:
    assert fetch.pull(b"<title>t</title><p>Hello <a href='/a'>there</a></p>") == ("Hello there", [("/a", "there")])


def test_a_check_without_a_value_does_not_hold() -> None:
    assert Check.at_least("a", 1.0, 1.0).holds
    assert not Check.at_least("a", 0.9, 1.0).holds
    assert not Check.at_least("a", None, 1.0).holds
    assert Check.at_most("a", 0, 0).holds
    assert not Check.at_most("a", 1, 0).holds


def test_a_report_is_json_with_the_keys_of_the_contract() -> None:
    report = Report("fetch", {"pages": 3}, [{"way": "a", "rate": 1.5}], [Check.at_least("a / b", None, 2)])
    assert json.loads(report.json()) == {
        "bench": "fetch",
        "settings": {"pages": 3},
        "rows": [{"way": "a", "rate": 1.5}],
        "checks": [{"name": "a / b", "value": None, "goal": "at least 2", "holds": False}],
    }


def test_the_command_measures_every_way_beside_the_others(tmp_path: Path) -> None:
    done = tres("bench", "fetch", "--pages", "40", "--repeat", "1", "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    rates = {row["way"]: row["pages_per_second"] for row in told["rows"]}
    assert {fetch.BARE, fetch.PULLED, fetch.OURS, fetch.WHOLE} <= set(rates)
    assert min(rates.values()) > 0
    assert told["checks"][0]["name"] == f"{fetch.OURS} / {fetch.PULLED}"
    assert "whole engine" in done.stderr


@pytest.mark.parametrize("python", ["/bin/false", "/nowhere/python"])
async def test_an_interpreter_without_scrapy_is_named(python: str) -> None:
    with pytest.raises(TresError, match=f"{python}: .* must have scrapy"):
        await fetch.by_scrapy(python)(["http://a.test/"], "127.0.0.1:1")


def test_a_table_is_printed_for_a_person(tmp_path: Path) -> None:
    done = tres("bench", "fetch", "--politeness", "--pages", "12", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "requests that robots.txt forbids" in done.stdout
    assert "NO" not in done.stdout


async def test_the_web_is_ended_when_the_measuring_fails() -> None:
    address = ""
    with pytest.raises(ZeroDivisionError):
        async with fetch.running_web("--sites", "3", "--pages", "9") as address:
            raise ZeroDivisionError
    host, _, port = address.partition(":")
    with pytest.raises(ConnectionRefusedError):
        await asyncio.open_connection(host, int(port))
