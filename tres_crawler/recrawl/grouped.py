"""Sources that are alike share one arm; within it they take turns (FG-DQN, sec. II and V)."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence

import numpy as np

from tres_crawler.recrawl.ranked import Floats, RankedScheduler, Rows
from tres_crawler.recrawl.scheduler import Beliefs, Finding, Source

GroupOf = Callable[[int], int]
"""The group of a source, by its number."""


class Grouped(RankedScheduler):
    """A policy over groups says which is next; in it, the source whose last visit is longest ago comes first.

    A source may join another group whenever it has been visited.
    """

    def __init__(self, groups: RankedScheduler, group_of: GroupOf, least_gap_seconds: float = 0.0) -> None:
        super().__init__(least_gap_seconds)
        self._groups, self._group_of = groups, group_of
        self._known: set[int] = set()
        self._group = np.zeros(0, np.int64)

    def scores(self, rows: Rows, ages: Floats) -> Floats:
        groups, group_at, sizes = np.unique(self._group[rows], return_inverse=True, return_counts=True)
        order = np.lexsort((-ages, group_at))
        turn = np.empty(len(rows))
        turn[order] = np.arange(len(rows)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        place = np.argsort(np.argsort(self._groups.values(self._now, groups.tolist()), kind="stable"), kind="stable")
        # First the one whose turn it is in each group, the best group's before the others'; then the ones behind them.
        return np.asarray(place[group_at] / len(groups) - turn)

    def learn(self, row: int, number: int, gap: float, finding: Finding | None) -> None:
        if finding is not None:
            self._groups.observe(int(self._group[row]), float(self._visited_at[row]), finding)
        group = self._group_of(number)
        if group not in self._known:
            self._known.add(group)
            self._groups.add(Source(group, group, float(self._visited_at[row])))
        self._group[row] = group

    def _columns(self) -> Sequence[str]:
        return ("_group",)


class BeliefGroups:
    """Four groups, as in the paper's examples: changing often or seldom, dear or cheap, against the average so far."""

    def __init__(self, beliefs: Beliefs) -> None:
        self._beliefs = beliefs
        self._seen = 0
        self._log_rate = 0.0
        self._log_utility = 0.0
        self._asked: Counter[int] = Counter()
        self._utilities: defaultdict[int, float] = defaultdict(float)

    def __call__(self, number: int) -> int:
        belief = self._beliefs(number)
        rate, utility = math.log(max(belief.change_rate, 1e-12)), math.log(max(belief.utility, 1e-12))
        self._seen += 1
        self._log_rate += (rate - self._log_rate) / self._seen
        self._log_utility += (utility - self._log_utility) / self._seen
        group = 2 * (utility >= self._log_utility) + (rate >= self._log_rate)
        self._asked[group] += 1
        self._utilities[group] += belief.utility
        return group

    def importance(self, group: int) -> float:
        """What a change is worth in a group, on average so far."""
        return self._utilities[group] / self._asked[group]
