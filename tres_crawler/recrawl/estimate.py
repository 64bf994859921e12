"""What visits tell of a source: how often it changes, what a change is worth, what a visit costs.

A visit tells only whether a page has changed since the last one, not how often, so counting changes comes out too low
(Cho & Garcia-Molina 2003). Here the rate has a Gamma posterior: a page found unchanged adds its gap to the exposure, as
Poisson counts would; a page found changed moves mean and variance to what they are under 1 − e^(−rate·gap).
"""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass, field, fields

from tres_crawler.recrawl.scheduler import Belief, Finding

DAY_SECONDS = 86_400.0
HOST_WEIGHT = 8.0
"""How many sources of a host weigh as much as what is known of all hosts; the same for changes and their worth."""
LEAST_SHAPE, MOST_SHAPE = 0.2, 3.0
"""Bounds on how alike the rates of one host are held to be."""
MEMORY_VISITS = 100
"""What was seen so many visits ago counts a third by now, so that a page that wakes up is noticed."""
FIRST_VALUE = 0.1
VALUE_WEIGHT = 2.0
"""How many changes of a source's own weigh as much as its host's mean."""
TRUST = 0.9
"""Share of statements that must have been true for Last-Modified to be believed."""
TRUST_WEIGHT = 4.0
SLACK_SECONDS = 2.0
"""HTTP dates have whole seconds."""
DECAY_WEIGHT = 5.0
CHEAPEST, DEAREST = 0.5, 2.0


@dataclass(slots=True)
class Evidence:
    """What visits have told of one source; saved with it."""

    visited_at: float
    """When it was last seen, which a visit without an answer does not change."""
    changes: float = 0.0
    exposure: float = 0.0
    """Changes in so many seconds: what the data add to the prior's shape and rate."""
    rate: float = 0.0
    square: float = 0.0
    """Mean of the change rate, and of its square, by what is known of it."""
    worth: float = 0.0
    found: float = 0.0
    """Sum of the values of changes found, and their number."""
    seconds: float = 0.0
    bytes: float = 0.0
    visits: float = 0.0
    truths: float = 0.0
    lies: float = 0.0
    """Statements of Last-Modified that what was seen has borne out, or not."""
    stated_at: float | None = None
    """When the page, at its first visit, said that it last changed; None once that has been used."""

    @property
    def is_dated(self) -> bool:
        """Whether it has made statements: some have been checked, or the first has been used."""
        return self.truths + self.lies > 0 or (not self.visits and self.changes > 0)


EVIDENCE = tuple(column.name for column in fields(Evidence))


@dataclass(slots=True)
class Totals:
    """Sums over the sources of a host, or over all."""

    sources: int = 0
    rates: float = 0.0
    squares: float = 0.0
    worth: float = 0.0
    found: float = 0.0
    seconds: float = 0.0
    bytes: float = 0.0
    visits: float = 0.0
    truths: float = 0.0
    lies: float = 0.0

    def count(self, held: Evidence, sign: int) -> None:
        self.sources += sign
        self.rates += sign * held.rate
        self.squares += sign * held.square
        self.worth += sign * held.worth
        self.found += sign * held.found
        self.seconds += sign * held.seconds
        self.bytes += sign * held.bytes
        self.visits += sign * held.visits
        self.truths += sign * held.truths
        self.lies += sign * held.lies


