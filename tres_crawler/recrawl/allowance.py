"""When visits may be made: a clock that nobody sets, and how many visits have been earned."""

from __future__ import annotations

import time
from collections.abc import Callable

from tres_crawler.config import RecrawlSettings

Clock = Callable[[], float]


def steady_clock() -> Clock:
    """The time of day, which from now on no change of the system's clock moves."""
    ahead = time.time() - time.monotonic()
    return lambda: ahead + time.monotonic()


class Allowance:
    """Visits that may be made: a share of what is fetched, or so many a minute; never many at once."""

    def __init__(self, settings: RecrawlSettings, most: int) -> None:
        self._per_fetch = settings.share / (1 - settings.share)
        self._per_second = settings.visits_per_minute / 60
        self._most = most
        self._earned_at: float | None = None
        self.visits = 0.0

    def earn_by_fetch(self) -> None:
        self.visits = min(self.visits + self._per_fetch, self._most)
        self._earned_at = None

    def earn_by_time(self, now: float) -> None:
        if self._earned_at is not None:
            self.visits = min(self.visits + (now - self._earned_at) * self._per_second, self._most)
        self._earned_at = now

    @property
    def wait_seconds(self) -> float:
        """Until a visit may be made, at so many a minute."""
        return max(0.0, 1 - self.visits) / self._per_second
