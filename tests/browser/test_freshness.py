"""The Freshness view of a monitor that watches a simulated web whose pages change."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.commands import RunningWeb, running_simweb
from tests.serve.service import Service, running_service, topic

WATCH = {"mode": "monitor", "visits_per_minute": 1200, "least_gap_seconds": 1.0, "first_gap_seconds": 20.0}


@pytest.fixture(scope="module")
def news(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningWeb]:
    options = ("--sites", "80", "--pages", "1500", "--preset", "news", "--time-scale", "3600", "--seed", "6")
    with running_simweb(tmp_path_factory.mktemp("news"), *options) as web:
        yield web


@pytest.fixture(scope="module")
def monitor(news: RunningWeb, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    folder = tmp_path_factory.mktemp("monitor")
    with running_service(folder, news, FETCH__DELAY_SECONDS="0.02") as service:
        watched = {**topic(news), "recrawl": WATCH}
        crawl = {"max_pages": 60, "policy": "best-first"}
        assert service.call("POST", "/api/v1/crawls", {"topic": watched, "crawl": crawl})[0] == 201
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline and service.get("/1/recrawl")["changes"] < 3:
            time.sleep(0.2)
        yield service


def figure(page: Page, name: str) -> str:
    return page.locator(".figure", has_text=name).locator("dd").first.inner_text()


def test_the_route_tells_sources_next_visits_and_news(monitor: Service) -> None:
    told: dict[str, Any] = monitor.get("/1/recrawl?count=5")
    assert (told["mode"], told["policy"], told["crawl_id"]) == ("monitor", "whittle", 1)
    assert told["sources"] > 5
    assert 0 < told["fresh"] <= 1
    assert told["visits"] >= told["changes"] >= 3
    assert told["changes_per_100_visits"] == pytest.approx(100 * told["changes"] / told["visits"])
    assert len(told["next"]) == 5
    assert all(visit["index"] >= 0 and visit["why"] and visit["due_at"] for visit in told["next"])
    news = told["news"]
    assert any(piece["new"] for piece in news[0]["segments"])
    older = monitor.get(f"/1/recrawl?before={news[0]['id']}")["news"]
    assert all(item["id"] < news[0]["id"] for item in older)
    assert monitor.call("GET", "/api/v1/crawls/9/recrawl")[0] == 404
    assert monitor.call("GET", "/api/v1/crawls/1/recrawl?count=0")[0] == 422


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (390, "dark")])
def test_freshness_is_shown_with_what_is_new_marked(
    page: Page, monitor: Service, pictures: Path, width: int, scheme: str
) -> None:
    page.set_viewport_size({"width": width, "height": 900})
    page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
    page.goto(f"{monitor.address}/#/crawls/1/freshness")
    expect(page.get_by_role("heading", name="What is new")).to_be_visible()
    expect(page.locator(".news mark").first).to_be_visible()
    assert int(figure(page, "Sources").replace(",", "")) > 5
    assert "%" in figure(page, "Fresh by estimate")
    assert float(figure(page, "Changes per 100 visits")) > 0
    expect(page.locator(".next-visits tbody tr").first).to_contain_text("last seen")
    newest = monitor.get("/1/recrawl?count=1")["news"][0]
    expect(page.locator(".news")).to_contain_text(next(p["text"] for p in newest["segments"] if p["new"])[:30])
    over = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    assert over <= 0
    page.screenshot(path=pictures / f"freshness-{width}-{scheme}.png", caret="initial", animations="allow")


def test_a_crawl_that_has_ended_can_be_let_watch_what_it_found(page: Page, monitor: Service, news: RunningWeb) -> None:
    body = {
        "topic": topic(news),
        "recrawl": {**WATCH, "mode": "off"},
        "crawl": {"max_pages": 30, "policy": "best-first"},
    }
    number = monitor.call("POST", "/api/v1/crawls", body)[1]["crawl_id"]
    monitor.wait_for(number, lambda now: now["state"] == "finished")
    page.goto(f"{monitor.address}/#/crawls/{number}/freshness")
    page.get_by_role("button", name="Watch what it found").click()
    expect(page.get_by_role("heading", name="Next visits")).to_be_visible()
    expect(page.locator(".progress")).to_contain_text("watching what it found")
    assert monitor.get(f"/{number}")["state"] == "running"
    assert monitor.get(f"/{number}/recrawl")["mode"] == "monitor"


def test_visits_go_on_while_one_looks(page: Page, monitor: Service) -> None:
    page.goto(f"{monitor.address}/#/crawls/1/freshness")
    expect(page.get_by_role("heading", name="Next visits")).to_be_visible()
    before = int(figure(page, "Visits").replace(",", ""))
    page.wait_for_function(
        "before => parseInt([...document.querySelectorAll('.figure')].find(f => f.textContent.includes('Visits'))"
        ".querySelector('dd').textContent.replace(',', '')) > before",
        arg=before,
    )
