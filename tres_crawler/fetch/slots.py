"""How many fetches may be under way over all crawls of a process."""

from __future__ import annotations

from collections.abc import Callable


class FetchSlots:
    """Never more under way than the limit; crawls that run share it evenly, so none is kept waiting by another.

    A share that its crawl cannot use, because its hosts rest, stays unused: it is there when they have rested.
    """

    def __init__(self, limit: int | None = None) -> None:
        self.limit = limit
        self.under_way = 0
        self._wake: dict[int, Callable[[], None]] = {}

    @property
    def crawls(self) -> int:
        """How many crawls share the slots."""
        return len(self._wake)

    def join(self, crawl: int, wake: Callable[[], None]) -> None:
        """A crawl begins to fetch; it is woken when a slot is free after there was none."""
        self._wake[crawl] = wake

    def leave(self, crawl: int) -> None:
        """It fetches no more for now; the others' shares grow."""
        if self._wake.pop(crawl, None):
            self._wake_all()

    def free(self, own: int) -> int | None:
        """How many more a crawl may begin that has `own` under way; None: as many as it likes."""
        if self.limit is None:
            return None
        share = max(1, self.limit // max(1, self.crawls))
        return min(share - own, self.limit - self.under_way)

    def take(self) -> None:
        self.under_way += 1

    def give_back(self) -> None:
        self.under_way -= 1
        if self.limit is not None and self.under_way == self.limit - 1:
            self._wake_all()

    def _wake_all(self) -> None:
        for wake in self._wake.values():
            wake()
