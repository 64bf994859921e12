"""How fresh the known pages of a crawl are, which come next and why, and what was new: read beside whatever runs."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from tres_crawler.config import RecrawlSettings, Settings
from tres_crawler.recrawl.estimate import EVIDENCE, TRUST, Evidence
from tres_crawler.recrawl.policies import create_estimates
from tres_crawler.recrawl.scheduler import Belief
from tres_crawler.recrawl.whittle import change_index, ephemeral_index
from tres_crawler.store import sources
from tres_crawler.store.crawls import CrawlRecord
from tres_crawler.store.database import AnyRow, Database

SAMPLE = 20_000
"""Sources from which freshness is worked out; of more, one in so many is looked at."""
INDEXED = ("whittle", "ephemeral")
UNITS = ((86_400.0, "d"), (3600.0, "h"), (60.0, "min"), (1.0, "s"))


@dataclass(frozen=True, slots=True)
class NextVisit:
    """A source that is due soon, and why it is its turn."""

    page: int
    url: str
    title: str
    due_at: float | None
    """None where the policy does not say."""
    index: float | None
    """What a visit now must be worth to be worth its cost; None under a policy without one."""
    change_rate: float
    """Changes a day."""
    fresh: float
    """The chance that it is still as it was last seen."""
    utility: float
    visited_at: float
    why: str


@dataclass(frozen=True, slots=True)
class NewsItem:
    """What was new on a source."""

    id: int
    page: int
    url: str
    title: str
    at: float
    share: float
    value: float
    segments: list[tuple[bool, str]]
    """Pieces of the text, and whether they are new."""


@dataclass(frozen=True, slots=True)
class Freshness:
    """The known pages of a crawl in figures."""

    mode: str
    policy: str
    sources: int
    due: int
    fresh: float | None
    """Mean chance of a source to be as it was last seen; None without sources."""
    visits: int
    changes: int
    troubles: int
    changes_per_100_visits: float | None
    price: float | None
    retired: Mapping[str, int]
    next: list[NextVisit]
    news: list[NewsItem]


async def freshness(
    database: Database, record: CrawlRecord, now: float, count: int = 10, before: int | None = None
) -> Freshness:
    """As of `now`; so many of the next visits and of the news, the latter older than the id `before`."""
    settings = Settings.kept(record.settings).recrawl
    known, due = await sources.counted(database, record.id, now)
    progress = await sources.progress(database, record.id) or {}
    sample = await sources.sampled(database, record.id, 1 + known // SAMPLE)
    estimates = create_estimates(settings)
    estimates.faded, estimates.faded_exposure = progress.get("faded", 0.0), progress.get("faded_exposure", 0.0)
    decay_rate = estimates.decay_rate
    visits, changes = int(progress.get("visits", 0)), int(progress.get("changes", 0))
    return Freshness(
        mode=settings.mode,
        policy=settings.policy,
        sources=known,
        due=due,
        fresh=sum(_fresh(row, now) for row in sample) / len(sample) if sample else None,
        visits=visits,
        changes=changes,
        troubles=int(progress.get("troubles", 0)),
        changes_per_100_visits=100 * changes / visits if visits else None,
        price=progress.get("price") if settings.policy in INDEXED else None,
        retired=await sources.retired(database, record.id),
        next=[_next(row, settings, decay_rate, now) for row in await sources.upcoming(database, record.id, count)],
        news=[_news(row) for row in await sources.latest_news(database, record.id, count, before)],
    )


def _fresh(row: AnyRow, now: float) -> float:
    return math.exp(-row.rate * max(0.0, now - row.visited_at))


def _next(row: AnyRow, settings: RecrawlSettings, decay_rate: float, now: float) -> NextVisit:
    return NextVisit(
        page=row.page,
        url=row.url,
        title=row.title,
        due_at=row.due_at,
        index=_index(row, settings.policy, decay_rate, max(0.0, now - row.tried_at)),
        change_rate=86_400 * row.rate,
        fresh=_fresh(row, now),
        utility=row.utility,
        visited_at=row.visited_at,
        why=_why(row, settings, now),
    )


def _index(row: AnyRow, policy: str, decay_rate: float, age: float) -> float | None:
    if policy == "whittle":
        return float(change_index(age, _hopeful_rate(row), row.utility, row.cost))
    if policy == "ephemeral":
        return float(ephemeral_index(age, row.rate * row.utility, decay_rate, row.cost))
    return None


def _hopeful_rate(row: AnyRow) -> float:
    """As the schedule has it, but that a page is believed by what it said itself, not by what its host did."""
    held = Evidence(**{name: getattr(row, name) for name in EVIDENCE})
    dated = held.is_dated and held.truths >= TRUST * (held.truths + held.lies)
    evidence = held.rate**2 / max(held.square - held.rate**2, 1e-300)
    return Belief(held.rate, row.utility, row.cost, evidence, dated).hopeful_rate


def _why(row: AnyRow, settings: RecrawlSettings, now: float) -> str:
    seen = f"last seen {duration(now - row.visited_at)} ago"
    if settings.policy == "fixed":
        return f"{seen}; visited every {duration(settings.interval_seconds)}"
    if settings.policy == "multiplicative":
        return f"{seen}; its interval is {duration(row.memory or settings.interval_seconds)} by now"
    if settings.policy in ("uniform", "round-robin"):
        return seen
    if not row.rate:
        return seen
    changed = 100 * (1 - _fresh(row, now))
    return (
        f"changes about every {duration(1 / row.rate)}, {seen}: {changed:.0f} % likely to have changed; "
        f"a change brings {100 * row.utility:.0f} % of new relevant text"
    )


def _news(row: AnyRow) -> NewsItem:
    segments = [(bool(is_new), str(words)) for is_new, words in row.segments]
    return NewsItem(row.id, row.page, row.url, row.title, row.at, row.share, row.value, segments)


def duration(seconds: float) -> str:
    """A time as a person says it: "3 h", "2 d"."""
    for size, unit in UNITS:
        if seconds >= 2 * size or size == 1.0:
            return f"{max(0.0, seconds) / size:.0f} {unit}"
    raise AssertionError
