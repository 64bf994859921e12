"""Listeners hear what is stored, each from its own place on, and nothing queues up for the slow ones."""

from __future__ import annotations

import asyncio
import json
import urllib.request
from collections.abc import AsyncIterator, Mapping
from typing import Any, NamedTuple

import pytest
from sqlalchemy import insert

from tests.serve.service import Service
from tres_crawler.errors import BadRequest, NotFound
from tres_crawler.serve import feed as feeds
from tres_crawler.serve.feed import Feed, Feeds, Place
from tres_crawler.store import crawls
from tres_crawler.store.database import Change, Database
from tres_crawler.store.tables import hosts, links, pages, sites

CRAWL = 1


class Heard(NamedTuple):
    id: str
    kind: str
    data: dict[str, Any]


def heard(text: bytes) -> list[Heard]:
    found = []
    for block in text.decode().split("\n\n"):
        fields = dict(line.split(": ", 1) for line in block.splitlines() if ": " in line)
        if "data" in fields:
            found.append(Heard(fields["id"], fields["event"], json.loads(fields["data"])))
    return found


async def progress(crawl: int) -> Mapping[str, Any]:
    return {"crawl_id": crawl}


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(feeds, "TICK_SECONDS", 0.01)


@pytest.fixture
async def filled(database: Database) -> Database:
    await database.write(
        Change(insert(sites), [{"crawl": CRAWL, "number": 1, "name": "a.test"}]),
        Change(insert(hosts), [{"crawl": CRAWL, "number": 1, "name": "www.a.test", "site": 1}]),
    )
    return database


async def add_pages(
    database: Database, first: int, last: int, relevant_from: int | None = None, title: str = ""
) -> None:
    """Pages in one commit, those from `relevant_from` on relevant."""
    numbers = range(first, last + 1)
    link = {"crawl": CRAWL, "host": 1, "depth": 0, "anchor": "", "leaf": 0, "state": "fetched"}
    page = {"crawl": CRAWL, "host": 1, "site": 1, "outcome": "judged", "fetched_at": 0.0, "title": title}
    urls = {number: {"url": f"http://a.test/{number}", "url_key": number} for number in numbers}
    hits = {number: relevant_from is not None and number >= relevant_from for number in numbers}
    await database.write(
        Change(insert(links), [{**link, "number": number, **urls[number]} for number in numbers]),
        Change(insert(pages), [{**page, "number": n, "link": n, "relevant": hits[n], **urls[n]} for n in numbers]),
    )


async def next_of(stream: AsyncIterator[bytes], kind: str, count: int = 1) -> list[Heard]:
    """What is heard up to the `count`th event of a kind, progress left out."""
    found: list[Heard] = []
    async with asyncio.timeout(60):
        async for text in stream:
            found += [one for one in heard(text) if one.kind != "progress"]
            if sum(one.kind == kind for one in found) >= count:
                return found
    raise AssertionError("the stream ended")


async def test_pages_and_events_are_heard_as_they_are_stored(filled: Database) -> None:
    stream = Feeds(filled, progress).follow(CRAWL, None)
    await anext(stream)
    first = heard(await anext(stream))
    assert [(one.kind, one.data["crawl_id"]) for one in first] == [("progress", CRAWL)]
    await add_pages(filled, 1, 2)
    await add_pages(filled, 3, 3, relevant_from=3, title='<script>alert("x")</script>\u0000\u2028\n\ndata: no')
    told = await next_of(stream, "relevant_page")
    assert [(one.kind, one.data["id"]) for one in told] == [("page", 1), ("page", 2), ("relevant_page", 3)]
    assert told[2].data["title"].endswith("\n\ndata: no"), "a title cannot end an event"
    await filled.write(crawls.event(CRAWL, "relevant site", site="a.test"))
    assert (await next_of(stream, "relevant_site"))[-1].data["site"] == "a.test"
    await stream.aclose()  # type: ignore[attr-defined]  # it is a generator


async def test_a_stream_goes_on_where_it_was_left_also_in_another_process(filled: Database) -> None:
    stream = Feeds(filled, progress).follow(CRAWL, None)
    await anext(stream)
    await anext(stream)
    await filled.write(crawls.event(CRAWL, "paused"), crawls.event(2, "paused"))
    await add_pages(filled, 1, 5)
    left_at = (await next_of(stream, "page", 3))[-1].id
    await stream.aclose()  # type: ignore[attr-defined]  # it is a generator
    await add_pages(filled, 6, 9)
    await filled.write(crawls.event(CRAWL, "running"))
    again = Feeds(filled, progress).follow(CRAWL, Place.parse(left_at))
    told = await next_of(again, "running")
    known = Place.parse(left_at).page
    assert [one.data["id"] for one in told if one.kind == "page"] == list(range(known + 1, 10))
    assert [one.kind for one in told if one.kind != "page"] in (["running"], ["paused", "running"])
    await again.aclose()  # type: ignore[attr-defined]  # it is a generator


