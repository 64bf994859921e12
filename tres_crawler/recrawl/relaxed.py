"""Visits that keep the budget only on average: the exact bound on every policy, and the control that nears it.

A source that is visited every n periods earns `pending_value(n)` a visit. From period n + 1 to period n the value
gained per extra visit is its Whittle index at age n, so the best mix of periods takes the segments of highest index
until the budget is spent: a linear programme that sorting solves.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.special import lambertw

from tres_crawler.recrawl.ephemeral import Ephemeral

LONGEST = 2000
"""Periods beyond which a source counts as never visited; its share of a budget is below one visit in as many."""


class Bound(NamedTuple):
    reward: float
    """What no policy earns more of per period, on average."""
    price: float
    """The index of the last visit that the budget pays for."""


def relaxed_bound(sources: Sequence[Ephemeral], budget: float) -> Bound:
    """The best average reward when only the average number of visits, by cost, is limited (sec. VII)."""
    gains, visits, costs = (np.concatenate(part) for part in zip(*map(_segments, sources), strict=True))
    best = np.argsort(-gains / costs, kind="stable")
    spent = np.cumsum((visits * costs)[best])
    taken = np.clip(1 - (spent - budget) / (visits * costs)[best], 0, 1)
    last = min(int(np.searchsorted(spent, budget)), len(best) - 1)
    return Bound(float((gains * visits)[best] @ taken), float((gains / costs)[best][last]))


def _segments(source: Ephemeral) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Gain per visit, visits per period and cost of a visit, from never to every period."""
    periods = np.arange(1, LONGEST + 1)
    pending = -source.limit * np.expm1(-source.decay_rate * periods)
    gains = pending - periods * np.diff(pending, append=source.pending_value(LONGEST + 1))
    visits = 1 / (periods * (periods + 1.0))
    # The last one reaches down to no visits at all.
    gains[-1], visits[-1] = pending[-1], 1 / LONGEST
    return gains, visits, np.full(LONGEST, source.cost)


def best_wait(source: Ephemeral, price: float) -> float:
    """Periods to wait between visits when a visit costs `price` (the equation above eq. 21).

    The paper prints Lambert's W without its branch: only W₋₁ gives a wait that is not negative.
    """
    level = source.cost * price / source.limit
    if level >= 1:
        return math.inf
    if level <= 0:
        return 0.0
    return float(-(1 + lambertw((level - 1) / math.e, k=-1).real) / source.decay_rate)


def threshold(source: Ephemeral, price: float) -> float:
    """Pending value from which a visit is worth `price` (eq. 21)."""
    wait = best_wait(source, price)
    return source.limit if math.isinf(wait) else source.pending_value(wait)


class DualPrice:
    """The price of a visit, learned by dual descent until visits cost the budget on average (eq. 22, M for M/N)."""

    def __init__(self, budget: float, price: float, step: float) -> None:
        self.price = price
        self._budget = budget
        self._step = step
        self._steps = 0

    def pay(self, spent: float) -> None:
        """A period has ended in which visits cost `spent`."""
        self._steps += 1
        self.price = max(0.0, self.price - self._step / self._steps * (self._budget - spent))
