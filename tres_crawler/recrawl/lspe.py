"""LSPE(0) and a gradient on thresholds: the learning scheme of Whittle 2019 (paper 002)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from tres_crawler.recrawl.ephemeral import Ephemeral
from tres_crawler.recrawl.pace import Pace
from tres_crawler.recrawl.pending import PendingEstimate
from tres_crawler.recrawl.ranked import Floats, RankedScheduler, Rows
from tres_crawler.recrawl.scheduler import Finding

STEEPNESS = 2.0
"""κ: how sharply the chance of a visit rises at the threshold, per unit of pending value (sec. V)."""
STEP = 0.05
"""γ of the value weights (sec. V)."""
RIDGE = 1e-3
"""δ of the Tikhonov regularisation; the paper says only that it is small."""
OUTER_STEP = 0.5
"""c of the threshold step, anywhere in (0, 1)."""


class ThresholdLearner:
    """Thresholds that depend on the other sources' states, moved towards more reward by a policy gradient.

    A threshold is kept as a place between u and u*, and states are divided by u* before they enter polynomials:
    without bounds, exponentials overflow within some hundred steps (the paper reports the same).
    """

    def __init__(self, sources: Sequence[Ephemeral], rng: np.random.Generator) -> None:
        count = len(sources)
        self.bound(sources)
        self._q = np.zeros((count, 3))
        self._q[:, 0] = rng.random(count)
        features = count + count * (count + 1) // 2
        self._upper = np.triu_indices(count)
        self._weights = np.zeros(features)
        self._b_matrix, self._a_matrix = 1e-3 * np.eye(features), np.zeros((features, features))
        self._b_vector = np.zeros(features)
        self._average = 0.0
        self._steps = 0

    def bound(self, sources: Sequence[Ephemeral]) -> None:
        """Say anew between which states sources move."""
        self._low = np.array([source.inflow for source in sources])
        self._high = np.array([max(source.limit, 1e-12) for source in sources])

    def thresholds(self, states: Floats) -> Floats:
        place = np.clip((self._q * self._basis(states)).sum(1), 0, 1)
        return np.asarray(self._low + place * (self._high - self._low))

    def chances(self, states: Floats) -> Floats:
        """Chance of a visit of each source."""
        return np.asarray(1 / (1 + np.exp(-np.clip(self.margins(states), -500, 500))))

    def margins(self, states: Floats) -> Floats:
        """How far each state is above its threshold, in steps of the logistic function."""
        return np.asarray(STEEPNESS * (states - self.thresholds(states) - 0.5))

    def learn(self, states: Floats, visited: NDArray[np.bool_], reward: float, after: Floats) -> None:
        """One slot: LSPE(0) for the value, then the gradient of its average for the thresholds (eq. 9)."""
        self._steps += 1
        now, then = self._features(states), self._features(after)
        rate = 1 / self._steps
        self._average += rate * (reward - self._average)
        self._b_matrix += rate * (np.outer(now, now) - self._b_matrix)
        self._a_matrix += rate * (np.outer(now, then - now) - self._a_matrix)
        self._b_vector += rate * (now * (reward - self._average) - self._b_vector)
        # In place of B⁻¹, which the few states of a periodic run leave without full rank.
        push = self._a_matrix @ self._weights + self._b_vector
        regular = self._b_matrix.T @ self._b_matrix + RIDGE * np.eye(len(now))
        self._weights = self._weights + STEP * np.linalg.solve(regular, self._b_matrix.T @ push)
        chances = self.chances(states)
        surprise = np.where(visited, chances - 1, chances)
        slope = STEEPNESS * surprise[:, None] * self._basis(states)
        self._q += OUTER_STEP / np.ceil(self._steps / 500) * slope * float(self._weights @ then)
        self._q = np.clip(self._q, (0, -1, -1), 1)

    @property
    def finite(self) -> bool:
        return bool(np.isfinite(self._q).all() and np.isfinite(self._weights).all())

    @property
    def inside(self) -> bool:
        """Whether thresholds lie where their sources' states do, at both ends of these."""
        found = np.stack([self.thresholds(self._low), self.thresholds(self._high)])
        return bool(np.all((found >= self._low) & (found <= self._high)))

    def _basis(self, states: Floats) -> Floats:
        """1, the others' mean state and its square (sec. V has the sum), for each source."""
        scaled = states / self._high
        others = (scaled.sum() - scaled) / max(1, len(scaled) - 1)
        return np.column_stack([np.ones(len(others)), others, others**2])

    def _features(self, states: Floats) -> Floats:
        scaled = states / self._high
        return np.concatenate([scaled, np.outer(scaled, scaled)[self._upper]])


class LspeScheduler(RankedScheduler):
    """Visits the sources that are above their learned thresholds; for a handful of sources, or groups of them.

    The number of value weights grows with the square of the number of sources.
    """

    def __init__(
        self,
        rng: np.random.Generator,
        arms: Callable[[int], Ephemeral] | None = None,
        *,
        randomised: bool = False,
        all_states_pay: bool = False,
        least_gap_seconds: float = 0.0,
    ) -> None:
        """`arms` says what sources publish in a slot of a second; else that is learned, and the slot measured.

        `randomised` visits by chance as the paper's run did, however many that are; else the furthest above go first.
        `all_states_pay` is the reward as printed in eq. 6, which counts sources that were not visited.
        """
        super().__init__(least_gap_seconds)
        self._rng, self._arms = rng, arms
        self._randomised, self._all_pay = randomised, all_states_pay
        self.learner: ThresholdLearner | None = None
        self._estimates: list[PendingEstimate] = []
        self._pace = Pace()
        self._before: Floats | None = None
        self._visited: set[int] = set()
        self._reward = 0.0

    def scores(self, rows: Rows, ages: Floats) -> Floats:
        arms = [self._arm(row) for row in range(len(self._sources))]
        states = np.array([arm.pending_value(age) for arm, age in zip(arms, self._slots(), strict=True)])
        if self.learner is None or self._before is None or len(states) != len(self._before):
            self.learner = ThresholdLearner(arms, self._rng)
        else:
            self.learner.bound(arms)
            visited = np.isin(np.arange(len(states)), list(self._visited))
            self.learner.learn(self._before, visited, self._before.sum() if self._all_pay else self._reward, states)
        self._before, self._visited, self._reward = states, set(), 0.0
        margins = self.learner.margins(states)[rows]
        if self._randomised:
            return np.where(self._rng.random(len(rows)) < self.learner.chances(states)[rows], margins, -np.inf)
        return margins

    def learn(self, row: int, number: int, gap: float, finding: Finding | None) -> None:
        if finding is None:
            self._estimates.append(PendingEstimate())
            self._pace.begin(float(self._visited_at[row]))
        elif finding.changed is not None:
            self._pace.visited()
            self._estimates[row].learn(gap / self._slot(float(self._visited_at[row])), finding.value)
            self._visited.add(row)
            self._reward += finding.value

    def _arm(self, row: int) -> Ephemeral:
        return self._arms(self._sources[row].number) if self._arms else self._estimates[row].likeliest()

    def _slot(self, now: float) -> float:
        return 1.0 if self._arms else self._pace.slot(now)

    def _slots(self) -> Floats:
        return np.asarray(np.maximum(0.0, self._now - self._visited_at[: len(self._sources)]) / self._slot(self._now))
