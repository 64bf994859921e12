"""Brings a database to the schema of this version, and refuses one from a later version."""

from __future__ import annotations

from threading import Lock

from alembic import command
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import URL, Connection, create_engine
from sqlalchemy.exc import DBAPIError

from tres_crawler.errors import StoreError
from tres_crawler.resources import shipped
from tres_crawler.store.sqlite import begin_by_hand, file_of, sync_url

ONE_AT_A_TIME = Lock()
"""Alembic keeps what it is at in variables of its modules."""


def upgrade(url: URL) -> tuple[str | None, str]:
    """Run what is missing; returns the revision before and after. A newer database is left untouched."""
    engine = create_engine(sync_url(url))
    begin_by_hand(engine)
    try:
        with engine.begin() as connection:
            before, newest = _revisions(connection)
            if before != newest:
                config = _config()
                config.attributes["connection"] = connection
                with ONE_AT_A_TIME:
                    command.upgrade(config, newest)
            return before, newest
    except DBAPIError as error:
        raise StoreError(
            f"The database {_name(url)} cannot be opened: {error.orig}. Is there room on the disk?"
        ) from error
    finally:
        engine.dispose()


def check(url: URL) -> None:
    """Refuse a database that has not exactly the schema of this version; changes nothing."""
    file = file_of(url)
    if file and not file.exists():
        raise StoreError(f"There is no database {file}. `tres db upgrade` makes an empty one.")
    engine = create_engine(sync_url(url))
    try:
        with engine.connect() as connection:
            before, newest = _revisions(connection)
    except DBAPIError as error:
        raise StoreError(f"The database {_name(url)} cannot be opened: {error.orig}.") from error
    finally:
        engine.dispose()
    if before != newest:
        raise StoreError(
            f"The database {_name(url)} has schema {before or 'none'}, this version wants {newest}. "
            "Run `tres db upgrade` with the same --data-dir."
        )


def _revisions(connection: Connection) -> tuple[str | None, str]:
    scripts = ScriptDirectory.from_config(_config())
    newest = scripts.get_current_head()
    assert newest is not None
    before = MigrationContext.configure(connection).get_current_revision()
    known = {script.revision for script in scripts.walk_revisions()}
    if before is not None and before not in known:
        raise StoreError(
            f"The database has schema {before}, which this version of tres (schema {newest}) does not know: a newer "
            "version wrote it. Nothing was changed. Install that version, or use another --data-dir."
        )
    return before, newest


def _config() -> Config:
    config = Config()
    config.set_main_option("script_location", str(shipped("migrations")).replace("%", "%%"))
    return config


def _name(url: URL) -> str:
    return str(file_of(url) or url)
