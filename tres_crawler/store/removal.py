"""A crawl is removed in small bites, so that others go on saving meanwhile; what a kill leaves is removed later."""

from __future__ import annotations

import asyncio
from pathlib import Path

from sqlalchemy import delete, func, select, update

from tres_crawler.store.content import remove_files
from tres_crawler.store.crawls import DELETED
from tres_crawler.store.database import Change, Database
from tres_crawler.store.tables import crawls, metadata

BITE = 5000
"""Links, or pages, removed in one transaction."""


async def begin(database: Database, crawl: int) -> None:
    """From here on nobody sees the crawl any more."""
    hidden = {"state": DELETED, "start_key": None}
    await database.write(Change(update(crawls).where(crawls.c.id == crawl).values(**hidden), [{}]))


async def unfinished(database: Database) -> list[int]:
    """Crawls whose removal was begun."""
    return [row.id for row in await database.rows(select(crawls.c.id).where(crawls.c.state == DELETED))]


async def finish(database: Database, crawl: int, folder: Path) -> None:
    """Remove all that belongs to a crawl; whatever is cut off in the middle can be begun again."""
    for table in metadata.sorted_tables:
        if "crawl" not in table.c:
            continue
        of_crawl = table.c.crawl == crawl
        counter = next((table.c[name] for name in ("number", "page") if name in table.c), None)
        if counter is None:
            await database.write(Change(delete(table).where(of_crawl), [{}]))
            continue
        last = (await database.rows(select(func.max(counter)).where(of_crawl)))[0][0] or 0
        for first in range(0, last + 1, BITE):
            bite = counter.between(first, first + BITE - 1)
            await database.write(Change(delete(table).where(of_crawl, bite), [{}]))
    await asyncio.to_thread(remove_files, folder, crawl)
    await database.write(Change(delete(crawls).where(crawls.c.id == crawl), [{}]))
