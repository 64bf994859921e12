"""The keeper loads what judges pages beside its answers, and asks one thing of a crawl at a time."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from tests.site import SmallSite
from tres_crawler.classify.prior import background_of
from tres_crawler.config import Settings
from tres_crawler.crawl import Crawl
from tres_crawler.errors import ConfigError, ControlError, ModelError, NotFound
from tres_crawler.founding import create_crawl
from tres_crawler.records import CrawlState, StopReason
from tres_crawler.relevance import Lesson, rejudge_at_rest
from tres_crawler.serve import keeper as keeping
from tres_crawler.serve import running
from tres_crawler.serve.keeper import Keeper
from tres_crawler.store import crawls
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


async def stopped_crawl(site: SmallSite, database: Database) -> int:
    """One that has a page to fetch and does not run."""
    number = await create_crawl(database, site.topic("a.test/"), settings_on(site))
    await (await Crawl.load(database, number)).close()
    await database.write(crawls.state_change(number, CrawlState.STOPPED, StopReason.STOPPED))
    return number


async def test_seeds_that_come_at_once_for_a_stopped_crawl_are_all_placed(
    site: SmallSite, database: Database, tmp_path: Path
) -> None:
    number = await stopped_crawl(site, database)
    async with Keeper(settings_on(site), database, tmp_path) as keeper:
        given = [["http://b.test/", "http://c.test/"], ["http://c.test/"], ["http://d.test/"]]
        assert sorted(await asyncio.gather(*(keeper.add_seeds(number, urls) for urls in given))) == [0, 1, 2]
        assert (await keeper.status(number))[1].waiting == 4


async def test_seeds_that_come_with_a_resume_are_fetched(site: SmallSite, database: Database, tmp_path: Path) -> None:
    for host in ("a.test", "b.test", "c.test"):
        site.page(f"{host}/")
    number = await stopped_crawl(site, database)
    async with Keeper(settings_on(site), database, tmp_path) as keeper:
        await keeper.change(number, {"max_pages": 10})
        await asyncio.gather(
            keeper.add_seeds(number, ["http://b.test/"]),
            keeper.resume(number),
            keeper.add_seeds(number, ["http://c.test/"]),
        )
        await until(lambda: not keeper.running)
        assert database.refusal is None
    assert sorted(site.paths()) == ["a.test/", "b.test/", "c.test/"]


async def test_a_look_at_a_tree_undoes_no_change_of_settings(
    site: SmallSite, database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    number, restore = await stopped_crawl(site, database), Crawl._restore

    async def restored_slowly(crawl: Crawl) -> None:
        """As long as a change would take that does not wait for it."""
        monkeypatch.setattr(Crawl, "_restore", restore)
        changing = asyncio.create_task(keeper.change(number, {"max_pages": 10}))
        changes.append(changing)
        await asyncio.wait([changing], timeout=0.3)
        await restore(crawl)

    changes: list[asyncio.Task[None]] = []
    monkeypatch.setattr(Crawl, "_restore", restored_slowly)
    async with Keeper(settings_on(site), database, tmp_path) as keeper:
        await keeper.tree(number)
        await changes[0]
        assert (await keeper.record(number)).settings["crawl"]["max_pages"] == 10


async def test_whoever_waits_for_a_crawl_that_is_deleted_is_told_that_there_is_none(
    site: SmallSite, database: Database, tmp_path: Path
) -> None:
    number = await stopped_crawl(site, database)
    async with Keeper(settings_on(site), database, tmp_path) as keeper:
        deleting = asyncio.create_task(keeper.delete(number))
        await asyncio.sleep(0)
        waiting = (keeper.add_seeds(number, ["http://b.test/"]), keeper.resume(number), keeper.tree(number))
        told = await asyncio.gather(*waiting, return_exceptions=True)
        await deleting
        assert [type(one) for one in told] == [NotFound] * 3
        assert not keeper._turns, "nothing is remembered of crawls that nobody asks for"


async def test_what_would_cross_a_new_judgement_of_all_pages_is_refused_until_it_is_done(
    site: SmallSite, database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, may_end = asyncio.Event(), asyncio.Event()

    async def slow(database: Database, record: crawls.CrawlRecord) -> Lesson:
        begun.set()
        await may_end.wait()
        return await rejudge_at_rest(database, record)

    monkeypatch.setattr(keeping, "rejudge_at_rest", slow)
    number = await stopped_crawl(site, database)
    async with Keeper(settings_on(site), database, tmp_path) as keeper:
        rejudging = asyncio.create_task(keeper.rejudge(number))
        await begun.wait()
        crossing = (
            keeper.resume(number),
            keeper.feedback(number, 1, True),
            keeper.delete(number),
            keeper.rejudge(number),
        )
        for told in await asyncio.gather(*crossing, return_exceptions=True):
            assert isinstance(told, ControlError)
            assert "being judged again" in str(told)
        assert await keeper.add_seeds(number, ["http://b.test/"]) == 1, "seeds are judged by nobody"
        may_end.set()
        assert not (await rejudging).is_new, "without a page nothing is learned"
        await keeper.delete(number)


# ---- crawls of another version ----


async def kept_with(site: SmallSite, database: Database, state: CrawlState, **sections: dict[str, Any]) -> int:
    """A crawl with a page to fetch, kept with these values laid over its settings."""
    number = await create_crawl(database, site.topic("a.test/"), settings_on(site))
    kept = (await crawls.get(database, number)).settings
    changed = {name: {**kept.get(name, {}), **values} for name, values in sections.items()}
    await database.write(crawls.settings_change(number, {**kept, **changed}), crawls.state_change(number, state))
    return number


async def test_a_crawl_that_was_kept_with_a_setting_that_is_gone_goes_on_without_it(
    site: SmallSite, database: Database, tmp_path: Path
) -> None:
    site.page("a.test/")
    number = await kept_with(site, database, CrawlState.RUNNING, crawl={"former": 1}, recrawl={"former": 2})
    async with Keeper(settings_on(site), database, tmp_path) as keeper:
        await until(lambda: keeper.is_ready and not keeper.running)
        assert (await keeper.status(number))[0] is CrawlState.FINISHED
    assert site.paths() == ["a.test/"]


async def test_a_crawl_that_cannot_be_taken_up_keeps_no_other_from_it(
    site: SmallSite, database: Database, tmp_path: Path
) -> None:
    site.page("a.test/")
    first = await kept_with(site, database, CrawlState.RUNNING, learn={"discount": "none"})
    second = await kept_with(site, database, CrawlState.RUNNING)
    async with Keeper(settings_on(site), database, tmp_path) as keeper:
        await until(lambda: keeper.is_ready and not keeper.running)
        assert (await keeper.status(second))[0] is CrawlState.FINISHED
        failed = await keeper.record(first)
        assert failed.state is CrawlState.FAILED
        assert "learn.discount" in (failed.stop_detail or "")
        with pytest.raises(ConfigError, match=r"learn\.discount"):
            await keeper.resume(first)


async def test_a_fault_of_the_program_in_one_crawl_keeps_no_other_from_being_taken_up(
    site: SmallSite, database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site.page("a.test/")
    restore = Crawl._restore

    async def faulty(crawl: Crawl) -> None:
        if crawl.id == first:
            raise KeyError("a fault")
        await restore(crawl)

    monkeypatch.setattr(Crawl, "_restore", faulty)
    first = await kept_with(site, database, CrawlState.RUNNING)
    second = await kept_with(site, database, CrawlState.RUNNING)
    async with Keeper(settings_on(site), database, tmp_path) as keeper:
        await until(lambda: keeper.is_ready and not keeper.running)
        assert (await keeper.status(first))[0] is CrawlState.FAILED
        assert (await keeper.status(second))[0] is CrawlState.FINISHED
