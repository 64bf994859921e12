"""How hosts are treated: what the crawls of one process share, and how one of them stands with its hosts."""

from __future__ import annotations

import time
from dataclasses import dataclass

from tres_crawler.config import FetchSettings
from tres_crawler.fetch.pace import Pace, Quarantine
from tres_crawler.fetch.robots import Robots
from tres_crawler.fetch.slots import FetchSlots
from tres_crawler.store import robots
from tres_crawler.store.database import Database


@dataclass(frozen=True)
class Manners:
    """What is known of hosts: crawls of one process share it, so none is asked twice as hard."""

    pace: Pace
    robots: Robots
    slots: FetchSlots

    @classmethod
    def of(cls, database: Database, settings: FetchSettings, slots: int | None = None) -> Manners:
        """With what is stored of robots.txt; at most so many `slots` for all crawls together."""
        stored = Robots(time.time, lambda origin: robots.latest(database, origin, until=time.time()))
        return cls(Pace(settings.delay_seconds, time.monotonic), stored, FetchSlots(slots))


@dataclass(frozen=True)
class Politeness:
    """How a crawl stands with its hosts; times are on the monotonic clock."""

    in_flight: int
    resting: list[tuple[str, float]]
    """Hosts and when each may be asked again, infinity while a request is under way."""
    quarantined: list[Quarantine]
    sites_full: int
    refused: dict[str, int]
