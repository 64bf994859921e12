"""A frontier of one leaf that offers the first link of a free host: the oldest, or the most promising."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from heapq import heapify, heappop, heappush

from tres_crawler.records import Offer

Key = tuple[float, int]
"""Rank and number of a link: among links of equal rank the older comes first."""


def oldest_first(link: Offer) -> float:
    return 0.0


def most_promising_first(link: Offer) -> float:
    return -link.promise


class OrderedFrontier:
    """Each host keeps its links in order of rank; the heads of the free hosts compete."""

    leaves = 1

    def __init__(self, rank: Callable[[Offer], float] = oldest_first) -> None:
        self._rank = rank
        self._count = 0
        self._by_host: dict[int, list[Key]] = {}
        self._holds: dict[int, int] = {}
        self._heads: list[tuple[Key, int]] = []
        """(key, host) heap; an entry counts only while it is that host's first link and the host is free."""
        self._competing: dict[int, Key] = {}
        """The newest entry of each host in the heap: hosts that are held and released again and again need no other."""

    def __len__(self) -> int:
        return self._count

    def place(self, links: Iterable[Offer]) -> None:
        for link in links:
            key = (self._rank(link), link.link)
            heappush(self._by_host.setdefault(link.host, []), key)
            self._count += 1
            if self._first(link.host) == key:
                self._compete(link.host)

    @property
    def can_offer(self) -> bool:
        return bool(self.offer())

    def offer(self) -> list[Offer]:
        while self._heads:
            key, host = self._heads[0]
            if host not in self._holds and self._first(host) == key:
                return [Offer(key[1], host, promise=-key[0])]
            heappop(self._heads)
            if self._competing.get(host) == key:
                del self._competing[host]
        return []

    def take(self, offer: Offer) -> None:
        waiting = self._by_host[offer.host]
        if waiting[0][1] == offer.link:
            heappop(waiting)
        else:
            waiting[:] = [key for key in waiting if key[1] != offer.link]
            heapify(waiting)
        if not waiting:
            del self._by_host[offer.host]
        self._count -= 1
        self._compete(offer.host)

    def of_host(self, host: int) -> list[int]:
        """Numbers of the links that wait for a host."""
        return [link for _, link in self._by_host.get(host, ())]

    def clear(self) -> None:
        """Remove all links, whose hosts stay held or free."""
        self._by_host.clear()
        self._heads.clear()
        self._competing.clear()
        self._count = 0

    def drop(self, host: int) -> int:
        dropped = len(self._by_host.pop(host, ()))
        self._count -= dropped
        return dropped

    def hold(self, *hosts: int) -> None:
        for host in hosts:
            self._holds[host] = self._holds.get(host, 0) + 1

    def release(self, *hosts: int) -> None:
        for host in hosts:
            self._holds[host] -= 1
            if not self._holds[host]:
                del self._holds[host]
                self._compete(host)

    def _first(self, host: int) -> Key | None:
        waiting = self._by_host.get(host)
        return waiting[0] if waiting else None

    def _compete(self, host: int) -> None:
        first = self._first(host)
        if first is not None and host not in self._holds and self._competing.get(host) != first:
            heappush(self._heads, (first, host))
            self._competing[host] = first
