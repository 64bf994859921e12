"""Schedulers that rank all their sources at every choice: simple, exact, and fit for some ten thousand sources."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

from tres_crawler.recrawl.scheduler import Beliefs, Finding, Source

Rows = npt.NDArray[np.intp]
Floats = npt.NDArray[np.float64]

LOOKS = 8
"""Sources that are asked about again with every choice."""


class RankedScheduler(ABC):
    """A row for each source that was ever added; one that is chosen, held or retired is out of the ranking."""

    def __init__(self, least_gap_seconds: float = 0.0) -> None:
        self.price = 0.0
        self.least_gap = least_gap_seconds
        self._sources: list[Source] = []
        self._row_of: dict[int, int] = {}
        self._rows_of_host: defaultdict[int, list[int]] = defaultdict(list)
        self._holds: Counter[int] = Counter()
        self._chosen: set[int] = set()
        self._visited_at = np.zeros(0)
        self._blocks = np.zeros(0, np.int32)
        """How many reasons there are not to choose a row."""
        self._now = -np.inf

    def __len__(self) -> int:
        return len(self._row_of)

    @abstractmethod
    def scores(self, rows: Rows, ages: Floats) -> Floats:
        """What each row is worth now; what is worth -inf is not chosen."""

    def learn(  # noqa: B027  # most policies learn nothing
        self, row: int, number: int, gap: float, finding: Finding | None
    ) -> None:
        """Take up a new source (without a finding) or what a visit found, `gap` after the one before."""

    def add(self, source: Source) -> None:
        row = len(self._sources)
        if row == len(self._blocks):
            self._grow(max(64, 2 * row))
        self._sources.append(source)
        self._row_of[source.number] = row
        self._rows_of_host[source.host].append(row)
        self._visited_at[row] = source.visited_at
        self._blocks[row] = self._holds[source.host]
        self.learn(row, source.number, 0.0, None)

    def retire(self, number: int) -> None:
        row = self._row_of.pop(number)
        self._rows_of_host[self._sources[row].host].remove(row)
        self._blocks[row] += 1
        self._chosen.discard(number)

    def choose(self, now: float, budget: int) -> Sequence[int]:
        now = self._now = max(now, self._now)
        rows = np.flatnonzero(self._blocks[: len(self._sources)] == 0)
        ages = np.maximum(0.0, now - self._visited_at[rows])
        rows, ages = rows[ages >= self.least_gap], ages[ages >= self.least_gap]
        if not len(rows):
            return []
        scores = self.scores(rows, ages)
        rows, scores = rows[scores > -np.inf], scores[scores > -np.inf]
        return [self._taken(row) for row in self._best(rows, scores, budget)]

    def values(self, now: float, numbers: Sequence[int]) -> Floats:
        """What sources are worth to this policy, whether they may be chosen or not: for policies made of others."""
        self._now = max(now, self._now)
        rows = np.array([self._row_of[number] for number in numbers], np.intp)
        return self.scores(rows, np.maximum(0.0, self._now - self._visited_at[rows]))

    def observe(self, number: int, now: float, finding: Finding) -> None:
        row = self._row_of.get(number)
        if row is None:
            return
        gap = max(0.0, now - float(self._visited_at[row]))
        self._visited_at[row] += gap
        self.give_back(number)
        self.learn(row, number, gap, finding)

    def give_back(self, number: int) -> None:
        if number in self._chosen:
            self._chosen.remove(number)
            self._blocks[self._row_of[number]] -= 1

    def hold(self, host: int) -> None:
        self._holds[host] += 1
        self._blocks[self._rows_of_host[host]] += 1

    def release(self, host: int) -> None:
        self._holds[host] -= 1
        self._blocks[self._rows_of_host[host]] -= 1

    def memory(self, number: int) -> float | None:
        return None

    def due_at(self, number: int) -> float | None:
        return None

    def _grow(self, size: int) -> None:
        for name in ("_visited_at", "_blocks", *self._columns()):
            column = getattr(self, name)
            setattr(self, name, np.concatenate([column, np.zeros(size - len(column), column.dtype)]))

    def _columns(self) -> Sequence[str]:
        """Columns of a policy's own, to grow with the others."""
        return ()

    def _best(self, rows: Rows, scores: Floats, budget: int) -> Iterator[int]:
        """Rows by score, one of each host; among equals the one that was added first."""
        asked: set[int] = set()
        for row in rows[np.argsort(-scores, kind="stable")]:
            if len(asked) >= budget:
                return
            host = self._sources[row].host
            if host not in asked:
                asked.add(host)
                yield int(row)

    def _taken(self, row: int) -> int:
        self._blocks[row] += 1
        self._chosen.add(self._sources[row].number)
        return self._sources[row].number


class BelievingScheduler(RankedScheduler):
    """Ranks by what is believed of the sources; a few are asked about again with every choice, in turn."""

    def __init__(self, beliefs: Beliefs, least_gap_seconds: float = 0.0) -> None:
        super().__init__(least_gap_seconds)
        self._beliefs = beliefs
        self.change_rate = self.hopeful_rate = self.worth = self.evidence = np.zeros(0)
        """`worth` is utility over cost."""
        self._looked = 0

    def choose(self, now: float, budget: int) -> Sequence[int]:
        for _ in range(min(LOOKS * budget, len(self._sources))):
            self._looked = (self._looked + 1) % len(self._sources)
            number = self._sources[self._looked].number
            if number in self._row_of:
                self.learn(self._looked, number, 0.0, None)
        return super().choose(now, budget)

    def learn(self, row: int, number: int, gap: float, finding: Finding | None) -> None:
        belief = self._beliefs(number)
        self.change_rate[row], self.hopeful_rate[row] = belief.change_rate, belief.hopeful_rate
        self.worth[row] = belief.utility / belief.cost
        self.evidence[row] = belief.evidence

    def _columns(self) -> Sequence[str]:
        return ("change_rate", "hopeful_rate", "worth", "evidence")
