"""The engine, on a small web whose every answer is known."""

from __future__ import annotations

import asyncio
from collections import Counter

import pytest

from tests.conftest import MakeCrawl, exported
from tests.site import WORDS, SmallSite
from tres_crawler.crawl import Crawl
from tres_crawler.errors import ControlError
from tres_crawler.records import CrawlState, StopReason
from tres_crawler.store import crawls
from tres_crawler.store.database import Database
from tres_crawler.urls import site_of


def wide_web(site: SmallSite, hosts: int = 8, pages_each: int = 10) -> None:
    """Hosts that all link to each other's pages; a.test/ links to everything."""
    everywhere = [f"h{host}.test/{page}" for host in range(hosts) for page in range(pages_each)]
    site.page("a.test/", links=everywhere)
    for place in everywhere:
        site.page(place, links=["a.test/", everywhere[0]])


@pytest.mark.parametrize("slots", [1, 64])
async def test_the_budget_is_met_exactly(site: SmallSite, make_crawl: MakeCrawl, slots: int) -> None:
    wide_web(site)
    crawl = await make_crawl(site.topic("a.test/"), {"slots": slots}, max_pages=37)
    summary = await crawl.run()
    assert (summary.pages, summary.stop_reason) == (37, StopReason.BUDGET)
    assert len(site.paths()) == len(set(site.paths())) == 37


async def test_every_page_is_fetched_once_until_the_frontier_is_empty(site: SmallSite, make_crawl: MakeCrawl) -> None:
    wide_web(site, hosts=3, pages_each=4)
    summary = await (await make_crawl(site.topic("a.test/"))).run()
    assert summary.stop_reason == StopReason.FRONTIER_EMPTY
    assert Counter(site.paths()) == Counter(set(site.answers))
    assert (summary.relevant_pages, summary.harvest_rate, summary.relevant_sites) == (13, 1.0, 4)


async def test_no_site_exceeds_its_cap_and_subdomains_count_together(site: SmallSite, make_crawl: MakeCrawl) -> None:
    everywhere = [f"{sub}.big.test/{page}" for sub in ("www", "blog", "shop") for page in range(6)]
    site.page("a.test/", links=[*everywhere, "c.test/1"])
    for place in [*everywhere, "c.test/1"]:
        site.page(place)
    summary = await (await make_crawl(site.topic("a.test/"), {"slots": 16}, max_per_site="4")).run()
    fetched = Counter(site_of(place.partition("/")[0]) for place in site.paths())
    assert fetched == {"a.test": 1, "big.test": 4, "c.test": 1}
    assert (summary.stop_reason, summary.waiting) == (StopReason.SITES_CAPPED, 14)


async def test_a_policy_that_offers_many_links_at_once_keeps_to_the_cap(site: SmallSite, make_crawl: MakeCrawl) -> None:
    everywhere = [f"h{number}.big.test/" for number in range(24)]
    site.page("a.test/", links=everywhere)
    for place in everywhere:
        site.page(place)
    crawl = await make_crawl(site.topic("a.test/"), relevance={"model": "prior"}, policy="tres", max_per_site="3")
    crawl._pages_per_slot = 0  # as later in a crawl, when all slots are earned
    await crawl.run()
    assert len([place for place in site.paths() if "big.test" in place]) == 3


async def test_a_crawl_that_names_no_contact_is_told_so(
    site: SmallSite, make_crawl: MakeCrawl, caplog: pytest.LogCaptureFixture
) -> None:
    for contact in ("", "ops@example.org"):
        caplog.clear()
        await (await make_crawl(site.topic("127.0.0.1/"), {"connect_to": "", "contact": contact})).run()
        assert ("set fetch.contact" in caplog.text) is (not contact)


async def test_settings_say_when_urls_are_one_and_hosts_one_site(site: SmallSite, make_crawl: MakeCrawl) -> None:
    site.page("a.test/", links=["b.test/?ref=1", "b.test/?ref=2", "x.github.io/", "y.github.io/"])
    for place in ("b.test/", "x.github.io/", "y.github.io/"):
        site.page(place)
    urls = {"drop_parameters": ("ref",), "private_suffixes": True}
    summary = await (await make_crawl(site.topic("a.test/"), urls=urls, max_per_site="1")).run()
    assert Counter(site.paths()) == dict.fromkeys(("a.test/", "b.test/", "x.github.io/", "y.github.io/"), 1)
    assert summary.sites == 4


