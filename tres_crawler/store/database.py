"""One writer that commits whole steps in batches, and readers that never wait for it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import aclosing
from typing import Any, NamedTuple

from sqlalchemy import URL, ColumnElement, Delete, Insert, Row, Select, Update
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, create_async_engine

from tres_crawler.errors import StoreError
from tres_crawler.store import migrate, sqlite

logger = logging.getLogger(__name__)

AnySelect = Select[*tuple[Any, ...]]
AnyRow = Row[*tuple[Any, ...]]

READERS = 40
"""Connections kept open, the writer's included; a crawl reads a row for each of its slots."""
WAIT_SECONDS = 600.0
"""How long a reader waits for one of them: on a machine that is busy otherwise, long is better than never."""
PART_ROWS = 20_000
"""Rows that are read at once where there may be a million: all of them would hold up the loop, and take much memory."""
BATCH_STEPS = 64
"""Most writes that share a commit; while one commit runs, the next batch gathers by itself."""
BUSY_PAUSE_SECONDS = 1.0
"""Before a batch is tried again because another process writes, beside what SQLite has waited already."""


class Change(NamedTuple):
    """A statement and the rows it is run for."""

    statement: Insert | Update | Delete
    rows: Sequence[Mapping[str, Any]]


class _Write(NamedTuple):
    changes: Sequence[Change]
    committed: asyncio.Future[None]


