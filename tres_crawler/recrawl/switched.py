"""One policy first, then another that has learned from the first one's visits (FG-DQN, sec. V: Thompson, then deep)."""

from __future__ import annotations

from tres_crawler.recrawl.ranked import Floats, RankedScheduler, Rows
from tres_crawler.recrawl.scheduler import Finding


class Switched(RankedScheduler):
    """`first` decides until so many visits are made, `then` afterwards; both learn from all of them."""

    def __init__(
        self, first: RankedScheduler, then: RankedScheduler, after_visits: int, least_gap_seconds: float = 0.0
    ) -> None:
        super().__init__(least_gap_seconds)
        self._first, self._then, self._after = first, then, after_visits
        self._visits = 0

    def scores(self, rows: Rows, ages: Floats) -> Floats:
        active = self._first if self._visits < self._after else self._then
        return active.values(self._now, [self._sources[row].number for row in rows])

    def learn(self, row: int, number: int, gap: float, finding: Finding | None) -> None:
        for policy in (self._first, self._then):
            if finding is None:
                policy.add(self._sources[row])
            else:
                policy.observe(number, float(self._visited_at[row]), finding)
        self._visits += finding is not None
