"""A crawl is steered while it runs: paused, stopped, changed, given seeds and labels; steps stay whole."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy import select

from tests.conftest import MakeCrawl
from tests.site import SmallSite
from tres_crawler import revisits
from tres_crawler.config import Settings
from tres_crawler.crawl import Crawl
from tres_crawler.errors import ControlError, StoreError
from tres_crawler.founding import create_crawl
from tres_crawler.manners import Manners
from tres_crawler.records import CrawlState, LinkState, StopReason
from tres_crawler.store import crawls, learning
from tres_crawler.store.database import Database
from tres_crawler.store.tables import events, links, pages

PRIOR = {"model": "prior"}


async def until(true: Callable[[], bool]) -> None:
    async with asyncio.timeout(60):
        while not true():
            await asyncio.sleep(0.005)


def wide_web(site: SmallSite, hosts: int = 30, seconds: float = 0.0) -> None:
    for seed in ("a.test/", "b.test/"):
        site.page(seed, links=[f"h{number}.test/" for number in range(hosts)])
    for number in range(hosts):
        site.page(f"h{number}.test/", links=[f"h{number}.test/{page}" for page in range(4)], seconds=seconds)
        for page in range(4):
            site.page(f"h{number}.test/{page}", seconds=seconds)


async def link_states(database: Database) -> dict[str, str]:
    found = await database.rows(select(links.c.url, links.c.state))
    return {row.url.removeprefix("http://"): row.state for row in found}


async def test_a_stop_hands_back_what_a_slow_host_has_not_answered(
    site: SmallSite, database: Database, make_crawl: MakeCrawl
) -> None:
    site.page("a.test/", links=["quick.test/", "slow.test/"])
    site.page("slow.test/", seconds=30)
    site.page("quick.test/")
    crawl = await make_crawl(site.topic("a.test/"), relevance=PRIOR, policy="breadth-first")
    running = asyncio.create_task(crawl.run())
    await until(lambda: "slow.test/" in site.paths() and crawl.summary().pages == 2)
    crawl.stop(patience_seconds=0.0)
    async with asyncio.timeout(20):
        summary = await running
    assert (summary.stop_reason, summary.pages, summary.waiting) == (StopReason.STOPPED, 2, 1)
    assert await link_states(database) == {
        "a.test/": LinkState.FETCHED,
        "quick.test/": LinkState.FETCHED,
        "slow.test/": LinkState.WAITING,
    }
    site.page("slow.test/")
    resumed = await Crawl.load(database, crawl.id)
    assert (await resumed.run()).pages == 3
    assert site.paths().count("slow.test/") == 2


async def test_a_step_that_comes_too_late_asks_nobody_any_more(site: SmallSite, make_crawl: MakeCrawl) -> None:
    site.page("a.test/")
    crawl = await make_crawl(site.topic("a.test/"), relevance=PRIOR, policy="breadth-first")
    (offer,) = crawl.choose()
    crawl._visits.call_off()
    async with crawl._visitor:
        await crawl.step(offer)
    assert (site.paths(), crawl.summary().waiting) == ([], 1)
    await crawl.close()


async def test_what_is_called_off_behind_a_redirect_waits_as_a_link_of_its_own(
    site: SmallSite, database: Database, make_crawl: MakeCrawl
) -> None:
    site.page("a.test/", links=["b.test/"])
    site.redirect("b.test/", "slow.test/")
    site.page("slow.test/", seconds=30)
    crawl = await make_crawl(site.topic("a.test/"), relevance=PRIOR, policy="breadth-first")
    running = asyncio.create_task(crawl.run())
    await until(lambda: "slow.test/" in site.paths())
    crawl.suspend(patience_seconds=0.0)
    await running
    states = await link_states(database)
    assert (states["b.test/"], states["slow.test/"]) == (LinkState.REDIRECTED, LinkState.WAITING)


async def test_a_host_that_was_called_off_can_be_asked_by_another_crawl(site: SmallSite, database: Database) -> None:
    manners = Manners.of(database, Settings().fetch.model_copy(update={"delay_seconds": 0.0}))
    site.page("slow.test/", seconds=30)
    first = await started(site, database, manners, "slow.test/")
    running = asyncio.create_task(first.run())
    await until(lambda: "slow.test/" in site.paths())
    first.stop(patience_seconds=0.0)
    await running
    site.page("slow.test/")
    second = await started(site, database, manners, "slow.test/")
    async with asyncio.timeout(20):
        assert (await second.run()).pages == 1


async def started(
    site: SmallSite,
    database: Database,
    manners: Manners,
    seed: str,
    fetch: dict[str, Any] | None = None,
    recrawl: dict[str, Any] | None = None,
    **crawl: Any,
) -> Crawl:
    usual = {"connect_to": f"127.0.0.1:{site.port}", "delay_seconds": 0.0, "obey_robots": False}
    settings = (
        Settings()
        .replaced("fetch", usual | (fetch or {}))
        .replaced("crawl", {"seed": 1, "policy": "breadth-first", **crawl})
        .replaced("recrawl", recrawl or {})
        .replaced("choose", {"pages_per_slot": 0})
        .replaced("relevance", PRIOR)
    )
    number = await create_crawl(database, site.topic(seed), settings)
    return await Crawl.load(database, number, manners=manners)


async def test_crawls_share_the_slots_of_their_process_evenly(site: SmallSite, database: Database) -> None:
    wide_web(site, seconds=0.02)
    manners = Manners.of(database, Settings().fetch.model_copy(update={"delay_seconds": 0.0}), slots=4)
    both = [await started(site, database, manners, seed, max_pages=60) for seed in ("a.test/", "b.test/")]
    most: list[tuple[int, int, int]] = []

    async def watch() -> None:
        while True:
            first, second = (crawl.politeness().in_flight for crawl in both)
            most.append((manners.slots.under_way, first, second))
            await asyncio.sleep(0.001)

    watching = asyncio.create_task(watch())
    summaries = await asyncio.gather(*(crawl.run() for crawl in both))
    watching.cancel()
    assert [summary.pages for summary in summaries] == [60, 60]
    assert max(total for total, _, _ in most) <= 4
    together = [row for row in most if row[1] and row[2]]
    assert max(max(first, second) for _, first, second in together) <= 3, "what began alone ends, then it is shared"
    assert manners.slots.under_way == 0


async def test_a_paused_crawl_leaves_its_slots_to_others(site: SmallSite, database: Database) -> None:
    wide_web(site, seconds=0.02)
    manners = Manners.of(database, Settings().fetch.model_copy(update={"delay_seconds": 0.0}), slots=4)
    first, second = [await started(site, database, manners, "a.test/", max_pages=60) for _ in range(2)]
    first.pause()
    waiting, running = asyncio.create_task(first.run()), asyncio.create_task(second.run())
    await until(lambda: second.politeness().in_flight == 4)
    assert (await running).pages == 60
    first.unpause()
    assert (await waiting).pages == 60


async def test_budget_and_cap_of_a_running_crawl_are_changed_for_good(
    site: SmallSite, database: Database, make_crawl: MakeCrawl
) -> None:
    wide_web(site)
    crawl = await make_crawl(
        site.topic("a.test/"), relevance=PRIOR, policy="breadth-first", max_pages=1000, max_per_site="1"
    )
    running = asyncio.create_task(crawl.run())
    await until(lambda: crawl.summary().pages >= 5)
    await crawl.change({"max_per_site": "3"})
    summary = await running
    assert (summary.pages, summary.stop_reason) == (1 + 30 * 3, StopReason.SITES_CAPPED)
    with pytest.raises(ControlError, match="91 pages already"):
        await crawl.change({"max_pages": 90})
    record = await crawls.get(database, crawl.id)
    assert record.settings["crawl"]["max_per_site"] == "3"
    resumed = await Crawl.load(database, crawl.id)
    await resumed.change({"max_pages": 95, "max_per_site": "none"})
    assert (await resumed.run()).pages == 95


async def test_a_seed_that_is_added_comes_next_and_is_placed_once(
    site: SmallSite, database: Database, make_crawl: MakeCrawl
) -> None:
    wide_web(site)
    site.page("new.test/")
    crawl = await make_crawl(site.topic("a.test/"), {"slots": 1}, relevance=PRIOR, policy="best-first", max_pages=40)
    running = asyncio.create_task(crawl.run())
    await until(lambda: crawl.summary().pages >= 5)
    assert await crawl.add_seeds(["http://new.test/", "http://a.test/"]) == 1
    assert await crawl.add_seeds(["http://new.test/", "http://new.test/paper.pdf"]) == 0
    asked = len(site.paths())
    await running
    assert site.paths().count("new.test/") == 1
    assert site.paths().index("new.test/") <= asked + 1


@pytest.mark.parametrize("policy", ["best-first", "tres"])
async def test_a_label_counts_at_once_also_where_no_judge_is_trained(
    site: SmallSite, database: Database, make_crawl: MakeCrawl, policy: str
) -> None:
    wide_web(site)
    crawl = await make_crawl(site.topic("a.test/"), relevance=PRIOR, policy=policy, max_pages=60)
    running = asyncio.create_task(crawl.run())
    await until(lambda: crawl.summary().pages >= 30)
    crawl.pause()
    await until(lambda: crawl.politeness().in_flight == 0)
    before = crawl.summary()
    relevant = await database.rows(select(pages.c.number).where(pages.c.relevant).order_by(pages.c.number))
    number = relevant[0].number
    await crawl.feedback(number, relevant=False)
    assert crawl.summary().relevant_pages == before.relevant_pages - 1
    row = (await database.rows(select(pages).where(pages.c.number == number)))[0]
    assert (row.relevant, row.reward) == (False, 0.0)
    assert row.probability > 0.5, "what the judge holds of it is kept"
    if policy == "tres":
        rewards = crawl._policy.frontier.tree.tree.experienced()[1]  # type: ignore[attr-defined]  # it has a tree
        assert rewards[number - 1] == 0.0
    await crawl.feedback(number, relevant=True)
    assert crawl.summary().relevant_pages == before.relevant_pages
    crawl.unpause()
    await running
    saved = await crawls.summary(database, await crawls.get(database, crawl.id))
    assert saved.relevant_pages == crawl.summary().relevant_pages
    assert saved.relevant_sites == crawl.summary().relevant_sites
    if policy == "tres":
        of_page = {row.page: row for row in await learning.experiences(database, crawl.id)}
        assert set(of_page) == set(range(1, 61))
    told = await database.rows(select(events.c.kind).where(events.c.crawl == crawl.id))
    assert [row.kind for row in told].count("label") == 2


async def test_what_happens_is_told_in_events(site: SmallSite, database: Database, make_crawl: MakeCrawl) -> None:
    wide_web(site)
    for number in range(15):
        site.page(f"h{number}.test/", text="nothing of interest here")
    crawl = await make_crawl(site.topic("a.test/"), relevance=PRIOR, policy="tres", max_pages=60)
    await crawl.run()
    rows = await database.rows(select(events.c.kind, events.c.detail).order_by(events.c.id))
    kinds = [row.kind for row in rows]
    assert kinds[0] == "started"
    assert kinds[-1] == CrawlState.FINISHED
    assert kinds.count("relevant site") == crawl.summary().relevant_sites
    assert kinds.count("split") == crawl.summary().leaves - 1
    assert "learner" in kinds
    split = next(row.detail for row in rows if row.kind == "split")
    assert split["gain"] > 0
    assert isinstance(split["feature"], str)


@pytest.mark.parametrize("obey_robots", [False, True])
async def test_a_crawl_that_fails_leaves_slots_and_hosts_to_the_others(
    site: SmallSite, database: Database, obey_robots: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    wide_web(site, seconds=0.02)
    manners = Manners.of(database, Settings().fetch.model_copy(update={"delay_seconds": 0.0}), slots=8)
    first = await started(site, database, manners, "a.test/", {"obey_robots": obey_robots})
    running = asyncio.create_task(first.run())
    await until(lambda: first.politeness().in_flight == 8)
    with monkeypatch.context() as patched:
        patched.setattr(Database, "queue", full_disk)
        assert (await running).stop_reason is StopReason.FAILED
    assert manners.slots.under_way == 0
    assert all(manners.pace.free_at(f"h{number}.test") < math.inf for number in range(30))
    second = await started(site, database, manners, "b.test/", max_pages=60)
    async with asyncio.timeout(20):
        assert (await second.run()).pages == 60


def full_disk(*_: object) -> asyncio.Future[None]:
    refused = asyncio.get_running_loop().create_future()
    refused.set_exception(StoreError("database or disk is full"))
    return refused


async def test_a_host_that_another_crawl_asks_is_looked_at_again_after_its_delay_and_a_resting_one_when_it_has_rested(
    site: SmallSite, database: Database
) -> None:
    site.page("a.test/")
    manners = Manners.of(database, Settings().fetch.model_copy(update={"delay_seconds": 0.2}))
    crawl = await started(site, database, manners, "a.test/", {"delay_seconds": 0.2})
    visits, host = crawl._visits, crawl._places.host("http://a.test/")
    manners.pace.begin("a.test")
    assert not visits.seize(host)
    assert visits.next_due is not None and visits.next_due <= time.monotonic() + 0.2
    manners.pace.end_badly("a.test", wait_seconds=100.0)
    async with asyncio.timeout(20):
        while visits.next_due < time.monotonic() + 90:
            await asyncio.sleep(0.005)
            visits.release_rested()
    await crawl.close()


async def test_revisits_take_of_the_slots_that_all_crawls_share(
    site: SmallSite, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(revisits, "LOOK_AGAIN_SECONDS", 0.02)
    wide_web(site, seconds=0.02)
    manners = Manners.of(database, Settings().fetch.model_copy(update={"delay_seconds": 0.0}), slots=2)
    often = {"mode": "monitor", "visits_per_minute": 1e6, "policy": "fixed", "interval_seconds": 0.01}
    crawl = await started(site, database, manners, "a.test/", recrawl={**often, "least_gap_seconds": 0.0}, max_pages=31)
    running = asyncio.create_task(crawl.run())
    await until(lambda: crawl.summary().pages == 31 and not crawl._in_flight and crawl.politeness().in_flight == 2)
    most = []
    for _ in range(50):
        most.append((crawl.politeness().in_flight, manners.slots.under_way))
        await asyncio.sleep(0.005)
    crawl.stop(patience_seconds=0.0)
    await running
    assert len(site.paths()) > 31 + 2, "pages were visited again"
    assert max(most) == (2, 2)
    assert manners.slots.under_way == 0
