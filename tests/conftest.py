"""What many tests share: a small site, an open database, and crawls over both."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from tests.monitoring import clock, take_up, watch
from tests.site import SmallSite
from tres_crawler.config import Settings
from tres_crawler.crawl import Crawl
from tres_crawler.founding import create_crawl
from tres_crawler.records import Topic
from tres_crawler.revisits import MakeRevisits, Revisits
from tres_crawler.store import pages
from tres_crawler.store.database import Database
from tres_crawler.store.datadir import DataDir

__all__ = ["MakeCrawl", "clock", "take_up", "watch"]
MakeCrawl = Callable[..., Awaitable[Crawl]]


@pytest.fixture
async def site() -> AsyncIterator[SmallSite]:
    async with SmallSite() as running:
        yield running


@pytest.fixture
async def database(tmp_path: Path) -> AsyncIterator[Database]:
    with DataDir(tmp_path / "data") as folder:
        async with Database(folder.url) as opened:
            yield opened


@pytest.fixture
def make_crawl(site: SmallSite, database: Database) -> MakeCrawl:
    """A new crawl of the small site; the settings of some sections by name, others are crawl settings."""

    async def make(
        topic: Topic,
        fetch: dict[str, Any] | None = None,
        urls: dict[str, Any] | None = None,
        relevance: dict[str, Any] | None = None,
        judge_from: int | None = None,
        recrawl: dict[str, Any] | None = None,
        make_revisits: MakeRevisits = Revisits,
        **crawl: Any,
    ) -> Crawl:
        settings = (
            Settings()
            .replaced("fetch", {"connect_to": f"127.0.0.1:{site.port}", "delay_seconds": 0.0, **(fetch or {})})
            .replaced("crawl", {"seed": 1, **crawl})
            .replaced("urls", urls or {})
            .replaced("relevance", relevance or {})
            .replaced("recrawl", recrawl or {})
        )
        number = await create_crawl(database, topic, settings, judge_from=judge_from)
        return await Crawl.load(database, number, make_revisits=make_revisits)

    return make


async def exported(database: Database, crawl: Crawl) -> list[dict[str, object]]:
    return [row async for row in pages.export(database, crawl.id)]
