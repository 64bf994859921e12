"""A step is broken off at each of its awaits in turn; a restart has the same pages and links in the end."""

from __future__ import annotations

from collections import Counter
from collections.abc import Coroutine, Generator
from types import coroutine
from typing import Any

import pytest
from sqlalchemy import select

from tests.conftest import MakeCrawl
from tests.site import SmallSite
from tres_crawler.crawl import Crawl
from tres_crawler.records import Offer
from tres_crawler.store.database import Database
from tres_crawler.store.tables import links, pages, sites

FULL = {"a.test/": 1, "b.test/": 1, "c.test/": 1, "c.test/old": 1, "d.test/": 1, "d.test/new": 1, "e.test/": 1}


class BrokenOffError(Exception):
    """In the place of whatever ends a process."""


def small_web(site: SmallSite) -> None:
    """The second page has new links, a known one, and a redirect behind it."""
    site.page("a.test/", links=["b.test/", "e.test/"])
    site.page("b.test/", links=["c.test/", "c.test/old", "a.test/"])
    site.page("c.test/", links=["d.test/"])
    site.redirect("c.test/old", "d.test/new")
    for place in ("d.test/", "d.test/new", "e.test/"):
        site.page(place, text=f"nothing of interest at {place}")


@coroutine
def broken_off(step: Coroutine[Any, Any, None], awaits: int) -> Generator[Any, Any, None]:
    """Go through a coroutine up to so many suspensions, and no further."""
    try:
        for _ in range(awaits):
            yield step.send(None)
    except StopIteration:
        return
    finally:
        step.close()
    raise BrokenOffError


async def saved(database: Database, crawl: int) -> tuple[Any, ...]:
    """Pages, links and sites without their numbers, which may be others."""
    page = select(pages.c.url, pages.c.outcome, pages.c.relevant, pages.c.new_links).where(pages.c.crawl == crawl)
    link = select(links.c.url, links.c.state, links.c.depth, links.c.attempts).where(links.c.crawl == crawl)
    site = select(sites.c.name).where(sites.c.crawl == crawl)
    return tuple([sorted(map(tuple, await database.rows(what))) for what in (page, link, site)])


@pytest.mark.parametrize("policy", ["breadth-first", "tres"])
async def test_wherever_a_step_is_broken_off_a_restart_loses_and_repeats_nothing(
    site: SmallSite, database: Database, make_crawl: MakeCrawl, monkeypatch: pytest.MonkeyPatch, policy: str
) -> None:
    small_web(site)
    begun = {"fetch": {"slots": 1}, "relevance": {"model": "prior"}, "policy": policy}
    whole = await make_crawl(site.topic("a.test/"), **begun)
    await whole.run()
    expected = await saved(database, whole.id)
    assert Counter(site.paths()) == FULL
    step = Crawl.step
    awaits = 0
    while True:
        awaits += 1
        asked: list[str] = []

        async def stopped(crawl: Crawl, offer: Offer, awaits: int = awaits, asked: list[str] = asked) -> None:
            link = await crawl._ledger.link(offer.link)
            is_chosen = link.url == "http://b.test/" and not asked
            asked += [link.url] if is_chosen else []
            await (broken_off(step(crawl, offer), awaits) if is_chosen else step(crawl, offer))

        monkeypatch.setattr(Crawl, "step", stopped)
        site.asked.clear()
        first = await make_crawl(site.topic("a.test/"), **begun)
        try:
            await first.run()
        except* BrokenOffError:
            again = await Crawl.load(database, first.id)
            await again.run()
        else:
            break
        assert await saved(database, first.id) == expected, awaits
        repeated = Counter(site.paths()) - Counter(FULL)
        assert repeated in (Counter(), Counter({"b.test/": 1})), awaits
    assert awaits > 5, "it was broken off at some of them"