async def test_an_adaptive_cap_falls_as_the_budget_is_spent(site: SmallSite, make_crawl: MakeCrawl) -> None:
    wide_web(site, hosts=12, pages_each=8)
    await (await make_crawl(site.topic("a.test/"), {"slots": 4}, max_per_site="5:2", max_pages=30)).run()
    first, last = site.paths()[:10], site.paths()[20:]
    per_site = Counter(place.partition("/")[0] for place in site.paths())
    assert max(per_site.values()) <= 5
    assert len(first) == 10
    before = Counter(place.partition("/")[0] for place in site.paths()[:20])
    assert all(before[place.partition("/")[0]] < 2 for place in last[4:]), "a site with two pages is closed by now"


async def test_breadth_first_takes_links_in_the_order_they_were_found(site: SmallSite, make_crawl: MakeCrawl) -> None:
    site.page("a.test/", links=["b.test/1", "c.test/1"])
    site.page("b.test/1", links=["d.test/1"])
    site.page("c.test/1", links=["e.test/1"])
    site.page("d.test/1")
    site.page("e.test/1")
    await (await make_crawl(site.topic("a.test/"), {"slots": 1}, policy="breadth-first")).run()
    assert site.paths() == ["a.test/", "b.test/1", "c.test/1", "d.test/1", "e.test/1"]


@pytest.mark.parametrize("policy", ["tres", "random"])
async def test_a_seed_makes_a_crawl_repeatable_at_one_slot(site: SmallSite, make_crawl: MakeCrawl, policy: str) -> None:
    wide_web(site)
    orders = []
    for seed in (7, 7, 8):
        site.asked.clear()
        settings = {"max_pages": 30, "policy": policy, "seed": seed}
        await (await make_crawl(site.topic("a.test/"), {"slots": 1}, **settings)).run()
        orders.append(site.paths())
    assert orders[0] == orders[1]
    assert policy == "tres" or orders[1] != orders[2], "of few links tres looks at all"


async def test_a_copy_earns_nothing_and_its_links_are_left(
    site: SmallSite, make_crawl: MakeCrawl, database: Database
) -> None:
    site.page("a.test/", links=["b.test/1", "c.test/1"])
    site.page("b.test/1", text=f"{WORDS} once more")
    site.page("c.test/1", links=["d.test/1"], text=f"{WORDS} once more")
    site.answers["c.test/1"][0].body = site.answers["b.test/1"][0].body
    site.page("d.test/1")
    crawl = await make_crawl(site.topic("a.test/"), {"slots": 1}, policy="breadth-first")
    summary = await crawl.run()
    assert (summary.pages, summary.duplicates, summary.relevant_pages) == (3, 1, 2)
    assert (await exported(database, crawl))[2]["outcome"] == "duplicate"


async def test_a_stopped_crawl_goes_on_where_it_was(site: SmallSite, make_crawl: MakeCrawl, database: Database) -> None:
    wide_web(site)
    crawl = await make_crawl(site.topic("a.test/"), {"slots": 4}, max_pages=60, max_per_site="9")
    for place in site.answers:
        site.answers[place][0].seconds = 0.01
    running = asyncio.create_task(crawl.run())
    while crawl.summary().pages < 20:
        await asyncio.sleep(0.01)
    crawl.stop()
    first = await running
    assert first.stop_reason == StopReason.STOPPED
    resumed = await Crawl.load(database, crawl.id)
    assert resumed.summary().pages == first.pages
    assert resumed.summary().waiting == first.waiting
    last = await resumed.run()
    assert (last.pages, last.stop_reason) == (60, StopReason.BUDGET)
    assert len(set(site.paths())) == len(site.paths()) == 60
    assert max(Counter(place.partition("/")[0] for place in site.paths()).values()) <= 9
    assert last.seconds > first.seconds


async def test_a_paused_crawl_fetches_nothing_until_it_is_resumed(site: SmallSite, make_crawl: MakeCrawl) -> None:
    wide_web(site)
    for place in site.answers:
        site.answers[place][0].seconds = 0.005
    crawl = await make_crawl(site.topic("a.test/"), {"slots": 2}, max_pages=40)
    running = asyncio.create_task(crawl.run())
    while crawl.summary().pages < 10:
        await asyncio.sleep(0.005)
    crawl.pause()
    with pytest.raises(ControlError, match="paused"):
        crawl.pause()
    while crawl.politeness().in_flight:
        await asyncio.sleep(0.005)
    asked, seconds = len(site.asked), crawl.seconds
    await asyncio.sleep(0.1)
    assert len(site.asked) == asked
    assert crawl.seconds == seconds, "a pause is no time spent running"
    crawl.unpause()
    summary = await running
    assert summary.pages == 40
    assert summary.seconds > seconds


