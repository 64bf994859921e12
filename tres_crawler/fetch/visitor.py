"""Asks a host for a page as a polite guest: its rules first, one request at a time, a pause after each."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Iterable

from tres_crawler.config import FetchSettings
from tres_crawler.errors import BadStatus, Disallowed, FetchError, Postponed
from tres_crawler.fetch.client import Client
from tres_crawler.fetch.pace import Pace
from tres_crawler.fetch.robots import Access, Robots
from tres_crawler.records import Fetched, RobotsAnswer
from tres_crawler.urls import host_of


class Visitor:
    """Client, pace and robots.txt together; a host is reserved before it is asked."""

    def __init__(
        self,
        settings: FetchSettings,
        known_robots: Iterable[RobotsAnswer],
        keep_robots: Callable[[RobotsAnswer], Awaitable[None]],
    ) -> None:
        self.settings = settings
        self._client = Client(settings)
        self._pace = Pace(settings.delay_seconds, time.monotonic)
        self._robots = Robots(time.time, known_robots)
        self._keep_robots = keep_robots

    async def __aenter__(self) -> Visitor:
        await self._client.__aenter__()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._client.__aexit__()

    def is_free(self, host: str) -> bool:
        return self._pace.is_free(host)

    def free_at(self, host: str) -> float:
        """When `host` may be asked again, on the monotonic clock."""
        return self._pace.free_at(host)

    def reserve(self, host: str) -> None:
        """Keep `host` for the `get` that follows."""
        self._pace.begin(host)

    async def get(self, url: str) -> Fetched:
        """The answer to one GET of a reserved host: a page, or a redirect; anything else is raised."""
        host = host_of(url)
        if self.settings.obey_robots:
            await self._obey(host, url)
        try:
            fetched = await self._client.get(url)
            if fetched.status != 200 and not fetched.location:
                raise BadStatus(url, fetched.status)
        except FetchError as trouble:
            if trouble.retry:
                self._pace.end_badly(host, trouble.wait_seconds)
            else:
                self._pace.end(host)
            raise
        self._pace.end(host)
        return fetched

    async def _obey(self, host: str, url: str) -> None:
        """Return only if robots.txt is known to allow `url` and the host may be asked now."""
        if self._robots.access(url) is Access.UNKNOWN:
            answer = await self._robots.ask(self._client, url)
            self._pace.slow_down(host, self._robots.delay_seconds(url))
            if not answer.reached:
                self._pace.end_badly(host)
                raise Disallowed(url, f"robots.txt could not be had (status {answer.status})", retry=True)
            self._pace.end(host)
            await self._keep_robots(answer)
            if not self._pace.is_free(host):
                raise Postponed(url, "robots.txt was asked for; the host rests first")
            self._pace.begin(host)
        if self._robots.access(url) is Access.DISALLOWED:
            self._pace.cancel(host)
            raise Disallowed(url, "disallowed by robots.txt")
