"""Simple policies, to compare with: by chance, in turn, at intervals, and by what a visit may bring at once."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tres_crawler.recrawl.ranked import BelievingScheduler, Floats, RankedScheduler, Rows
from tres_crawler.recrawl.scheduler import Beliefs, Finding
from tres_crawler.recrawl.whittle import ripeness


class Uniform(RankedScheduler):
    """Any source, whatever it is like."""

    def __init__(self, rng: np.random.Generator, least_gap_seconds: float = 0.0) -> None:
        super().__init__(least_gap_seconds)
        self._rng = rng

    def scores(self, rows: Rows, ages: Floats) -> Floats:
        return self._rng.random(len(rows))


class RoundRobin(RankedScheduler):
    """The source whose last visit is longest ago."""

    def scores(self, rows: Rows, ages: Floats) -> Floats:
        return ages


class FixedInterval(RankedScheduler):
    """Every source again after the same time, as ACHE does; those due longest come first."""

    def __init__(self, interval_seconds: float) -> None:
        super().__init__()
        self.interval = interval_seconds

    def scores(self, rows: Rows, ages: Floats) -> Floats:
        return np.where(ages >= self.interval, ages, -np.inf)

    def due_at(self, number: int) -> float | None:
        return float(self._visited_at[self._row_of[number]]) + self.interval


class Multiplicative(RankedScheduler):
    """An interval for each source, shorter after a change and longer after none, as in Nutch's adaptive schedule."""

    GROWTH, SHRINKAGE = 0.4, 0.2
    """By how much the interval grows and shrinks; Nutch's own figures."""

    def __init__(self, interval_seconds: float, least_seconds: float, most_seconds: float) -> None:
        super().__init__()
        self.first, self.least, self.most = interval_seconds, least_seconds, most_seconds
        self._interval = np.zeros(0)

    def scores(self, rows: Rows, ages: Floats) -> Floats:
        overdue = ages - self._interval[rows]
        return np.where(overdue >= 0, overdue, -np.inf)

    def learn(self, row: int, number: int, gap: float, finding: Finding | None) -> None:
        if finding is None:
            memory = self._sources[row].memory
            self._interval[row] = self.first if memory is None else memory
        elif finding.changed is not None:
            factor = 1 - self.SHRINKAGE if finding.changed else 1 + self.GROWTH
            self._interval[row] = np.clip(self._interval[row] * factor, self.least, self.most)

    def memory(self, number: int) -> float | None:
        return float(self._interval[self._row_of[number]])

    def due_at(self, number: int) -> float | None:
        row = self._row_of[number]
        return float(self._visited_at[row] + self._interval[row])

    def _columns(self) -> Sequence[str]:
        return ("_interval",)


class Greedy(BelievingScheduler):
    """The source with the most to find at once: its worth times the chance that it has changed (Whittle 2018, IX)."""

    def scores(self, rows: Rows, ages: Floats) -> Floats:
        return -self.worth[rows] * np.expm1(-self.change_rate[rows] * ages)


class Thompson(BelievingScheduler):
    """Greedy by rates drawn from the posterior, so that what is little known is looked at.

    The paper it is from (FG-DQN, sec. IV) draws the chance of a change whatever the time since the last visit, and
    ignores importance; among thousands of sources that would ask the same few for ever.
    """

    def __init__(self, beliefs: Beliefs, rng: np.random.Generator, least_gap_seconds: float = 0.0) -> None:
        super().__init__(beliefs, least_gap_seconds)
        self._rng = rng

    def scores(self, rows: Rows, ages: Floats) -> Floats:
        shape = np.minimum(self.evidence[rows], 1e9)
        drawn = self.change_rate[rows] * self._rng.standard_gamma(shape) / np.maximum(shape, 1e-12)
        return -self.worth[rows] * np.expm1(-drawn * ages)


class ExactWhittle(BelievingScheduler):
    """The change-detection index of every source worked out anew at every choice: what the calendar is measured by."""

    def scores(self, rows: Rows, ages: Floats) -> Floats:
        return np.asarray(self.worth[rows] * ripeness(self.hopeful_rate[rows] * ages))