async def test_a_crawl_that_is_broken_off_lets_its_threads_and_files_go(
    site: SmallSite, make_crawl: MakeCrawl, monkeypatch: pytest.MonkeyPatch
) -> None:
    wide_web(site)
    crawl = await make_crawl(site.topic("a.test/"), policy="tres")
    closed: list[str] = []
    close = crawl._policy.close

    async def noted() -> None:
        closed.append("policy")
        await close()

    monkeypatch.setattr(crawl._policy, "close", noted)
    running = asyncio.create_task(crawl.run())
    while crawl.summary().pages < 5:
        await asyncio.sleep(0.005)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert closed == ["policy"]


async def test_figures_from_the_database_are_those_of_the_engine(
    site: SmallSite, make_crawl: MakeCrawl, database: Database
) -> None:
    wide_web(site)
    site.error("h1.test/1", 500)
    crawl = await make_crawl(site.topic("a.test/"), max_pages=70)
    told = await crawl.run()
    record = await crawls.get(database, crawl.id)
    assert record.state is CrawlState.FINISHED
    assert await crawls.summary(database, record) == told


async def test_a_spent_budget_can_be_raised(site: SmallSite, make_crawl: MakeCrawl, database: Database) -> None:
    wide_web(site)
    crawl = await make_crawl(site.topic("a.test/"), max_pages=10)
    await crawl.run()
    more = await (await Crawl.load(database, crawl.id, {"max_pages": 25})).run()
    assert (more.pages, len(set(site.paths()))) == (25, 25)
    again = await Crawl.load(database, crawl.id)
    assert again.settings.max_pages == 25, "the new budget is kept"


async def test_a_capped_crawl_ends_also_when_hosts_have_to_rest(site: SmallSite, make_crawl: MakeCrawl) -> None:
    site.page("a.test/", links=["a.test/1", "b.test/1", "b.test/2"])
    site.page("b.test/1")
    crawl = await make_crawl(site.topic("a.test/"), {"delay_seconds": 0.05}, max_per_site="1")
    async with asyncio.timeout(30):
        summary = await crawl.run()
    assert (summary.pages, summary.stop_reason) == (2, StopReason.SITES_CAPPED)


async def test_a_near_copy_and_a_page_that_names_a_fetched_original_earn_nothing(
    site: SmallSite, make_crawl: MakeCrawl, database: Database
) -> None:
    text = " ".join(f"The coach of team {n} was pleased with the tennis match on court {n}." for n in range(40))
    site.page("a.test/", links=["b.test/1", "c.test/1", "d.test/print"])
    site.page("b.test/1", text=text)
    site.page("c.test/1", text=text.replace("team 7 ", "team seven "), links=["e.test/1"])
    site.page("d.test/print", text="Another text on tennis entirely.")
    site.answers["d.test/print"][0].body += '<link rel="canonical" href="http://b.test/1">'
    crawl = await make_crawl(site.topic("a.test/"), {"slots": 1}, policy="breadth-first")
    summary = await crawl.run()
    rows = {str(row["url"]): row for row in await exported(database, crawl)}
    assert summary.duplicates == 2
    assert rows["http://c.test/1"]["reason"] == "near copy"
    assert rows["http://d.test/print"]["reason"] == "names a fetched page as its original"
    assert "e.test/1" not in site.paths(), "the links of a copy are not placed"


async def test_links_are_followed_so_far_from_a_seed_and_no_further(site: SmallSite, make_crawl: MakeCrawl) -> None:
    for step in range(8):
        site.page(f"a.test/{step or ''}", links=[f"a.test/{step + 1}"])
    summary = await (await make_crawl(site.topic("a.test/"), max_per_site="none", max_depth=3)).run()
    assert site.paths() == ["a.test/", "a.test/1", "a.test/2", "a.test/3"]
    assert summary.stop_reason == StopReason.FRONTIER_EMPTY


async def test_a_calendar_without_end_is_left(site: SmallSite, make_crawl: MakeCrawl, database: Database) -> None:
    site.page("a.test/", links=["b.test/calendar/1"])
    for month in range(1, 200):
        site.page(f"b.test/calendar/{month}", text="No events this month.", links=[f"b.test/calendar/{month + 1}"])
    crawl = await make_crawl(site.topic("a.test/"), max_per_site="none", max_depth=500)
    summary = await crawl.run()
    assert summary.stop_reason == StopReason.FRONTIER_EMPTY
    assert summary.pages < 30


async def test_slots_are_earned_by_pages(site: SmallSite, make_crawl: MakeCrawl) -> None:
    site.page("a.test/")
    crawl = await make_crawl(site.topic("a.test/"), {"slots": 4}, max_pages=2000)
    free = []
    crawl._lessons.bootstrap_pages = 0
    for fetched in (0, 7, 8, 16, 500):
        crawl._tally.pages = fetched
        free.append(crawl._free_slots())
    assert free == [1, 1, 2, 3, 4]
