"""The records that one stage hands to the next; all frozen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from enum import StrEnum
from typing import Any

import numpy as np
import numpy.typing as npt


@dataclass(frozen=True)
class Topic:
    """What a crawl looks for: data given by a person, kept with the crawl."""

    name: str
    keywords: tuple[str, ...]
    seeds: tuple[str, ...]
    relevant_examples: tuple[str, ...] = ()
    irrelevant_examples: tuple[str, ...] = ()
    pin: tuple[str, ...] = ()
    """Words that count as found keywords whatever their score."""
    ban: tuple[str, ...] = ()
    """Words that are never taken as keywords."""
    crawl: Mapping[str, Any] = field(default_factory=dict)
    """Crawl settings that this topic overrides."""
    recrawl: Mapping[str, Any] = field(default_factory=dict)
    """The same for recrawl settings."""


@dataclass(frozen=True, slots=True)
class Link:
    """A URL that waits, with how it was found; `number` counts the links of one crawl from 1."""

    number: int
    url: str
    host: int
    source: int | None
    """Number of the page it was found on; None for a seed."""
    depth: int
    anchor: str = ""
    attempts: int = 0
    hops: int = 0
    """Redirects that led to it."""
    promise: float = 0.0
    """How relevant it looks from where it was found: its anchor's probability and half the reward of its page."""
    features: npt.NDArray[np.float32] | None = field(default=None, compare=False)
    """As they were when it was placed; None under a policy that needs none."""


@dataclass(frozen=True, slots=True)
class Offer:
    """A link that a leaf of the frontier puts forward to be fetched next."""

    link: int
    host: int
    leaf: int = 0
    promise: float = 0.0
    features: npt.NDArray[np.float32] | None = field(default=None, compare=False)
    value: float | None = field(default=None, compare=False)
    explored: bool = False

    @classmethod
    def of(cls, link: Link) -> Offer:
        """A link that is to wait."""
        return cls(link.number, link.host, promise=link.promise, features=link.features)


@dataclass(frozen=True, slots=True, eq=False)
class Offers:
    """Links that the leaves of a tree put forward, as columns with a row for each."""

    links: npt.NDArray[np.int32]
    hosts: npt.NDArray[np.int32]
    leaves: npt.NDArray[np.int32]
    features: npt.NDArray[np.float32]
    """The row that each link was placed with."""

    @classmethod
    def joined(cls, parts: Sequence[Offers]) -> Offers:
        """The rows of all parts, one part after the other."""
        return cls(*(np.concatenate([getattr(part, column.name) for part in parts]) for column in fields(cls)))

    def only(self, rows: npt.NDArray[np.bool_]) -> Offers:
        """Those rows that are true."""
        return Offers(*(getattr(self, column.name)[rows] for column in fields(self)))

    def __len__(self) -> int:
        return len(self.links)

    def __getitem__(self, row: int) -> Offer:
        return Offer(int(self.links[row]), int(self.hosts[row]), int(self.leaves[row]))


@dataclass(frozen=True, slots=True)
class Fetched:
    """What a host answered to one GET."""

    url: str
    status: int
    content_type: str
    body: bytes
    location: str | None
    """Where a redirect points, resolved; None for any other answer."""
    seconds: float
    headers: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Validators:
    """By what a host knows again which version of a page a caller has."""

    etag: str | None = None
    last_modified: str | None = None

    @classmethod
    def of(cls, fetched: Fetched) -> Validators:
        # One that is not ASCII could be neither stored nor sent back.
        said = {name.lower(): value for name, value in fetched.headers if value.isascii()}
        return cls(said.get("etag"), said.get("last-modified"))

    def after(self, fetched: Fetched) -> Validators:
        """What is known after another answer; "not modified" need not say again what holds still."""
        said = Validators.of(fetched)
        if fetched.status != 304:
            return said
        return Validators(said.etag or self.etag, said.last_modified or self.last_modified)

    @property
    def conditions(self) -> dict[str, str]:
        """Headers that ask for a page only if it is another version by now."""
        asked = {"If-None-Match": self.etag, "If-Modified-Since": self.last_modified}
        return {name: value for name, value in asked.items() if value}


@dataclass(frozen=True, slots=True)
class RobotsAnswer:
    """What an origin answered to GET /robots.txt."""

    origin: str
    fetched_at: float
    status: int
    body: bytes

    @property
    def reached(self) -> bool:
        """Whether the origin said anything that counts: a server error and "too many requests" do not."""
        return 200 <= self.status < 500 and self.status != 429


@dataclass(frozen=True, slots=True)
class Outlink:
    """A link as it stands on a page: canonical URL, the words a reader clicks on, and where it stands."""

    url: str
    anchor: str
    """Words of the link; of an image link its title or alt text."""
    context: str = ""
    """Words around the link."""
    navigation: bool = False
    """Whether it stands in navigation, header or footer and not in the content."""


