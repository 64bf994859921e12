"""The live scheduler: sources wait in a calendar until their index crosses the current price of a visit.

After a visit an index only grows, and in a known way, so the time of its crossing can be worked out once; a choice
looks at the few sources that have crossed, however many wait. The price follows the budget by dual steps: up when
more sources cross than can be visited, down when fewer do.
"""

from __future__ import annotations

import heapq
import math
from array import array
from collections import Counter, deque
from collections.abc import Callable, Iterable, Sequence

import numpy as np

from tres_crawler.recrawl.scheduler import Belief, Beliefs, Finding, Source
from tres_crawler.recrawl.whittle import age_of_index, ripeness

Shape = Callable[[Belief], tuple[float, float]]
"""What an index is like: (rate, worth) of `worth · ripeness(rate · age)`."""

STEP = 0.01
"""How far one choice can move the price."""
CROSSED_ROWS = 8
"""So many sources should have crossed when one is chosen: with more the price goes up, with fewer down."""
OPEN_ROWS = 64
"""So many sources may have crossed before the price is lifted to where half as many have, for each visit at once."""
LOOKS = 8
"""Rows looked at again with every source that is chosen."""
HOST_ROWS = 32
"""So many of one host: it is asked for one at a time, so the others can as well wait in the calendar."""
AGED_EVERY = 10
"""At most every so many visits go to a page for its age alone."""
TOLERANCE = 0.98
FIRST_PRICE = 1e-3
LEAST_PRICE = 1e-12
WAITING, READY, AGED, CHOSEN, RETIRED = range(5)


def change_detection(belief: Belief) -> tuple[float, float]:
    """The index of DESIGN, sec. 6, at a hopeful rate."""
    return belief.hopeful_rate, belief.utility / belief.cost


def ephemeral(decay_rate: Callable[[], float]) -> Shape:
    """The index of Whittle 2018, for topics whose items lose interest at `decay_rate` (per second)."""

    def shape(belief: Belief) -> tuple[float, float]:
        rate = decay_rate()
        return rate, belief.change_rate * belief.utility / rate / belief.cost

    return shape


