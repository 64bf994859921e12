"""What a host allows: robots.txt (RFC 9309), cached for a day."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Iterable
from enum import Enum, auto

from protego import Protego

from tres_crawler.errors import BadStatus
from tres_crawler.fetch.client import PRODUCT, Client
from tres_crawler.fetch.pace import retry_after
from tres_crawler.records import Fetched, RobotsAnswer

KEPT_SECONDS = 24 * 3600.0
MAX_BYTES = 500 * 1024
MAX_REDIRECTS = 5
_VERSION = re.compile(r"((?:^|[\r\n])[ \t]*user-agent[ \t]*:[ \t]*[a-z_-]+)/[^\r\n]*", re.IGNORECASE)


class Access(Enum):
    """What robots.txt says of a URL."""

    UNKNOWN = auto()
    """Not asked yet, too long ago, or it could not be had (RFC 9309, sec. 2.3.1.4: then nothing may be fetched)."""
    ALLOWED = auto()
    DISALLOWED = auto()


class Robots:
    """The rules of every origin that has answered."""

    def __init__(self, clock: Callable[[], float], known: Iterable[RobotsAnswer] = ()) -> None:
        self.clock = clock
        self._rules: dict[str, tuple[float, Protego]] = {}
        self._asking: dict[str, asyncio.Task[RobotsAnswer]] = {}
        for answer in known:
            self.keep(answer)

    def keep(self, answer: RobotsAnswer) -> None:
        # No file (any 4xx) means no rules.
        body = answer.body.decode("utf-8-sig", "replace") if answer.status == 200 else ""
        # Owners copy our whole user agent; only its name is the token that rules are matched by.
        self._rules[answer.origin] = (answer.fetched_at, Protego.parse(_VERSION.sub(r"\1", body)))

    def access(self, url: str) -> Access:
        fetched_at, rules = self._rules.get(origin_of(url), (0.0, None))
        if rules is None or self.clock() - fetched_at > KEPT_SECONDS:
            return Access.UNKNOWN
        return Access.ALLOWED if rules.can_fetch(url, PRODUCT) else Access.DISALLOWED

    def delay_seconds(self, url: str) -> float:
        """The Crawl-delay that the origin asks of us."""
        _, rules = self._rules.get(origin_of(url), (0.0, None))
        return float((rules and rules.crawl_delay(PRODUCT)) or 0.0)

    async def ask(self, client: Client, url: str) -> RobotsAnswer:
        """Fetch and keep the robots.txt that governs `url`; many who ask at once share one request.

        A FetchError says that it cannot be had for now (RFC 9309, sec. 2.3.1.4: then nothing may be fetched).
        """
        origin = origin_of(url)
        if origin not in self._asking:
            task = asyncio.create_task(self._ask(client, origin))
            self._asking[origin] = task
            task.add_done_callback(lambda _: self._asking.pop(origin, None))
        return await asyncio.shield(self._asking[origin])

    async def _ask(self, client: Client, origin: str) -> RobotsAnswer:
        fetched = await self._get(client, origin + "/robots.txt")
        answer = RobotsAnswer(origin, self.clock(), fetched.status, fetched.body)
        if not answer.reached:
            raise BadStatus(fetched.url, fetched.status, retry_after(fetched, self.clock()))
        self.keep(answer)
        return answer

    async def _get(self, client: Client, url: str) -> Fetched:
        """Redirects are followed, five at most; what lies behind more counts as no file (RFC 9309, sec. 2.3.1.2)."""
        for _ in range(MAX_REDIRECTS + 1):
            fetched = await client.get(url, readable_only=False, first_bytes=MAX_BYTES)
            if fetched.location is None:
                return fetched
            url = fetched.location
        return fetched


def origin_of(url: str) -> str:
    """Scheme, host and port: robots.txt holds for these together."""
    scheme, _, rest = url.partition("//")
    return f"{scheme}//{rest.partition('/')[0].rpartition('@')[2]}"
