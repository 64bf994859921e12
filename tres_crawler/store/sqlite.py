"""The one place that knows it talks to SQLite."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sqlalchemy import Engine, event, make_url

PRAGMAS = (
    # Readers never wait for the writer, nor it for them.
    "PRAGMA journal_mode = WAL",
    # A commit survives the death of the process; after a power cut the last ones may be missing, whole.
    "PRAGMA synchronous = NORMAL",
    "PRAGMA busy_timeout = 10000",
    "PRAGMA cache_size = -65536",
)


def database_url(path: Path) -> str:
    return f"sqlite+aiosqlite:///{path}"


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


def sync_url(url: str) -> str:
    """The same database through a driver that Alembic can use."""
    return make_url(url).set(drivername=make_url(url).get_backend_name()).render_as_string(hide_password=False)


def file_of(url: str) -> Path | None:
    """The file behind an SQLite URL."""
    parsed = make_url(url)
    return Path(parsed.database) if parsed.get_backend_name() == "sqlite" and parsed.database else None
