"""Sources with drawn rates and worths, for experiments without a web."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tres_crawler.recrawl.scheduler import Belief

Floats = npt.NDArray[np.float64]
CHANGING = 0.6
SLOWEST, FASTEST = 0.01, 3.0
"""Changes per unit of time, spread evenly on a logarithmic scale."""


@dataclass(frozen=True)
class Drawn:
    """Some sources never change; all were last visited within the ten units of time before 0."""

    rates: Floats
    worths: Floats
    visited: Floats

    @classmethod
    def of(cls, count: int, seed: int) -> Drawn:
        rng = np.random.default_rng(seed)
        rates = SLOWEST * (FASTEST / SLOWEST) ** rng.random(count)
        rates[rng.random(count) >= CHANGING] = 0.0
        return cls(rates, rng.gamma(2.0, 0.5, count), -10 * rng.random(count))

    def belief(self, number: int) -> Belief:
        return Belief(float(self.rates[number]), float(self.worths[number]))