@dataclass
class Estimates:
    """The totals are always the sums of what is held of the sources."""

    first_rate: float = 1 / (7 * DAY_SECONDS)
    """Changes per second that are expected of a page before anything was seen; it weighs as much as one change."""
    first_decay_rate: float = math.log(2) / (7 * DAY_SECONDS)
    """How fast what is new loses its interest, until more is known."""
    memory_visits: float = MEMORY_VISITS
    faded: float = 0.0
    faded_exposure: float = 0.0
    _evidence: dict[int, Evidence] = field(default_factory=dict)
    _host_of: dict[int, int] = field(default_factory=dict)
    _hosts: defaultdict[int, Totals] = field(default_factory=lambda: defaultdict(Totals))
    _all: Totals = field(default_factory=Totals)

    def __len__(self) -> int:
        return len(self._evidence)

    def add(self, number: int, host: int, evidence: Evidence) -> None:
        self._evidence[number], self._host_of[number] = evidence, host
        if not evidence.rate:
            self._weigh(evidence, host)
        self._count(number, +1)

    def retire(self, number: int) -> None:
        self._count(number, -1)
        del self._evidence[number], self._host_of[number]

    def evidence(self, number: int) -> Evidence:
        return self._evidence[number]

    def observe(self, number: int, now: float, finding: Finding) -> None:
        """Learn from a visit; one without an answer tells nothing."""
        if finding.changed is None:
            return
        held, host = self._evidence[number], self._host_of[number]
        gap = now - held.visited_at
        self._count(number, -1)
        if gap > 0:
            # A clock that jumped back says nothing about the time between.
            self._learn_rate(held, host, now, gap, finding)
        if finding.changed:
            held.worth, held.found = held.worth + finding.value, held.found + 1
        if finding.faded is not None and gap > 0:
            self.faded += finding.faded
            self.faded_exposure += gap * (1 - finding.faded / 2)
        held.seconds, held.bytes = held.seconds + finding.seconds, held.bytes + finding.bytes
        held.visits += 1
        held.visited_at = now
        self._weigh(held, host)
        self._count(number, +1)

    def belief(self, number: int) -> Belief:
        """What is held of a source by all that is known by now, of it and of others."""
        held, host = self._evidence[number], self._host_of[number]
        self._count(number, -1)
        shape = self._weigh(held, host)
        self._count(number, +1)
        dated = held.is_dated and self._is_trusted(host)
        return Belief(held.rate, self._utility(held, host), self._cost(held), shape, dated)

    def freshness(self, number: int, now: float) -> float:
        """The chance that a source still is as it was last seen."""
        held = self._evidence[number]
        return math.exp(-held.rate * max(0.0, now - held.visited_at))

    @property
    def decay_rate(self) -> float:
        """How fast what is new goes again (per second): what pages dropped of it, beside what was set."""
        return (DECAY_WEIGHT + self.faded) / (DECAY_WEIGHT / self.first_decay_rate + self.faded_exposure)

    # ---- change rate ----

    def _learn_rate(self, held: Evidence, host: int, now: float, gap: float, finding: Finding) -> None:
        trusted = self._is_trusted(host)
        keep = 1 - 1 / self.memory_visits
        held.changes, held.exposure = keep * held.changes, keep * held.exposure
        stated = finding.changed_at
        if not finding.changed:
            held.exposure += gap
        elif trusted and stated is not None and held.visited_at - SLACK_SECONDS <= stated <= now:
            # The last change is known: one change, and none since. What was before it stays unknown.
            held.changes, held.exposure = held.changes + 1, held.exposure + now - stated
        else:
            shape, exposure = self._prior(host)
            after = seen_changed(shape + held.changes, exposure + held.exposure, gap)
            held.changes, held.exposure = max(0.0, after[0] - shape), max(0.0, after[1] - exposure)
        if stated is not None:
            told = held.visited_at + SLACK_SECONDS < stated <= now + SLACK_SECONDS
            near = abs(stated - held.visited_at) <= SLACK_SECONDS
            honest = told == finding.changed or (near and finding.changed)
            held.truths, held.lies = held.truths + bool(honest), held.lies + (not honest)

    def _weigh(self, held: Evidence, host: int) -> float:
        """Work out what is known of a rate; the shape of its posterior."""
        if held.stated_at is not None and self._is_trusted(host):
            # The change before the first visit counts as soon as what the page said of it can be believed.
            held.changes, held.exposure = held.changes + 1, held.exposure + max(0.0, held.visited_at - held.stated_at)
            held.stated_at = None
        shape, exposure = self._prior(host)
        shape, exposure = shape + held.changes, exposure + held.exposure
        held.rate, held.square = shape / exposure, shape * (shape + 1) / exposure**2
        return shape

    def _prior(self, host: int) -> tuple[float, float]:
        """Shape and rate of the Gamma prior of a host's pages: its spread that of all sources, its mean the host's."""
        everywhere, here = self._all, self._hosts[host]
        mean = (self.first_rate + everywhere.rates) / (1 + everywhere.sources)
        square = (2 * self.first_rate**2 + everywhere.squares) / (1 + everywhere.sources)
        shape = min(max(mean**2 / max(square - mean**2, 1e-300), LEAST_SHAPE), MOST_SHAPE)
        return shape, shape * (HOST_WEIGHT + here.sources) / (HOST_WEIGHT * mean + here.rates)

    def _is_trusted(self, host: int) -> bool:
        """Whether what a host says in Last-Modified has proved true, or, of a new host, what hosts say."""
        overall = (self._all.truths + 1) / (self._all.truths + self._all.lies + 2)
        held = self._hosts[host]
        true = TRUST_WEIGHT * overall + held.truths
        return true / (TRUST_WEIGHT + held.truths + held.lies) > TRUST

    # ---- worth and cost ----

    def _utility(self, held: Evidence, host: int) -> float:
        known = self._hosts[host]
        overall = (FIRST_VALUE + self._all.worth) / (1 + self._all.found)
        mean = (HOST_WEIGHT * overall + known.worth) / (HOST_WEIGHT + known.found)
        return (VALUE_WEIGHT * mean + held.worth) / (VALUE_WEIGHT + held.found)

    def _cost(self, held: Evidence) -> float:
        """A visit takes a turn, time and bytes; 1 is what is usual."""
        if not held.visits or not self._all.seconds or not self._all.bytes:
            return 1.0
        usual = self._all.visits / held.visits
        cost = (1 + usual * held.seconds / self._all.seconds + usual * held.bytes / self._all.bytes) / 3
        return min(max(cost, CHEAPEST), DEAREST)

    def _count(self, number: int, sign: int) -> None:
        for totals in (self._all, self._hosts[self._host_of[number]]):
            totals.count(self._evidence[number], sign)


def seen_changed(shape: float, exposure: float, gap: float) -> tuple[float, float]:
    """The Gamma posterior (shape, rate) of a rate after at least one change in `gap`, matched by its moments."""
    shrink = math.log1p(gap / exposure)
    unchanged, first, second = (-math.expm1(-(shape + power) * shrink) for power in (0, 1, 2))
    mean = shape / exposure * first / unchanged
    square = shape * (shape + 1) / exposure**2 * second / unchanged
    variance = square - mean**2
    return mean**2 / variance, mean / variance
