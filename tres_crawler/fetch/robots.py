"""What a host allows: robots.txt (RFC 9309), which holds for a day."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from dataclasses import replace

from protego import Protego

from tres_crawler.errors import BadStatus, FetchError
from tres_crawler.fetch.client import PRODUCT, Client
from tres_crawler.fetch.pace import retry_after
from tres_crawler.records import RobotsAnswer

KEPT_SECONDS = 24 * 3600.0
MAX_BYTES = 500 * 1024
MAX_REDIRECTS = 5
MOST_PARSED_BYTES = 2_000_000
"""Of files that are kept parsed, which takes some 25 times as much memory: those of about a thousand hosts."""
LEAST_PARSED_BYTES = 1_000
"""What even an empty one counts."""
_VERSION = re.compile(r"((?:^|[\r\n])[ \t]*user-agent[ \t]*:[ \t]*[a-z_-]+)/[^\r\n]*", re.IGNORECASE)

Stored = Callable[[str], Awaitable[RobotsAnswer | None]]
"""The newest answer of an origin that was written down."""
Hold = Callable[[str], AbstractAsyncContextManager[object]]
"""Keeps the host of a URL for one who asks it, and lets it rest afterwards; a FetchError if it must rest first."""


class Rules:
    """What one robots.txt asks of us."""

    def __init__(self, answer: RobotsAnswer) -> None:
        self.answer = answer
        # No file (any 4xx) means no rules.
        body = answer.body.decode("utf-8-sig", "replace") if answer.status == 200 else ""
        # Owners copy our whole user agent; only its name is the token that rules are matched by.
        self._parsed = Protego.parse(_VERSION.sub(r"\1", body))

    @property
    def size(self) -> int:
        return max(len(self.answer.body), LEAST_PARSED_BYTES)

    @property
    def delay_seconds(self) -> float:
        """The Crawl-delay that the origin asks of us."""
        return float(self._parsed.crawl_delay(PRODUCT) or 0.0)

    def allow(self, url: str) -> bool:
        return self._parsed.can_fetch(url, PRODUCT)


async def nothing_stored(_origin: str) -> None:
    """For those who write nothing down."""


class Robots:
    """The rules of every origin that has answered: those used last in memory, within its limit, all others where they
    are stored."""

    def __init__(self, clock: Callable[[], float], stored: Stored = nothing_stored) -> None:
        self.clock = clock
        self._stored = stored
        self._parsed: dict[str, Rules] = {}
        """Those used last stand last."""
        self._parsed_bytes = 0
        self._asking: dict[str, tuple[Client, asyncio.Task[Rules]]] = {}
        """By origin, with whose connections it is asked."""

    async def rules(self, url: str) -> Rules | None:
        """What holds for `url`; None if its origin was not asked yet, or too long ago."""
        origin = origin_of(url)
        rules = self._forget(origin)
        answer = rules.answer if rules else await self._stored(origin)
        # One from the future was written before the clock was set back: it may be of any age.
        if answer is None or not 0 <= self.clock() - answer.fetched_at <= KEPT_SECONDS:
            return None
        return self._keep(rules or await _parse(answer))

    async def ask(self, client: Client, url: str, hold: Hold) -> Rules:
        """Fetch and keep the robots.txt that governs `url`; many who ask at once share one request.

        A FetchError says that it cannot be had for now (RFC 9309, sec. 2.3.1.4: then nothing may be fetched).
        """
        origin = origin_of(url)
        while True:
            if origin not in self._asking:
                task = asyncio.create_task(self._ask(client, origin, hold))
                self._asking[origin] = client, task
                task.add_done_callback(lambda _: self._asking.pop(origin, None))
            asker, asking = self._asking[origin]
            try:
                return await asyncio.shield(asking)
            except FetchError:
                # The crawl that asked may have ended on the way, and its connections with it: then ask oneself.
                if asker is client or asker.is_open:
                    raise

    async def _ask(self, client: Client, origin: str, hold: Hold) -> Rules:
        # Each host on the way is held until the end: many a redirect leads to the same host again, under https.
        async with AsyncExitStack() as held:
            answer = await self._follow(client, _file_of(origin), lambda url: held.enter_async_context(hold(url)))
        return self._keep(await _parse(replace(answer, origin=origin)))

    async def _follow(self, client: Client, url: str, enter: Callable[[str], Awaitable[object]]) -> RobotsAnswer:
        """Redirects are followed, five at most; what lies behind more counts as no file (RFC 9309, sec. 2.3.1.2)."""
        for hop in range(MAX_REDIRECTS + 1):
            is_file = url == _file_of(url)
            if hop and is_file and (known := await self.rules(url)):
                return known.answer
            await enter(url)
            fetched = await client.get(url, readable_only=False, first_bytes=MAX_BYTES)
            answer = RobotsAnswer(origin_of(url), self.clock(), fetched.status, fetched.body)
            if not answer.reached:
                raise BadStatus(url, fetched.status, retry_after(fetched, self.clock()))
            if fetched.location is None:
                if hop and is_file:
                    # The next who is sent here need not ask.
                    self._keep(await _parse(answer))
                break
            url = fetched.location
        return answer

    def _keep(self, rules: Rules) -> Rules:
        """Remember them as the last used, and forget as many others as they need room."""
        self._forget(rules.answer.origin)
        self._parsed[rules.answer.origin] = rules
        self._parsed_bytes += rules.size
        while self._parsed_bytes > MOST_PARSED_BYTES:
            self._forget(next(iter(self._parsed)))
        return rules

    def _forget(self, origin: str) -> Rules | None:
        rules = self._parsed.pop(origin, None)
        self._parsed_bytes -= rules.size if rules else 0
        return rules


async def _parse(answer: RobotsAnswer) -> Rules:
    # The longest files take a tenth of a second; the event loop does not wait for them.
    return await asyncio.to_thread(Rules, answer)


def origin_of(url: str) -> str:
    """Scheme, host and port: robots.txt holds for these together."""
    scheme, _, rest = url.partition("//")
    return f"{scheme}//{rest.partition('/')[0].rpartition('@')[2]}"


def _file_of(url: str) -> str:
    return origin_of(url) + "/robots.txt"