class Database:
    """Whatever was written is either wholly there or not at all, and `write` returns once it is there."""

    def __init__(self, url: URL, read_only: bool = False) -> None:
        self.url = url
        self.read_only = read_only
        self._engine: AsyncEngine | None = None
        self._queue: asyncio.Queue[_Write | None] = asyncio.Queue()
        self._writer: asyncio.Task[None] | None = None
        self._refusal: StoreError | None = None
        self._reads: set[asyncio.Task[Sequence[AnyRow]]] = set()

    async def __aenter__(self) -> Database:
        await asyncio.to_thread(migrate.check if self.read_only else migrate.upgrade, self.url)
        self._engine = create_async_engine(self.url, pool_size=READERS, max_overflow=0, pool_timeout=WAIT_SECONDS)
        sqlite.prepare(self._engine.sync_engine, self.read_only)
        if not self.read_only:
            try:
                connection = await self._engine.connect()
            except DBAPIError as error:
                await self._engine.dispose()
                raise cannot_write(error) from error
            self._writer = asyncio.create_task(self._write_batches(connection), name="database writer")
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._writer:
            self._queue.put_nowait(None)
            self._refusal = self._refusal or StoreError("The database is closed; nothing more can be written to it.")
            await self._writer
        await asyncio.gather(*self._reads, return_exceptions=True)
        if self._engine:
            await self._engine.dispose()

    @property
    def refusal(self) -> StoreError | None:
        """Why nothing more can be written, if so."""
        return self._refusal

    def queue(self, changes: Sequence[Change]) -> asyncio.Future[None]:
        """Hand over one whole step; the future is done when it is committed.

        Steps are committed in order. Within a batch inserts go first and each statement keeps the order of its rows,
        so two different updates of one row belong into different steps that wait for each other.
        """
        committed = asyncio.get_running_loop().create_future()
        if self._refusal:
            committed.set_exception(self._refusal)
        else:
            self._queue.put_nowait(_Write(changes, committed))
        return committed

    async def write(self, *changes: Change) -> None:
        """As `queue`, and wait for the commit."""
        await self.queue(changes)

    async def rows(self, statement: AnySelect, parameters: Mapping[str, Any] | None = None) -> Sequence[AnyRow]:
        """All rows of a query, read beside the writer."""
        # Whoever asked may go away, as listeners do: the reading is finished all the same, or its connection is lost.
        reading = asyncio.create_task(self._read(statement, parameters))
        self._reads.add(reading)
        reading.add_done_callback(self._reads.discard)
        return await asyncio.shield(reading)

    async def parts(self, statement: AnySelect, key: ColumnElement[int]) -> AsyncIterator[Sequence[AnyRow]]:
        """The rows of a query, in order of a column in which no two are alike; the loop goes on between two parts."""
        query = statement.order_by(key).limit(PART_ROWS)
        found = await self.rows(query)
        while found:
            yield found
            found = await self.rows(query.where(key > found[-1]._mapping[key]))

    async def _read(self, statement: AnySelect, parameters: Mapping[str, Any] | None) -> Sequence[AnyRow]:
        assert self._engine is not None
        try:
            async with self._engine.connect() as connection:
                return (await connection.execute(statement, parameters)).all()
        except DBAPIError as error:
            raise StoreError(f"The database could not be read: {error.orig}. Is there room on the disk?") from error

    async def insert(self, statement: Insert, then: Callable[[int], Sequence[Change]] = lambda _key: ()) -> int:
        """Insert one row, and with it what `then` makes of the key that the database gives it; returns the key."""
        assert self._engine is not None
        if self._refusal:
            raise self._refusal
        try:
            async with self._engine.begin() as connection:
                result = await connection.execute(statement)
                assert result.inserted_primary_key is not None
                key = int(result.inserted_primary_key[0])
                for change in then(key):
                    if change.rows:
                        await connection.execute(change.statement, change.rows)
        except DBAPIError as error:
            raise cannot_write(error) from error
        return key

    async def _write_batches(self, connection: AsyncConnection) -> None:
        async with aclosing(connection):
            while write := await self._queue.get():
                batch = [write]
                while not self._queue.empty() and len(batch) < BATCH_STEPS:
                    following = self._queue.get_nowait()
                    if following is None:
                        self._queue.put_nowait(None)
                        break
                    batch.append(following)
                await self._commit(connection, batch)

    async def _commit(self, connection: AsyncConnection, batch: Sequence[_Write]) -> None:
        try:
            while not await self._try(connection, batch):
                pass
        except Exception as error:
            # Whatever it was, later steps may build on this one: nothing more is written.
            self._refusal = cannot_write(error)
            self._refusal.__cause__ = error
            for write in batch:
                _fail(write.committed, self._refusal)
            while not self._queue.empty():
                if waiting := self._queue.get_nowait():
                    _fail(waiting.committed, self._refusal)
                else:
                    self._queue.put_nowait(None)
                    break
        else:
            for write in batch:
                if not write.committed.done():
                    write.committed.set_result(None)

    async def _try(self, connection: AsyncConnection, batch: Sequence[_Write]) -> bool:
        """Commit a batch; False, after a pause, if another process writes and it is to be tried again."""
        try:
            async with connection.begin():
                for statement, rows in merged(batch):
                    await connection.execute(statement, rows)
        except DBAPIError as error:
            # A database that is being closed has a refusal by then: nobody waits for others any more.
            if self._refusal or not sqlite.is_busy(error.orig):
                raise
            logger.warning("another process writes to the database, %d steps wait for it: %s", len(batch), error.orig)
            await asyncio.sleep(BUSY_PAUSE_SECONDS)
            return False
        return True


def cannot_write(error: Exception) -> StoreError:
    cause = error.orig if isinstance(error, DBAPIError) else error
    if sqlite.is_busy(cause):
        advice = "Another program writes to it: try again when that is done."
    else:
        advice = (
            "Make room on the disk or mend its rights, then go on with `tres resume`; where `tres serve` runs, start "
            "it anew, and its crawls go on by themselves."
        )
    return StoreError(f"The database could not be written: {cause}. What was saved before is whole. {advice}")


def _fail(future: asyncio.Future[None], error: StoreError) -> None:
    if not future.done():
        future.set_exception(error)


def merged(batch: Sequence[_Write]) -> list[tuple[Insert | Update | Delete, list[Mapping[str, Any]]]]:
    """The rows of the whole batch under each statement, inserts first: what changes a row follows what made it."""
    gathered: dict[int, tuple[Insert | Update | Delete, list[Mapping[str, Any]]]] = {}
    for write in batch:
        for statement, rows in write.changes:
            if rows:
                gathered.setdefault(id(statement), (statement, []))[1].extend(rows)
    return sorted(gathered.values(), key=lambda item: not isinstance(item[0], Insert))
