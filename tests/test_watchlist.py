"""The sources of a crawl are those saved: over restarts, other policies, other judges and wrong clocks."""

from __future__ import annotations

import asyncio
from typing import get_args

import pytest

from tests.conftest import MakeCrawl
from tests.monitoring import DAY, LONG, MONITOR, NEWS, ONE_A_DAY, HandClock, Running, TakeUp, Watch, rows
from tests.site import SmallSite
from tres_crawler.config import RecrawlPolicy
from tres_crawler.records import StopReason
from tres_crawler.store import crawls, judging, sources
from tres_crawler.store.database import Change, Database


async def test_no_source_is_visited_sooner_than_the_least_gap_and_a_restart_changes_nothing(
    site: SmallSite, watch: Watch, take_up: TakeUp, clock: HandClock, database: Database
) -> None:
    site.page("a.test/", links=["b.test/", "c.test/"])
    site.page("b.test/")
    site.page("c.test/")
    least = {"policy": "whittle", "least_gap_seconds": DAY, "first_gap_seconds": DAY}
    running = await watch(pages=3, recrawl=least)
    await running.visit(3)
    await running.suspend()
    before = await rows(database)
    clock.now += DAY / 2
    again = await take_up(1)
    for url, row in before.items():
        held = again._revisits.list.estimates.evidence(row.page)
        assert (held.changes, held.exposure) == (row.changes, row.exposure), url
        assert again._revisits.scheduler.due_at(row.page) == pytest.approx(row.due_at, rel=1e-6)
    resumed = Running(again, clock)
    await asyncio.sleep(0.2)
    assert len(site.paths()) == 6, "nothing is due for another half day"
    await resumed.visit(3, days=0.5)
    assert len(site.paths()) == 9
    await resumed.stop()


@pytest.mark.parametrize("policy", get_args(RecrawlPolicy))
async def test_a_monitor_can_follow_every_policy_and_goes_on_with_it(
    site: SmallSite, watch: Watch, take_up: TakeUp, clock: HandClock, policy: str
) -> None:
    site.page("a.test/", links=["b.test/", "c.test/"])
    site.page("b.test/", text=LONG)
    site.page("c.test/")
    running = await watch(pages=3, recrawl={**ONE_A_DAY, "policy": policy})
    site.page("b.test/", text=f"{LONG} {NEWS}")
    await running.visit(3)
    await running.suspend()
    resumed = Running(await take_up(1), clock)
    await resumed.visit(3, days=2)
    assert len(site.paths()) == 9, "each was visited twice"
    assert resumed.crawl._revisits.list.counts == {"visits": 6, "changes": 1, "troubles": 0}
    await resumed.stop()


async def test_a_clock_that_was_wrong_before_does_not_stop_visits(
    site: SmallSite, watch: Watch, take_up: TakeUp, clock: HandClock
) -> None:
    site.page("a.test/")
    running = await watch(pages=1)
    await running.suspend()
    clock.now -= 1000 * DAY
    again = await take_up(1)
    assert again._revisits.list.estimates.evidence(1).visited_at == clock.now
    resumed = Running(again, clock)
    await resumed.visit()
    assert len(site.paths()) == 2
    await resumed.stop()


async def test_a_finished_crawl_can_become_a_monitor(
    site: SmallSite, make_crawl: MakeCrawl, take_up: TakeUp, clock: HandClock, database: Database
) -> None:
    site.page("a.test/", links=["b.test/"])
    site.page("b.test/")
    summary = await (await make_crawl(site.topic("a.test/"), policy="random")).run()
    assert summary.stop_reason == StopReason.FRONTIER_EMPTY
    clock.now = 4e9
    running = Running(await take_up(summary.crawl_id, recrawl={**MONITOR, **ONE_A_DAY}), clock)
    assert set(await rows(database)) == {"a.test/", "b.test/"}
    await running.visit(2)
    await running.visit(2)
    assert len(site.paths()) == 6
    record = await crawls.get(database, summary.crawl_id)
    assert record.settings["recrawl"]["mode"] == "monitor", "for good"
    await running.stop()


async def test_a_page_that_a_new_judge_holds_irrelevant_is_watched_no_more(
    site: SmallSite, watch: Watch, database: Database
) -> None:
    site.page("a.test/", links=["b.test/"])
    site.page("b.test/")
    running = await watch(pages=2)
    pages_of = {row.page: url for url, row in (await rows(database)).items()}
    await database.write(*_judged(min(pages_of), relevant=False))
    await running.crawl._revisits.sync()
    assert set(await rows(database)) == {pages_of[max(pages_of)]}
    assert await sources.retired(database, 1) == {"no longer relevant": 1}
    await database.write(*_judged(min(pages_of), relevant=True))
    # A switch of judges and a label may ask for it at once.
    await asyncio.gather(*(running.crawl._revisits.sync() for _ in range(2)))
    assert len(running.crawl._revisits.scheduler) == 2, "none is taken up twice"
    assert set(await rows(database)) == {"a.test/", "b.test/"}
    await running.visit(2)
    assert {row.visits for row in (await rows(database)).values()} == {1}, "both are watched again"


async def test_a_policy_with_a_price_can_follow_one_without(
    site: SmallSite, watch: Watch, take_up: TakeUp, clock: HandClock
) -> None:
    site.page("a.test/")
    running = await watch(pages=1, recrawl={"policy": "round-robin", "least_gap_seconds": DAY / 2})
    await running.visit()
    await running.suspend()
    again = await take_up(1, recrawl={"policy": "whittle", "least_gap_seconds": 3600.0})
    assert again._revisits.scheduler.price > 0
    resumed = Running(again, clock)
    await resumed.visit()
    await resumed.stop()


def _judged(page: int, relevant: bool) -> list[Change]:
    row = {"of_crawl": 1, "of_page": page, "now_probability": 0.0, "now_relevant": relevant, "now_reward": 0.0}
    return [Change(judging.SET_JUDGEMENT, [{**row, "now_version": 1}])]
