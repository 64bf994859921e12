"""The stochastic index learned on two time scales (Whittle 2018, eqs. 33-35, corrected)."""

from __future__ import annotations

import numpy as np

from tres_crawler.recrawl.ephemeral import Ephemeral
from tres_crawler.recrawl.stochastic import Law, spread

DAMPING = 0.5
"""Share of the old values kept: the chain is nearly periodic, and undamped iteration may circle for ever."""


def learned_index(
    source: Ephemeral, law: Law, state: float, steps: int, rng: np.random.Generator, points: int = 600
) -> float:
    """Move the subsidy, by draws of a period's arrivals, to where waiting and visiting at `state` are worth the same.

    Beside it, on a faster scale, relative value iteration for the policy that visits from `state` on. Its reference is
    the expected value after a reset, E V(U), where the paper prints the value of the mean, V(E U); visits lead to a
    reset, so the same term must be added for them, which the paper leaves out: as printed, the scheme fails.
    """
    top = float(max(source.limit, source.retention * state + law.sizes[-1]))
    grid = np.linspace(0, top, points)
    width = grid[1]
    passive = grid < state
    ahead = np.stack([spread(law.shifted(source.retention * at), width, points) for at in grid])
    reset = spread(law, width, points)
    values, subsidy = grid.copy(), state / 2
    draws = rng.choice(law.sizes, steps, p=law.chances)
    for step in range(steps):
        base = float(reset @ values)
        waiting = float(np.interp(source.retention * state + draws[step], grid, values))
        subsidy -= (source.cost * subsidy + waiting - base - state) / (10 + step) ** 0.7
        new = np.where(passive, source.cost * subsidy + ahead @ values - base, grid)
        values = DAMPING * values + (1 - DAMPING) * new
    return subsidy
