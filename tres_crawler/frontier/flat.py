"""A frontier that values every waiting link at every choice: the synchronous method (TRES, sec. 2.5)."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np

from tres_crawler.frontier.arrays import Bools, Floats, Ints, with_room
from tres_crawler.records import Offer


class FlatFrontier:
    """Offers the most valuable of all links of free hosts, by their values of now; a choice costs as many as wait."""

    leaves = 1

    def __init__(self, width: int, value: Callable[[Floats, Ints], Floats]) -> None:
        self._value = value
        self._count = 0
        self._links: Ints = np.zeros(0, np.int32)
        self._hosts: Ints = np.zeros(0, np.int32)
        self._features: Floats = np.zeros((0, width), np.float32)
        self._rows: dict[int, int] = {}
        self._holds: Ints = np.zeros(0, np.int32)
        """How often each host is held."""

    def __len__(self) -> int:
        return self._count

    def place(self, links: Iterable[Offer]) -> None:
        placed = list(links)
        size = self._count + len(placed)
        self._links, self._hosts = with_room(self._links, size), with_room(self._hosts, size)
        self._features = with_room(self._features, size)
        for row, link in enumerate(placed, self._count):
            self._links[row], self._hosts[row], self._rows[link.link] = link.link, link.host, row
            self._features[row] = 0.0 if link.features is None else link.features
        self._count = size

    @property
    def can_offer(self) -> bool:
        return bool(self._free().any())

    def offer(self) -> list[Offer]:
        free = np.flatnonzero(self._free())
        if not len(free):
            return []
        values = self._value(self._features[free], self._hosts[free])
        best = int(np.argmax(values))
        row = int(free[best])
        waited = self._features[row].copy()
        return [Offer(int(self._links[row]), int(self._hosts[row]), features=waited, value=float(values[best]))]

    def take(self, offer: Offer) -> None:
        row, last = self._rows.pop(offer.link), self._count - 1
        if row != last:
            for column in (self._links, self._hosts, self._features):
                column[row] = column[last]
            self._rows[int(self._links[row])] = row
        self._count = last

    def drop(self, host: int) -> int:
        dropped = self._links[: self._count][self._hosts[: self._count] == host].tolist()
        for link in dropped:
            self.take(Offer(link, host))
        return len(dropped)

    def hold(self, *hosts: int) -> None:
        self._holds = with_room(self._holds, max(hosts, default=-1) + 1)
        self._holds[list(hosts)] += 1

    def release(self, *hosts: int) -> None:
        self._holds[list(hosts)] -= 1

    def _free(self) -> Bools:
        hosts = self._hosts[: self._count]
        self._holds = with_room(self._holds, int(hosts.max(initial=0)) + 1)
        free: Bools = self._holds[hosts] == 0
        return free
