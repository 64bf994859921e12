"""When a host, or the address behind it, may be asked again."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from email.utils import parsedate_to_datetime

from tres_crawler.records import Fetched

LONGEST_RETRY_AFTER_SECONDS = 86_400.0


@dataclass(slots=True)
class _Known:
    free_at: float = 0.0
    asked_seconds: float = 0.0
    """The pause that the host itself asks for (Crawl-delay)."""
    answer_seconds: float = 0.0
    """How long its answers take, smoothed."""
    troubles: int = 0
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Quarantine:
    """A host that is left alone for a while, and why."""

    host: str
    until: float
    troubles: int
    reason: str


class Pace:
    """One request at a time, and a pause after each that grows while the host is slow or in trouble.

    Without a delay (hosts of one's own) nothing but what a host asks for makes it wait.
    """

    SLOWNESS = 2.0
    """A slow host rests this many times as long as it takes to answer."""
    LONGEST_STRETCH_SECONDS = 30.0
    BACKOFF_FACTOR = 4.0
    """The pause after the first trouble, in delays; it doubles each time after that."""
    MOST_DOUBLINGS = 20
    LONGEST_BACKOFF_SECONDS = 600.0
    QUARANTINE_TROUBLES = 5
    """So many troubles in a row put a host in quarantine: it backs off further, up to a day."""
    LONGEST_QUARANTINE_SECONDS = 86_400.0

    def __init__(self, delay_seconds: float, clock: Callable[[], float]) -> None:
        self.delay_seconds = delay_seconds
        self.clock = clock
        self._known: dict[str, _Known] = {}

    def free_at(self, name: str) -> float:
        """The time from which `name` may be asked; infinity while a request is under way."""
        known = self._known.get(name)
        return known.free_at if known else 0.0

    def is_free(self, name: str) -> bool:
        return self.free_at(name) <= self.clock()

    def begin(self, name: str) -> None:
        """A request starts."""
        self._of(name).free_at = math.inf

    def cancel(self, name: str) -> None:
        """It was not sent after all."""
        self._of(name).free_at = self.clock()

    def end(self, name: str, seconds: float = 0.0) -> None:
        """It was answered, after `seconds`."""
        known = self._of(name)
        known.troubles, known.reason = 0, ""
        known.answer_seconds += 0.3 * (seconds - known.answer_seconds)
        known.free_at = self.clock() + self._pause(known)

    def end_badly(self, name: str, wait_seconds: float = 0.0, reason: str = "", shared: bool = False) -> None:
        """It was not, or with a sign of overload; `wait_seconds` is what the host asked for.

        What hosts share, an address, backs off as well but never comes into quarantine: others behind it may be fine.
        """
        known = self._of(name)
        pause = self._pause(known)
        most = self.QUARANTINE_TROUBLES - 1 if shared else self.MOST_DOUBLINGS
        known.troubles = min(known.troubles + 1, most)
        known.reason = reason
        quarantined = known.troubles >= self.QUARANTINE_TROUBLES
        longest = self.LONGEST_QUARANTINE_SECONDS if quarantined else self.LONGEST_BACKOFF_SECONDS
        backoff = min(pause * self.BACKOFF_FACTOR * 2.0 ** (known.troubles - 1), longest)
        known.free_at = self.clock() + max(pause, backoff, wait_seconds)

    def slow_down(self, name: str, delay_seconds: float) -> None:
        """The host itself asks for a longer pause (Crawl-delay)."""
        self._of(name).asked_seconds = delay_seconds

    def troubles(self, name: str) -> int:
        """How often in a row it was in trouble."""
        known = self._known.get(name)
        return known.troubles if known else 0

    def quarantined(self) -> list[Quarantine]:
        """Hosts that are left alone now, those longest in trouble first."""
        now = self.clock()
        found = [
            Quarantine(name, known.free_at, known.troubles, known.reason)
            for name, known in self._known.items()
            if known.troubles >= self.QUARANTINE_TROUBLES and now < known.free_at
        ]
        return sorted(found, key=lambda quarantine: -quarantine.troubles)

    def _pause(self, known: _Known) -> float:
        delay = max(self.delay_seconds, known.asked_seconds)
        stretched = min(self.SLOWNESS * known.answer_seconds, self.LONGEST_STRETCH_SECONDS)
        return max(delay, stretched) if delay else 0.0

    def _of(self, name: str) -> _Known:
        return self._known.setdefault(name, _Known())


def retry_after(fetched: Fetched, now: float) -> float:
    """Seconds that a Retry-After header asks for, given as such or as a date; 0 without one."""
    value = next((value for name, value in fetched.headers if name.lower() == "retry-after"), "")
    try:
        seconds = float(value) if value.isdigit() else parsedate_to_datetime(value).timestamp() - now
    except (ValueError, OverflowError):
        return 0.0
    return min(max(seconds, 0.0), LONGEST_RETRY_AFTER_SECONDS)
