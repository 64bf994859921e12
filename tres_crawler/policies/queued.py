"""The learner of TRES without its tree: links in one queue (`tres-async`), or all valued at every choice (`sync`)."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence

import numpy as np

from tres_crawler.frontier.flat import FlatFrontier
from tres_crawler.frontier.frontier import Frontier
from tres_crawler.frontier.scored import ScoredFrontier
from tres_crawler.policies.learning import LearningPolicy
from tres_crawler.policies.policy import Floats, Surroundings
from tres_crawler.records import Offer
from tres_crawler.store import crawls, links
from tres_crawler.store.database import Change, Database

logger = logging.getLogger(__name__)

MANY_LINKS = 50_000
"""With so many waiting links, valuing all of them takes longer than fetching a page."""


class QueuedPolicy(LearningPolicy):
    """No link is drawn at random, so there is no exploration; after a restart links are valued as is known then."""

    def __init__(self, around: Surroundings) -> None:
        super().__init__(around)
        self._queue: Frontier = ScoredFrontier(self._scores)

    @property
    def frontier(self) -> Frontier:
        return self._queue

    async def _take_up(self, database: Database, vectors: Floats, rewards: Floats, judge_version: int) -> None:
        self.frontier.place(await links.waiting_with_features(database, self._crawl))

    def _experience(self, features: Floats, reward: float) -> list[Change]:
        return []

    def _sample(self) -> Floats | None:
        return None

    async def _experience_anew(self, rewards: Mapping[int, float], judge_version: int) -> list[Change]:
        return []

    def _scores(self, placed: Sequence[Offer]) -> Sequence[float]:
        features = np.stack([link.features for link in placed if link.features is not None])
        scores: list[float] = self._value(features, np.array([link.host for link in placed], np.int32)).tolist()
        return scores


class SyncPolicy(QueuedPolicy):
    """Brute force, for small frontiers: it warns once when too many links wait."""

    def __init__(self, around: Surroundings) -> None:
        super().__init__(around)
        self._queue = FlatFrontier(self._describer.width, self._value)
        self._warned = False

    def _experience(self, features: Floats, reward: float) -> list[Change]:
        waiting = len(self._queue)
        if waiting < MANY_LINKS or self._warned:
            return []
        self._warned = True
        logger.warning(
            "crawl %d: %d links wait and the policy sync values each of them at every choice; tres values some",
            self._crawl,
            waiting,
        )
        return [crawls.event(self._crawl, "slow policy", waiting=waiting)]
