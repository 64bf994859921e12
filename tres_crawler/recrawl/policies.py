"""Every scheduler by its name, ready for the live crawl or the laboratory."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from tres_crawler.errors import ConfigError
from tres_crawler.recrawl.bandit import BanditThompson
from tres_crawler.recrawl.baselines import (
    ExactWhittle,
    FixedInterval,
    Greedy,
    Multiplicative,
    RoundRobin,
    Thompson,
    Uniform,
)
from tres_crawler.recrawl.calendar import CalendarScheduler, ephemeral
from tres_crawler.recrawl.covering import ActiveCovering
from tres_crawler.recrawl.deep import FullGradient, GraphDeep
from tres_crawler.recrawl.exp3 import Exp3
from tres_crawler.recrawl.grouped import BeliefGroups, Grouped
from tres_crawler.recrawl.learned import LearnedEphemeral
from tres_crawler.recrawl.lspe import LspeScheduler
from tres_crawler.recrawl.neighbours import NeighbourWhittle
from tres_crawler.recrawl.qlearner import Gradient
from tres_crawler.recrawl.ranked import RankedScheduler
from tres_crawler.recrawl.scheduler import Beliefs, Scheduler
from tres_crawler.recrawl.static import StaticShares
from tres_crawler.recrawl.switched import Switched

DAY_SECONDS = 86_400.0
THOMPSON_VISITS = 500
"""Visits by Thompson sampling before the network takes over: where the paper's moving averages cross."""


@dataclass(frozen=True)
class Circumstances:
    """What policies need to know beside their sources; each takes what it needs."""

    beliefs: Beliefs
    seed: int = 0
    least_gap_seconds: float = 0.0
    most_age_seconds: float = math.inf
    interval_seconds: float = DAY_SECONDS
    """First or only interval of the policies that visit at intervals."""
    decay_rate: Callable[[], float] = lambda: math.log(2) / (7 * DAY_SECONDS)
    """How fast what is new loses its interest, per second."""

    def rng(self) -> np.random.Generator:
        return np.random.default_rng([self.seed, 10])

    def grouped(self, policy: Callable[[int], RankedScheduler]) -> Scheduler:
        return Grouped(policy(self.seed), BeliefGroups(self.beliefs), self.least_gap_seconds)

    def utility(self, number: int) -> float:
        return self.beliefs(number).utility


def _fixed(given: Circumstances) -> Scheduler:
    return FixedInterval(given.interval_seconds)


def _multiplicative(given: Circumstances) -> Scheduler:
    least = max(given.least_gap_seconds, given.interval_seconds / 100)
    return Multiplicative(given.interval_seconds, least, 100 * given.interval_seconds)


def _whittle(given: Circumstances) -> Scheduler:
    return CalendarScheduler(
        given.beliefs, least_gap_seconds=given.least_gap_seconds, most_age_seconds=given.most_age_seconds
    )


def _ephemeral(given: Circumstances) -> Scheduler:
    return CalendarScheduler(
        given.beliefs, ephemeral(given.decay_rate), given.least_gap_seconds, given.most_age_seconds
    )


def _thompson_then_deep(given: Circumstances) -> Scheduler:
    return given.grouped(lambda seed: Switched(BanditThompson(given.rng()), FullGradient(seed), THOMPSON_VISITS))


POLICIES: dict[str, Callable[[Circumstances], Scheduler]] = {
    "whittle": _whittle,
    "whittle-exact": lambda given: ExactWhittle(given.beliefs, given.least_gap_seconds),
    "whittle-ephemeral": _ephemeral,
    "whittle-ephemeral-learned": lambda given: LearnedEphemeral(given.rng(), least_gap_seconds=given.least_gap_seconds),
    "whittle-neighbours": lambda given: NeighbourWhittle(given.beliefs, given.least_gap_seconds),
    "uniform": lambda given: Uniform(given.rng(), given.least_gap_seconds),
    "round-robin": lambda given: RoundRobin(given.least_gap_seconds),
    "fixed": _fixed,
    "multiplicative": _multiplicative,
    "greedy": lambda given: Greedy(given.beliefs, given.least_gap_seconds),
    "thompson": lambda given: Thompson(given.beliefs, given.rng(), given.least_gap_seconds),
    "thompson-printed": lambda given: BanditThompson(given.rng(), None, given.least_gap_seconds),
    "thompson-importance": lambda given: BanditThompson(given.rng(), given.utility, given.least_gap_seconds),
    "static": lambda given: StaticShares(given.beliefs, given.rng(), given.least_gap_seconds),
    "lspe": lambda given: given.grouped(lambda seed: LspeScheduler(given.rng())),
    "fg-dqn": lambda given: given.grouped(FullGradient),
    "dqn": lambda given: given.grouped(lambda seed: FullGradient(seed, gradient=Gradient.SEMI)),
    "thompson-then-fg-dqn": _thompson_then_deep,
    "graph-ddqn": lambda given: GraphDeep(given.seed, least_gap_seconds=given.least_gap_seconds),
    "exp3": lambda given: Exp3(given.rng(), least_gap_seconds=given.least_gap_seconds),
    "active-covering": lambda given: ActiveCovering(given.rng(), least_gap_seconds=given.least_gap_seconds),
}
"""Names as `recrawl.policy` takes them."""


def create_scheduler(name: str, given: Circumstances) -> Scheduler:
    """The policy of that name, without sources yet."""
    if name not in POLICIES:
        raise ConfigError(f'There is no recrawl policy "{name}"; there are: {", ".join(POLICIES)}.')
    return POLICIES[name](given)
