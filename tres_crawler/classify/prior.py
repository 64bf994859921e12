"""A judge that knows nothing but the topic's keywords."""

from __future__ import annotations

import math
from collections.abc import Iterable

from tres_crawler.records import Document, Judgement
from tres_crawler.text import PhraseFinder, words

VERSION = 1
TITLE_WEIGHT = 3
SMOOTHING_WORDS = 40
"""Added to every length, so that one hit in a ten-word page is no proof."""

EVEN_STRENGTH = 1.0
"""Strength of a page that may as well be relevant as not: one keyword in a hundred words, for instance."""


class KeywordJudge:
    """Relevant when keywords are dense and more than one of them is used.

    The score is the share of keyword hits among the words (title counted threefold), lifted by how many
    different keywords take part; a page is relevant from probability 0.5 on.
    """

    def __init__(self, keywords: Iterable[str]) -> None:
        self.finder = PhraseFinder(keywords)

    async def judge(self, document: Document) -> Judgement:
        length, hits = SMOOTHING_WORDS, 0
        kinds: set[tuple[str, ...]] = set()
        for text, weight in ((document.title, TITLE_WEIGHT), (document.description, 1), (document.text, 1)):
            tokens = words(text)
            found = self.finder.count(tokens)
            length += weight * len(tokens)
            hits += weight * sum(found.values())
            kinds.update(found)
        strength = 100 * hits / length * math.sqrt(len(kinds))
        probability = 1 - 2 ** -(strength / EVEN_STRENGTH)
        return Judgement(probability=probability, relevant=probability >= 0.5, version=VERSION)
