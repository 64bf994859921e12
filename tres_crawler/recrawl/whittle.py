"""Whittle indices of a source, as pure functions: what a visit must be worth, now, to be worth its cost.

Two models, each in slotted and in continuous time. *Change detection*: a visit pays `utility` if the page has changed
since the last one. *Ephemeral content* (Whittle 2018): what a source publishes piles up and decays, and a visit
collects what is left. All take numbers or arrays.
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np
import numpy.typing as npt

Numbers = float | npt.NDArray[np.float64]

NEVER: Final = float("inf")
_HALVINGS = 50
_GRID = np.concatenate([np.linspace(0.0, 1.0, 2000), np.linspace(1.0, 60.0, 4000)[1:]])
_STEPS = 3
"""Newton steps after the first guess; they double its digits each time."""


def change_index(age: Numbers, change_rate: Numbers, utility: Numbers, cost: Numbers = 1.0) -> Numbers:
    """Index of a source that changes by a Poisson process, `age` after its last visit (DESIGN, sec. 6)."""
    return utility / cost * ripeness(np.multiply(change_rate, age))


def change_index_slotted(
    age: Numbers, change_rate: Numbers, utility: Numbers, cost: Numbers = 1.0, period: float = 1.0
) -> Numbers:
    """The same where visits are possible once a period only; `age` counts periods."""
    unchanged = np.exp(-np.multiply(change_rate, period))
    return utility / cost * (1 - unchanged**age * (1 + age * (1 - unchanged)))


def ephemeral_index(age: Numbers, inflow_rate: Numbers, decay_rate: Numbers, cost: Numbers = 1.0) -> Numbers:
    """Index of a source of ephemeral content in continuous time: Theorem 1 as the period goes to nothing.

    `inflow_rate` is the value published per unit of time, Λ times the mean of ξ.
    """
    return inflow_rate / decay_rate / cost * ripeness(np.multiply(decay_rate, age))


def ephemeral_index_slotted(
    pending_value: Numbers, inflow: Numbers, retention: Numbers, cost: Numbers = 1.0
) -> Numbers:
    """Index in any state (Whittle 2018, Theorem 1).

    At and above u* = u/(1 − α) waiting brings nothing, so a visit is worth all that is there; the printed formula,
    whose log⁺ is 0 there, would say nothing.
    """
    x, u, a = np.asarray(pending_value, float), np.asarray(inflow, float), np.asarray(retention, float)
    below = (1 - a) * x < u
    left = np.where(below, 1 - (1 - a) * x / u, 1.0)
    # A state that was reached by waiting n periods stands at n but for rounding, which must not make it n + 1.
    eta = np.ceil(np.log(left) / np.log(a) - 1e-9)
    index = eta * ((1 - a) * x - u) + u * (1 - a**eta) / (1 - a)
    return np.where(below, index, x)[()] / cost


def ephemeral_index_reachable(
    pending_value: Numbers, inflow: Numbers, retention: Numbers, cost: Numbers = 1.0
) -> Numbers:
    """Index in a state that waiting leads to after a visit (Whittle 2018, remark after Theorem 1)."""
    x, u, a = np.asarray(pending_value, float), np.asarray(inflow, float), np.asarray(retention, float)
    below = (1 - a) * x < u
    left = np.where(below, 1 - (1 - a) * x / u, 1.0)
    eta = np.log(left) / np.log(a)
    return np.where(below, eta * ((1 - a) * x - u) + x, x)[()] / cost


def slot_inflow(inflow_rate: Numbers, decay_rate: Numbers, period: float = 1.0) -> Numbers:
    """What a source gains in one period and still has at its end (Whittle 2018, eq. 1)."""
    return inflow_rate / decay_rate * (1 - np.exp(-np.multiply(decay_rate, period)))


def ripeness(x: Numbers) -> Numbers:
    """1 − e⁻ˣ(1 + x): from 0 at a visit to 1 after long waiting, x being the changes expected since."""
    return 1 - np.exp(-x) * (1 + x)


def age_of_index(price: float, rate: float, worth: float) -> float:
    """The age at which an index `worth · ripeness(rate · age)` reaches `price`; NEVER if it does not."""
    if price <= 0:
        return 0.0
    if rate <= 0 or price >= worth:
        return NEVER
    return ripe_at(price / worth) / rate


def clearing_price(rates: npt.NDArray[np.float64], worths: npt.NDArray[np.float64], budget: float) -> float:
    """The price at which sources, each visited when its index reaches it, need `budget` visits per unit of time."""
    low, high = 0.0, float(worths.max(initial=0.0))
    active = rates > 0
    for _ in range(_HALVINGS):
        price = (low + high) / 2
        ripe = np.clip(price / np.maximum(worths[active], 1e-300), 0.0, 1.0)
        # Gaps by interpolation: a price need not be more exact than the budget it follows.
        gaps = np.where(ripe < 1, np.interp(ripe, ripeness(_GRID), _GRID), np.inf) / rates[active]
        if (1 / np.maximum(gaps, 1e-300)).sum() > budget:
            low = price
        else:
            high = price
    return high


def ripe_at(ripe: float) -> float:
    """The inverse of `ripeness` on [0, 1)."""
    wanted = -math.log1p(-ripe)
    # With g(x) = x − log(1 + x) the equation is g(x) = wanted; √ is right for small x, the sum for large.
    x = math.sqrt(2 * wanted) + wanted
    for _ in range(_STEPS):
        x -= (x - math.log1p(x) - wanted) * (1 + x) / x if x else 0.0
    return x
