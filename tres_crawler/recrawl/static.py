"""Fixed shares of the visits for every source, best for freshness where the rates are known (Azar et al. 2018)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tres_crawler.recrawl.pace import Pace
from tres_crawler.recrawl.ranked import BelievingScheduler, Floats, Rows
from tres_crawler.recrawl.scheduler import Beliefs, Finding

HALVINGS = 80
NOTHING = 1e-300
"""A share with which a source is visited only when all others are under way."""


def best_shares(importance: Sequence[float] | Floats, change_chance: Sequence[float] | Floats) -> Floats:
    """The share of the visits of each source that keeps most of the importance fresh (FG-DQN, eq. 8).

    `change_chance` is the chance of a change in a slot: 1 − e^(−rate) for Poisson changes, not the rate itself.
    Where a share is positive, one more visit is worth the same everywhere; the worth is found by halving.
    """
    worth, delta = np.asarray(importance, float), np.asarray(change_chance, float)
    low, high = 0.0, float(np.max(worth / np.maximum(delta, 1e-12), initial=1.0)) + 1.0
    for _ in range(HALVINGS):
        price = (low + high) / 2
        low, high = (price, high) if _shares(worth, delta, price).sum() > 1 else (low, price)
    found = _shares(worth, delta, high)
    total = found.sum()
    return found / total if total > 0 else np.full(len(found), 1 / max(1, len(found)))


def _shares(worth: Floats, delta: Floats, price: float) -> Floats:
    root = np.sqrt(worth * delta / max(price, 1e-300))
    always: NDArray[np.bool_] = delta >= 1 - 1e-9
    # A source that changes in every slot is fresh exactly as often as it is visited: all or nothing.
    inside = (root - delta) / np.where(always, 1.0, 1 - delta)
    return np.clip(np.where(always, (worth > price).astype(float), inside), 0, 1)


class StaticShares(BelievingScheduler):
    """Draws every visit by the best fixed shares; sources whose share is nothing wait for idle times."""

    def __init__(
        self,
        beliefs: Beliefs,
        rng: np.random.Generator,
        least_gap_seconds: float = 0.0,
        slot_seconds: float | None = None,
    ) -> None:
        """`slot_seconds` is the time between two visits; measured where it is not given."""
        super().__init__(beliefs, least_gap_seconds)
        self._rng, self._slot = rng, slot_seconds
        self._shares = np.zeros(0)
        self._visits = 0
        self._pace = Pace()
        self._stale = True

    def scores(self, rows: Rows, ages: Floats) -> Floats:
        if self._stale:
            self._renew()
        # The largest of log share + Gumbel noise is a draw by the shares.
        return np.asarray(np.log(self._shares[rows] + NOTHING) + self._rng.gumbel(size=len(rows)))

    def learn(self, row: int, number: int, gap: float, finding: Finding | None) -> None:
        before = (self.change_rate[row], self.worth[row])
        super().learn(row, number, gap, finding)
        self._pace.begin(float(self._visited_at[row]))
        if finding is not None:
            self._pace.visited()
            self._visits += 1
        # All shares change when one belief does; a tenth of the sources seen again is often enough.
        due = self._visits % max(1, len(self._sources) // 10) == 0
        self._stale |= (due or finding is None) and before != (self.change_rate[row], self.worth[row])

    def _renew(self) -> None:
        count = len(self._sources)
        slot = self._slot or self._pace.slot(self._now)
        live = np.array([source.number in self._row_of for source in self._sources])
        chance = -np.expm1(-self.change_rate[:count] * slot)
        self._shares = best_shares(self.worth[:count] * live, chance)
        self._stale = False
