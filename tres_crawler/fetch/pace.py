"""When a host may be asked again."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(slots=True)
class _Host:
    free_at: float = 0.0
    delay_seconds: float = 0.0
    trouble: int = 0


class Pace:
    """One request at a time per host, and a pause after each that grows while the host is in trouble."""

    BACKOFF_FACTOR = 4.0
    """The pause after the first trouble, in delays; it doubles each time after that."""
    MOST_DOUBLINGS = 20
    LONGEST_BACKOFF_SECONDS = 600.0

    def __init__(self, delay_seconds: float, clock: Callable[[], float]) -> None:
        self.delay_seconds = delay_seconds
        self.clock = clock
        self._hosts: dict[str, _Host] = {}

    def free_at(self, host: str) -> float:
        """The time from which `host` may be asked; infinity while a request is under way."""
        known = self._hosts.get(host)
        return known.free_at if known else 0.0

    def is_free(self, host: str) -> bool:
        return self.free_at(host) <= self.clock()

    def begin(self, host: str) -> None:
        """A request to `host` starts."""
        self._host(host).free_at = math.inf

    def cancel(self, host: str) -> None:
        """It was not sent after all."""
        self._host(host).free_at = self.clock()

    def end(self, host: str) -> None:
        """It was answered."""
        known = self._host(host)
        known.trouble = 0
        known.free_at = self.clock() + max(self.delay_seconds, known.delay_seconds)

    def end_badly(self, host: str, wait_seconds: float = 0.0) -> None:
        """It was not, or with a sign of overload; `wait_seconds` is what the host asked for."""
        known = self._host(host)
        delay = max(self.delay_seconds, known.delay_seconds)
        backoff = min(delay * self.BACKOFF_FACTOR * 2.0**known.trouble, self.LONGEST_BACKOFF_SECONDS)
        known.trouble = min(known.trouble + 1, self.MOST_DOUBLINGS)
        known.free_at = self.clock() + max(delay, backoff, wait_seconds)

    def slow_down(self, host: str, delay_seconds: float) -> None:
        """The host itself asks for a longer pause (Crawl-delay)."""
        self._host(host).delay_seconds = delay_seconds

    def _host(self, host: str) -> _Host:
        return self._hosts.setdefault(host, _Host())
