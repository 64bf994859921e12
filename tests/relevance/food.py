"""A small web of pages about food and about anything else, and what is told of a crawl of it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace
from random import Random
from typing import Any

from sqlalchemy import select

from tests.site import Answer, SmallSite
from tres_crawler.crawl import Crawl
from tres_crawler.records import Summary, Topic
from tres_crawler.simweb import prose
from tres_crawler.store import crawls
from tres_crawler.store.database import Database
from tres_crawler.store.judging import KIND
from tres_crawler.store.tables import events, judgements, pages, snapshots

KEYWORDS = ("recipe", "cooking", "baking", "bread", "soup", "kitchen", "flavour", "dish", "ingredients", "dinner")
QUICK = {"model": "svm", "bootstrap_pages": 20}


def topic(*seeds: str, **others: Any) -> Topic:
    return Topic("food", KEYWORDS, tuple(f"http://{seed}" for seed in seeds), **others)


class FoodWeb:
    """Pages about food and about anything else, each on a host of its own, on the small site."""

    def __init__(self, site: SmallSite) -> None:
        self.site = site
        self._rng = Random(3)
        topics = prose.load("tune").topics
        self._food = [topic for topic in topics if topic.name == "food"]
        self._others = [topic for topic in topics if topic.name != "food"]

    def page(self, at: str, is_food: bool, links: Sequence[str] = ()) -> None:
        """A link to a host whose name begins with f says that it is about food."""
        topic = self._rng.choice(self._food if is_food else self._others)
        paragraphs = [part for facet in topic.facets for part in facet.paragraphs]
        text = "".join(f"<p>{part.fill(self._rng.randrange(999))}</p>" for part in self._rng.sample(paragraphs, 5))
        anchors = "".join(
            f'<li><a href="http://{link}">{"Soup recipe and bread" if link[0] == "f" else "Railway timetable"} {at}</a>'
            for at, link in enumerate(links)
        )
        self.site.answers[at] = [Answer(200, f"<title>{at}</title><article>{text}</article><nav>{anchors}</nav>")]

    def wide(self, food: int = 45, others: int = 55) -> None:
        """One page that links to all others, which are food and not in turn; some links to food mislead."""
        names = [
            name for at in range(60) for name in (f"o{at}.test/" * (at < others), f"f{at}.test/" * (at < food)) if name
        ]
        self.page("a.test/", True, names)
        for name in names:
            self.page(name, name[0] == "f" and not name.startswith(("f3", "f7", "f11", "f15")))


async def told(database: Database, kind: str) -> list[dict[str, Any]]:
    found = await database.rows(select(events.c.detail).where(events.c.kind == kind).order_by(events.c.id))
    return [row.detail for row in found]


async def page_rows(database: Database) -> dict[str, Any]:
    found = await database.rows(select(pages).order_by(pages.c.number))
    return {row.url.removeprefix("http://"): row for row in found}


async def check_whole(database: Database, crawl: Crawl, summary: Summary) -> None:
    """Figures are those of the database, and every judgement is of a judge that was saved, the newest."""
    await database.write()  # what was queued before is saved by now
    counted = await crawls.summary(database, await crawls.get(database, crawl.id))
    assert replace(summary, seconds=0, pages_per_second=0) == replace(counted, seconds=0, pages_per_second=0)
    saved = {
        row.version for row in await database.rows(select(snapshots.c.version).where(snapshots.c.kind == KIND))
    } | {1}
    judged = {row.judge_version for row in (await page_rows(database)).values() if row.outcome == "judged"}
    earlier = {row.version for row in await database.rows(select(judgements.c.version))}
    assert judged == {max(saved)}
    assert earlier <= saved
    assert all(row.relevant == (row.reward > 0) for row in (await page_rows(database)).values())


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(60):
        while not condition():
            await asyncio.sleep(0.005)
