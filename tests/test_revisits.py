"""Known pages are visited again: politely, within their share, and whatever has become of them."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Any

import pytest

from tests.conftest import MakeCrawl
from tests.site import WORDS, Answer, SmallSite
from tres_crawler import revisits
from tres_crawler.crawl import Crawl
from tres_crawler.records import CrawlState, StopReason
from tres_crawler.revisits import Revisits
from tres_crawler.store import crawls, judging, sources
from tres_crawler.store.database import AnyRow, Change, Database

DAY = 86_400.0
NEWS = "Breaking news: Sunday brings a championship final on grass while our coach has resigned"
MONITOR: dict[str, Any] = {"mode": "monitor", "visits_per_minute": 60_000, "least_gap_seconds": 0.0}
PRIOR = {"model": "prior"}
LONG = " ".join(f"{WORDS} number{number} of{number} many{number}" for number in range(8))


class HandClock:
    """A time of day that is set by hand."""

    def __init__(self) -> None:
        self.now = 1_000_000_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> HandClock:
    return HandClock()


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(revisits, "LOOK_AGAIN_SECONDS", 0.02)


@pytest.fixture
def make_monitor(make_crawl: MakeCrawl, clock: HandClock) -> MakeCrawl:
    """A crawl of the small site whose revisits run by the hand clock."""

    async def make(topic: Any, recrawl: dict[str, Any] | None = None, **others: Any) -> Crawl:
        return await make_crawl(
            topic,
            recrawl={**MONITOR, **(recrawl or {})},
            make_revisits=partial(Revisits, clock=clock),
            **{"policy": "breadth-first", **others},
        )

    return make


async def until(done: Any, seconds: float = 60.0) -> None:
    async with asyncio.timeout(seconds):
        while not done():
            await asyncio.sleep(0.01)


async def rows(database: Database, crawl: int = 1) -> dict[str, AnyRow]:
    """What is kept of each source, by URL."""
    found = await sources.upcoming(database, crawl, 1000)
    return {row.url.removeprefix("http://"): row for row in found}


class Running:
    """A crawl under way; each `visit` lets a day go by and waits for so many more requests to be saved."""

    def __init__(self, crawl: Crawl, site: SmallSite, clock: HandClock) -> None:
        self.crawl, self.site, self.clock = crawl, site, clock
        self.task = asyncio.create_task(crawl.run())

    async def visit(self, count: int = 1, days: float = 1.0) -> None:
        goal = self.crawl._revisits.list.counts["visits"] + count
        self.clock.now += days * DAY
        await until(lambda: self.crawl._revisits.list.counts["visits"] >= goal or self.task.done())
        await until(lambda: not self.crawl._revisits.in_flight or self.task.done())

    async def stop(self) -> None:
        self.crawl.stop()
        await self.task


async def begun(site: SmallSite, crawl: Crawl, clock: HandClock, pages: int) -> Running:
    """A crawl that has fetched its pages."""
    running = Running(crawl, site, clock)
    await until(lambda: (crawl.summary().pages >= pages and not crawl._in_flight) or running.task.done())
    return running


ONE_A_DAY = {"policy": "fixed", "interval_seconds": DAY, "least_gap_seconds": DAY / 2}


async def test_without_recrawling_a_crawl_ends_and_has_no_sources(
    site: SmallSite, make_crawl: MakeCrawl, database: Database
) -> None:
    site.page("a.test/")
    summary = await (await make_crawl(site.topic("a.test/"), policy="random")).run()
    assert summary.stop_reason == StopReason.FRONTIER_EMPTY
    assert await rows(database) == {}


async def test_a_monitor_stays_up_and_visits_again_what_is_relevant_until_it_is_stopped(
    site: SmallSite, make_monitor: MakeCrawl, clock: HandClock, database: Database
) -> None:
    site.page("a.test/", links=["b.test/", "c.test/"])
    site.page("b.test/")
    site.page("c.test/", text="an entirely different matter about cooking soup with onions and butter")
    running = await begun(site, await make_monitor(site.topic("a.test/"), ONE_A_DAY), clock, 3)
    await running.visit(2)
    assert set(await rows(database)) == {"a.test/", "b.test/"}
    assert sorted(site.paths())[:5] == ["a.test/", "a.test/", "b.test/", "b.test/", "c.test/"]
    assert running.crawl.state is CrawlState.RUNNING
    await running.stop()
    assert running.task.result().stop_reason == StopReason.STOPPED
    assert running.task.result().pages == 3, "visits are paid for from no budget"


async def test_a_revisit_is_conditional_and_an_unchanged_page_costs_no_body(
    site: SmallSite, make_monitor: MakeCrawl, clock: HandClock, database: Database
) -> None:
    dated = {"ETag": '"1"', "Last-Modified": "Sat, 08 Sep 2001 00:00:00 GMT", "Date": "Sun, 09 Sep 2001 00:00:00 GMT"}
    site.page("a.test/", headers=dated)
    running = await begun(site, await make_monitor(site.topic("a.test/"), ONE_A_DAY), clock, 1)
    await running.visit()
    await running.visit()
    asked = [one.headers for one in site.asked if one.path == "/"]
    assert "if-none-match" not in asked[0]
    assert asked[1]["if-none-match"] == '"1"'
    assert asked[1]["if-modified-since"] == "sat, 08 sep 2001 00:00:00 gmt"
    kept = (await rows(database))["a.test/"]
    assert (kept.visits, kept.found, kept.bytes) == (2, 0, 0)
    assert kept.truths == 2
    await running.stop()


async def test_what_is_new_is_judged_on_the_text_kept_and_shown(
    site: SmallSite, make_monitor: MakeCrawl, clock: HandClock, database: Database
) -> None:
    site.page("a.test/", text=LONG)
    running = await begun(site, await make_monitor(site.topic("a.test/"), ONE_A_DAY), clock, 1)
    site.page("a.test/", text=LONG, headers={"X-Other": "bytes, same text"})
    await running.visit()
    assert await sources.latest_news(database, 1, 10) == []
    site.page("a.test/", text=LONG.replace("number4", f"number4 {NEWS}"))
    await running.visit()
    await running.visit()
    (news,) = await sources.latest_news(database, 1, 10)
    assert [words for is_new, words in news.segments if is_new] == [NEWS]
    assert 0 < news.value <= news.share < 0.3
    kept = (await rows(database))["a.test/"]
    assert (kept.visits, kept.found, kept.changed_at) == (3, 1, clock.now - DAY)
    assert kept.rate > 0
    await running.stop()


async def test_new_links_of_a_known_page_are_discovered(
    site: SmallSite, make_monitor: MakeCrawl, clock: HandClock
) -> None:
    site.page("a.test/", text=LONG)
    running = await begun(site, await make_monitor(site.topic("a.test/"), ONE_A_DAY), clock, 1)
    site.page("a.test/", links=["new.test/1"], text=LONG)
    site.page("new.test/1")
    await running.visit()
    await until(lambda: running.crawl.summary().pages == 2)
    assert site.paths("new.test") == ["new.test/1"]
    await running.stop()


async def test_new_links_wait_where_the_budget_is_spent(
    site: SmallSite, make_monitor: MakeCrawl, clock: HandClock
) -> None:
    site.page("a.test/", text=LONG)
    running = await begun(site, await make_monitor(site.topic("a.test/"), ONE_A_DAY, max_pages=1), clock, 1)
    site.page("a.test/", links=["new.test/1"], text=LONG)
    await running.visit()
    await running.visit()
    assert running.crawl.summary().waiting == 1
    assert site.paths("new.test") == []
    await running.stop()


async def test_visits_are_not_charged_to_the_cap_of_a_site(
    site: SmallSite, make_monitor: MakeCrawl, clock: HandClock
) -> None:
    site.page("a.test/", text=LONG)
    running = await begun(site, await make_monitor(site.topic("a.test/"), ONE_A_DAY, max_per_site="2"), clock, 1)
    for _ in range(3):
        await running.visit()
    site.page("a.test/", links=["a.test/new"], text=LONG)
    site.page("a.test/new", text=f"{LONG} {NEWS}")
    await running.visit()
    await until(lambda: running.crawl.summary().pages == 2)
    await running.stop()


@pytest.mark.parametrize("status", [404, 410])
async def test_a_page_that_is_gone_is_retired_after_a_second_look(
    site: SmallSite, make_monitor: MakeCrawl, clock: HandClock, database: Database, status: int
) -> None:
    site.page("a.test/", links=["b.test/"])
    site.page("b.test/")
    running = await begun(site, await make_monitor(site.topic("a.test/"), ONE_A_DAY), clock, 2)
    site.answers["b.test/"] = [Answer(status)]
    await running.visit(2)
    assert set(await rows(database)) == {"a.test/", "b.test/"}
    await running.visit(2)
    assert set(await rows(database)) == {"a.test/"}
    assert await sources.retired(database, 1) == {f"gone (status {status})": 1}
    await running.visit(1)
    assert len(site.paths("b.test")) == 3
    await running.stop()


async def test_a_page_that_comes_back_is_kept(
    site: SmallSite, make_monitor: MakeCrawl, clock: HandClock, database: Database
) -> None:
    site.page("a.test/")
    running = await begun(site, await make_monitor(site.topic("a.test/"), ONE_A_DAY), clock, 1)
    for _ in range(3):
        site.error("a.test/", 404, times=1)
        await running.visit()
        await running.visit()
    assert set(await rows(database)) == {"a.test/"}
    await running.stop()


async def test_a_page_that_moves_is_found_where_it_went(
    site: SmallSite, make_monitor: MakeCrawl, clock: HandClock, database: Database
) -> None:
    site.page("a.test/")
    running = await begun(site, await make_monitor(site.topic("a.test/"), ONE_A_DAY), clock, 1)
    site.redirect("a.test/", "b.test/new")
    site.page("b.test/new", text=LONG)
    await running.visit()
    await until(lambda: running.crawl.summary().pages == 2)
    await running.visit(2)
    assert set(await rows(database)) == {"b.test/new"}
    assert await sources.retired(database, 1) == {"moved to http://b.test/new": 1}
    await running.stop()


async def test_robots_txt_may_retire_a_page(
    site: SmallSite, make_monitor: MakeCrawl, clock: HandClock, database: Database
) -> None:
    site.page("a.test/", links=["b.test/x"])
    site.page("b.test/x")
    running = await begun(site, await make_monitor(site.topic("a.test/"), ONE_A_DAY), clock, 2)
    site.robots("b.test", "User-agent: *\nDisallow: /x")
    running.crawl._visitor._robots._rules.clear()
    await running.visit(2)
    assert set(await rows(database)) == {"a.test/"}
    assert await sources.retired(database, 1) == {"disallowed by robots.txt": 1}
    assert len(site.paths("b.test")) == 1, "it was not asked for"
    await running.stop()


async def test_an_owner_who_no_longer_wants_a_page_kept_is_obeyed(
    site: SmallSite, make_monitor: MakeCrawl, clock: HandClock, database: Database
) -> None:
    site.page("a.test/")
    running = await begun(site, await make_monitor(site.topic("a.test/"), ONE_A_DAY), clock, 1)
    site.page("a.test/", headers={"X-Robots-Tag": "noindex"})
    running.clock.now += DAY
    await running.task
    assert await sources.retired(database, 1) == {"its owner does not want it kept": 1}
    assert running.task.result().stop_reason == StopReason.FRONTIER_EMPTY, "nothing is left to watch"


async def test_trouble_tells_nothing_and_retires_nothing(
    site: SmallSite, make_monitor: MakeCrawl, clock: HandClock, database: Database
) -> None:
    site.page("a.test/", text=LONG)
    crawl = await make_monitor(site.topic("a.test/"), ONE_A_DAY, fetch={"delay_seconds": 0.001})
    running = await begun(site, crawl, clock, 1)
    seen_at = clock.now
    site.error("a.test/", 404, times=1)
    await running.visit()
    site.page("a.test/", text="")
    site.answers["a.test/"] = [Answer(200, "<title>nothing</title>")]
    await running.visit()
    kept = (await rows(database))["a.test/"]
    assert (kept.visits, kept.visited_at, kept.tried_at) == (0, seen_at, clock.now)
    await running.stop()


async def test_a_share_of_the_fetches_goes_to_known_pages_while_new_ones_are_discovered(
    site: SmallSite, make_crawl: MakeCrawl
) -> None:
    places = [f"h{number % 20}.test/{number}" for number in range(200)]
    site.page("a.test/", links=places)
    for place in places:
        site.page(place)
    recrawl = {"mode": "share", "share": 0.25, "policy": "round-robin", "least_gap_seconds": 0.0}
    crawl = await make_crawl(
        site.topic("a.test/"), {"slots": 4}, recrawl=recrawl, max_pages=150, policy="random", relevance=PRIOR
    )
    summary = await crawl.run()
    assert (summary.pages, summary.stop_reason) == (150, StopReason.BUDGET)
    assert 150 + 40 <= len(site.paths()) <= 150 + 50


async def test_hosts_are_asked_no_faster_for_what_is_known(
    site: SmallSite, make_monitor: MakeCrawl, clock: HandClock
) -> None:
    site.page("a.test/", links=[f"a.test/{number}" for number in range(4)])
    for number in range(4):
        site.page(f"a.test/{number}")
    crawl = await make_monitor(site.topic("a.test/"), {"policy": "round-robin"}, fetch={"delay_seconds": 0.03})
    running = await begun(site, crawl, clock, 5)
    await running.visit(10)
    await running.stop()
    assert site.most_under_way["a.test"] == 1
    gaps = [
        later.arrived - earlier.finished
        for earlier, later in zip(site.asked, site.asked[1:], strict=False)
        if later.host == earlier.host
    ]
    assert min(gaps) >= 0.03


async def test_no_source_is_visited_sooner_than_the_least_gap_and_a_restart_changes_nothing(
    site: SmallSite, make_monitor: MakeCrawl, clock: HandClock, database: Database
) -> None:
    site.page("a.test/", links=["b.test/", "c.test/"])
    site.page("b.test/")
    site.page("c.test/")
    least = {"policy": "whittle", "least_gap_seconds": DAY, "first_gap_seconds": DAY}
    running = await begun(site, await make_monitor(site.topic("a.test/"), least), clock, 3)
    await running.visit(3)
    running.crawl.suspend()
    await running.task
    before = await rows(database)
    clock.now += DAY / 2
    again = await Crawl.load(database, 1, make_revisits=partial(Revisits, clock=clock))
    for url, row in before.items():
        held = again._revisits.list.estimates.evidence(row.page)
        assert (held.changes, held.exposure) == (row.changes, row.exposure), url
        assert again._revisits.scheduler.due_at(row.page) == pytest.approx(row.due_at, rel=1e-6)
    resumed = Running(again, site, clock)
    await asyncio.sleep(0.2)
    assert len(site.paths()) == 6, "nothing is due for another half day"
    await resumed.visit(3, days=0.5)
    assert len(site.paths()) == 9
    await resumed.stop()


async def test_a_clock_that_was_wrong_before_does_not_stop_visits(
    site: SmallSite, make_monitor: MakeCrawl, clock: HandClock, database: Database
) -> None:
    site.page("a.test/")
    running = await begun(site, await make_monitor(site.topic("a.test/"), ONE_A_DAY), clock, 1)
    running.crawl.suspend()
    await running.task
    clock.now -= 1000 * DAY
    again = await Crawl.load(database, 1, make_revisits=partial(Revisits, clock=clock))
    assert again._revisits.list.estimates.evidence(1).visited_at == clock.now
    resumed = Running(again, site, clock)
    await resumed.visit()
    assert len(site.paths()) == 2
    await resumed.stop()


async def test_a_finished_crawl_can_become_a_monitor(
    site: SmallSite, make_crawl: MakeCrawl, database: Database, clock: HandClock
) -> None:
    site.page("a.test/", links=["b.test/"])
    site.page("b.test/")
    summary = await (await make_crawl(site.topic("a.test/"), policy="random")).run()
    assert summary.stop_reason == StopReason.FRONTIER_EMPTY
    clock.now = 4e9
    crawl = await Crawl.load(
        database, summary.crawl_id, recrawl={**MONITOR, **ONE_A_DAY}, make_revisits=partial(Revisits, clock=clock)
    )
    assert set(await rows(database)) == {"a.test/", "b.test/"}
    running = Running(crawl, site, clock)
    await running.visit(2)
    await running.visit(2)
    assert len(site.paths()) == 6
    record = await crawls.get(database, summary.crawl_id)
    assert record.settings["recrawl"]["mode"] == "monitor", "for good"
    await running.stop()


async def test_a_page_that_a_new_judge_holds_irrelevant_is_watched_no_more(
    site: SmallSite, make_monitor: MakeCrawl, clock: HandClock, database: Database
) -> None:
    site.page("a.test/", links=["b.test/"])
    site.page("b.test/")
    running = await begun(site, await make_monitor(site.topic("a.test/"), ONE_A_DAY), clock, 2)
    pages_of = {row.page: url for url, row in (await rows(database)).items()}
    await database.write(*_judged(min(pages_of), relevant=False))
    await running.crawl._revisits.sync()
    assert set(await rows(database)) == {pages_of[max(pages_of)]}
    assert await sources.retired(database, 1) == {"no longer relevant": 1}
    await database.write(*_judged(min(pages_of), relevant=True))
    await running.crawl._revisits.sync()
    assert set(await rows(database)) == {"a.test/", "b.test/"}
    await running.visit(2)
    assert {row.visits for row in (await rows(database)).values()} == {1}, "both are watched again"
    await running.stop()


async def test_a_policy_with_a_price_can_follow_one_without(
    site: SmallSite, make_monitor: MakeCrawl, clock: HandClock, database: Database
) -> None:
    site.page("a.test/")
    in_turn = {"policy": "round-robin", "least_gap_seconds": DAY / 2}
    running = await begun(site, await make_monitor(site.topic("a.test/"), in_turn), clock, 1)
    await running.visit()
    running.crawl.suspend()
    await running.task
    follow = {"policy": "whittle", "least_gap_seconds": 3600.0}
    again = await Crawl.load(database, 1, recrawl=follow, make_revisits=partial(Revisits, clock=clock))
    assert again._revisits.scheduler.price > 0
    resumed = Running(again, site, clock)
    await resumed.visit()
    await resumed.stop()


def _judged(page: int, relevant: bool) -> list[Change]:
    row = {"of_crawl": 1, "of_page": page, "now_probability": 0.0, "now_relevant": relevant, "now_reward": 0.0}
    return [Change(judging.SET_JUDGEMENT, [{**row, "now_version": 1}])]
