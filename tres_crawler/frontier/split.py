"""The best split of a leaf: experiences come in, the rule that parts their rewards best goes out (TRES, eq. 3-4)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tres_crawler.frontier.arrays import Floats

LEAST_GAIN = 1e-14
"""A gain is positive above this share of the largest squared reward; below lies what rounding makes of nothing.

One good page among a million is still a hundred times more.
"""


@dataclass(frozen=True, slots=True)
class Split:
    """Vectors whose `feature` is below `threshold` go left, all others right."""

    feature: int
    threshold: float
    """A float32 exactly, so that it can be stored and compared without rounding."""
    gain: float
    """By how much the split lowers the variance of the rewards (TRES, eq. 4)."""


def best_split(features: Floats, rewards: npt.NDArray[np.floating[Any]]) -> Split | None:
    """The split with the highest gain over all features and thresholds, or None if no gain is positive.

    Ties go to the feature with the lowest number, then to the lowest threshold; TRES does not say. Variance is that of
    the population: a child may be a single experience, of which the sample has none.
    """
    n = len(rewards)
    if n < 2:
        return None
    columns = np.ascontiguousarray(features.T)
    order = np.argsort(columns, axis=1, kind="stable")
    values = np.take_along_axis(columns, order, axis=1)
    sums = np.cumsum(rewards.astype(np.float64)[order], axis=1)
    left = np.arange(1.0, n)
    # Eq. 4 is |L||R|/|P|² · (mean of L - mean of R)². Written without a mean, it has no rounding but that of the
    # division while rewards are 0 and 1, so that equal gains are equal numbers and ties are real.
    apart = n * sums[:, :-1] - left * sums[:, -1:]
    gains = apart * apart / (n * n * left * (n - left))
    gains[values[:, :-1] == values[:, 1:]] = -1.0
    feature, at = divmod(int(np.argmax(gains)), n - 1)
    gain = float(gains[feature, at])
    if gain <= LEAST_GAIN * float(np.abs(rewards).max()) ** 2:
        return None
    return Split(feature, threshold_between(values[feature, at], values[feature, at + 1]), gain)


def threshold_between(low: np.float32, high: np.float32) -> float:
    """Halfway between two neighbours as a float32, above `low` even if no number lies between them."""
    middle = np.float32((float(low) + float(high)) / 2)
    return float(middle if middle > low else high)
