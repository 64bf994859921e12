"""Deep policies: a network sees all sources at once and values a visit of each."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence

import numpy as np

from tres_crawler.recrawl.pace import Pace
from tres_crawler.recrawl.qlearner import Gradient, QLearner
from tres_crawler.recrawl.ranked import Floats, RankedScheduler, Rows
from tres_crawler.recrawl.scheduler import Finding


class DeepScheduler(RankedScheduler):
    """Learns by Q-learning from every visit, its own or another policy's; ε of its choices are by chance.

    The network has a place for every source, so it begins anew when there are more than it has places for: it is
    made for some dozens of sources, or for groups of them.
    """

    GRADIENT: Gradient
    HIDDEN: tuple[int, int]
    DISCOUNT: float
    COLUMNS: int
    """Numbers by which the network sees a source."""
    PLACES = 4
    """Sources that the first network has places for."""

    def __init__(
        self,
        seed: int,
        *,
        gradient: Gradient | None = None,
        hidden: tuple[int, int] | None = None,
        exploration: tuple[float, float] = (0.7, 0.1),
        settled_after: int = 1500,
        least_gap_seconds: float = 0.0,
    ) -> None:
        """`exploration` falls from its first to its last value over `settled_after` visits."""
        super().__init__(least_gap_seconds)
        self._seed, self._gradient, self._hidden = seed, gradient or self.GRADIENT, hidden or self.HIDDEN
        self._exploration, self._settled_after = exploration, settled_after
        self._rng = np.random.default_rng([seed, 3])
        self._learner: QLearner | None = None
        self._places = 0
        self._visits = 0
        self._pace = Pace()
        self._pending: tuple[Floats, int, float] | None = None

    @abstractmethod
    def describe(self, elapsed: Floats) -> Floats:
        """(sources, COLUMNS): all sources, `elapsed` visits of any source after their own last."""

    def scores(self, rows: Rows, ages: Floats) -> Floats:
        if self._rng.random() < self._epsilon():
            return self._rng.random(len(rows))
        return self._network().values(self._state(self._elapsed(self._now)))[rows]

    def learn(self, row: int, number: int, gap: float, finding: Finding | None) -> None:
        if finding is None:
            self._pace.begin(float(self._visited_at[row]))
            return
        if finding.changed is None:
            return
        now = float(self._visited_at[row])
        elapsed = self._elapsed(now)
        elapsed[row] = gap / self._pace.slot(now)
        state = self._state(elapsed)
        learner = self._network()
        if self._pending is not None and len(self._pending[0]) == len(state):
            learner.learn(*self._pending, state)
        self._pending = (state, row, finding.value)
        self._visits += 1
        self._pace.visited()
        self.visited(row, finding.changed)

    @abstractmethod
    def visited(self, row: int, changed: bool) -> None:
        """A source was visited."""

    def _epsilon(self) -> float:
        first, last = self._exploration
        return first + (last - first) * min(1.0, self._visits / self._settled_after)

    def _elapsed(self, now: float) -> Floats:
        return np.asarray(np.maximum(0.0, now - self._visited_at[: len(self._sources)]) / self._pace.slot(now))

    def _state(self, elapsed: Floats) -> Floats:
        state = np.zeros((self._grown(), self.COLUMNS))
        state[: len(elapsed)] = self.describe(elapsed)
        return state.ravel()

    def _grown(self) -> int:
        if len(self._sources) > self._places:
            self._places = max(self.PLACES, self._places)
            while self._places < len(self._sources):
                self._places *= 2
            self._learner = None
        return self._places

    def _network(self) -> QLearner:
        places = self._grown()
        if self._learner is None:
            inputs = places * self.COLUMNS
            self._learner = QLearner(inputs, places, self._hidden, self.DISCOUNT, self._gradient, self._seed)
        return self._learner


class FullGradient(DeepScheduler):
    """FG-DQN: for each source the slots since its last visit and whether that one found a change (sec. II)."""

    GRADIENT = Gradient.FULL
    HIDDEN = (4000, 8)
    DISCOUNT = 0.95
    COLUMNS = 2
    SLOTS = 20.0
    """Slots that count as 1 for the network; the paper gives no scale."""

    _changed = np.zeros(0)

    def describe(self, elapsed: Floats) -> Floats:
        return np.column_stack([elapsed / self.SLOTS, self._changed[: len(elapsed)]])

    def visited(self, row: int, changed: bool) -> None:
        self._changed[row] = changed

    def _columns(self) -> Sequence[str]:
        return ("_changed",)


class GraphDeep(DeepScheduler):
    """The double DQN of graph-structured crawling, over five columns of history for each source (sec. 6)."""

    GRADIENT = Gradient.DOUBLE
    HIDDEN = (75, 40)
    DISCOUNT = 0.7
    COLUMNS = 5
    FULL = 100.0
    """What an observation counts when it is new."""
    DECAY = 0.9
    """What is left of it a slot later; the paper gives none."""
    SLOTS = 50.0

    _asked = _since_updated = _since_unchanged = _updated = _unchanged = np.zeros(0)

    def describe(self, elapsed: Floats) -> Floats:
        count = len(elapsed)
        times = [np.minimum(self._since_updated[:count], 5 * self.SLOTS) / self.SLOTS]
        times.append(np.minimum(self._since_unchanged[:count], 5 * self.SLOTS) / self.SLOTS)
        marks = [self._updated[:count] / self.FULL, self._unchanged[:count] / self.FULL]
        return np.column_stack([self._asked[:count], *times, *marks])

    def visited(self, row: int, changed: bool) -> None:
        count = len(self._sources)
        for marks in (self._updated, self._unchanged):
            marks[:count] *= self.DECAY
        for since in (self._since_updated, self._since_unchanged):
            since[:count] += 1
        self._asked[row] = 1
        (self._since_updated if changed else self._since_unchanged)[row] = 1
        (self._updated if changed else self._unchanged)[row] = self.FULL

    def _columns(self) -> Sequence[str]:
        return ("_asked", "_since_updated", "_since_unchanged", "_updated", "_unchanged")
