"""What a scheduler of the laboratory believes of its sources: the truth, or a posterior from its own visits."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tres_crawler.recrawl.scheduler import Belief, Beliefs, Finding

RATES: NDArray[np.float64] = np.geomspace(1e-4, 3.0, 80)
"""Change rates per slot that are thought possible, all alike at first."""


def known(rates: Sequence[float] | NDArray[np.float64], importance: Sequence[float] | None = None) -> Beliefs:
    """The true rates."""
    worth = [1.0] * len(rates) if importance is None else importance
    beliefs = [Belief(float(rate), value) for rate, value in zip(rates, worth, strict=True)]
    return beliefs.__getitem__


class Learned:
    """The posterior mean of each rate on a grid, exact for irregular visits; importance is given, as in the papers."""

    def __init__(self, count: int, importance: Sequence[float] | None = None) -> None:
        self._worth = [1.0] * count if importance is None else list(importance)
        self._logs = np.zeros((count, len(RATES)))
        self._visited_at = np.zeros(count)
        self._beliefs = [self._belief(number) for number in range(count)]

    def __call__(self, number: int) -> Belief:
        return self._beliefs[number]

    def tell(self, number: int, now: float, finding: Finding) -> None:
        """To be told before the scheduler is."""
        gap = now - self._visited_at[number]
        self._visited_at[number] = now
        if finding.changed is not None and gap > 0:
            self._logs[number] += np.log(-np.expm1(-RATES * gap)) if finding.changed else -RATES * gap
            self._beliefs[number] = self._belief(number)

    def _belief(self, number: int) -> Belief:
        weights = np.exp(self._logs[number] - self._logs[number].max())
        weights /= weights.sum()
        mean = float(weights @ RATES)
        spread = float(weights @ (RATES - mean) ** 2)
        return Belief(mean, self._worth[number], evidence=mean**2 / max(spread, 1e-18))
