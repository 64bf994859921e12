"""Monitors of the small site that run by a clock set by hand."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from functools import partial
from typing import Any

import pytest

from tests.site import WORDS, SmallSite
from tres_crawler import revisits
from tres_crawler.crawl import Crawl
from tres_crawler.revisits import Revisits
from tres_crawler.store import sources
from tres_crawler.store.database import AnyRow, Database

DAY = 86_400.0
NEWS = "Breaking news: Sunday brings a championship final on grass while our coach has resigned"
LONG = " ".join(f"{WORDS} number{number} of{number} many{number}" for number in range(8))
DATED = {"ETag": '"1"', "Last-Modified": "Sat, 08 Sep 2001 00:00:00 GMT", "Date": "Sun, 09 Sep 2001 00:00:00 GMT"}
MONITOR: dict[str, Any] = {"mode": "monitor", "visits_per_minute": 60_000, "least_gap_seconds": 0.0}
ONE_A_DAY: dict[str, Any] = {"policy": "fixed", "interval_seconds": DAY, "least_gap_seconds": DAY / 2}


class HandClock:
    """A time of day that is set by hand."""

    def __init__(self) -> None:
        self.now = 1_000_000_000.0

    def __call__(self) -> float:
        return self.now


class Running:
    """A crawl under way; each `visit` lets a day go by and waits for so many more visits to be saved."""

    def __init__(self, crawl: Crawl, clock: HandClock) -> None:
        self.crawl, self.clock = crawl, clock
        self.task = asyncio.create_task(crawl.run())

    async def fetched(self, pages: int) -> None:
        await self.until(lambda: self.crawl.summary().pages >= pages and not self.crawl._in_flight)

    async def visit(self, count: int = 1, days: float = 1.0) -> None:
        goal = self.crawl._revisits.list.counts["visits"] + count
        self.clock.now += days * DAY
        await self.until(lambda: self.crawl._revisits.list.counts["visits"] >= goal)
        await self.until(lambda: not self.crawl._revisits.in_flight)

    async def until(self, done: Callable[[], bool], seconds: float = 60.0) -> None:
        async with asyncio.timeout(seconds):
            while not done() and not self.task.done():
                await asyncio.sleep(0.01)

    async def suspend(self) -> None:
        self.crawl.suspend()
        await self.task

    async def stop(self) -> None:
        self.crawl.stop()
        await self.task


Watch = Callable[..., Awaitable[Running]]
TakeUp = Callable[..., Awaitable[Crawl]]


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> HandClock:
    monkeypatch.setattr(revisits, "LOOK_AGAIN_SECONDS", 0.02)
    return HandClock()


@pytest.fixture
async def watch(site: SmallSite, make_crawl: Any, clock: HandClock) -> AsyncIterator[Watch]:
    """Begin to monitor what is found from a.test/ on, once so many pages have been fetched."""
    begun: list[Running] = []

    async def start(pages: int, recrawl: dict[str, Any] = ONE_A_DAY, **others: Any) -> Running:
        given = {"policy": "breadth-first", "recrawl": {**MONITOR, **recrawl}, **others}
        crawl = await make_crawl(site.topic("a.test/"), make_revisits=partial(Revisits, clock=clock), **given)
        begun.append(Running(crawl, clock))
        await begun[-1].fetched(pages)
        return begun[-1]

    yield start
    for running in begun:
        if not running.task.done():
            await running.stop()


@pytest.fixture
def take_up(database: Database, clock: HandClock) -> TakeUp:
    """A crawl as it was saved, by the same clock."""
    return partial(Crawl.load, database, make_revisits=partial(Revisits, clock=clock))


async def rows(database: Database, crawl: int = 1) -> dict[str, AnyRow]:
    """What is kept of each source, by URL."""
    found = await sources.upcoming(database, crawl, 1000)
    return {row.url.removeprefix("http://"): row for row in found}
