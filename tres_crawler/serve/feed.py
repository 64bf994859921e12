"""What happens in a crawl, read from the store once for all who listen; every event has a place to resume from."""

from __future__ import annotations

import asyncio
import json
import logging
import re
import time
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, NamedTuple

from tres_crawler.errors import BadRequest, NotFound
from tres_crawler.records import Outcome
from tres_crawler.serve.common import moment
from tres_crawler.store import browse, history
from tres_crawler.store.browse import Wanted
from tres_crawler.store.database import AnyRow, Database

logger = logging.getLogger(__name__)

TICK_SECONDS = 0.5
"""How often the store is asked for news."""
MOST_PER_TICK = 20
"""Pages told one by one in a tick; of more, relevant and failed ones first, the others are counted."""
MOST_EVENTS = 200
"""Other events told in a tick; what is left comes in the next."""
MOST_READ = 1000
"""Pages read in a tick, told or not."""
KEPT = 1000
"""Events kept in memory for listeners that lag; one that lags further is told how many it has missed."""
CATCH_UP = 500
"""Pages, and other events, that a resumed stream is told of one by one; of older ones, how many there were."""

Progress = Callable[[int], Awaitable[Mapping[str, Any]]]
"""The state and figures of a crawl as they are now."""


class Place(NamedTuple):
    """How far a listener is: the last stored event, and the last page, that it knows of."""

    event: int
    page: int

    @classmethod
    def parse(cls, text: str) -> Place:
        found = re.fullmatch(r"([0-9]{1,18})\.([0-9]{1,18})", text)
        if not found:
            raise BadRequest("Last-Event-ID is not one of this stream. Leave it out to begin now.")
        return cls(int(found[1]), int(found[2]))

    def __str__(self) -> str:
        return f"{self.event}.{self.page}"


@dataclass(frozen=True, slots=True)
class Told:
    """An event as it goes over the wire."""

    place: Place
    """Of a listener that has got it."""
    text: bytes

    @classmethod
    def of(cls, kind: str, place: Place, at: float, detail: Mapping[str, Any]) -> Told:
        data = json.dumps({"at": moment(at).isoformat(), **detail})
        return cls(place, f"id: {place}\nevent: {kind}\ndata: {data}\n\n".encode())


