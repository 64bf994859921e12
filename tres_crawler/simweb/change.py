"""How pages change: each gains items by processes with known rates, at times that depend on nothing but the seed."""

from __future__ import annotations

import math
from collections.abc import Iterator
from heapq import merge
from itertools import islice, takewhile
from typing import NamedTuple

from tres_crawler.simweb.chance import mix, share
from tres_crawler.simweb.model import Form, Page, Web
from tres_crawler.simweb.sites import Draw

SHOWN_ITEMS = 5
DAY_HOURS = 24.0
GROUPS_PER_SITE = 3
_POISSON_ONE = (0.36787944117144233, 0.7357588823428847, 0.9196986029286058, 0.9810118431238462, 0.9963401531726563)
"""The distribution function of a Poisson variable with mean 1, at 0 to 4."""


class Item(NamedTuple):
    """Something new on a page: when (in hours of web time), and 64 bits to make its words from."""

    hours: float
    bits: int


class Process(NamedTuple):
    """Items come at `rate` an hour on average; with a `phase` (hours), mostly around that time of day."""

    key: int
    rate: float
    phase: float | None

    def before(self, hours: float) -> Iterator[Item]:
        """Items up to a time, newest first, back to the beginning of all days."""
        base = self.rate if self.phase is None else 2 * self.rate
        block = math.floor(hours * base)
        while True:
            for item in sorted(self._block(block, base), reverse=True):
                if item.hours <= hours:
                    yield item
            block -= 1

    def _block(self, block: int, base: float) -> Iterator[Item]:
        """Time is cut into blocks with one item each on average, so that looking back costs little at any rate."""
        draw = share(mix(self.key, block & (1 << 64) - 1))
        for at in range(sum(draw >= limit for limit in _POISSON_ONE)):
            bits = mix(self.key, block & (1 << 64) - 1, at + 1)
            hours = (block + share(bits)) / base
            if self.phase is None or share(mix(bits, 1)) < _daylight(hours - self.phase):
                yield Item(hours, bits)


def processes(web: Web, page: Page) -> list[Process]:
    """What makes a page change; nothing for one that never does. A copy changes with its original."""
    params, page = web.params, web.shown(page)
    if page.form not in (Form.ARTICLE, Form.HOME) or share(mix(page.bits, Draw.CHANGE)) >= params.changing:
        return []
    key = mix(page.bits, Draw.CHANGE, 1)
    phase = DAY_HOURS * share(mix(key, 2)) if share(mix(key, 3)) < params.seasonal_change else None
    found = [Process(key, _rate(web, share(mix(key, 4))), phase)]
    if share(mix(key, 5)) < params.grouped_change:
        group = mix(web.sites[page.site].bits, Draw.CHANGE, key % GROUPS_PER_SITE)
        found.append(Process(group, _rate(web, share(mix(group, 4))), None))
    return found


def newest(web: Web, page: Page, hours: float, count: int = SHOWN_ITEMS) -> list[Item]:
    """The items a page shows at a time, newest first."""
    streams = [process.before(hours) for process in processes(web, page)]
    return list(islice(merge(*streams, reverse=True), count)) if streams else []


def between(web: Web, page: Page, start: float, end: float) -> list[Item]:
    """The items that came after `start` and up to `end`, oldest first: the truth about a page's changes."""
    found = [
        item
        for process in processes(web, page)
        for item in takewhile(lambda item: item.hours > start, process.before(end))
    ]
    return sorted(found)


def _rate(web: Web, draw: float) -> float:
    slowest, fastest = web.params.slowest_change, web.params.fastest_change
    return float(slowest * (fastest / slowest) ** draw)


def _daylight(hours: float) -> float:
    return (1 + math.cos(2 * math.pi * hours / DAY_HOURS)) / 2
