"""Active covering, begun anew whenever everything has been asked (graph-structured crawling, sec. 7.3)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tres_crawler.recrawl.ranked import Floats, RankedScheduler, Rows
from tres_crawler.recrawl.scheduler import Finding


class ActiveCovering(RankedScheduler):
    """In every round each source once: some by chance, then the one nearest to any that had changed in this round."""

    def __init__(
        self,
        rng: np.random.Generator,
        nearness: Floats | None = None,
        by_chance: float = 0.3,
        least_gap_seconds: float = 0.0,
    ) -> None:
        """`nearness` (source × source, by number); without it, sources of one host are near one another."""
        super().__init__(least_gap_seconds)
        self._rng, self._nearness, self._by_chance = rng, nearness, by_chance
        self._asked = self._near = np.zeros(0)
        self._hosts = self._numbers = np.zeros(0, np.int64)

    def scores(self, rows: Rows, ages: Floats) -> Floats:
        waiting = self._asked[rows] == 0
        if not waiting.any():
            count = len(self._sources)
            self._asked[:count] = self._near[:count] = 0
            waiting = np.ones(len(rows), bool)
        scores = self._rng.random(len(rows))
        if self._asked[: len(self._sources)].sum() >= self._by_chance * len(self):
            # Nearest first; chance decides only among those that are equally near.
            scores[np.lexsort((scores, self._near[rows]))] = np.arange(len(rows))
        return np.where(waiting, scores, -np.inf)

    def learn(self, row: int, number: int, gap: float, finding: Finding | None) -> None:
        if finding is None:
            self._hosts[row], self._numbers[row] = self._sources[row].host, number
            return
        self._asked[row] = 1
        if finding.changed:
            count = len(self._sources)
            near = self._hosts[:count] == self._hosts[row]
            if self._nearness is not None:
                near = self._nearness[number, self._numbers[:count]]
            self._near[:count] = np.maximum(self._near[:count], near)

    def _columns(self) -> Sequence[str]:
        return ("_asked", "_near", "_hosts", "_numbers")
