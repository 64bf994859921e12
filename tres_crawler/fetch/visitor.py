"""Asks a host for a page as a polite guest: its rules first, one request at a time, a pause after each."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import partial

from tres_crawler.config import FetchSettings
from tres_crawler.errors import BadStatus, Blocked, Disallowed, FetchError, Postponed, TimedOut, Unreachable
from tres_crawler.fetch.client import Client
from tres_crawler.fetch.dns import Resolver
from tres_crawler.fetch.pace import Pace, Quarantine, retry_after
from tres_crawler.fetch.robots import Robots, Rules
from tres_crawler.records import Fetched, RobotsAnswer, Validators
from tres_crawler.urls import host_of


class Visitor:
    """Client, pace and robots.txt together; a host is reserved before it is asked.

    The pause holds for the host and for the address behind it, so many names on one machine share its pace. An
    address that stands for all (`connect_to`, a proxy) is exempt from that.
    """

    def __init__(
        self,
        settings: FetchSettings,
        pace: Pace,
        robots: Robots,
        keep_robots: Callable[[RobotsAnswer], Awaitable[None]],
        resolver: Resolver | None = None,
    ) -> None:
        self.settings = settings
        self._client = Client(settings, resolver)
        self._pace = pace
        self._robots = robots
        self._keep_robots = keep_robots
        self._addresses: dict[str, str] = {}

    async def __aenter__(self) -> Visitor:
        await self._client.__aenter__()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._client.__aexit__()

    def is_free(self, host: str) -> bool:
        return self.free_at(host) <= self._pace.clock()

    def free_at(self, host: str) -> float:
        """When `host` may be asked again, on the monotonic clock."""
        address = self._addresses.get(host)
        behind = self._pace.free_at(address) if address else 0.0
        return max(self._pace.free_at(host), behind)

    def reserve(self, host: str) -> None:
        """Keep `host` for the `get` that follows."""
        self._pace.begin(host)

    def cancel(self, host: str) -> None:
        """Give a reserved host back without asking it."""
        self._pace.cancel(host)

    def troubles(self, host: str) -> int:
        """How often in a row a host was in trouble."""
        return self._pace.troubles(host)

    def quarantined(self) -> list[Quarantine]:
        """Hosts that are left alone after repeated trouble, and why."""
        return self._pace.quarantined()

    async def get(self, url: str, known: Validators | None = None) -> Fetched:
        """The answer to one GET of a reserved host: a page, or a redirect; anything else is raised.

        Where a version is `known`, the answer may also be that it is still the one (304).
        """
        host, address = host_of(url), ""
        try:
            address = await self._reserve_address(host, url)
            if self.settings.obey_robots:
                await self._obey(host, address, url)
            return await self._ask(host, address, url, known)
        except (FetchError, Postponed):
            raise
        except BaseException:
            # Broken off, by a stop or by a full disk. It may have been asked, and others go on asking: it rests.
            self._end(host, address, None)
            raise

    async def _ask(self, host: str, address: str, url: str, known: Validators | None) -> Fetched:
        try:
            fetched = await self._client.get(url, conditions=known.conditions if known else None)
            usual = (200, 304) if known else (200,)
            if fetched.status not in usual and not fetched.location:
                raise BadStatus(url, fetched.status, retry_after(fetched, time.time()))
        except FetchError as trouble:
            self._end(host, address, trouble)
            raise
        self._end(host, address, None, fetched.seconds)
        return fetched

    async def _reserve_address(self, host: str, url: str) -> str:
        """Keep the address behind a host too, or say that it must rest first."""
        try:
            address = await self._address_of(host, url)
        except Unreachable as trouble:
            self._end(host, "", trouble)
            raise
        if not address:
            return ""
        if not self._pace.is_free(address):
            self._pace.cancel(host)
            raise Postponed(url, "another host at the same address was asked just now")
        self._pace.begin(address)
        return address

    async def _address_of(self, host: str, url: str) -> str:
        """The address behind a host, as the pace knows it; none where another stands for it."""
        if not self._client.is_direct(url):
            return ""
        try:
            found = await self._client.resolver.addresses(_without_port(host))
        except OSError as error:
            raise Unreachable(url, f"name not found ({error})") from error
        # The first is the one that is connected to, unless it does not answer.
        self._addresses[host] = f"address {found[0]}"
        return self._addresses[host]

    async def _obey(self, host: str, address: str, url: str) -> None:
        """Return only if robots.txt is known to allow `url` and the host, still reserved, may be asked now."""
        rules = await self._robots.rules(url)
        if rules:
            if refusal := self._refusal(host, url, rules):
                for name in _both(host, address):
                    self._pace.cancel(name)
                raise Disallowed(url, refusal)
            return
        rules = await self._ask_robots(host, address, url)
        if refusal := self._refusal(host, url, rules):
            raise Disallowed(url, refusal)
        if not self.is_free(host):
            raise Postponed(url, "robots.txt was asked for; the host rests first")
        for name in _both(host, address):
            self._pace.begin(name)

    async def _ask_robots(self, host: str, address: str, url: str) -> Rules:
        """Fetch robots.txt; like any request it is followed by a pause."""
        try:
            rules = await self._robots.ask(self._client, url, partial(self._hold, set(_both(host, address))))
        except FetchError as trouble:
            self._end(host, address, trouble)
            if isinstance(trouble, Blocked):
                raise
            told = trouble.reason if isinstance(trouble, BadStatus | Disallowed) else "no answer"
            raise Disallowed(url, f"robots.txt could not be had ({told})", retry=True) from trouble
        await self._keep_robots(rules.answer)
        self._slow_down(host, rules)
        self._end(host, address, None)
        return rules

    @asynccontextmanager
    async def _hold(self, held: set[str], url: str) -> AsyncIterator[None]:
        """Keep the host that robots.txt is to be asked of; those of `held` are kept already, others must be free."""
        host = host_of(url)
        if host in held:
            yield
            return
        address = await self._address_of(host, url)
        names = set(_both(host, address)) - held
        if not all(map(self._pace.is_free, names)):
            raise Disallowed(url, "it is at a host that must rest first", retry=True)
        for name in names:
            self._pace.begin(name)
        held |= names
        trouble = None
        try:
            yield
        except FetchError as error:
            trouble = error if host_of(error.url) == host else None
            raise
        finally:
            self._end(host, address if address in names else "", trouble)

    def _refusal(self, host: str, url: str, rules: Rules) -> str | None:
        """Why robots.txt forbids `url`, if it does."""
        longest = self.settings.max_crawl_delay_seconds
        if rules.delay_seconds > longest:
            return f"robots.txt asks for a pause above {longest:g} s"
        self._slow_down(host, rules)
        return None if rules.allow(url) else "disallowed by robots.txt"

    def _slow_down(self, host: str, rules: Rules) -> None:
        self._pace.slow_down(host, min(rules.delay_seconds, self.settings.max_crawl_delay_seconds))

    def _end(self, host: str, address: str, trouble: FetchError | None, seconds: float = 0.0) -> None:
        """Let host and address rest, as long as what happened asks for.

        An error that a host answers with says nothing of others at its address; no answer may mean that the machine
        is down. The trouble may be another host's, to which robots.txt was sent on.
        """
        if trouble and trouble.retry:
            self._pace.end_badly(host, trouble.wait_seconds, trouble.reason)
        else:
            self._pace.end(host, seconds)
        if not address:
            return
        if isinstance(trouble, Unreachable | TimedOut) and host_of(trouble.url) == host:
            self._pace.end_badly(address, reason=trouble.reason, shared=True)
        else:
            self._pace.end(address, seconds)


def _both(host: str, address: str) -> tuple[str, ...]:
    return (host, address) if address else (host,)


def _without_port(host: str) -> str:
    return host[1 : host.index("]")] if host.startswith("[") else host.partition(":")[0]
