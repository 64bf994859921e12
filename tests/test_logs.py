"""A line of the log says what it is about."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Iterator
from io import StringIO

import pytest

from tests.conftest import MakeCrawl
from tests.site import SmallSite
from tres_crawler.cli.common import JsonFormatter
from tres_crawler.logs import Concerned, concern


@pytest.fixture
def lines() -> Iterator[StringIO]:
    written = StringIO()
    handler = logging.StreamHandler(written)
    handler.setFormatter(JsonFormatter())
    handler.addFilter(Concerned())
    logger = logging.getLogger("tres_crawler")
    before = logger.level
    logger.addHandler(handler)
    logger.setLevel("INFO")
    yield written
    logger.removeHandler(handler)
    logger.setLevel(before)


async def test_steps_side_by_side_have_their_own_lines(lines: StringIO) -> None:
    async def step(link: int) -> None:
        concern(crawl=1, link=link)
        await asyncio.sleep(0)
        logging.getLogger("tres_crawler.fetch").info("asked")

    await asyncio.gather(step(1), step(2))
    logging.getLogger("tres_crawler").info("over")
    told = [json.loads(line) for line in lines.getvalue().splitlines()]
    assert [(row["message"], row.get("link")) for row in told] == [("asked", 1), ("asked", 2), ("over", None)]


async def test_a_step_tells_what_came_of_it_and_why_it_was_taken(
    site: SmallSite, make_crawl: MakeCrawl, lines: StringIO
) -> None:
    site.page("a.test/", links=["b.test/"])
    site.page("b.test/", text="nothing of the kind")
    await (await make_crawl(site.topic("a.test/"), {"slots": 1}, {}, {"model": "prior"}, policy="tres")).run()
    told = [json.loads(line) for line in lines.getvalue().splitlines()]
    first, second = [row for row in told if row["message"].startswith("step ")]
    assert first["message"].startswith("step 1 relevant reward=1 value=")
    assert second["message"].startswith("step 2 irrelevant reward=0 value=")
    assert (second["crawl"], second["link"], second["host"]) == (1, 2, "b.test")
