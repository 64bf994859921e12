"""The asynchronous RL crawler that TRES is compared with (`async`; Han et al. 2018, as TRES, sec. 3.2 tells of it)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from tres_crawler.features import PathState, url_words
from tres_crawler.frontier.scored import ScoredFrontier
from tres_crawler.policies.policy import Floats, PageFact, Surroundings
from tres_crawler.policies.relived import RelivedPolicy
from tres_crawler.records import Offer, Outlink
from tres_crawler.store.database import Change
from tres_crawler.text import words
from tres_crawler.vectors import Vectors, unit

COLUMNS = ("parent_reward", "inverse_distance", "path_ratio", "cosine", "one")
FIRST_WEIGHTS = (0.0, 0.0, 0.0, 1.0, 0.0)
"""Before anything is learned, a link is worth its cosine."""
LEARNING_RATE = 0.05
DISCOUNT = 0.3


class SarsaPolicy(RelivedPolicy):
    """Values are linear in the path's statistics and the link's cosine to the topic, with no keyword in them.

    A link is valued once, when it is placed, and anew after a restart. What was fetched moves towards its reward and
    the best of its own outlinks: the only next step that the method looks at (TRES, sec. 2.4.2).
    """

    def __init__(self, around: Surroundings, vectors: Vectors) -> None:
        super().__init__(around.crawl, ScoredFrontier(self._scores))
        self._vectors_of_words = vectors
        self._topic = self._middle(around.keywords)
        self._forget()

    async def judged_again(
        self, relevant: Mapping[int, bool], keywords: Sequence[str], judge_version: int
    ) -> list[Change]:
        self._topic = self._middle(keywords)
        return await super().judged_again(relevant, keywords, judge_version)

    def _forget(self) -> None:
        self._weights = np.array(FIRST_WEIGHTS, np.float32)
        self._paths: dict[int, PathState] = {}

    def _enter(self, page: PageFact) -> None:
        parent = self._paths.get(page.source) if page.source else None
        self._paths[page.number] = PathState.of(parent, page.relevant)

    def _lesson(self, features: Floats, outlinks: Floats) -> Floats:
        """The link and the best outlink of its page, as valued now; zeros where there is none."""
        best = outlinks[np.argmax(outlinks @ self._weights)] if len(outlinks) else np.zeros_like(features)
        return np.concatenate([features, best])

    def _live(self, page: PageFact, lesson: Floats) -> None:
        link, best = np.split(lesson, 2)
        error = page.relevant + DISCOUNT * (best @ self._weights) - link @ self._weights
        self._weights = self._weights + LEARNING_RATE * np.float32(error) * link

    def _describe(self, page: PageFact | None, outlinks: Sequence[Outlink]) -> Floats:
        rows = np.ones((len(outlinks), len(COLUMNS)), np.float32)
        rows[:, :3] = self._paths[page.number].features() if page else 0.0
        rows[:, 3] = [self._cosine(outlink) for outlink in outlinks]
        return rows

    def _middle(self, keywords: Sequence[str]) -> Floats:
        vectors = self._vectors_of_words
        known = [vector for vector in map(vectors.phrase, keywords) if vector is not None]
        middle: Floats = unit(np.mean(known, axis=0)) if known else np.zeros(vectors.dimensions, np.float32)
        return middle

    def _cosine(self, outlink: Outlink) -> float:
        rows = self._vectors_of_words.rows([*words(outlink.anchor), *url_words(outlink.url)])
        return float(unit(self._vectors_of_words.mean(rows)) @ self._topic) if len(rows) else 0.0

    def _scores(self, placed: Sequence[Offer]) -> list[float]:
        return [float(link.features @ self._weights) for link in placed if link.features is not None]
