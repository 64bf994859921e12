"""Whatever was written is wholly there or not at all, and nobody waits for ever."""

from __future__ import annotations

import asyncio
import gc
import sqlite3
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine, bindparam, event, func, insert, literal, select, update

from tres_crawler.errors import StoreError
from tres_crawler.store import database as storing
from tres_crawler.store import migrate, sqlite
from tres_crawler.store.database import Change, Database
from tres_crawler.store.sqlite import database_url
from tres_crawler.store.tables import events, hosts, sites

SOON = 30.0
"""Seconds within which anything here must end; what takes longer hangs."""

INSERT_SITE = insert(sites)
INSERT_HOST = insert(hosts)
INSERT_EVENT = insert(events)
RENAME_SITE = update(sites).where(sites.c.number == bindparam("key")).values(name=bindparam("new"))
SITE_NUMBERS = select(sites.c.number).order_by(sites.c.number)


def a_step(number: int) -> list[Change]:
    """A site and its host: two tables that must agree."""
    return [
        Change(INSERT_SITE, [{"crawl": 1, "number": number, "name": f"s{number}.test"}]),
        Change(INSERT_HOST, [{"crawl": 1, "number": number, "name": f"www.s{number}.test", "site": number}]),
    ]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "tres.db"


def seen_from_outside(path: Path, query: str = "SELECT number FROM sites ORDER BY number") -> list[Any]:
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as other:
        return [row[0] for row in other.execute(query)]


async def outcomes(futures: Sequence[asyncio.Future[None]]) -> list[BaseException | None]:
    async with asyncio.timeout(SOON):
        return await asyncio.gather(*futures, return_exceptions=True)


@contextmanager
def counted_commits() -> Iterator[list[int]]:
    """Grows by one with every transaction that any engine of this process commits."""
    commits: list[int] = []

    def count(_connection: object) -> None:
        commits.append(1)

    event.listen(Engine, "commit", count)
    try:
        yield commits
    finally:
        event.remove(Engine, "commit", count)


# ---- committing ----


async def test_a_write_is_committed_once_it_is_awaited(path: Path) -> None:
    async with Database(database_url(path)) as database:
        await database.write(*a_step(1))
        assert seen_from_outside(path) == [1]
        assert [row.number for row in await database.rows(SITE_NUMBERS)] == [1]


