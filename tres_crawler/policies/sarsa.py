"""The asynchronous RL crawler that TRES is compared with (`async`; Han et al. 2018, as TRES, sec. 3.2 tells of it)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tres_crawler.features import PathState, url_words
from tres_crawler.frontier.scored import ScoredFrontier
from tres_crawler.policies.policy import Floats, PageFact, Surroundings
from tres_crawler.policies.relived import RelivedPolicy
from tres_crawler.records import Offer, Outlink
from tres_crawler.text import words
from tres_crawler.vectors import Vectors, unit

COLUMNS = ("parent_reward", "inverse_distance", "path_ratio", "cosine", "one")
LEARNING_RATE = 0.05


class SarsaPolicy(RelivedPolicy):
    """Values are linear in the path's statistics and the link's cosine to the topic, with no keyword in them.

    A link is valued once, when it is placed. The value of what was fetched moves towards its reward and the value of
    what was fetched next, whatever that is.
    """

    def __init__(self, around: Surroundings, vectors: Vectors) -> None:
        super().__init__(around.crawl, ScoredFrontier(self._scores))
        self._discount = around.settings.learn.discount
        self._vectors_of_words = vectors
        known = [vector for vector in map(vectors.phrase, around.keywords) if vector is not None]
        self._topic: Floats = unit(np.mean(known, axis=0)) if known else np.zeros(vectors.dimensions, np.float32)
        self._forget()

    def _forget(self) -> None:
        self._weights = np.zeros(len(COLUMNS), np.float32)
        self._paths: dict[int, PathState] = {}
        self._last: tuple[Floats, float] | None = None

    def _live(self, page: PageFact, features: Floats) -> None:
        if self._last is not None:
            before, reward = self._last
            error = reward + self._discount * (features @ self._weights) - before @ self._weights
            self._weights = self._weights + LEARNING_RATE * np.float32(error) * before
        self._last = features, float(page.relevant)
        parent = self._paths.get(page.source) if page.source else None
        self._paths[page.number] = PathState.of(parent, page.relevant)

    def _describe(self, page: PageFact | None, outlinks: Sequence[Outlink]) -> Floats:
        rows = np.ones((len(outlinks), len(COLUMNS)), np.float32)
        rows[:, :3] = self._paths[page.number].features() if page else 0.0
        rows[:, 3] = [self._cosine(outlink) for outlink in outlinks]
        return rows

    def _cosine(self, outlink: Outlink) -> float:
        rows = self._vectors_of_words.rows([*words(outlink.anchor), *url_words(outlink.url)])
        return float(unit(self._vectors_of_words.mean(rows)) @ self._topic) if len(rows) else 0.0

    def _scores(self, placed: Sequence[Offer]) -> list[float]:
        return [float(link.features @ self._weights) for link in placed if link.features is not None]
