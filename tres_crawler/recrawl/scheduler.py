"""The Scheduler protocol: which known pages to visit again, and what came of it."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

HOPE = 1.0
"""By how many standard deviations of its posterior the change rate of a dated source is raised."""


@dataclass(frozen=True, slots=True)
class Source:
    """A page worth visiting again, as a scheduler is told of it."""

    number: int
    host: int
    """No two pages of one host are asked for at a time."""
    visited_at: float
    """When it was last visited, in seconds; a page becomes a source by its first visit."""
    memory: float | None = None
    """What `Scheduler.memory` said of it when it was last saved."""


@dataclass(frozen=True, slots=True)
class Finding:
    """What a visit found."""

    changed: bool | None
    """None where the visit could not tell: no answer, an error, or nothing to compare with."""
    value: float = 0.0
    """Share of the text that is new, times its relevance; 0 when nothing changed."""
    seconds: float = 0.0
    bytes: int = 0
    status: int | None = None
    """What the host answered; None without an answer."""
    changed_at: float | None = None
    """When the page says that it last changed, by our clock; whether that is to be trusted is for others to say."""
    faded: float | None = None
    """Share of what was new at its last change and is gone by now."""
    is_first: bool = False
    """Whether this is the first version that later ones are compared with."""


@dataclass(frozen=True, slots=True)
class Belief:
    """What is held of a source."""

    change_rate: float
    """Changes per second."""
    utility: float
    """What one change is worth."""
    cost: float = 1.0
    """What one visit costs; 1 is an ordinary one."""
    evidence: float = float("inf")
    """Shape of the Gamma posterior of `change_rate`: infinite where it is known."""

    dated: bool = False
    """Whether it tells, to be believed, when it last changed."""

    @property
    def hopeful_rate(self) -> float:
        """A change rate that what was seen still allows for, where one look more tells much; else the mean."""
        return self.change_rate * (1 + HOPE / math.sqrt(self.evidence)) if self.dated else self.change_rate


Beliefs = Callable[[int], Belief]
"""What is held of a source by its number. Whoever holds it is told of a finding before the scheduler is."""


class Scheduler(Protocol):
    """Every source that was added and not retired comes up, sooner or later, unless its policy starves it on purpose.

    It knows no clock: `now` is in seconds, and a time before one already seen counts as that one.
    """

    price: float
    """What a visit must be worth at present, where a policy has a price; to be set before saved sources are added."""

    def __len__(self) -> int:
        """How many sources there are."""

    def add(self, source: Source) -> None:
        """Take up a new source, or one that was saved."""

    def retire(self, number: int) -> None:
        """Never choose a source again."""

    def choose(self, now: float, budget: int) -> Sequence[int]:
        """The sources to visit next, best first: at most `budget`, no two of one host, none of a held host.

        A chosen source is out of reach until it is observed or given back.
        """

    def observe(self, number: int, now: float, finding: Finding) -> None:
        """A source was visited and this was found."""

    def give_back(self, number: int) -> None:
        """A chosen source was not visited after all."""

    def hold(self, host: int) -> None:
        """Choose nothing of a host until it has been released as often as held."""

    def release(self, host: int) -> None: ...

    def memory(self, number: int) -> float | None:
        """What the policy itself must know of a source when it is added again; None where nothing."""

    def due_at(self, number: int) -> float | None:
        """When a source is expected to come up; None where the policy does not say."""
