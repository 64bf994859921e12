"""Of every origin the newest robots.txt is found, and only by its own name."""

from __future__ import annotations

from tres_crawler.records import RobotsAnswer
from tres_crawler.store import robots
from tres_crawler.store.database import Database


async def test_the_newest_answer_of_an_origin_counts_unless_it_is_from_the_future(database: Database) -> None:
    old, new, future = (RobotsAnswer("http://a.test", at, 200, b"User-agent: *") for at in (1.0, 2.0, 4.0))
    other = RobotsAnswer("https://a.test", 3.0, 404, b"")
    for answer in (new, old, other, future):
        await database.write(robots.new_answer(answer))
    assert await robots.latest(database, "http://a.test", until=3.0) == new
    assert await robots.latest(database, "https://a.test", until=3.0) == other
    assert await robots.latest(database, "http://b.test", until=3.0) is None
