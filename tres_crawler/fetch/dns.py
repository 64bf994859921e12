"""A host's name → its addresses: asked once, shared by all who wait, kept as long as the answer holds."""

from __future__ import annotations

import asyncio
import socket
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from ipaddress import ip_address

import aiodns
import pycares
from aiohttp.abc import AbstractResolver, ResolveResult

from tres_crawler.fetch.guard import forbidden

SHORTEST_SECONDS = 60.0
"""An answer is kept this long at least, so that a page and its robots.txt come from the same address."""
LONGEST_SECONDS = 3600.0
FAILURE_SECONDS = 60.0
MOST_NAMES = 50_000
MOST_ADDRESSES = 8
"""Of one name; aiohttp tries n addresses that do not answer n² / 2 times."""

UNKNOWN_NAME = (
    aiodns.error.ARES_ENOTFOUND,
    aiodns.error.ARES_ENODATA,
    aiodns.error.ARES_EBADNAME,
    aiodns.error.ARES_ENONAME,
)


@dataclass(frozen=True, slots=True)
class Answer:
    """What a name server said of a name."""

    addresses: tuple[str, ...]
    ttl_seconds: float


Lookup = Callable[[str], Awaitable[Answer]]
"""Raises socket.gaierror: EAI_NONAME if there is no such name, EAI_AGAIN if asking later may help."""


@dataclass(frozen=True, slots=True)
class _Known:
    until: float
    addresses: tuple[str, ...] = ()
    failure: tuple[int, str] | None = None


class Resolver(AbstractResolver):
    """Asks for a name at most once at a time and once a minute, whether it is found or not."""

    def __init__(
        self,
        lookup: Lookup | None = None,
        clock: Callable[[], float] = time.monotonic,
        most_names: int = MOST_NAMES,
    ) -> None:
        self.clock = clock
        self._system = SystemLookup()
        self._lookup = lookup or self._system
        self._most_names = most_names
        self._known: dict[str, _Known] = {}
        self._asked: dict[str, asyncio.Task[_Known]] = {}

    async def addresses(self, host: str) -> tuple[str, ...]:
        """Where `host` (a name, or an address as it stands in a URL) can be reached; raises socket.gaierror."""
        known = self._known.get(host)
        if known is None and (literal := _literal(host)):
            return (literal,)
        if known is None or known.until <= self.clock():
            # The task is nobody's own: who stops waiting does not stop it for the others.
            known = await asyncio.shield(self._asked.get(host) or self._ask(host))
        if known.failure:
            raise socket.gaierror(*known.failure)
        return known.addresses

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        """The same for aiohttp."""
        found = [(address, _family(address)) for address in await self.addresses(host)]
        wanted = [(address, kind) for address, kind in found if family in (socket.AF_UNSPEC, kind)]
        if not wanted:
            raise socket.gaierror(socket.EAI_NONAME, "no address of this family")
        return [
            ResolveResult(
                hostname=host,
                host=address,
                port=port,
                family=kind,
                proto=0,
                flags=socket.AI_NUMERICHOST | socket.AI_NUMERICSERV,
            )
            for address, kind in wanted
        ]

    async def close(self) -> None:
        asked = list(self._asked.values())
        for task in asked:
            task.cancel()
        await asyncio.gather(*asked, return_exceptions=True)
        await self._system.close()

    def _ask(self, host: str) -> asyncio.Task[_Known]:
        task = asyncio.create_task(self._look_up(host), name=f"look up {host}")
        self._asked[host] = task
        task.add_done_callback(lambda _: self._asked.pop(host))
        return task

    async def _look_up(self, host: str) -> _Known:
        before = self._known.pop(host, None)
        try:
            answer = await self._lookup(host)
        except OSError as error:
            failure = (error.errno or socket.EAI_AGAIN, error.strerror or str(error))
            known = _Known(self.clock() + FAILURE_SECONDS, failure=failure)
        else:
            kept_seconds = min(max(answer.ttl_seconds, SHORTEST_SECONDS), LONGEST_SECONDS)
            first = before.addresses[:1] if before else ()
            known = _Known(self.clock() + kept_seconds, _usable(answer.addresses, first))
        self._known[host] = known
        if len(self._known) > self._most_names:
            del self._known[next(iter(self._known))]
        return known


class SystemLookup:
    """Asks the machine's name servers through aiodns, and the C library where it cannot reach them."""

    TIMEOUT_SECONDS = 3.0
    TRIES = 2

    def __init__(self, nameservers: Sequence[str] = (), otherwise: Lookup | None = None) -> None:
        self._nameservers = nameservers
        self._otherwise = otherwise or by_c_library
        self._channel: aiodns.DNSResolver | None = None

    async def __call__(self, host: str) -> Answer:
        try:
            channel = self._opened()
        except (pycares.AresError, RuntimeError):  # no file handles left, or an event loop it cannot use
            return await self._otherwise(host)
        try:
            found = await channel.getaddrinfo(host, type=socket.SOCK_STREAM, flags=socket.AI_ADDRCONFIG)
        except aiodns.error.DNSError as error:
            code, text = error.args
            # Only if no server is there: after a time-out the C library would wait as long again, holding a thread.
            if code == aiodns.error.ARES_ECONNREFUSED:
                return await self._otherwise(host)
            raise socket.gaierror(socket.EAI_NONAME if code in UNKNOWN_NAME else socket.EAI_AGAIN, text) from error
        if not found.nodes:
            raise socket.gaierror(socket.EAI_NONAME, "no address")
        # An alias may be moved before the address it leads to is.
        ttl_seconds = min([node.ttl for node in found.nodes] + [alias.ttl for alias in found.cnames])
        return Answer(tuple(node.addr[0].decode("ascii") for node in found.nodes), ttl_seconds)

    async def close(self) -> None:
        if self._channel:
            await self._channel.close()
        self._channel = None

    def _opened(self) -> aiodns.DNSResolver:
        if self._channel is None:
            self._channel = aiodns.DNSResolver(
                self._nameservers, timeout=self.TIMEOUT_SECONDS, tries=self.TRIES, loop=asyncio.get_running_loop()
            )
        return self._channel


async def by_c_library(host: str) -> Answer:
    """Looked up by getaddrinfo in a thread; it tells no TTL."""
    try:
        found = await asyncio.get_running_loop().getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except UnicodeError as error:
        raise socket.gaierror(socket.EAI_NONAME, "not a name that can be looked up") from error
    return Answer(tuple(str(where[0]) for _, _, _, _, where in found), 0.0)


def _usable(addresses: Sequence[str], first: Sequence[str]) -> tuple[str, ...]:
    """The public ones if there are any, and what was `first` before still first: connections to it may be kept.

    The guard refuses others anyway; left in, a refusal could be told in place of why the public ones failed.
    """
    public = [address for address in addresses if not forbidden(address)]
    return tuple(sorted(dict.fromkeys(public or addresses), key=lambda address: address not in first))[:MOST_ADDRESSES]


def _literal(host: str) -> str | None:
    bare = host.strip("[]")
    try:
        ip_address(bare)
    except ValueError:
        return None
    return bare


def _family(address: str) -> socket.AddressFamily:
    return socket.AF_INET6 if ":" in address else socket.AF_INET
