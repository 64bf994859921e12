"""Which events each webhook has been told of, so that none is lost or told anew after a restart."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import insert, select

from tres_crawler.store.database import AnyRow, Change, Database
from tres_crawler.store.tables import crawls, events, webhooks

SET_TOLD = insert(webhooks).prefix_with("OR REPLACE")


async def told(database: Database, url: str) -> int | None:
    """The last event that an address was told of; None if it is new."""
    found = await database.rows(select(webhooks.c.event).where(webhooks.c.url == url))
    return found[0].event if found else None


def set_told(url: str, event: int) -> Change:
    return Change(SET_TOLD, [{"url": url, "event": event}])


async def untold(database: Database, after: int, kinds: Sequence[str], limit: int) -> Sequence[AnyRow]:
    """Events of these kinds, of all crawls, oldest first, with the topic of their crawl."""
    return await database.rows(
        select(events, crawls.c.topic)
        .join(crawls, crawls.c.id == events.c.crawl)
        .where(events.c.id > after, events.c.kind.in_(kinds))
        .order_by(events.c.id)
        .limit(limit)
    )
