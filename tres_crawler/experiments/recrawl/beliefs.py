"""What a scheduler of the laboratory believes of its sources: the truth, or a posterior from its own visits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from tres_crawler.recrawl.estimate import Estimates, Evidence
from tres_crawler.recrawl.scheduler import Belief, Beliefs, Finding

FIRST_RATE = 0.3
"""Changes per slot expected before anything was seen: high, so that everything is looked at soon."""
UNFORGOTTEN = 1e6
"""Visits for which evidence counts: the papers' rates do not drift."""


def known(rates: Sequence[float] | NDArray[np.float64], importance: Sequence[float] | None = None) -> Beliefs:
    """The true rates."""
    worth = [1.0] * len(rates) if importance is None else importance
    beliefs = [Belief(float(rate), value) for rate, value in zip(rates, worth, strict=True)]
    return beliefs.__getitem__


class Learned:
    """Rates as the live crawler estimates them; importance is given, as in the papers."""

    def __init__(
        self, count: int, importance: Sequence[float] | None = None, group: Sequence[int] | None = None
    ) -> None:
        """Sources of one `group` are expected to be alike, as those of one host are in a live crawl."""
        self._worth = [1.0] * count if importance is None else list(importance)
        self._estimates = Estimates(first_rate=FIRST_RATE, memory_visits=UNFORGOTTEN)
        for number in range(count):
            self._estimates.add(number, number if group is None else group[number], Evidence(0.0))

    def __call__(self, number: int) -> Belief:
        return replace(self._estimates.belief(number), utility=self._worth[number], cost=1.0)

    def tell(self, number: int, now: float, finding: Finding) -> None:
        """To be told before the scheduler is."""
        self._estimates.observe(number, now, finding)
