"""The learned Whittle policy for ephemeral content: parameters by posterior, index by formula."""

from __future__ import annotations

import numpy as np

from tres_crawler.recrawl.ephemeral import Ephemeral
from tres_crawler.recrawl.pace import Pace
from tres_crawler.recrawl.pending import PendingEstimate
from tres_crawler.recrawl.ranked import Floats, RankedScheduler, Rows
from tres_crawler.recrawl.scheduler import Finding
from tres_crawler.recrawl.whittle import ephemeral_index_slotted


class LearnedEphemeral(RankedScheduler):
    """Ranks by Theorem 1 of Whittle 2018 with parameters drawn from what visits have collected so far.

    A source that has not been visited yet comes before all that have.
    """

    def __init__(
        self, rng: np.random.Generator, slot_seconds: float | None = None, least_gap_seconds: float = 0.0
    ) -> None:
        """`slot_seconds` is the time between two visits; measured where it is not given."""
        super().__init__(least_gap_seconds)
        self._rng, self._given = rng, slot_seconds
        self._pace = Pace()
        self._estimates: list[PendingEstimate] = []
        self._drawn: list[Ephemeral | None] = []

    def scores(self, rows: Rows, ages: Floats) -> Floats:
        slot = self._slot(self._now)
        return np.array([self._index(row, age / slot) for row, age in zip(rows, ages, strict=True)], float)

    def learn(self, row: int, number: int, gap: float, finding: Finding | None) -> None:
        if finding is None:
            self._estimates.append(PendingEstimate())
            self._drawn.append(None)
            self._pace.begin(float(self._visited_at[row]))
        elif finding.changed is not None:
            self._pace.visited()
            self._estimates[row].learn(gap / self._slot(float(self._visited_at[row])), finding.value)
            self._drawn[row] = self._estimates[row].drawn(self._rng)

    def _slot(self, now: float) -> float:
        return self._given or self._pace.slot(now)

    def _index(self, row: int, age: float) -> float:
        source = self._drawn[row]
        if source is None:
            return 1e12 + age
        if source.value <= 0:
            return 0.0
        return float(ephemeral_index_slotted(source.pending_value(age), source.inflow, source.retention))
