"""What is measured and how large, and what every part hands back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from statistics import mean, stdev
from typing import NamedTuple

from tres_crawler.classify.training import Kind
from tres_crawler.errors import ConfigError
from tres_crawler.experiments.report import Check
from tres_crawler.explaining import nearest
from tres_crawler.simweb.params import FAMILIES
from tres_crawler.simweb.topics import KEYWORDS
from tres_crawler.topic import find_topic, shipped_topics
from tres_crawler.vectors import Vectors, load_vectors

TOPICS: tuple[str, ...] = FAMILIES["report"]["topics"]
DATA_PARTS = ("classify", "keywords")
PARTS = (*DATA_PARTS, "bootstrap", "anchors", "speed", "calibration")
MOST_KEYWORDS = 12
KINDS: tuple[Kind, ...] = ("bilstm", "kwbilstm")


@dataclass(frozen=True)
class Sizes:
    """How much is looked at."""

    relevant: int = 800
    """Relevant pages of the labelled text; irrelevant ones are four times as many."""
    webs: int = 2
    sites: int = 2000
    pages: int = 100_000
    tested: int = 2500
    labels: tuple[int, ...] = (10, 50, 200, 1000)
    bootstrap: int = 60
    anchors: int = 20_000
    timed: int = 512
    """Pages whose judging is timed."""
    seconds: float = 10.0
    """How long the event loop is watched."""


QUICK = Sizes(
    relevant=50, webs=1, sites=300, pages=6000, tested=300, labels=(10, 100), anchors=2000, timed=128, seconds=2.0
)


@dataclass(frozen=True)
class Options:
    topics: tuple[str, ...] = TOPICS
    parts: tuple[str, ...] = ()
    data: Path | None = None
    plots: Path | None = None
    sizes: Sizes = Sizes()

    @classmethod
    def of(
        cls, topics: Sequence[str], parts: Sequence[str], data: Path | None, plots: Path | None, quick: bool
    ) -> Options:
        """As asked for; a quick run looks at one topic, and without labelled text its parts are left out."""
        for part in parts:
            if part not in PARTS:
                raise ConfigError(f'There is no part "{part}".{nearest(part, PARTS)}')
            if part in DATA_PARTS and data is None:
                raise ConfigError(f"The part {part} needs a folder of labelled text: give it as --data.")
        for topic in topics:
            if topic.lower() not in KEYWORDS:
                raise ConfigError(f'There is no topic "{topic}".{nearest(topic.lower(), KEYWORDS)}')
        able = [part for part in PARTS if data is not None or part not in DATA_PARTS]
        return cls(
            tuple(topic.lower() for topic in topics) or (TOPICS[:1] if quick else TOPICS),
            tuple(part for part in able if not parts or part in parts),
            data,
            plots,
            QUICK if quick else Sizes(),
        )


class Findings(NamedTuple):
    """Rows of one part, and what was to be shown by them."""

    rows: Sequence[Mapping[str, object]]
    checks: Sequence[Check]


@cache
def vectors() -> Vectors:
    """The shipped word vectors, once for all parts: what is known of the background is kept with them."""
    return load_vectors()


def given_keywords(topic: str) -> tuple[str, ...]:
    """About ten words that a person would give: of the shipped topic if there is one."""
    known = find_topic(topic).keywords if topic in shipped_topics() else KEYWORDS[topic].split()
    return tuple(known[:MOST_KEYWORDS])


def middle(values: Iterable[float]) -> float:
    return round(mean(values), 4)


def spread(values: Sequence[float]) -> float | None:
    """Standard deviation; None for a single value."""
    return round(stdev(values), 4) if len(values) > 1 else None
