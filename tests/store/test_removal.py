"""A crawl that is deleted is gone at once, and everything of it soon after; others stay as they are."""

from __future__ import annotations

from pathlib import Path

import pytest
from sqlalchemy import func, select

from tests.conftest import MakeCrawl
from tests.site import SmallSite
from tres_crawler.errors import NotFound
from tres_crawler.store import crawls, removal
from tres_crawler.store.database import Database
from tres_crawler.store.tables import metadata


async def rows_of(database: Database, crawl: int) -> dict[str, int]:
    tables = [table for table in metadata.sorted_tables if "crawl" in table.c]
    return {
        table.name: (await database.rows(select(func.count()).select_from(table).where(table.c.crawl == crawl)))[0][0]
        for table in tables
    }


async def test_all_rows_and_files_of_one_crawl_go_and_no_others(
    site: SmallSite, database: Database, make_crawl: MakeCrawl, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(removal, "BITE", 7)
    site.page("a.test/", links=[f"b{number}.test/" for number in range(20)])
    for number in range(20):
        site.page(f"b{number}.test/", links=["a.test/"])
    for _ in range(2):
        crawl = await make_crawl(site.topic("a.test/"), relevance={"model": "prior"}, policy="tres")
        await crawl.run()
    warc = tmp_path / "warc"
    warc.mkdir()
    for name in ("crawl-1-00001.warc.gz", "crawl-11-00001.warc.gz"):
        (warc / name).touch()
    before = await rows_of(database, 2)
    assert before["finds"]
    await removal.begin(database, 1)
    with pytest.raises(NotFound):
        await crawls.get(database, 1)
    assert [record.id for record in await crawls.every(database)] == [2]
    assert await removal.unfinished(database) == [1]
    await removal.finish(database, 1, tmp_path)
    assert not any((await rows_of(database, 1)).values())
    assert await rows_of(database, 2) == before
    assert await removal.unfinished(database) == []
    assert [path.name for path in warc.iterdir()] == ["crawl-11-00001.warc.gz"]
