"""A frontier of one leaf that offers the oldest link of a free host: breadth-first."""

from __future__ import annotations

from collections.abc import Iterable
from heapq import heapify, heappop, heappush

from tres_crawler.records import Offer


class OrderedFrontier:
    """Each host keeps its links in order; the heads of the free hosts compete."""

    leaves = 1

    def __init__(self) -> None:
        self._count = 0
        self._by_host: dict[int, list[int]] = {}
        self._holds: dict[int, int] = {}
        self._heads: list[tuple[int, int]] = []
        """(link, host) heap; an entry counts only while it is that host's oldest link and the host is free."""

    def __len__(self) -> int:
        return self._count

    def place(self, links: Iterable[Offer]) -> None:
        for link in links:
            heappush(self._by_host.setdefault(link.host, []), link.link)
            self._count += 1
            if self._oldest(link.host) == link.link:
                self._compete(link.host)

    @property
    def can_offer(self) -> bool:
        return bool(self.offer())

    def offer(self) -> list[Offer]:
        while self._heads:
            link, host = self._heads[0]
            if host not in self._holds and self._oldest(host) == link:
                return [Offer(link, host)]
            heappop(self._heads)
        return []

    def take(self, offer: Offer) -> None:
        waiting = self._by_host[offer.host]
        if waiting[0] == offer.link:
            heappop(waiting)
        else:
            waiting.remove(offer.link)
            heapify(waiting)
        if not waiting:
            del self._by_host[offer.host]
        self._count -= 1
        self._compete(offer.host)

    def drop(self, host: int) -> int:
        dropped = len(self._by_host.pop(host, ()))
        self._count -= dropped
        return dropped

    def hold(self, host: int) -> None:
        self._holds[host] = self._holds.get(host, 0) + 1

    def release(self, host: int) -> None:
        self._holds[host] -= 1
        if not self._holds[host]:
            del self._holds[host]
            self._compete(host)

    def _oldest(self, host: int) -> int | None:
        waiting = self._by_host.get(host)
        return waiting[0] if waiting else None

    def _compete(self, host: int) -> None:
        oldest = self._oldest(host)
        if oldest is not None and host not in self._holds:
            heappush(self._heads, (oldest, host))
