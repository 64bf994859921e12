"""The keeper loads what judges pages beside its answers, and what a start waits for holds up nothing else."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from tests.site import SmallSite
from tres_crawler.classify.prior import background_of
from tres_crawler.config import Settings
from tres_crawler.errors import ModelError, NotFound
from tres_crawler.records import CrawlState
from tres_crawler.serve import running
from tres_crawler.serve.keeper import Keeper
from tres_crawler.store.database import Database


async def until(true: Callable[[], bool]) -> None:
    async with asyncio.timeout(60):
        while not true():
            await asyncio.sleep(0.005)


def settings_on(site: SmallSite) -> Settings:
    fetch = {"connect_to": f"127.0.0.1:{site.port}", "delay_seconds": 0.0, "obey_robots": False}
    return Settings().replaced("fetch", fetch).replaced("crawl", {"policy": "breadth-first", "max_pages": 1})


async def test_a_service_that_is_ready_has_loaded_what_its_first_crawl_needs(
    site: SmallSite, database: Database, tmp_path: Path
) -> None:
    background_of.cache_clear()
    async with Keeper(settings_on(site), database, tmp_path) as keeper:
        await until(lambda: keeper.is_ready)
        assert background_of.cache_info().currsize == 1


async def test_a_start_waits_for_what_is_being_loaded_while_others_are_answered(
    site: SmallSite, database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    may_load = threading.Event()
    monkeypatch.setattr(running, "_load_models", lambda settings: may_load.wait(60))
    site.page("a.test/")
    settings = settings_on(site)
    async with Keeper(settings, database, tmp_path) as keeper:
        starting = asyncio.create_task(keeper.start(site.topic("a.test/"), settings))
        await answered(lambda: keeper.status(1))
        assert not starting.done()
        assert not keeper.is_ready
        may_load.set()
        assert await starting == 1
        await until(lambda: keeper.is_ready and not keeper.running)
        assert (await keeper.status(1))[0] is CrawlState.FINISHED


async def answered(ask: Callable[[], Awaitable[object]]) -> None:
    """Ask until the crawl is written down, which is before it is loaded."""
    async with asyncio.timeout(60):
        while True:
            try:
                await ask()
            except NotFound:
                await asyncio.sleep(0.005)
            else:
                return


async def test_vectors_that_cannot_be_read_are_told_to_whoever_starts_a_crawl(
    site: SmallSite, database: Database, tmp_path: Path
) -> None:
    settings = settings_on(site).replaced("relevance", {"vectors": str(tmp_path / "none.txt")})
    async with Keeper(settings, database, tmp_path) as keeper:
        await until(lambda: keeper.is_ready)
        with pytest.raises(ModelError, match=r"relevance\.vectors"):
            await keeper.start(site.topic("a.test/"), settings)
        assert (await keeper.status(1))[0] is CrawlState.FAILED
