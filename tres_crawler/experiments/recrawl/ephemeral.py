"""The worlds of papers 004 and 002: value arrives at sources, wanes, and is collected by visits.

All seeds are simulated at once: states and ages are arrays (seeds × sources), and a policy is an index of both.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tres_crawler.recrawl.ephemeral import Ephemeral
from tres_crawler.recrawl.stochastic import Noise

Floats = NDArray[np.float64]
Ages = NDArray[np.int64]
Index = Callable[[Floats, Ages], Floats]
"""States and ages (seeds × sources) → what is visited first."""

TABLE_1 = (
    Ephemeral(1.0, 0.7, 250),
    Ephemeral(0.7, 0.35, 250),
    Ephemeral(0.2, 0.7, 250),
    Ephemeral(0.08, 0.21, 250),
)
"""The four sources of both papers."""


@dataclass(frozen=True, eq=False)
class Run:
    """What a policy did."""

    rewards: Floats
    """(steps, seeds)."""
    visited: NDArray[np.bool_]
    """(steps, sources): visits of the first seed."""
    states: Floats
    """(steps, sources): states of the first seed before each visit."""

    @property
    def averages(self) -> Floats:
        """Average reward of each seed."""
        return np.asarray(self.rewards.mean(0))


def inflows(sources: Sequence[Ephemeral], noise: Noise | None, steps: int, seeds: int) -> Floats:
    """Value that arrives in each period and is left at its end: (steps, seeds, sources)."""
    mean = np.array([source.inflow for source in sources])
    if noise is None:
        return np.broadcast_to(mean, (steps, seeds, len(sources)))
    found = np.empty((steps, seeds, len(sources)))
    for seed in range(seeds):
        rng = np.random.default_rng([seed, 4])
        for at, source in enumerate(sources):
            found[:, seed, at] = _arriving(source, noise, steps, rng)
    return found


def _arriving(source: Ephemeral, noise: Noise, steps: int, rng: np.random.Generator) -> Floats:
    counts = rng.poisson(source.arrival_rate, steps)
    values = np.exp(-source.decay_rate * rng.random(int(counts.sum()))) * source.value
    if noise is Noise.PER_ITEM:
        values *= rng.exponential(size=len(values))
    ends = np.concatenate([[0.0], np.cumsum(values)])[np.concatenate([[0], np.cumsum(counts)])]
    sums: Floats = np.diff(ends)
    return sums * rng.exponential(size=steps) if noise is Noise.PER_EPOCH else sums


def simulate(sources: Sequence[Ephemeral], arriving: Floats, index: Index, budget: int) -> Run:
    """Visit the `budget` sources of highest index in every period; the reward counts before the reset.

    Sources begin one period old, with what their mean inflow is: so did the paper's deterministic run.
    """
    steps, seeds, count = arriving.shape
    kept = np.array([source.retention for source in sources])
    states = np.tile([source.inflow for source in sources], (seeds, 1))
    ages = np.ones((seeds, count), np.int64)
    rows = np.arange(seeds)[:, None]
    rewards, visited, seen = np.empty((steps, seeds)), np.zeros((steps, count), bool), np.empty((steps, count))
    for step in range(steps):
        seen[step] = states[0]
        chosen = np.argsort(-index(states, ages), axis=1, kind="stable")[:, :budget]
        rewards[step] = states[rows, chosen].sum(1)
        visited[step, chosen[0]] = True
        states[rows, chosen] = 0.0
        ages[rows, chosen] = 0
        states = kept * states + arriving[step]
        ages += 1
    return Run(rewards, visited, seen)


def by_age(sources: Sequence[Ephemeral], value: Callable[[Ephemeral, int], float], oldest: int = 400) -> Index:
    """An index that looks at ages only, so the state need not be observed."""
    table = np.array([[value(source, age) for age in range(oldest)] for source in sources])
    columns = np.arange(len(sources))
    return lambda states, ages: table[columns, np.minimum(ages, oldest - 1)]


def round_robin(states: Floats, ages: Ages) -> Floats:
    """The oldest first."""
    return ages.astype(float)


def always(source: int) -> Index:
    """One source and no other."""
    return lambda states, ages: np.broadcast_to(np.arange(states.shape[1]) == source, states.shape).astype(float)


def observed(sources: Sequence[Ephemeral], value: Callable[[Floats, Floats, Floats], Floats]) -> Index:
    """An index of the states as they are: a function of state, inflow and retention."""
    inflow = np.array([source.inflow for source in sources])
    retention = np.array([source.retention for source in sources])
    return lambda states, ages: value(states, inflow, retention)
