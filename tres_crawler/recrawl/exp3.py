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
        self._log_weight = np.zeros(0)

    def scores(self, rows: Rows, ages: Floats) -> Floats:
        # The largest of log chance + Gumbel noise is a draw by the chances.
        return np.asarray(np.log(self._chances()[rows]) + self._rng.gumbel(size=len(rows)))

    def learn(self, row: int, number: int, gap: float, finding: Finding | None) -> None:
        if finding is not None and finding.changed is not None:
            reward = min(1.0, max(0.0, finding.value))
            self._log_weight[row] += self._exploration * reward / (self._chances()[row] * len(self._sources))

    def _chances(self) -> Floats:
        weights = self._log_weight[: len(self._sources)]
        share = np.exp(weights - weights.max())
        return np.asarray((1 - self._exploration) * share / share.sum() + self._exploration / len(weights))

    def _columns(self) -> Sequence[str]:
        return ("_log_weight",)
