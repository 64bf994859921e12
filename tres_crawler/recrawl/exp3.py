"""Exp3: a bandit that supposes nothing about where updates come from (graph-structured crawling, sec. 7.3)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tres_crawler.recrawl.ranked import Floats, RankedScheduler, Rows
from tres_crawler.recrawl.scheduler import Finding


class Exp3(RankedScheduler):
    """Draws a source by weights that grow with what it paid, divided by how likely it was drawn."""

    def __init__(self, rng: np.random.Generator, exploration: float = 0.1, least_gap_seconds: float = 0.0) -> None:
        """`exploration` is γ: the share of visits drawn whatever the weights, and the pace of learning."""
        super().__init__(least_gap_seconds)
        self._rng, self._exploration = rng, exploration
        self._log_weight = self._odds = np.zeros(0)
        """`_odds`: how likely each was drawn when it last could be, against drawing blindly."""

    def scores(self, rows: Rows, ages: Floats) -> Floats:
        # Only what could be drawn counts: a source that is gone must not keep its share of the chances.
        share = np.exp(self._log_weight[rows] - self._log_weight[rows].max(initial=-np.inf))
        self._odds[rows] = (1 - self._exploration) * len(rows) * share / share.sum() + self._exploration
        # The largest of log chance + Gumbel noise is a draw by the chances.
        return np.asarray(np.log(self._odds[rows]) + self._rng.gumbel(size=len(rows)))

    def learn(self, row: int, number: int, gap: float, finding: Finding | None) -> None:
        if finding is None:
            self._odds[row] = 1.0
        elif finding.changed is not None:
            self._log_weight[row] += self._exploration * min(1.0, max(0.0, finding.value)) / self._odds[row]

    def _columns(self) -> Sequence[str]:
        return ("_log_weight", "_odds")
