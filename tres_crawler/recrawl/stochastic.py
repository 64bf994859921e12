"""The Whittle index of a source whose arrivals are seen as they fall (Whittle 2018, sec. VIII).

For a fixed threshold the value function is linear in the subsidy, so the index at that threshold needs one linear
solve: with τ the expected periods and ρ the expected state until a visit, after a reset (0) and from the state on
(1), index = ρ₀ + (x − ρ₁)(1 + τ₀)/(1 + τ₁).
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from tres_crawler.recrawl.ephemeral import Ephemeral

Floats = NDArray[np.float64]

FINE = 1 / 32
"""Step of the grid on which a period's arrivals are worked out, in units of value."""
MOMENTS = 400
"""Moments within a period at which an item may appear."""
NEGLIGIBLE = 1e-12


class Noise(StrEnum):
    """What is random about the value that arrives in a period."""

    POISSON = "poisson"
    PER_ITEM = "exponential per item"
    PER_EPOCH = "exponential per epoch"


@dataclass(frozen=True, eq=False)
class Law:
    """A random amount: its possible sizes and how likely they are."""

    sizes: Floats
    chances: Floats

    @property
    def variance(self) -> float:
        mean = float(self.sizes @ self.chances)
        return float((self.sizes - mean) ** 2 @ self.chances)

    def shifted(self, by: float) -> Law:
        return Law(self.sizes + by, self.chances)


def arrivals(source: Ephemeral, noise: Noise) -> Law:
    """The value that arrives in one period and is left at its end."""
    if noise is Noise.PER_EPOCH:
        return _per_epoch(source)
    kept = np.exp(-source.decay_rate * (np.arange(MOMENTS) + 0.5) / MOMENTS) * source.value
    cells = np.arange(0, (30 if noise is Noise.PER_ITEM else 1.5) * source.value / FINE).astype(int)
    if noise is Noise.PER_ITEM:
        below = 1 - np.exp(-(cells[:, None] + 0.5) * FINE / kept).mean(1)
        one = np.diff(below, prepend=0.0)
    else:
        one = spread(Law(kept, np.full(MOMENTS, 1 / MOMENTS)), FINE, len(cells) + 1)
    length = 1 << int(np.ceil(np.log2(4 * max(source.inflow, source.value * 30) / FINE)))
    # A compound Poisson sum has the transform exp(rate · (transform of one − 1)).
    chances = np.fft.irfft(np.exp(source.arrival_rate * (np.fft.rfft(one, length) - 1)), length)
    return _trimmed(np.asarray(np.arange(length) * FINE, float), np.asarray(chances, float))


def _per_epoch(source: Ephemeral) -> Law:
    """One exponential value for all items of a period."""
    items = arrivals(Ephemeral(1.0, source.decay_rate, source.arrival_rate), Noise.POISSON)
    sizes = np.arange(0.5, 25 * source.inflow / (16 * FINE)) * 16 * FINE
    scales = items.sizes * source.value
    some = scales > 0
    above = np.zeros(len(sizes))
    for scale, chance in zip(scales[some], items.chances[some], strict=True):
        above += chance * np.exp(-(sizes + 8 * FINE) / scale)
    return _trimmed(np.asarray(sizes, np.float64), -np.diff(above, prepend=1.0))


def _trimmed(sizes: Floats, chances: Floats) -> Law:
    kept = chances > NEGLIGIBLE
    return Law(sizes[kept], chances[kept] / chances[kept].sum())


def spread(law: Law, step: float, length: int) -> Floats:
    """The law on the grid 0, step, 2·step, …: each size shared between its two neighbours, so the mean stays."""
    at = law.sizes / step
    low = np.minimum(at.astype(int), length - 2)
    part = np.minimum(at - low, 1.0)
    lower, upper = np.bincount(low, law.chances * (1 - part), length), np.bincount(low + 1, law.chances * part, length)
    return np.asarray(lower + upper, float)


class Threshold:
    """A source that is visited whenever its state reaches `state`."""

    def __init__(self, source: Ephemeral, law: Law, state: float, points: int = 350) -> None:
        self._source, self._law, self._state = source, law, state
        self._points = points
        self._step = state / (points - 1)
        rows = [self._row(source.retention * at * self._step) for at in range(points)]
        inside = np.stack([row for row, _ in rows])
        exits = np.array([reached for _, reached in rows])
        both = np.column_stack([np.ones(points), exits])
        self._waits, self._reached = np.linalg.solve(np.eye(points) - inside, both).T

    def _row(self, kept: float) -> tuple[Floats, float]:
        """Where `kept` and a period's arrivals lead: chances below the threshold, and the mean state at or above it."""
        after = self._law.shifted(kept)
        below = after.sizes < self._state
        inside = spread(Law(after.sizes[below], after.chances[below]), self._step, self._points)
        return inside, float(after.sizes[~below] @ after.chances[~below])

    def _ahead(self, kept: float) -> tuple[float, float]:
        """Expected periods and expected state until a visit, from `kept` before a period's arrivals."""
        inside, reached = self._row(kept)
        return float(inside @ self._waits), float(inside @ self._reached) + reached

    def average(self, subsidy: float) -> float:
        """Reward per period of visiting from the threshold on, when waiting is paid `subsidy`."""
        wait, state = self._ahead(0.0)
        return (self._source.cost * subsidy * wait + state) / (1 + wait)

    def index(self) -> float:
        """The subsidy that makes waiting at the threshold as good as visiting (eqs. 28-31, reference E V(U))."""
        reset_wait, reset_state = self._ahead(0.0)
        wait, state = self._ahead(self._source.retention * self._state)
        gain = reset_state + (self._state - state) * (1 + reset_wait) / (1 + wait)
        return gain / self._source.cost


def stochastic_index(source: Ephemeral, noise: Noise, state: float, points: int = 350) -> float:
    """The Whittle index of one state."""
    return Threshold(source, arrivals(source, noise), state, points).index()
