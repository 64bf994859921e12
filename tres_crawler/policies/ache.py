"""ACHE's way (`ache`): a classifier of links by their words, relearned as it goes from what they led to."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from zlib import crc32

import numpy as np

from tres_crawler.features import url_words
from tres_crawler.frontier.scored import RescoredFrontier
from tres_crawler.policies.policy import Floats, PageFact, Surroundings
from tres_crawler.policies.relived import RelivedPolicy
from tres_crawler.records import Offer, Outlink
from tres_crawler.text import words

WIDTH = 32
"""Words of a link that count: of its address first, then of its anchor, then around it."""
BUCKETS = 2**18
"""Words are told apart by a number below this, which a float keeps exactly; 0 is no word."""
RELEVANT_PARENT, OTHER_PARENT = 1, 2
"""Stand beside the words: on what page the link was found."""
FIRST_WORDS = 3
SMOOTHING = 0.5
LEARN_FIRST = 25
LEARN_GROWTH = 1.05
"""The classifier takes over what it has counted when the pages have grown so much, and all links are scored anew: on
four tuning webs 2.5 points better than 1.15. A smoothing of 0.1 or 2, or twice the words, find no more."""


class AchePolicy(RelivedPolicy):
    """Naive Bayes over the words of links; before it has learned anything, links of relevant pages come first."""

    def __init__(self, around: Surroundings) -> None:
        super().__init__(around.crawl, RescoredFrontier(self._scores))
        self._forget()

    def _forget(self) -> None:
        self._counts = np.zeros((2, BUCKETS), np.float32)
        self._pages_of = np.zeros(2)
        self._weights = np.zeros(BUCKETS, np.float32)
        self._weights[RELEVANT_PARENT] = 1.0
        self._next_lesson = LEARN_FIRST

    def _live(self, page: PageFact, lesson: Floats) -> None:
        self._counts[int(page.relevant), lesson.astype(np.int64)] += 1
        self._pages_of[int(page.relevant)] += 1

    def _settle(self) -> None:
        lived = int(self._pages_of.sum())
        if lived < self._next_lesson:
            return
        self._next_lesson = int(lived * LEARN_GROWTH) + LEARN_FIRST
        shares = (self._counts + SMOOTHING) / (self._pages_of[:, None] + 2 * SMOOTHING)
        # A word that no page has come of yet says nothing, however unequal the classes are.
        unknown = self._counts.sum(axis=0) == 0
        self._weights = np.where(unknown, 0.0, np.log(shares[1] / shares[0])).astype(np.float32)
        self._weights[0] = 0.0
        frontier = self.frontier
        assert isinstance(frontier, RescoredFrontier)
        frontier.score_anew()

    def _describe(self, page: PageFact | None, outlinks: Sequence[Outlink]) -> Floats:
        parent = RELEVANT_PARENT if page is None or page.relevant else OTHER_PARENT
        return np.array([_numbers(parent, outlink) for outlink in outlinks], np.float32).reshape(-1, WIDTH)

    def _scores(self, placed: Sequence[Offer]) -> list[float]:
        vectors = np.stack([link.features for link in placed if link.features is not None])
        scores: list[float] = self._weights[vectors.astype(np.int64)].sum(axis=1).tolist()
        return scores


def _numbers(parent: int, outlink: Outlink) -> list[int]:
    """Different words of a link as numbers; the same word is another one in the address, the anchor or around it."""
    found = dict.fromkeys(
        (
            *_of("u", url_words(outlink.url)),
            *_of("a", words(outlink.anchor)),
            *_of("c", words(outlink.context)),
        )
    )
    kept = [parent, *found][:WIDTH]
    return kept + [0] * (WIDTH - len(kept))


def _of(place: str, found: Iterable[str]) -> Iterable[int]:
    return (FIRST_WORDS + crc32(f"{place}:{word}".encode()) % (BUCKETS - FIRST_WORDS) for word in found)
