"""What every policy promises the engine, and the policies that learn nothing."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from tres_crawler.config import Settings
from tres_crawler.frontier.frontier import Frontier
from tres_crawler.records import Outlink
from tres_crawler.store import links
from tres_crawler.store.database import Change, Database
from tres_crawler.store.pages import PageRecord

Floats = npt.NDArray[np.float32]
Numbers = npt.NDArray[np.int64]
Hosts = npt.NDArray[np.int32]
Bools = npt.NDArray[np.bool_]


class PageFact(NamedTuple):
    """What learning needs to know of a page that was fetched before."""

    number: int
    source: int | None
    """The page its link stood on."""
    site: int
    relevant: bool
    link_host: int = 0
    """Of its link; a redirect may have led to another."""

    @classmethod
    def of(cls, page: PageRecord) -> PageFact:
        return cls(page.number, page.link.source, page.site, page.reward > 0, page.link.host)


@dataclass(frozen=True, slots=True, eq=False)
class Named:
    """What a page names, every URL once: those that were new with it first, then those known before."""

    urls: Sequence[str]
    sites: Numbers
    looks: Floats
    """What the judge holds of their anchors."""
    new: int
    """So many of them were new."""


@dataclass(frozen=True)
class Surroundings:
    """What a crawl tells the policy it makes."""

    crawl: int
    settings: Settings
    keywords: Sequence[str]
    seed: int
    rng: random.Random
    sites_of: Callable[[Hosts], Numbers]
    """Site numbers of host numbers."""
    are_full: Callable[[Hosts], Bools]
    """Of hosts, which may be asked for nothing more: their site has reached its cap."""
    is_out_of_reach: Callable[[int], bool]
    """Whether a host will not be asked soon."""
    tell: Callable[[Change], object]
    """Saves an event."""


class Policy(Protocol):
    """Keeps the waiting links in its frontier, which offers the best first, and learns from every page.

    All methods are called from the event loop; what takes long is awaited.
    """

    @property
    def frontier(self) -> Frontier: ...

    @property
    def version(self) -> int | None:
        """Of what it has learned so far."""

    async def restore(self, database: Database, pages: Sequence[PageFact], judge_version: int) -> None:
        """Take up all that was saved: waiting links, experiences, what was learned."""

    def describe_seeds(self, seeds: Sequence[Outlink], sites: Numbers) -> Floats | None:
        """Features of links that stand on no page."""

    def arrive(
        self, page: PageRecord, outlinks: Sequence[Outlink], looks: Floats, sites: Numbers
    ) -> tuple[Floats | None, list[Change]]:
        """A page has come of a link: learn from it. Features of its new outlinks, and what is to be saved with it."""

    def hear(self, page: PageRecord, named: Named) -> list[Change]:
        """A page that has arrived names these URLs; what is to be saved of that."""

    def describe_more(
        self, page: PageRecord, outlinks: Sequence[Outlink], looks: Floats, sites: Numbers
    ) -> Floats | None:
        """Features of links that a page has gained since it arrived."""

    async def catch_up(self) -> None:
        """Wait until everything that arrived has been learned from."""

    async def judged_again(
        self, relevant: Mapping[int, bool], keywords: Sequence[str], judge_version: int
    ) -> list[Change]:
        """A new judge has judged these pages: learn anew from all. What is to be saved together with its word."""

    def is_snapshot_due(self, pages: int) -> bool: ...

    async def snapshot(self) -> list[Change]: ...

    async def close(self) -> None: ...


class PlainPolicy:
    """A frontier that knows by itself which link is next."""

    version = None

    def __init__(self, crawl: int, frontier: Frontier) -> None:
        self._crawl = crawl
        self.frontier = frontier

    async def restore(self, database: Database, pages: Sequence[PageFact], judge_version: int) -> None:
        self.frontier.place(await links.waiting(database, self._crawl))

    def describe_seeds(self, seeds: Sequence[Outlink], sites: Numbers) -> Floats | None:
        return None

    def arrive(
        self, page: PageRecord, outlinks: Sequence[Outlink], looks: Floats, sites: Numbers
    ) -> tuple[Floats | None, list[Change]]:
        return None, []

    def hear(self, page: PageRecord, named: Named) -> list[Change]:
        return []

    def describe_more(
        self, page: PageRecord, outlinks: Sequence[Outlink], looks: Floats, sites: Numbers
    ) -> Floats | None:
        return None

    async def catch_up(self) -> None:
        pass

    async def judged_again(
        self, relevant: Mapping[int, bool], keywords: Sequence[str], judge_version: int
    ) -> list[Change]:
        return []

    def is_snapshot_due(self, pages: int) -> bool:
        return False

    async def snapshot(self) -> list[Change]:
        return []

    async def close(self) -> None:
        pass
