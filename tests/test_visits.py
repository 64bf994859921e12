"""Redirects and trouble on the way to a page, on a small web whose every answer is known."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable

import pytest

from tests.conftest import MakeCrawl, exported
from tests.site import SmallSite
from tres_crawler.crawl import Crawl
from tres_crawler.parse import page, parse
from tres_crawler.records import Document, Fetched, StopReason
from tres_crawler.store.database import Database


async def test_a_redirect_costs_nothing_and_its_target_is_what_is_stored(
    site: SmallSite, make_crawl: MakeCrawl, database: Database
) -> None:
    site.page("a.test/", links=["a.test/go", "a.test/again"])
    site.redirect("a.test/go", "b.test/final")
    site.redirect("a.test/again", "b.test/final")
    site.page("b.test/final")
    crawl = await make_crawl(site.topic("a.test/"))
    assert (await crawl.run()).pages == 2
    assert [row["url"] for row in await exported(database, crawl)] == ["http://a.test/", "http://b.test/final"]
    assert site.paths("b.test") == ["b.test/final"]


async def test_a_redirect_to_a_resting_host_waits_as_a_link(site: SmallSite, make_crawl: MakeCrawl) -> None:
    site.page("a.test/", links=["a.test/old"])
    site.redirect("a.test/old", "a.test/new")
    site.page("a.test/new")
    summary = await (await make_crawl(site.topic("a.test/"), {"delay_seconds": 0.05})).run()
    assert (summary.pages, site.paths()) == (2, ["a.test/", "a.test/old", "a.test/new"])


async def test_a_redirect_to_a_full_site_is_parked_there(site: SmallSite, make_crawl: MakeCrawl) -> None:
    site.page("a.test/", links=["b.test/1", "c.test/go"])
    site.page("b.test/1", links=[])
    site.redirect("c.test/go", "b.test/2")
    site.page("b.test/2")
    crawl = await make_crawl(site.topic("a.test/"), {"slots": 1}, max_per_site="1", policy="breadth-first")
    summary = await crawl.run()
    assert (summary.pages, summary.waiting, summary.stop_reason) == (2, 1, StopReason.SITES_CAPPED)


async def test_a_redirect_loop_is_an_outcome(site: SmallSite, make_crawl: MakeCrawl) -> None:
    site.page("a.test/", links=["b.test/loop"])
    site.redirect("b.test/loop", "c.test/loop")
    site.redirect("c.test/loop", "b.test/loop")
    summary = await (await make_crawl(site.topic("a.test/"))).run()
    assert (summary.pages, summary.stop_reason) == (1, StopReason.FRONTIER_EMPTY)


async def test_trouble_that_passes_is_retried_and_then_free(site: SmallSite, make_crawl: MakeCrawl) -> None:
    site.page("a.test/", links=["b.test/1"])
    site.page("b.test/1")
    site.error("b.test/1", 503, times=2)
    summary = await (await make_crawl(site.topic("a.test/"))).run()
    assert (summary.pages, summary.failed) == (2, 0)
    assert site.paths("b.test") == ["b.test/1"] * 3


async def test_trouble_that_stays_is_paid_for_once(site: SmallSite, make_crawl: MakeCrawl, database: Database) -> None:
    site.page("a.test/", links=["b.test/1", "c.test/gone"])
    site.error("b.test/1", 500)
    crawl = await make_crawl(site.topic("a.test/"))
    summary = await crawl.run()
    assert (summary.pages, summary.failed, summary.relevant_pages) == (3, 2, 1)
    assert len(site.paths("b.test")) == 3
    assert len(site.paths("c.test")) == 1, "a 404 is not asked for again"
    reasons = {row["url"]: row["reason"] for row in await exported(database, crawl)}
    assert reasons["http://c.test/gone"] == "status 404"


async def test_a_page_that_cannot_be_parsed_is_a_failed_one_and_the_crawl_goes_on(
    site: SmallSite, make_crawl: MakeCrawl, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    site.page("a.test/", links=["b.test/odd", "c.test/"])
    site.page("b.test/odd")
    site.page("c.test/")
    monkeypatch.setattr(page, "parse", fails_on("http://b.test/odd"))
    crawl = await make_crawl(site.topic("a.test/"))
    summary = await crawl.run()
    assert (summary.pages, summary.failed) == (3, 1)
    reasons = {row["url"]: row["reason"] for row in await exported(database, crawl)}
    assert reasons["http://b.test/odd"] == "page could not be read (IndexError)"


def fails_on(url: str) -> Callable[[Fetched], Document]:
    def parse_others(fetched: Fetched) -> Document:
        if fetched.url == url:
            raise IndexError("nobody thought of this")
        return parse(fetched)

    return parse_others


async def test_no_seed_reachable_is_told_with_the_reason(site: SmallSite, make_crawl: MakeCrawl) -> None:
    crawl = await make_crawl(site.topic("a.test/nothing"))
    summary = await crawl.run()
    assert summary.stop_reason == StopReason.NO_SEED
    assert "status 404" in (crawl.stop_detail or "")


async def test_a_seed_that_is_not_asked_for_is_told_with_the_reason(
    site: SmallSite, make_crawl: MakeCrawl, database: Database
) -> None:
    crawl = await make_crawl(site.topic("a.test/paper.pdf"))
    summary = await crawl.run()
    assert summary.stop_reason == StopReason.NO_SEED
    assert crawl.stop_detail == "not asked for (file): http://a.test/paper.pdf"
    taken_up = await Crawl.load(database, crawl.id)
    assert (await taken_up.run()).stop_reason == StopReason.NO_SEED, "as after a kill before its end was saved"
    assert taken_up.stop_detail


@pytest.mark.parametrize("delay_seconds", [0.0, 0.05])
async def test_a_seed_that_redirects_to_a_host_never_asked_before_is_fetched(
    site: SmallSite, make_crawl: MakeCrawl, delay_seconds: float
) -> None:
    site.redirect("a.test/", "www.b.test/")
    site.page("www.b.test/", links=["c.test/"])
    site.page("c.test/")
    summary = await (await make_crawl(site.topic("a.test/"), {"delay_seconds": delay_seconds})).run()
    assert (summary.pages, summary.relevant_pages) == (2, 2)
    assert Counter(site.paths()) == {"a.test/": 1, "www.b.test/": 1, "c.test/": 1}


async def test_trouble_behind_a_redirect_is_retried_there(site: SmallSite, make_crawl: MakeCrawl) -> None:
    site.page("a.test/", links=["a.test/go"])
    site.redirect("a.test/go", "b.test/1")
    site.page("b.test/1")
    site.error("b.test/1", 503, times=1)
    summary = await (await make_crawl(site.topic("a.test/"))).run()
    assert (summary.pages, summary.failed) == (2, 0)
    assert site.paths("a.test") == ["a.test/", "a.test/go"]
    assert site.paths("b.test") == ["b.test/1"] * 2


@pytest.mark.parametrize("delay_seconds", [0.0, 0.02])
async def test_a_redirect_without_end_is_a_failed_page_and_holds_no_host(
    site: SmallSite, make_crawl: MakeCrawl, delay_seconds: float
) -> None:
    site.page("a.test/", links=["b.test/0", "b.test/other"])
    for hop in range(50):
        site.redirect(f"b.test/{hop}", f"b.test/{hop + 1}")
    site.page("b.test/other")
    async with asyncio.timeout(30):
        summary = await (await make_crawl(site.topic("a.test/"), {"delay_seconds": delay_seconds})).run()
    assert (summary.pages, summary.failed, summary.waiting) == (3, 1, 0)
    assert summary.stop_reason == StopReason.FRONTIER_EMPTY
    assert len([place for place in site.paths() if place != "b.test/other"]) == 7, "five redirects are followed"
