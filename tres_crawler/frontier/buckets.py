"""A frontier of one leaf that draws uniformly among the links of free hosts."""

from __future__ import annotations

import random
from collections.abc import Iterable

from tres_crawler.records import Offer


class RandomFrontier:
    """Links lie in one flat list for cheap uniform draws, and by host for when most hosts are held."""

    TRIES = 16
    """Draws from the flat list before the free hosts are gone through; both ways are uniform."""

    leaves = 1

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng
        self._flat: list[Offer] = []
        self._position: dict[int, int] = {}
        self._by_host: dict[int, dict[int, Offer]] = {}
        self._holds: dict[int, int] = {}
        self._free: set[int] = set()

    def __len__(self) -> int:
        return len(self._flat)

    def place(self, links: Iterable[Offer]) -> None:
        for link in links:
            self._position[link.link] = len(self._flat)
            self._flat.append(link)
            self._by_host.setdefault(link.host, {})[link.link] = link
            if link.host not in self._holds:
                self._free.add(link.host)

    @property
    def can_offer(self) -> bool:
        return bool(self._free)

    def offer(self) -> list[Offer]:
        if not self._free:
            return []
        for _ in range(self.TRIES):
            drawn = self._flat[self._rng.randrange(len(self._flat))]
            if drawn.host in self._free:
                return [drawn]
        hosts = sorted(self._free)
        at = self._rng.randrange(sum(len(self._by_host[host]) for host in hosts))
        for host in hosts:
            bucket = self._by_host[host]
            if at < len(bucket):
                return [list(bucket.values())[at]]
            at -= len(bucket)
        raise AssertionError("the draw lies within the free hosts' links")

    def take(self, offer: Offer) -> None:
        at = self._position.pop(offer.link)
        last = self._flat.pop()
        if last.link != offer.link:
            self._flat[at] = last
            self._position[last.link] = at
        bucket = self._by_host[offer.host]
        del bucket[offer.link]
        if not bucket:
            del self._by_host[offer.host]
            self._free.discard(offer.host)

    def drop(self, host: int) -> int:
        links = list(self._by_host.get(host, {}).values())
        for link in links:
            self.take(link)
        return len(links)

    def hold(self, *hosts: int) -> None:
        for host in hosts:
            self._holds[host] = self._holds.get(host, 0) + 1
            self._free.discard(host)

    def release(self, *hosts: int) -> None:
        for host in hosts:
            self._holds[host] -= 1
            if not self._holds[host]:
                del self._holds[host]
                if host in self._by_host:
                    self._free.add(host)
