"""The stochastic index of section VIII as a curve over all states, and the bound that goes with it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tres_crawler.experiments.recrawl.ephemeral import Ages, Floats, Index
from tres_crawler.recrawl.ephemeral import Ephemeral
from tres_crawler.recrawl.stochastic import Noise, Threshold, arrivals

REACHED = 2.5
"""Standard deviations above its limit up to which the index of a source is worked out: waiting for a state that is
never reached does not end."""
GRID = 150
"""Points of each linear solve."""
PRICES = 400


@dataclass(frozen=True, eq=False)
class Curve:
    """A source visited from each of some thresholds on."""

    states: Floats
    thresholds: tuple[Threshold, ...]
    index: Floats

    @classmethod
    def of(cls, source: Ephemeral, noise: Noise, points: int) -> Curve:
        law = arrivals(source, noise)
        deviation = math.sqrt(law.variance / (1 - source.retention**2))
        states = np.linspace(source.inflow / 4, source.limit + REACHED * deviation, points)
        thresholds = tuple(Threshold(source, law, float(state), GRID) for state in states)
        return cls(states, thresholds, np.array([one.index() for one in thresholds]))

    def at(self, states: Floats) -> Floats:
        return np.asarray(np.interp(states, self.states, self.index) + np.maximum(0, states - self.states[-1]))


def true_index(curves: Sequence[Curve]) -> Index:
    """Visit by the stochastic index."""

    def index(states: Floats, ages: Ages) -> Floats:
        return np.stack([curve.at(states[:, at]) for at, curve in enumerate(curves)], 1)

    return index


def stochastic_bound(curves: Sequence[Curve], budget: float) -> float:
    """What no policy that sees the states can exceed: the least, over prices, of what all sources earn at a price."""
    highest = max(float(curve.index[-1]) for curve in curves)
    lines = [[(one.average(0.0), one.average(1.0) - one.average(0.0)) for one in curve.thresholds] for curve in curves]
    found = math.inf
    for price in np.linspace(0, highest, PRICES):
        # Never to visit earns the subsidy alone.
        earned = sum(max(float(price), *(base + slope * price for base, slope in line)) for line in lines)
        found = min(found, float(earned - price * (len(curves) - budget)))
    return found
