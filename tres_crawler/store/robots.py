"""robots.txt files as they were fetched, shared by all crawls."""

from __future__ import annotations

from sqlalchemy import insert, select

from tres_crawler.records import RobotsAnswer
from tres_crawler.store.database import Change, Database
from tres_crawler.store.tables import robots

_INSERT = insert(robots)


def new_answer(answer: RobotsAnswer) -> Change:
    return Change(
        _INSERT,
        [
            {
                "origin": answer.origin,
                "fetched_at": answer.fetched_at,
                "status": answer.status,
                "body": answer.body,
            }
        ],
    )


async def load(database: Database, since: float) -> list[RobotsAnswer]:
    """Those fetched at or after `since`, oldest first."""
    found = await database.rows(select(robots).where(robots.c.fetched_at >= since).order_by(robots.c.fetched_at))
    return [RobotsAnswer(row.origin, row.fetched_at, row.status, row.body) for row in found]
