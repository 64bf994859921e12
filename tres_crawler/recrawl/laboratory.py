"""The policies of the papers by name, as a live crawl or an experiment can follow them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from tres_crawler.recrawl.bandit import BanditThompson
from tres_crawler.recrawl.baselines import ExactWhittle
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

THOMPSON_VISITS = 500
"""Visits by Thompson sampling before the network takes over: where the paper's moving averages cross."""


@dataclass(frozen=True)
class Circumstances:
    """What policies need beside their sources."""

    beliefs: Beliefs
    seed: int = 0
    least_gap_seconds: float = 0.0

    def rng(self) -> np.random.Generator:
        return np.random.default_rng([self.seed, 10])

    def grouped(self, policy: Callable[[BeliefGroups], RankedScheduler]) -> Scheduler:
        """Over four groups of sources that are alike, as FG-DQN has all its arms."""
        groups = BeliefGroups(self.beliefs)
        return Grouped(policy(groups), groups, self.least_gap_seconds)


def _thompson_then_deep(given: Circumstances) -> Scheduler:
    deep = FullGradient(given.seed)
    return given.grouped(lambda groups: Switched(BanditThompson(given.rng(), groups.importance), deep, THOMPSON_VISITS))


LABORATORY: Mapping[str, Callable[[Circumstances], Scheduler]] = {
    "whittle-exact": lambda given: ExactWhittle(given.beliefs, given.least_gap_seconds),
    "whittle-neighbours": lambda given: NeighbourWhittle(given.beliefs, given.least_gap_seconds),
    "ephemeral-learned": lambda given: LearnedEphemeral(given.rng(), least_gap_seconds=given.least_gap_seconds),
    "thompson-printed": lambda given: given.grouped(lambda _: BanditThompson(given.rng())),
    "thompson-importance": lambda given: given.grouped(lambda groups: BanditThompson(given.rng(), groups.importance)),
    "static": lambda given: StaticShares(given.beliefs, given.rng(), given.least_gap_seconds),
    "lspe": lambda given: given.grouped(lambda _: LspeScheduler(given.rng())),
    "fg-dqn": lambda given: given.grouped(lambda _: FullGradient(given.seed)),
    "dqn": lambda given: given.grouped(lambda _: FullGradient(given.seed, gradient=Gradient.SEMI)),
    "thompson-then-fg-dqn": _thompson_then_deep,
    "graph-ddqn": lambda given: GraphDeep(given.seed, least_gap_seconds=given.least_gap_seconds),
    "exp3": lambda given: Exp3(given.rng(), least_gap_seconds=given.least_gap_seconds),
    "active-covering": lambda given: ActiveCovering(given.rng(), least_gap_seconds=given.least_gap_seconds),
}
"""Names as `recrawl.policy` takes them, beside those of the live policies."""