async def test_a_query_can_be_read_in_parts_which_are_all_of_it_in_order(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(storing, "PART_ROWS", 3)
    async with Database(database_url(path)) as database:
        assert [part async for part in database.parts(select(sites.c.number), sites.c.number)] == []
        for number in (4, -9, 7, 1, 0, 12):
            await database.write(*a_step(number))
        parts = database.parts(select(sites.c.name, sites.c.number).where(sites.c.number != 7), sites.c.number)
        assert [[row.number for row in part] async for part in parts] == [[-9, 0, 1], [4, 12]]
        whole = database.parts(select(sites.c.number), sites.c.number)
        assert [[row.number for row in part] async for part in whole] == [[-9, 0, 1], [4, 7, 12]]


async def test_many_steps_share_a_commit_and_all_of_them_are_there(path: Path) -> None:
    async with Database(database_url(path)) as database:
        with counted_commits() as commits:
            futures = [database.queue(a_step(number)) for number in range(1, 201)]
            assert await outcomes(futures) == [None] * 200
        assert seen_from_outside(path) == list(range(1, 201))
        assert 1 <= len(commits) <= 10


async def test_a_reader_never_sees_a_part_of_a_step(path: Path) -> None:
    both = select(
        select(func.count()).select_from(sites).scalar_subquery(),
        select(func.count()).select_from(hosts).scalar_subquery(),
    )
    counts = []
    async with Database(database_url(path)) as database:
        for tens in range(40):
            futures = [database.queue(a_step(10 * tens + number)) for number in range(1, 11)]
            counts.append(tuple((await database.rows(both))[0]))
        await outcomes(futures)
        counts.append(tuple((await database.rows(both))[0]))
    assert counts[-1] == (400, 400)
    assert len(set(counts)) > 1, "some reads fell between commits"
    assert all(of_sites == of_hosts for of_sites, of_hosts in counts)


async def test_a_change_follows_the_insert_it_changes_and_the_last_change_of_a_row_wins(path: Path) -> None:
    async with Database(database_url(path)) as database:
        futures = [
            database.queue([Change(RENAME_SITE, [{"key": 1, "new": "too-early.test"}])]),
            database.queue(a_step(1)),
            database.queue([Change(RENAME_SITE, [{"key": 1, "new": "first.test"}])]),
            database.queue([Change(RENAME_SITE, [{"key": 1, "new": "second.test"}])]),
        ]
        assert await outcomes(futures) == [None] * 4
    assert seen_from_outside(path, "SELECT name FROM sites") == ["second.test"]


async def test_an_inserted_row_comes_back_with_its_key(path: Path) -> None:
    async with Database(database_url(path)) as database:
        row = insert(events).values(crawl=1, at=0.0, kind="started", detail={"topic": "é"})
        assert [await database.insert(row), await database.insert(row)] == [1, 2]
        assert seen_from_outside(path, "SELECT id FROM events") == [1, 2]


# ---- failing ----


async def test_a_row_and_what_goes_with_its_key_are_there_together_or_not_at_all(path: Path) -> None:
    one = INSERT_SITE.values(crawl=1, number=1, name="s1.test")
    twice = [Change(INSERT_HOST, [{"crawl": 1, "number": 1, "name": "www.s1.test", "site": 1}])] * 2
    async with Database(database_url(path)) as database:
        with pytest.raises(StoreError):
            await database.insert(one, lambda _key: twice)
        assert seen_from_outside(path) == []
        await database.insert(one, lambda _key: twice[:1])
    assert seen_from_outside(path) == [1]
    assert seen_from_outside(path, "SELECT number FROM hosts") == [1]


async def test_a_failed_batch_fails_every_step_in_it_and_after_it_and_leaves_what_was_before(path: Path) -> None:
    async with Database(database_url(path)) as database:
        await database.write(*a_step(1))
        failed = await outcomes([database.queue(a_step(number)) for number in (2, 1, 3)])
        assert [type(error) for error in failed] == [StoreError] * 3
        assert "could not be written" in str(failed[0])
        with pytest.raises(StoreError, match="could not be written"):
            async with asyncio.timeout(SOON):
                await database.write(*a_step(4))
        assert [row.number for row in await database.rows(SITE_NUMBERS)] == [1]
    async with Database(database_url(path)) as database:
        await database.write(*a_step(2))
    assert seen_from_outside(path) == [1, 2]
    assert seen_from_outside(path, "SELECT number FROM hosts ORDER BY number") == [1, 2]


async def test_steps_that_wait_behind_a_failed_batch_fail_with_it(path: Path) -> None:
    async with Database(database_url(path)) as database:
        failed = await outcomes([database.queue(a_step(1)) for _ in range(300)])
    assert {type(error) for error in failed} == {StoreError}
    assert seen_from_outside(path) == []


@pytest.mark.parametrize(
    "row",
    [
        {"crawl": 1, "at": 0.0, "kind": "\ud800", "detail": {}},
        {"crawl": 1, "at": 0.0, "kind": "x", "detail": {"no": object()}},
    ],
    ids=["half a character", "no JSON"],
)
async def test_a_row_that_cannot_be_written_at_all_is_told_to_whoever_wrote_it(path: Path, row: dict[str, Any]) -> None:
    async with Database(database_url(path)) as database:
        await database.write(*a_step(1))
        failed = await outcomes([database.queue([Change(INSERT_EVENT, [row])]), database.queue(a_step(2))])
    assert [type(error) for error in failed] == [StoreError] * 2
    assert seen_from_outside(path) == [1]


# ---- another process that writes ----

HOLD = """
import sqlite3, sys
other = sqlite3.connect(sys.argv[1], isolation_level=None)
other.execute("BEGIN IMMEDIATE")
print("held", flush=True)
sys.stdin.read()
"""


@contextmanager
def held_by_another_process(path: Path) -> Iterator[None]:
    """Nobody else may write, as while an operator vacuums or restores a backup."""
    pipe = subprocess.PIPE
    with subprocess.Popen([sys.executable, "-c", HOLD, str(path)], stdin=pipe, stdout=pipe) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"held\n"
        yield


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """SQLite gives up after a moment, so that a test need not take longer than it has patience."""
    pragmas = [pragma for pragma in sqlite.PRAGMAS if "busy_timeout" not in pragma]
    monkeypatch.setattr(sqlite, "PRAGMAS", (*pragmas, "PRAGMA busy_timeout = 20"))
    monkeypatch.setattr(storing, "BUSY_PAUSE_SECONDS", 0.02)


@pytest.mark.usefixtures("impatient")
async def test_steps_wait_for_another_process_that_writes_however_long_it_takes(
    path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with Database(database_url(path)) as database:
        await database.write(*a_step(1))
        with held_by_another_process(path):
            waiting = [database.queue(a_step(number)) for number in range(2, 5)]
            async with asyncio.timeout(SOON):
                while len(caplog.messages) < 3:
                    await asyncio.sleep(0.01)
            assert database.refusal is None
            assert not any(future.done() for future in waiting)
            assert "database is locked" in caplog.text
        assert await outcomes([*waiting, database.queue(a_step(5))]) == [None] * 4
    assert seen_from_outside(path) == [1, 2, 3, 4, 5]
    assert seen_from_outside(path, "SELECT number FROM hosts ORDER BY number") == [1, 2, 3, 4, 5]


@pytest.mark.usefixtures("impatient")
async def test_closing_does_not_wait_for_another_process_that_writes(path: Path) -> None:
    database = await Database(database_url(path)).__aenter__()
    with held_by_another_process(path):
        waiting = [database.queue(a_step(number)) for number in (1, 2)]
        await asyncio.sleep(0.1)
        async with asyncio.timeout(SOON):
            await database.__aexit__(None, None, None)
    assert [type(error) for error in await outcomes(waiting)] == [StoreError] * 2
    assert seen_from_outside(path) == []


@pytest.mark.usefixtures("impatient")
async def test_whoever_inserts_while_another_process_writes_is_told_to_try_again(path: Path) -> None:
    row = insert(events).values(crawl=1, at=0.0, kind="started", detail={})
    async with Database(database_url(path)) as database:
        with held_by_another_process(path), pytest.raises(StoreError, match=r"Another program writes .* try again"):
            await database.insert(row)
        assert await database.insert(row) == 1


# ---- reading beside writing ----


async def test_readers_do_not_wait_while_a_write_does(path: Path) -> None:
    async with Database(database_url(path)) as database:
        await database.write(*a_step(1))
        with closing(sqlite3.connect(path, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            waiting = database.queue(a_step(2))
            async with asyncio.timeout(SOON):
                for _ in range(20):
                    assert [row.number for row in await database.rows(SITE_NUMBERS)] == [1]
            assert not waiting.done()
            other.execute("COMMIT")
        assert await outcomes([waiting]) == [None]


async def test_a_write_does_not_wait_for_readers_nor_change_what_they_see(path: Path) -> None:
    async with Database(database_url(path)) as database:
        await database.write(*a_step(1))
        with closing(sqlite3.connect(path, isolation_level=None)) as reader:
            reader.execute("BEGIN")
            assert reader.execute("SELECT count(*) FROM sites").fetchone() == (1,)
            async with asyncio.timeout(SOON):
                await database.write(*a_step(2))
            assert reader.execute("SELECT count(*) FROM sites").fetchone() == (1,)
        assert seen_from_outside(path) == [1, 2]


async def test_a_read_only_database_reads_beside_the_writer_and_writes_nothing(path: Path) -> None:
    async with Database(database_url(path)) as writer, Database(database_url(path), read_only=True) as reader:
        await writer.write(*a_step(1))
        assert [row.number for row in await reader.rows(SITE_NUMBERS)] == [1]
        with pytest.raises(StoreError, match="readonly"):
            await reader.insert(insert(sites).values(crawl=1, number=2, name="s2.test"))
    assert seen_from_outside(path) == [1]


# ---- closing ----


async def test_closing_waits_until_what_was_queued_is_committed(path: Path) -> None:
    async with Database(database_url(path)) as database:
        futures = [database.queue(a_step(number)) for number in range(1, 151)]
    assert all(future.done() for future in futures)
    assert seen_from_outside(path) == list(range(1, 151))


async def test_a_write_after_closing_is_refused_and_does_not_hang(path: Path) -> None:
    async with Database(database_url(path)) as database:
        await database.write(*a_step(1))
    (late,) = await outcomes([database.queue(a_step(2))])
    assert isinstance(late, StoreError)
    assert seen_from_outside(path) == [1]


async def test_a_write_during_closing_is_either_saved_or_refused(path: Path) -> None:
    database = await Database(database_url(path)).__aenter__()
    await database.write(*a_step(1))
    ending = asyncio.create_task(database.__aexit__(None, None, None))
    futures = []
    for number in range(2, 50):
        futures.append(database.queue(a_step(number)))
        await asyncio.sleep(0)
    async with asyncio.timeout(SOON):
        await ending
    ended = await outcomes(futures)
    assert all(error is None or isinstance(error, StoreError) for error in ended)
    assert seen_from_outside(path) == [1, *(number for number, error in enumerate(ended, 2) if error is None)]


async def test_a_database_of_an_unknown_schema_is_not_opened(path: Path) -> None:
    migrate.upgrade(database_url(path))
    with closing(sqlite3.connect(path)) as other, other:
        other.execute("UPDATE alembic_version SET version_num = '9999'")
    for read_only in (False, True):
        with pytest.raises(StoreError, match="9999"):
            async with Database(database_url(path), read_only):
                pass


async def test_a_reader_that_goes_away_leaves_its_connection_in_order(
    path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    counted = select(literal(1).label("at")).cte(recursive=True)
    counted = counted.union_all(select(counted.c.at + 1).where(counted.c.at < 300_000))
    async with Database(database_url(path)) as database:
        for _ in range(3):
            reading = asyncio.create_task(database.rows(select(func.max(counted.c.at))))
            await asyncio.sleep(0.01)
            # A web server whose client has gone asks again and again.
            async with asyncio.timeout(SOON):
                while not reading.done():
                    reading.cancel()
                    await asyncio.sleep(0)
            assert reading.cancelled()
        assert [row.number for row in await database.rows(SITE_NUMBERS)] == []
    gc.collect()
    assert caplog.messages == []
