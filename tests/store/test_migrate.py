"""A database gets the schema of this version once, whole, and never loses what it holds."""

from __future__ import annotations

import asyncio
import shutil
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import URL, Connection, create_engine

from tres_crawler.errors import StoreError
from tres_crawler.resources import shipped
from tres_crawler.store import migrate
from tres_crawler.store.database import Database
from tres_crawler.store.sqlite import database_url, sync_url
from tres_crawler.store.tables import metadata

LATER_MIGRATION = """
import os, signal
from alembic import op
import sqlalchemy as sa

revision, down_revision = "cut_off", {newest!r}

def upgrade():
    op.create_table("half_done", sa.Column("id", sa.Integer(), primary_key=True))
    op.add_column("crawls", sa.Column("half_done", sa.Integer()))
    op.execute("UPDATE crawls SET topic = 'changed'")
    {ending}
"""
UPGRADE = """
import sys
from pathlib import Path
from tres_crawler.store import migrate
from tres_crawler.store.sqlite import database_url
migrate.shipped = lambda _: Path(sys.argv[2])
migrate.upgrade(database_url(Path(sys.argv[1])))
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "tres.db"


@contextmanager
def connected(path: Path) -> Iterator[Connection]:
    engine = create_engine(sync_url(database_url(path)))
    try:
        with engine.connect() as connection:
            yield connection
    finally:
        engine.dispose()


def contents(path: Path) -> list[str]:
    """Everything in the file, schema and rows."""
    with closing(sqlite3.connect(path)) as database:
        return list(database.iterdump())


def columns(path: Path) -> list[tuple[object, ...]]:
    """Every column: its table, whether that is without a rowid, name, type, not null, default, place in the key."""
    query = """
        SELECT t.name, t.wr, c.name, c.type, c."notnull", c.dflt_value, c.pk
        FROM pragma_table_list AS t, pragma_table_info(t.name) AS c
        WHERE t.schema = 'main' AND t.name NOT IN ('alembic_version', 'sqlite_schema') ORDER BY t.name, c.cid
    """
    with closing(sqlite3.connect(path)) as database:
        return database.execute(query).fetchall()


def add_a_crawl(path: Path) -> None:
    with closing(sqlite3.connect(path)) as database, database:
        database.execute(
            "INSERT INTO crawls (topic, topic_body, settings, policy, random_seed, state, created_at)"
            " VALUES ('sports', '{}', '{}', 'random', 1, 'running', 0)"
        )


def add_a_link_with_its_leaf(path: Path) -> None:
    """As it was saved up to 0009, with the experience of it."""
    with closing(sqlite3.connect(path)) as database, database:
        database.execute(
            "INSERT INTO links (crawl, number, url, url_key, host, depth, anchor, features, leaf, state)"
            " VALUES (1, 1, 'http://a.example/', 7, 1, 0, 'a', x'0102', 0, 'fetched')"
        )
        database.execute("INSERT INTO experiences (crawl, page, features, reward, leaf) VALUES (1, 1, x'0102', 1.0, 0)")


def migrate_to(path: Path, revision: str) -> None:
    """The schema as it was then."""
    with connected(path) as connection, connection.begin():
        config = migrate._config()
        config.attributes["connection"] = connection
        command.upgrade(config, revision)


def set_revision(path: Path, revision: str) -> None:
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("UPDATE alembic_version SET version_num = ?", [revision])


def test_a_fresh_upgrade_gives_exactly_the_schema_of_the_code(path: Path, tmp_path: Path) -> None:
    before, after = migrate.upgrade(database_url(path))
    assert before is None
    with connected(path) as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True})
        assert compare_metadata(context, metadata) == []
        assert context.get_current_revision() == after
    by_code = tmp_path / "by_code.db"
    with connected(by_code) as connection:
        metadata.create_all(connection)
        connection.commit()
    assert columns(path) == columns(by_code)


EARLIER = [
    script.revision for script in reversed(list(ScriptDirectory.from_config(migrate._config()).walk_revisions()))
][:-1]


@pytest.mark.parametrize("revision", EARLIER)
def test_a_filled_database_of_every_earlier_schema_keeps_its_crawls(path: Path, tmp_path: Path, revision: str) -> None:
    migrate_to(path, revision)
    add_a_crawl(path)
    add_a_link_with_its_leaf(path)
    if revision == "0008":
        with closing(sqlite3.connect(path)) as database, database:
            database.execute("INSERT INTO finds (crawl, page, addresses) VALUES (1, 1, x'00010203')")
    assert migrate.upgrade(database_url(path))[0] == revision
    migrate.check(database_url(path))
    fresh = tmp_path / "fresh.db"
    migrate.upgrade(database_url(fresh))
    assert columns(path) == columns(fresh)
    with closing(sqlite3.connect(path)) as database:
        assert database.execute("SELECT topic, policy, state FROM crawls").fetchall() == [
            ("sports", "random", "running")
        ]
        links = database.execute("SELECT number, url, anchor, features, state FROM links").fetchall()
        assert links == [(1, "http://a.example/", "a", b"\x01\x02", "fetched")]
        experiences = database.execute("SELECT page, features, reward FROM experiences").fetchall()
        assert experiences == [(1, b"\x01\x02", 1.0)]
        assert database.execute("SELECT * FROM finds").fetchall() == [], "of a form that nobody reads any more"


def test_an_upgrade_can_be_repeated_and_changes_nothing(path: Path) -> None:
    _, newest = migrate.upgrade(database_url(path))
    add_a_crawl(path)
    before = path.read_bytes()
    assert migrate.upgrade(database_url(path)) == (newest, newest)
    assert path.read_bytes() == before
    migrate.check(database_url(path))


async def test_databases_may_be_upgraded_at_the_same_time(tmp_path: Path) -> None:
    urls = [database_url(tmp_path / f"{number}.db") for number in range(6)]
    revisions = await asyncio.gather(*(asyncio.to_thread(migrate.upgrade, url) for url in urls))
    assert len(set(revisions)) == 1


async def test_a_database_from_a_newer_version_is_refused_by_name_and_left_as_it_is(path: Path) -> None:
    async with Database(database_url(path)):
        pass
    add_a_crawl(path)
    set_revision(path, "9999")
    before = path.read_bytes()
    for refuse in (migrate.upgrade, migrate.check):
        with pytest.raises(StoreError, match=r"schema 9999.*newer version wrote it.*Nothing was changed"):
            refuse(database_url(path))
    assert path.read_bytes() == before
    assert [file.name for file in path.parent.iterdir()] == [path.name]


def test_a_database_without_schema_is_not_read_but_told_how_to_be_upgraded(path: Path) -> None:
    path.touch()
    with pytest.raises(StoreError, match="tres db upgrade"):
        migrate.check(database_url(path))
    assert path.read_bytes() == b""


def test_looking_for_a_database_where_there_is_none_makes_none(path: Path) -> None:
    with pytest.raises(StoreError):
        migrate.check(database_url(path))
    assert not path.exists()


@pytest.mark.parametrize("function", [migrate.upgrade, migrate.check])
def test_a_file_that_is_no_database_is_refused_by_name_and_left_as_it_is(
    path: Path, function: Callable[[URL], object]
) -> None:
    path.write_text("My diary. " * 500)
    before = path.read_bytes()
    with pytest.raises(StoreError, match=r"tres\.db cannot be opened.*file is not a database"):
        function(database_url(path))
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    ("ending", "code"),
    [("os.kill(os.getpid(), signal.SIGKILL)", -signal.SIGKILL), ("raise RuntimeError('a bug')", 1)],
    ids=["killed", "a bug"],
)
@pytest.mark.parametrize("filled", [True, False])
def test_a_migration_cut_off_in_the_middle_leaves_no_trace(
    path: Path, tmp_path: Path, ending: str, code: int, filled: bool
) -> None:
    scripts = tmp_path / "migrations"
    shutil.copytree(shipped("migrations"), scripts)
    newest = migrate.upgrade(database_url(tmp_path / "other.db"))[1]
    (scripts / "versions" / "cut_off.py").write_text(LATER_MIGRATION.format(newest=newest, ending=ending))
    if filled:
        migrate.upgrade(database_url(path))
        add_a_crawl(path)
    before = contents(path)

    command = [sys.executable, "-c", UPGRADE, str(path), str(scripts)]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert ended.returncode == code, ended.stderr

    assert contents(path) == before
    migrate.upgrade(database_url(path))
    migrate.check(database_url(path))
