"""Visits under way: a link's host is seized, asked, and let go to rest; redirects lead from host to host."""

from __future__ import annotations

import asyncio
import heapq
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from tres_crawler.errors import MAX_REASON, Blocked, FetchError, Postponed
from tres_crawler.fetch.visitor import Visitor
from tres_crawler.frontier.places import Places
from tres_crawler.records import Fetched, Link, Offer, Validators
from tres_crawler.seen import Seen

MAX_REDIRECTS = 5
LEAST_LOOK_SECONDS, MOST_LOOK_SECONDS = 0.1, 1.0
"""How soon to look again at a host that another crawl is asking: after its delay, within these bounds."""


class Redirected(Exception):
    """The page is elsewhere: at `target`, which becomes a link of its own, or at a URL already known (None)."""

    def __init__(self, target: str | None, hops: int, reason: str) -> None:
        super().__init__(reason)
        self.target = target
        self.hops = hops
        self.reason = reason[:MAX_REASON]


@dataclass
class Visit:
    """A step under way: its link, and where redirects have led it. That host is held and its site charged."""

    link: Link
    chosen: Offer
    """Why it was chosen."""
    url: str
    host: int
    hops: int
    learner_version: int | None
    """Of what the policy had learned when it chose the link."""

    @classmethod
    def of(cls, link: Link, chosen: Offer, learner_version: int | None) -> Visit:
        return cls(link, chosen, link.url, link.host, link.hops, learner_version)


class Holder(Protocol):
    """Chooses what to visit, and passes over hosts that are held."""

    def hold(self, host: int, /) -> None: ...

    def release(self, host: int, /) -> None: ...


class Visits:
    """A host that is seized is let go exactly once, and a site that is charged is refunded unless a page came of it."""

    def __init__(
        self,
        visitor: Visitor,
        holders: Sequence[Holder],
        places: Places,
        seen: Seen,
        wake: Callable[[], None],
    ) -> None:
        self.visitor = visitor
        self._holders = holders
        self._places = places
        self._seen = seen
        self._wake = wake
        self._resting: list[tuple[float, int]] = []
        """(time, host) heap: held hosts, and when to look whether their pause is over."""
        self._reserved: set[str] = set()
        """Hosts that are seized and have not been asked yet."""
        self._asking: set[asyncio.Task[None]] = set()
        self._called_off = False

    @property
    def next_due(self) -> float | None:
        """When a resting host is to be looked at again."""
        return self._resting[0][0] if self._resting else None

    def seize(self, host: int, charge: bool = True) -> bool:
        """Hold a host for a visit and charge its site; False if it must rest first, as when another crawl asked it.

        A page that is visited again is not charged: it was when it was found.
        """
        for holder in self._holders:
            holder.hold(host)
        name = self._places.names[host]
        if not self.visitor.is_free(name):
            self._let_rest(host)
            return False
        self.visitor.reserve(name)
        self._reserved.add(name)
        if charge:
            self._places.charge(self._places.site(host))
        return True

    async def ask_again(self, url: str, host: int, known: Validators) -> Fetched:
        """A page that was had before, if it is another by now; its host is seized."""
        return await self._get(url, host, known)

    async def fetch(self, visit: Visit) -> Fetched:
        """The page behind a link. A redirect is followed while its host is ready and its site below the cap."""
        while True:
            try:
                fetched = await self._ask(visit)
            except (Postponed, FetchError) as trouble:
                if visit.url != visit.link.url and (trouble.retry or isinstance(trouble, Postponed)):
                    # What the first host had to say is said; what remains to be asked is the target.
                    self._seen.forget(visit.url)
                    raise Redirected(visit.url, visit.hops, f"redirects to {visit.url}") from trouble
                raise
            if fetched.location is None:
                return fetched
            self._move(visit, fetched.location)

    def call_off(self) -> None:
        """Break off what is being asked for: those links go back as they are. Nothing is fetched after that."""
        self._called_off = True
        for task in self._asking:
            task.cancel()

    def let_go(self) -> None:
        """Give back hosts that were seized for steps that never began: other crawls may want to ask them."""
        for name in self._reserved:
            self.visitor.cancel(name)
        self._reserved.clear()

    def resting(self) -> list[tuple[str, float]]:
        """Hosts that are held, and when each may be asked again."""
        names = {self._places.names[host] for _, host in self._resting}
        return [(name, self.visitor.free_at(name)) for name in names]

    def give_back(self, visit: Visit) -> None:
        """No page came of it."""
        self._places.refund(self._places.site(visit.host))

    def release_rested(self) -> None:
        now = time.monotonic()
        while self._resting and self._resting[0][0] <= now:
            host = heapq.heappop(self._resting)[1]
            if self.visitor.is_free(self._places.names[host]):
                for holder in self._holders:
                    holder.release(host)
            else:
                self._let_rest(host)

    async def _ask(self, visit: Visit) -> Fetched:
        if trap := self._seen.refusal(visit.url):
            self._leave(visit.host)
            raise Blocked(visit.url, trap)
        return await self._get(visit.url, visit.host)

    async def _get(self, url: str, host: int, known: Validators | None = None) -> Fetched:
        task: asyncio.Task[None] | None = asyncio.current_task()
        assert task is not None
        if self._called_off:
            self._leave(host)
            raise Postponed(url, "called off")
        self._asking.add(task)
        self._reserved.discard(self._places.names[host])
        try:
            return await self.visitor.get(url, known)
        except asyncio.CancelledError:
            if not self._called_off:
                raise
            task.uncancel()
            raise Postponed(url, "called off") from None
        finally:
            self._asking.discard(task)
            self._let_rest(host)

    def _move(self, visit: Visit, target: str) -> None:
        """Take a visit to where it was sent, or say that the target must wait like any other link."""
        visit.hops += 1
        if visit.hops > MAX_REDIRECTS:
            raise FetchError(visit.url, f"more than {MAX_REDIRECTS} redirects")
        if self._seen.knows(target):
            raise Redirected(None, visit.hops, f"redirects to {target}, which is known")
        host = self._places.host(target)
        here, there = self._places.site(visit.host), self._places.site(host)
        full = here != there and self._places.is_full(there)
        if full or not self.visitor.is_free(self._places.names[host]) or self._seen.refusal(target):
            raise Redirected(target, visit.hops, f"redirects to {target}")
        self._seen.add(target)
        self._places.refund(here)
        self.seize(host)
        visit.url, visit.host = target, host

    def _leave(self, host: int) -> None:
        """Do not ask a host that was seized."""
        self._reserved.discard(self._places.names[host])
        self.visitor.cancel(self._places.names[host])
        self._let_rest(host)

    def _let_rest(self, host: int) -> None:
        """Look at a held host again when its pause is over, or soon where a request to it is under way."""
        until = self.visitor.free_at(self._places.names[host])
        if math.isinf(until):
            pause = self.visitor.settings.delay_seconds
            until = time.monotonic() + min(max(pause, LEAST_LOOK_SECONDS), MOST_LOOK_SECONDS)
        heapq.heappush(self._resting, (until, host))
        self._wake()
