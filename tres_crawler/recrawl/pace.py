"""How long the slot of the papers is in a live crawl: the time from one visit of any source to the next."""

from __future__ import annotations


class Pace:
    """Seconds between visits, on average since the first source came."""

    def __init__(self) -> None:
        self._began: float | None = None
        self._visits = 0

    def begin(self, now: float) -> None:
        """A source is new; only the first counts."""
        if self._began is None:
            self._began = now

    def visited(self) -> None:
        self._visits += 1

    def slot(self, now: float) -> float:
        """1 until a visit was made."""
        if self._began is None or not self._visits:
            return 1.0
        return max(1e-9, (now - self._began) / self._visits)
