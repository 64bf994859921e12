"""A Whittle index that learns which sources change together, and counts what was found at the others."""

from __future__ import annotations

import numpy as np

from tres_crawler.recrawl.ranked import BelievingScheduler, Floats, Rows
from tres_crawler.recrawl.scheduler import Beliefs, Finding
from tres_crawler.recrawl.whittle import ripeness

MOST = 1000
"""Sources between which influence is learned; it takes memory by their square. Later ones count as alone."""
CAUTION = 8.0
"""Precision of the prior that neighbours mean nothing: evidence must outweigh it."""


class NeighbourWhittle(BelievingScheduler):
    """The change-detection index, at the age that fits what is now believed of a source.

    When a visit finds more or less than its own rate led to expect, that surprise is noted for every other source in
    proportion to how much of the time it speaks of lies after that source's own last visit. The chance of a change
    is the independent one moved, in log odds, by the surprises times learned influences; without any it is the plain
    index. Influences are learned online by logistic regression with the independent log odds as offset.
    """

    def __init__(self, beliefs: Beliefs, least_gap_seconds: float = 0.0, most: int = MOST) -> None:
        super().__init__(beliefs, least_gap_seconds)
        self._most = most
        self._surprise = np.zeros((0, 0))
        self._influence = np.zeros((0, 0))
        self._precision = np.zeros((0, 0))

    def scores(self, rows: Rows, ages: Floats) -> Floats:
        expected = self.hopeful_rate[rows] * ages
        near = rows < len(self._surprise)
        inside = rows[near]
        shift = (self._surprise[inside] * self._influence[inside]).sum(1)
        expected[near] = _moved(expected[near], shift)
        return np.asarray(self.worth[rows] * np.asarray(ripeness(expected)))

    def learn(self, row: int, number: int, gap: float, finding: Finding | None) -> None:
        if finding is None:
            self._place(row)
        elif finding.changed is not None and gap > 0 and row < len(self._surprise):
            self._learn_influence(row, gap, finding.changed)
            self._tell_others(row, gap, finding.changed)
            self._surprise[row] = 0.0
        super().learn(row, number, gap, finding)

    def influence(self, on: int, of: int) -> float:
        """By how much a full surprise at source `of` moves the log odds of a change at `on`."""
        return float(self._influence[self._row_of[on], self._row_of[of]])

    def _learn_influence(self, row: int, gap: float, changed: bool) -> None:
        surprise = self._surprise[row]
        shift = float(surprise @ self._influence[row])
        chance = -np.expm1(-float(_moved(np.array([self.change_rate[row] * gap]), np.array([shift]))[0]))
        self._precision[row] += chance * (1 - chance) * surprise**2
        self._influence[row] += (changed - chance) * surprise / self._precision[row]

    def _tell_others(self, row: int, gap: float, changed: bool) -> None:
        count = min(len(self._sources), len(self._surprise))
        chance = -np.expm1(-self.change_rate[row] * gap)
        visited_at = self._visited_at[row]
        begun = np.maximum(visited_at - gap, self._visited_at[:count])
        overlap = np.clip((visited_at - begun) / gap, 0, 1)
        self._surprise[:count, row] += (changed - chance) * overlap

    def _place(self, row: int) -> None:
        size = len(self._surprise)
        if row < size or row >= self._most:
            return
        larger = min(self._most, max(16, 2 * size))
        kept = [(self._surprise, 0.0), (self._influence, 0.0), (self._precision, CAUTION)]
        self._surprise, self._influence, self._precision = (_enlarged(old, larger, fill) for old, fill in kept)


def _moved(expected: Floats, shift: Floats) -> Floats:
    """Changes expected, after the log odds of any change have moved by `shift`."""
    # log odds of 1 − e^(−x) are log(e^x − 1); back again, x = log(1 + e^odds).
    odds = np.log(np.expm1(np.clip(expected, 1e-12, 500))) + np.clip(shift, -20, 20)
    return np.asarray(np.logaddexp(0.0, odds))


def _enlarged(old: Floats, size: int, fill: float) -> Floats:
    new = np.full((size, size), fill, float)
    new[: len(old), : len(old)] = old
    return new