async def test_who_comes_back_after_long_is_told_how_much_was_missed(filled: Database) -> None:
    await add_pages(filled, 1, feeds.CATCH_UP + 70)
    stream = Feeds(filled, progress).follow(CRAWL, Place(0, 0))
    told = await next_of(stream, "page")
    assert (told[0].kind, told[0].data["missed"]) == ("gap", 70)
    assert len(told) == 1 + feeds.CATCH_UP
    await stream.aclose()  # type: ignore[attr-defined]  # it is a generator


async def test_of_many_pages_at_once_the_relevant_ones_are_told_and_the_others_counted(filled: Database) -> None:
    feed = Feed(filled, CRAWL, progress)
    await feed.open()
    stream = feed.follow(None)
    await anext(stream)
    await add_pages(filled, 1, 110, relevant_from=101)
    told = await next_of(stream, "relevant_page", 10)
    assert len(told) == feeds.MOST_PER_TICK
    assert [one.data["id"] for one in told] == sorted(one.data["id"] for one in told)
    feed.close()


async def test_a_listener_that_does_not_listen_costs_nothing_and_is_told_what_it_missed(
    filled: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(feeds, "KEPT", 30)
    feed = Feed(filled, CRAWL, progress)
    await feed.open()
    slow, quick = feed.follow(None), feed.follow(None)
    for stream in (slow, quick):
        await anext(stream)
        await anext(stream)
    for first in range(1, 60, 10):
        await add_pages(filled, first, first + 9)
        await next_of(quick, "page", 10)
    assert len(feed._told) == 30
    told = await next_of(slow, "page")
    assert (told[0].kind, told[0].data["missed"]) == ("gap", 30)
    assert [one.data["id"] for one in told[1:]] == list(range(31, 61))
    feed.close()


async def test_a_feed_ends_with_its_last_listener_and_streams_end_with_the_service(filled: Database) -> None:
    served = Feeds(filled, progress)
    first, second = served.follow(CRAWL, None), served.follow(CRAWL, None)
    for stream in (first, second):
        await anext(stream)
    assert served.listeners == 2
    await first.aclose()  # type: ignore[attr-defined]  # it is a generator
    assert served.listeners == 1
    served.close()
    async with asyncio.timeout(30):
        assert [text async for text in second] != []
    assert served.listeners == 0
    assert served._feeds == {}


async def test_listeners_of_a_crawl_that_can_no_longer_be_read_are_let_go_and_others_get_a_new_feed(
    filled: Database,
) -> None:
    gone = asyncio.Event()

    async def of_what_is_there(crawl: int) -> Mapping[str, Any]:
        if gone.is_set():
            raise NotFound(f"There is no crawl {crawl}.")
        return await progress(crawl)

    served = Feeds(filled, of_what_is_there)
    first, second = served.follow(CRAWL, None), served.follow(CRAWL, None)
    for stream in (first, second):
        await anext(stream)
    gone.set()
    async with asyncio.timeout(30):
        assert [text async for text in first] != []
    gone.clear()
    third = served.follow(CRAWL, None)
    await anext(third)
    await add_pages(filled, 1, 1)
    assert [one.kind for one in await next_of(third, "page")] == ["page"]
    async with asyncio.timeout(30):
        assert [text async for text in second] != []
    assert served.listeners == 1
    await third.aclose()  # type: ignore[attr-defined]  # it is a generator
    assert served._feeds == {}


@pytest.mark.parametrize(
    "text", ["", "7", "a.b", "1.2.3", "-1.2", "١.٢", "1" * 50 + ".2", f"{2**63}.2", f"1.{2**63}", "1.2\n"]
)
def test_a_place_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(BadRequest, match="Last-Event-ID"):
        Place.parse(text)


def test_the_stream_is_served_as_server_sent_events(served: Service) -> None:
    request = urllib.request.Request(f"{served.address}/api/v1/crawls/1/events", headers={"Last-Event-ID": "0.0"})
    with urllib.request.urlopen(request, timeout=30) as answer:
        assert answer.headers["Content-Type"].startswith("text/event-stream")
        lines = [answer.readline().decode() for _ in range(400)]
    assert "event: started\n" in lines or "event: relevant_page\n" in lines
    assert served.call("GET", "/api/v1/crawls/1/events", Last_Event_ID="nonsense")[0] == 422
