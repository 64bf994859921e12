"""Of every origin the newest robots.txt is found, and only by its own name."""

from __future__ import annotations

import asyncio

from sqlalchemy import select

from tres_crawler.records import RobotsAnswer
from tres_crawler.store import robots, tables
from tres_crawler.store.database import Database


async def test_the_newest_answer_of_an_origin_counts_unless_it_is_from_the_future(database: Database) -> None:
    old, new, future = (RobotsAnswer("http://a.test", at, 200, b"User-agent: *") for at in (1.0, 2.0, 4.0))
    other = RobotsAnswer("https://a.test", 3.0, 404, b"")
    for answer in (future, new, old, other):
        await database.write(*robots.new_answer(answer))
    assert await robots.latest(database, "http://a.test", until=3.0) == new
    assert await robots.latest(database, "https://a.test", until=3.0) == other
    assert await robots.latest(database, "http://b.test", until=3.0) is None


async def test_of_every_origin_one_answer_is_kept(database: Database) -> None:
    answers = [RobotsAnswer(f"http://{name}.test", at, 404, b"") for name in "ab" for at in (1.0, 2.0, 3.0)]
    await asyncio.gather(*(database.write(*robots.new_answer(answer)) for answer in answers))
    kept = await database.rows(select(tables.robots).order_by(tables.robots.c.origin))
    assert [(row.origin, row.fetched_at) for row in kept] == [("http://a.test", 3.0), ("http://b.test", 3.0)]
