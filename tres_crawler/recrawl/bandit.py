"""Thompson sampling over arms, as FG-DQN compares itself with (sec. IV-A)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from tres_crawler.recrawl.ranked import Floats, RankedScheduler, Rows
from tres_crawler.recrawl.scheduler import Finding


class BanditThompson(RankedScheduler):
    """A Beta posterior of the chance that a visit of an arm pays, whenever it was last visited; the best draw wins."""

    def __init__(
        self,
        rng: np.random.Generator,
        importance: Callable[[int], float] | None = None,
        least_gap_seconds: float = 0.0,
    ) -> None:
        """As printed the draws are compared as they are; with `importance`, times what a change of each is worth."""
        super().__init__(least_gap_seconds)
        self._rng, self._importance = rng, importance
        self._hits = self._misses = self._worth = np.zeros(0)

    def scores(self, rows: Rows, ages: Floats) -> Floats:
        return np.asarray(self._worth[rows] * self._rng.beta(1 + self._hits[rows], 1 + self._misses[rows]))

    def learn(self, row: int, number: int, gap: float, finding: Finding | None) -> None:
        self._worth[row] = 1.0 if self._importance is None else self._importance(number)
        if finding is not None and finding.changed is not None:
            (self._hits if finding.changed else self._misses)[row] += 1

    def _columns(self) -> Sequence[str]:
        return ("_hits", "_misses", "_worth")