class Feed:
    """One reader for all listeners of a crawl; each of them holds nothing but its place, so nothing queues up."""

    def __init__(self, database: Database, crawl: int, progress: Progress) -> None:
        self.listeners = 0
        self._database = database
        self._crawl = crawl
        self._progress = progress
        self._told: deque[Told] = deque(maxlen=KEPT)
        self._count = 0
        """Events ever told; the newest of them are in `_told`."""
        self._place = Place(0, 0)
        self._latest = b""
        """Where the crawl stands, for whoever comes next."""
        self._news = asyncio.Event()
        self._reader: asyncio.Task[None] | None = None

    async def open(self) -> None:
        """Begin to read, from now on."""
        event, page = history.last_event(self._database, self._crawl), history.page_count(self._database, self._crawl)
        self._place = Place(await event, await page)
        await self._look()
        self._reader = asyncio.create_task(self._read(), name=f"feed {self._crawl}")
        self._reader.add_done_callback(self._ended)

    @property
    def is_open(self) -> bool:
        return self._reader is not None

    def close(self) -> None:
        """Every listener's stream ends."""
        if self._reader:
            self._reader.cancel()

    def _ended(self, reader: asyncio.Task[None]) -> None:
        """Nothing more will be read: the crawl is gone, the store cannot be read, or the feed was closed."""
        if not reader.cancelled() and not isinstance(error := reader.exception(), NotFound):
            logger.error("crawl %d can no longer be listened to", self._crawl, exc_info=error)
        self._reader = None
        self._news.set()

    async def follow(self, since: Place | None) -> AsyncIterator[bytes]:
        """Events from `since` on, or from now."""
        at, known = self._count, self._place
        yield b"retry: 2000\n\n"
        if since is not None:
            yield await self._between(since, known)
        yield self._latest
        while self._reader:
            await self._news.wait()
            behind = self._count - at
            lost = max(0, behind - len(self._told))
            fresh = list(islice(self._told, len(self._told) - (behind - lost), None))
            at = self._count
            gap = Told.of("gap", self._place, time.time(), {"missed": lost}).text if lost else b""
            yield b"".join([gap, *(told.text for told in fresh), self._latest])

    async def _read(self) -> None:
        while True:
            await asyncio.sleep(TICK_SECONDS)
            await self._look()
            waiting, self._news = self._news, asyncio.Event()
            waiting.set()

    async def _look(self) -> None:
        """Tell what is new in the store since the last look."""
        pages = await browse.listed(self._database, self._crawl, Wanted(), MOST_READ, self._place.page, newest=False)
        events = await history.events_after(self._database, self._crawl, self._place.event, MOST_EVENTS)
        shown = _worth_telling(pages)
        news = list(_told(self._place, shown, events))
        event = events[-1].id if events else self._place.event
        page = pages[-1].number if pages else self._place.page
        self._place = Place(event, page)
        detail = {**await self._progress(self._crawl), "untold_pages": len(pages) - len(shown)}
        self._latest = Told.of("progress", self._place, time.time(), detail).text
        self._told.extend(news)
        self._count += len(news)

    async def _between(self, since: Place, known: Place) -> bytes:
        """What a listener has missed; of what lies far back, how much it was."""
        first = max(since.page, known.page - CATCH_UP)
        pages = await browse.listed(self._database, self._crawl, Wanted(), CATCH_UP, first, newest=False)
        events = await history.events_between(self._database, self._crawl, since.event, known.event, CATCH_UP)
        total = await history.event_count(self._database, self._crawl, since.event, known.event)
        lost = max(0, first - since.page) + total - len(events)
        gap = Told.of("gap", since, time.time(), {"missed": lost}).text if lost else b""
        told = _told(since, [page for page in pages if page.number <= known.page], events)
        return b"".join([gap, *(one.text for one in told)])


class Feeds:
    """A feed for every crawl that somebody listens to."""

    def __init__(self, database: Database, progress: Progress) -> None:
        self._database = database
        self._progress = progress
        self._feeds: dict[int, Feed] = {}
        self._opening = asyncio.Lock()

    @property
    def listeners(self) -> int:
        return sum(feed.listeners for feed in self._feeds.values())

    async def follow(self, crawl: int, since: Place | None) -> AsyncIterator[bytes]:
        async with self._opening:
            feed = self._feeds.get(crawl)
            if feed is None or not feed.is_open:
                feed = Feed(self._database, crawl, self._progress)
                await feed.open()
                self._feeds[crawl] = feed
        feed.listeners += 1
        try:
            async for text in feed.follow(since):
                yield text
        finally:
            feed.listeners -= 1
            if not feed.listeners and self._feeds.get(crawl) is feed:
                del self._feeds[crawl]
                feed.close()

    def close(self) -> None:
        for feed in self._feeds.values():
            feed.close()


def _worth_telling(pages: Sequence[AnyRow]) -> list[AnyRow]:
    """At most so many of the pages, relevant and failed ones before others, in their order."""
    first = sorted(pages, key=lambda page: not (page.relevant or page.outcome == Outcome.FAILED))
    return sorted(first[:MOST_PER_TICK], key=lambda page: page.number)


def _told(place: Place, pages: Sequence[AnyRow], events: Sequence[AnyRow]) -> Iterator[Told]:
    for page in pages:
        place = Place(place.event, page.number)
        kind = "relevant_page" if page.relevant else "error" if page.outcome == Outcome.FAILED else "page"
        names = ("url", "title", "site", "depth", "outcome", "reason", "status", "relevant", "probability")
        yield Told.of(
            kind, place, page.fetched_at, {"id": page.number, **{name: getattr(page, name) for name in names}}
        )
    for event in events:
        place = Place(event.id, place.page)
        yield Told.of(event.kind.replace(" ", "_"), place, event.at, event.detail)
