"""robots.txt files as they were fetched, shared by all crawls."""

from __future__ import annotations

from sqlalchemy import bindparam, delete, insert, select

from tres_crawler.records import RobotsAnswer
from tres_crawler.store.database import Change, Database
from tres_crawler.store.tables import robots

_INSERT = insert(robots)
_DELETE_OLDER = delete(robots).where(robots.c.origin == bindparam("of"), robots.c.fetched_at < bindparam("at"))
_LATEST = (
    select(robots)
    .where(robots.c.origin == bindparam("origin"), robots.c.fetched_at <= bindparam("until"))
    .order_by(robots.c.fetched_at.desc())
    .limit(1)
)


def new_answer(answer: RobotsAnswer) -> list[Change]:
    """In the place of those that the origin gave before."""
    row = {
        "origin": answer.origin,
        "fetched_at": answer.fetched_at,
        "status": answer.status,
        "body": answer.body,
    }
    return [Change(_INSERT, [row]), Change(_DELETE_OLDER, [{"of": answer.origin, "at": answer.fetched_at}])]


async def latest(database: Database, origin: str, until: float) -> RobotsAnswer | None:
    """What an origin answered last, up to a time; None if it never did."""
    found = await database.rows(_LATEST, {"origin": origin, "until": until})
    return next((RobotsAnswer(row.origin, row.fetched_at, row.status, row.body) for row in found), None)
