"""The one place that knows it talks to SQLite."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

from sqlalchemy import URL, Engine, event, make_url
from sqlalchemy.exc import ArgumentError, NoSuchModuleError

from tres_crawler.errors import ConfigError

PRAGMAS = (
    # Readers never wait for the writer, nor it for them.
    "PRAGMA journal_mode = WAL",
    # A commit survives the death of the process; after a power cut the last ones may be missing, whole.
    "PRAGMA synchronous = NORMAL",
    "PRAGMA busy_timeout = 10000",
    "PRAGMA cache_size = -65536",
)


def database_url(path: Path) -> URL:
    return URL.create("sqlite+aiosqlite", database=str(path))


def prepare(engine: Engine, read_only: bool = False) -> None:
    """Every new connection of `engine` gets our pragmas; other databases are left alone."""
    if engine.dialect.name != "sqlite":
        return

    @event.listens_for(engine, "connect")
    def set_pragmas(connection: Any, _record: object) -> None:
        cursor = connection.cursor()
        for pragma in PRAGMAS:
            cursor.execute(pragma)
        if read_only:
            cursor.execute("PRAGMA query_only = ON")
        cursor.close()


def begin_by_hand(engine: Engine) -> None:
    """Schema changes join the transaction, so a migration that is cut off leaves no trace."""
    if engine.dialect.name != "sqlite":
        return

    @event.listens_for(engine, "connect")
    def no_implicit_begin(connection: Any, _record: object) -> None:
        connection.isolation_level = None

    @event.listens_for(engine, "begin")
    def begin(connection: Any) -> None:
        connection.exec_driver_sql("BEGIN IMMEDIATE")


def is_busy(error: BaseException | None) -> bool:
    """Whether another process, or another connection, writes: what was begun was taken back and may be tried again."""
    code = error.sqlite_errorcode if isinstance(error, sqlite3.OperationalError) else None
    return code is not None and code & 0xFF in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)


def parse_url(text: str) -> URL:
    """A database URL as a person writes it."""
    try:
        url = make_url(text)
        for driver in (url, sync_url(url)):
            driver.get_dialect().import_dbapi()
        if not url.get_dialect().is_async:
            raise ArgumentError("not an asynchronous driver")
    except (ArgumentError, NoSuchModuleError, ImportError) as error:
        raise ConfigError(
            f'"store.url" is {text!r}, which cannot be used ({error}). Write sqlite+aiosqlite:////path or leave it out.'
        ) from error
    return url


def sync_url(url: URL) -> URL:
    """The same database through a driver that Alembic can use."""
    return url.set(drivername=url.get_backend_name())


def file_of(url: URL) -> Path | None:
    """The file behind an SQLite URL."""
    return Path(url.database) if url.get_backend_name() == "sqlite" and url.database else None