@dataclass(frozen=True, slots=True)
class Document:
    """A parsed page."""

    url: str
    title: str
    description: str
    text: str
    """The main text, without navigation, footers and banners."""
    outlinks: tuple[Outlink, ...]
    boilerplate: str = ""
    """The visible words that are not main text."""
    headings: tuple[str, ...] = ()
    language: str = ""
    canonical: str | None = None
    """The address the page names as its proper one."""
    noindex: bool = False
    nofollow: bool = False


@dataclass(frozen=True, slots=True)
class PageText:
    """What a judge reads of a page."""

    title: str
    description: str
    text: str
    url: str = ""

    @classmethod
    def of(cls, document: Document) -> PageText:
        return cls(document.title, document.description, document.text, document.url)


@dataclass(frozen=True, slots=True)
class Example:
    """A page and whether it is relevant: what a judge learns from."""

    page: PageText
    relevant: bool
    weight: float = 1.0
    group: str = ""
    """Where it is from: examples of one group are never both learned from and tested on."""
    is_label: bool = True
    """Said by a person; otherwise only what another judge holds of it."""
    anchor: str = ""
    """Words of the link that led to it."""
    is_met: bool = True
    """From the web that is judged; otherwise added by the project to show what else there is."""


@dataclass(frozen=True, slots=True)
class Keyword:
    """A word or phrase of a topic, and why it is one."""

    text: str
    score: float
    """Mean cosine similarity to the seed keywords (TRES, sec. 2.3)."""
    documents: int
    """In how many documents it stands."""
    origin: str
    """`seed`, `found` or `pinned`."""


@dataclass(frozen=True, slots=True)
class Judgement:
    """What a classifier holds of a document, and which version of it said so."""

    probability: float
    relevant: bool
    version: int


@dataclass(frozen=True, slots=True)
class Divergence:
    """The learner went astray at a gradient step and went back to its last good weights."""

    step: int
    reason: str
    learning_rate: float
    """With which it goes on."""


class Outcome(StrEnum):
    """How a page that was paid for from the budget ended."""

    JUDGED = "judged"
    DUPLICATE = "duplicate"
    EMPTY = "empty"
    NOINDEX = "noindex"
    """Its owner does not want it kept."""
    FAILED = "failed"


class LinkState(StrEnum):
    """What has become of a link."""

    WAITING = "waiting"
    FETCHED = "fetched"
    REDIRECTED = "redirected"
    """Its target is known already, or waits as a link of its own."""
    REFUSED = "refused"
    """By robots.txt or a rule, before any page was asked for."""


class CrawlState(StrEnum):
    """Where a crawl stands."""

    RUNNING = "running"
    PAUSED = "paused"
    STOPPED = "stopped"
    """By a person; can be resumed."""
    FINISHED = "finished"
    FAILED = "failed"


class StopReason(StrEnum):
    """Why a crawl ended; always one of these."""

    BUDGET = "budget"
    """All pages of `crawl.max_pages` were fetched."""
    FRONTIER_EMPTY = "frontier_empty"
    """No link waits any more."""
    SITES_CAPPED = "sites_capped"
    """Links wait, but all on sites that have reached `crawl.max_per_site`."""
    NO_SEED = "no_seed"
    """No seed could be fetched."""
    STOPPED = "stopped"
    """A person stopped it."""
    FAILED = "failed"
    """The crawl could not go on, for example because the disk is full."""


STOP_ADVICE: Mapping[StopReason, str] = {
    StopReason.BUDGET: "",
    StopReason.FRONTIER_EMPTY: "Every link found has been fetched; add seeds to reach more of the web.",
    StopReason.SITES_CAPPED: "Raise `max_per_site` and resume it, or add seeds on other sites.",
    StopReason.NO_SEED: "Check the seeds of the topic in a browser, and the network, then start a new crawl.",
    StopReason.STOPPED: "Resume it to go on.",
    StopReason.FAILED: "Mend the cause named above, then resume it.",
}


@dataclass(frozen=True)
class Summary:
    """A crawl in figures; the keys of `tres crawl --json` and of the status route."""

    crawl_id: int
    topic: str
    policy: str
    pages: int
    relevant_pages: int
    harvest_rate: float
    sites: int
    relevant_sites: int
    failed: int
    duplicates: int
    waiting: int
    leaves: int
    seconds: float
    pages_per_second: float
    stop_reason: str | None

    @classmethod
    def of(cls, *, pages: int, relevant_pages: int, seconds: float, **others: Any) -> Summary:
        """With the rates worked out."""
        return cls(
            pages=pages,
            relevant_pages=relevant_pages,
            harvest_rate=round(relevant_pages / pages, 4) if pages else 0.0,
            seconds=round(seconds, 2),
            pages_per_second=round(pages / seconds, 2) if seconds else 0.0,
            **others,
        )
