"""Sources whose items lose interest: how much unseen value waits at an age (Whittle 2018, sec. II)."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class Ephemeral:
    """Items arrive as a Poisson process and lose their value exponentially; one period is the unit of time."""

    value: float
    """Mean value of an item when it appears."""
    decay_rate: float
    arrival_rate: float
    cost: float = 1.0

    @property
    def retention(self) -> float:
        """Share of the value that is left a period later."""
        return math.exp(-self.decay_rate)

    @property
    def limit(self) -> float:
        """What waits at a source that is never visited."""
        return self.arrival_rate * self.value / self.decay_rate

    @property
    def inflow(self) -> float:
        """Value that waits one period after a visit (eq. 1)."""
        return self.pending_value(1.0)

    def pending_value(self, age: float) -> float:
        """Value that waits `age` periods after a visit (eq. 17)."""
        return -self.limit * math.expm1(-self.decay_rate * age)