class CalendarScheduler:
    """A source waits, or has crossed the price, or is chosen: always exactly one of these, until it is retired."""

    def __init__(
        self,
        beliefs: Beliefs,
        shape: Shape = change_detection,
        least_gap_seconds: float = 0.0,
        most_age_seconds: float = math.inf,
        price: float = FIRST_PRICE,
    ) -> None:
        self.price = price
        self.least_gap, self.most_age = least_gap_seconds, most_age_seconds
        self._beliefs, self._shape = beliefs, shape
        self._row_of: dict[int, int] = {}
        self._numbers, self._hosts = array("q"), array("q")
        self._visited, self._rates, self._worths, self._dues = (array("d") for _ in range(4))
        self._states = bytearray()
        self._calendar: list[tuple[float, int]] = []
        """(due, row) heap; an entry that is not a row's newest counts for nothing."""
        self._ready: dict[int, dict[int, None]] = {}
        """Rows that have crossed, by host."""
        self._open: dict[int, None] = {}
        """Those of hosts that are not held."""
        self._aged: deque[int] = deque()
        self._since_aged = 0
        self._holds: Counter[int] = Counter()
        self._looked = 0
        self._now = -math.inf

    def __len__(self) -> int:
        return len(self._row_of)

    def add(self, source: Source) -> None:
        row = self._row_of[source.number] = len(self._numbers)
        self._numbers.append(source.number)
        self._hosts.append(source.host)
        self._visited.append(source.visited_at)
        for column in (self._rates, self._worths, self._dues):
            column.append(0.0)
        self._states.append(WAITING)
        self._believe(row)
        self._wait(row, self.price)

    def retire(self, number: int) -> None:
        row = self._row_of.pop(number)
        self._leave(row)
        self._states[row] = RETIRED

    def choose(self, now: float, budget: int) -> Sequence[int]:
        now = self._now = max(now, self._now)
        if budget <= 0 or not self._row_of:
            return []
        self._ripen(now)
        excess = len(self._open) / (CROSSED_ROWS * budget) - 1
        self.price = max(self.price * math.exp(STEP * min(excess, 1.0)), LEAST_PRICE)
        if len(self._open) < budget:
            self._hasten(now, budget)
        if len(self._open) > OPEN_ROWS * budget:
            self._thin(self._open, OPEN_ROWS * budget // 2)
        chosen = self._best(now, budget)
        for row in chosen:
            self._leave(row)
            self._states[row] = CHOSEN
        self._look_again(LOOKS * (1 + len(chosen)))
        return [self._numbers[row] for row in chosen]

    def observe(self, number: int, now: float, finding: Finding) -> None:
        row = self._row_of.get(number)
        if row is None:
            return
        self._visited[row] = max(now, self._visited[row])
        self._believe(row)
        self._leave(row)
        self._wait(row, self.price)

    def give_back(self, number: int) -> None:
        row = self._row_of.get(number)
        if row is not None and self._states[row] == CHOSEN:
            self._make_ready(row)

    def hold(self, host: int) -> None:
        self._holds[host] += 1
        for row in self._ready.get(host, ()):
            self._open.pop(row, None)

    def release(self, host: int) -> None:
        self._holds[host] -= 1
        if self._holds[host]:
            return
        del self._holds[host]
        rows = self._ready.get(host)
        if rows and len(rows) > HOST_ROWS:
            self._thin(rows, HOST_ROWS // 2)
        if rows:
            self._open.update(rows)

    def memory(self, number: int) -> float | None:
        return None

    def due_at(self, number: int) -> float | None:
        return self._dues[self._row_of[number]]

    def index(self, number: int, now: float) -> float:
        """What a visit now must be worth to be worth its cost."""
        return float(self._indices([self._row_of[number]], now)[0])

    # ---- waiting and crossing ----

    def _believe(self, row: int) -> None:
        self._rates[row], self._worths[row] = self._shape(self._beliefs(self._numbers[row]))

    def _wait(self, row: int, price: float) -> None:
        """Enter a row in the calendar, for when its index crosses a price."""
        self._enter(row, self._due(row, price))

    def _due(self, row: int, price: float) -> float:
        age = age_of_index(price, self._rates[row], self._worths[row])
        return self._visited[row] + min(max(age, self.least_gap), self.most_age)

    def _enter(self, row: int, due: float) -> None:
        self._states[row], self._dues[row] = WAITING, due
        heapq.heappush(self._calendar, (due, row))
        if len(self._calendar) > 2 * len(self._row_of) + OPEN_ROWS:
            self._calendar = [entry for entry in self._calendar if self._is_waiting(*entry)]
            heapq.heapify(self._calendar)

    def _come_earlier(self, row: int) -> None:
        """Enter a waiting row anew if it is due clearly sooner; if later, that is seen to when its time comes."""
        due, visited = self._due(row, self.price), self._visited[row]
        if due - visited < TOLERANCE * (self._dues[row] - visited):
            self._enter(row, due)

    def _make_ready(self, row: int) -> None:
        host = self._hosts[row]
        self._states[row] = READY
        self._ready.setdefault(host, {})[row] = None
        if not self._holds[host]:
            self._open[row] = None

    def _leave(self, row: int) -> None:
        """Take a row out of where it is ready; entries of the calendar and of the aged are passed over later."""
        host = self._hosts[row]
        if self._states[row] == READY:
            del self._ready[host][row]
            self._open.pop(row, None)
            if not self._ready[host]:
                del self._ready[host]

    def _is_waiting(self, due: float, row: int) -> bool:
        return self._states[row] == WAITING and self._dues[row] == due

    def _look_again(self, count: int) -> None:
        """Enter some rows anew, in turn, since the price and what is believed of them have moved on."""
        for _ in range(min(count, len(self._numbers))):
            self._looked = (self._looked + 1) % len(self._numbers)
            if self._states[self._looked] == WAITING:
                self._believe(self._looked)
                self._come_earlier(self._looked)

    def _ripen(self, now: float) -> None:
        """Move what is due by now out of the calendar."""
        later = []
        while self._calendar and self._calendar[0][0] <= now:
            due, row = heapq.heappop(self._calendar)
            if not self._is_waiting(due, row):
                continue
            visited = self._visited[row]
            if self._worths[row] * _ripe(self._rates[row] * (now - visited)) >= TOLERANCE * self.price:
                self._make_ready(row)
            elif now >= visited + self.most_age:
                self._states[row] = AGED
                self._aged.append(row)
            else:
                later.append(row)
        for row in later:
            self._wait(row, self.price)

    def _hasten(self, now: float, budget: int) -> None:
        """Where too few have crossed, the sources that would cross next come early."""
        early: list[tuple[float, int]] = []
        found = len(self._open)
        while self._calendar and found < budget and len(early) < OPEN_ROWS:
            due, row = heapq.heappop(self._calendar)
            if not self._is_waiting(due, row):
                continue
            if self._visited[row] + self.least_gap > now or self._holds[self._hosts[row]]:
                early.append((due, row))
                continue
            self._make_ready(row)
            found += 1
        for entry in early:
            heapq.heappush(self._calendar, entry)

    def _thin(self, rows: Iterable[int], keep: int) -> None:
        """Send all but the best `keep` rows back to the calendar until they have the index of the last of these."""
        found = list(rows)
        indices = self._indices(found, self._now)
        order = np.argsort(-indices, kind="stable")
        price = float(indices[order[keep - 1]])
        for at in order[keep:]:
            self._leave(found[at])
            self._wait(found[at], max(price, self.price))

    def _best(self, now: float, budget: int) -> list[int]:
        """Rows to visit: the best of each host that is free, by index, and now and then one for its age."""
        chosen: dict[int, int] = {}
        if self._since_aged >= AGED_EVERY:
            self._take_aged(chosen, 1)
        rows = list(self._open)
        for at in np.argsort(-self._indices(rows, now), kind="stable"):
            if len(chosen) >= budget:
                break
            chosen.setdefault(self._hosts[rows[at]], rows[at])
        self._since_aged += len(chosen)
        self._take_aged(chosen, budget - len(chosen))
        return list(chosen.values())

    def _take_aged(self, chosen: dict[int, int], count: int) -> None:
        """Add up to `count` rows that are due for their age, of hosts that are free."""
        for _ in range(min(len(self._aged), OPEN_ROWS)):
            if count <= 0:
                return
            row = self._aged.popleft()
            host = self._hosts[row]
            if self._states[row] != AGED:
                continue
            if self._holds[host] or host in chosen:
                self._aged.append(row)
                continue
            chosen[host] = row
            count -= 1
            self._since_aged = 0

    def _indices(self, rows: Sequence[int], now: float) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
        ages = np.array([max(0.0, now - self._visited[row]) for row in rows])
        rates = np.array([self._rates[row] for row in rows])
        return np.asarray(np.array([self._worths[row] for row in rows]) * ripeness(rates * ages))


def _ripe(x: float) -> float:
    return 1 - math.exp(-x) * (1 + x)
