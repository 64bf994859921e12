"""A world of sources that are updated in slots, and the loop that lets a scheduler visit them.

In every slot updates happen first; then the scheduler chooses, and each visit finds whether its source has been
updated since its last visit.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tres_crawler.recrawl.scheduler import Finding, Scheduler, Source

Updates = NDArray[np.bool_]
"""(slots, sources): whether a source is updated in a slot."""


@dataclass(frozen=True, eq=False)
class Visits:
    """What was visited, and what it brought."""

    sources: NDArray[np.int64]
    slots: NDArray[np.int64]
    changed: NDArray[np.bool_]
    delays: NDArray[np.int64]
    """Slots from the first unseen update to the visit; 0 where there was none."""
    rewards: NDArray[np.float64]

    @property
    def hit_rate(self) -> float:
        """Share of visits that found an update."""
        return float(self.changed.mean())

    @property
    def freshness(self) -> float:
        """Average reward of graph-structured crawling, eq. 4, with f(t) = e⁻ᵗ, as its Theorem 4.1 has it.

        Printed, a visit that finds nothing new is paid in full, f(0); the proof pays it nothing, and so is it here.
        """
        return float((self.changed * np.exp(-self.delays)).mean())

    def since(self, slot: int) -> Visits:
        """Those from a slot on."""
        late = self.slots >= slot
        return Visits(self.sources[late], self.slots[late], self.changed[late], self.delays[late], self.rewards[late])


def play(
    updates: Updates,
    scheduler: Scheduler,
    *,
    budget: int = 1,
    importance: Sequence[float] | None = None,
    tell: Callable[[int, float, Finding], None] | None = None,
    fresh: bool = False,
) -> Visits:
    """Let `scheduler` visit every slot; `tell` hears of each finding first, `fresh` pays late findings less."""
    slots, count = updates.shape
    worth = [1.0] * count if importance is None else list(importance)
    for number in range(count):
        scheduler.add(Source(number, number, 0.0))
    first_unseen = np.full(count, -1)
    found: list[tuple[int, int, bool, int, float]] = []
    for slot in range(slots):
        first_unseen[(first_unseen < 0) & updates[slot]] = slot
        now = slot + 1.0
        for source in scheduler.choose(now, budget):
            changed = bool(first_unseen[source] >= 0)
            delay = slot - int(first_unseen[source]) if changed else 0
            value = worth[source] * (math.exp(-delay) if fresh else 1.0) if changed else 0.0
            finding = Finding(changed, value, status=200)
            if tell:
                tell(source, now, finding)
            scheduler.observe(source, now, finding)
            first_unseen[source] = -1
            found.append((source, slot, changed, delay, value))
    if not found:
        found = [(0, 0, False, 0, 0.0)]
    columns = list(zip(*found, strict=True))
    return Visits(
        np.array(columns[0]), np.array(columns[1]), np.array(columns[2]), np.array(columns[3]), np.array(columns[4])
    )


def independent(rates: Sequence[float], slots: int, rng: np.random.Generator) -> Updates:
    """Sources that change by Poisson processes of their own."""
    return np.asarray(rng.random((slots, len(rates))) < -np.expm1(-np.asarray(rates)))
