"""What a source of ephemeral content publishes and how fast it wanes, learned from what visits collect."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tres_crawler.recrawl.ephemeral import Ephemeral

Floats = NDArray[np.float64]

DECAY_RATES: Floats = np.geomspace(0.02, 3.0, 40)
"""Decay rates per slot that are thought possible, all alike at first."""
FIRST_GUESSES = 2.0
"""Visits' worth of weight that the first guess of the noise has."""


class PendingEstimate:
    """A posterior over decay rates, and over the limit given each, from visits at different ages.

    What a visit collects is taken to scatter as sums of Poisson items do: variance in proportion to the mean, by a
    factor that is learned too.
    """

    def __init__(self) -> None:
        self._total = 0.0
        self._exposure = np.zeros(len(DECAY_RATES))
        self._logs = np.zeros(len(DECAY_RATES))
        self._scatter = 0.0
        self._visits = 0

    def learn(self, age: float, value: float) -> None:
        """A visit `age` slots after the one before collected `value`."""
        if age <= 0:
            return
        share = -np.expm1(-DECAY_RATES * age)
        if self._visits:
            expected = max(1e-9, float(self._weights() @ (self._limits() * share)))
            self._scatter += (value - expected) ** 2 / expected
        else:
            self._scatter = FIRST_GUESSES * value
        self._visits += 1
        self._total += value
        self._exposure += share
        self._logs += value * np.log(share)

    def drawn(self, rng: np.random.Generator) -> Ephemeral:
        """Parameters as likely as the posterior says, so that what is unknown gets tried."""
        at = int(rng.choice(len(DECAY_RATES), p=self._weights()))
        noise = self._noise()
        limit = noise * float(rng.standard_gamma(self._total / noise + 1e-9)) / max(1e-12, self._exposure[at])
        return _source(limit, float(DECAY_RATES[at]))

    def likeliest(self) -> Ephemeral:
        at = int(np.argmax(self._weights()))
        return _source(float(self._limits()[at]), float(DECAY_RATES[at]))

    def _limits(self) -> Floats:
        return np.asarray(self._total / np.maximum(1e-12, self._exposure))

    def _noise(self) -> float:
        return max(1e-9, self._scatter / (FIRST_GUESSES + max(0, self._visits - 1)))

    def _weights(self) -> Floats:
        if not self._total:
            return np.full(len(DECAY_RATES), 1 / len(DECAY_RATES))
        limits = self._limits()
        fit = (self._total * np.log(limits) + self._logs - limits * self._exposure) / self._noise()
        weights = np.exp(fit - fit.max())
        return np.asarray(weights / weights.sum())


def _source(limit: float, decay_rate: float) -> Ephemeral:
    return Ephemeral(limit * decay_rate, decay_rate, 1.0)
