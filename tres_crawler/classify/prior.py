"""The judge that needs no training: keywords and word vectors alone."""

from __future__ import annotations

import json
import lzma
from collections.abc import Iterable, Sequence
from functools import cache, cached_property

import numpy as np

from tres_crawler.cards import checked
from tres_crawler.classify.reading import Background, Reader, Reading, centred, topic_direction
from tres_crawler.records import PageText
from tres_crawler.resources import shipped
from tres_crawler.vectors import FUNCTION_ROWS, Floats, Vectors

# Fitted once by logistic regression over thirteen topics on a simulated web of the `train` prose, which no web for
# tuning or reporting shows (docs/relevance.md); then moved by 1.5, from one relevant page in 22 to one in five, as a
# focused crawl meets them.
PAGE_WEIGHTS = np.array([1.97, 2.35, 0.64, 1.36, 16.5], dtype=np.float32)
PAGE_INTERCEPT = -20.7
ANCHOR_WEIGHTS = np.array([0.41, 1.14, 0.1], dtype=np.float32)
ANCHOR_INTERCEPT = -2.0
MOST_NEARNESS = 4.5
"""Nearer than this are hardly any pages, only lists of the topic's words."""
OFF_TOPIC_SHARE = 0.9
"""The tenth of the background that is nearest to a topic may be about it, and is left out of the comparison."""


@cache
def example_rows() -> tuple[tuple[str, PageText], ...]:
    """(topic, page) of the examples that travel with the package."""
    path = shipped("models") / "examples.xz"
    checked(path)
    rows = map(json.loads, lzma.decompress(path.read_bytes()).decode().splitlines())
    return tuple((row["topic"], PageText(row["title"], "", row["text"])) for row in rows)


@cache
def background_of(vectors: Vectors) -> Background:
    return Background(vectors, [page for _, page in example_rows()])


class Prior:
    """How near a page's mean vector is to the keywords', beside how near other texts are; lifted by keywords found.

    Word lists and other languages have few function words, and count as far away whatever words they list.
    """

    kind = "prior"
    threshold = 0.5

    def __init__(self, vectors: Vectors, keywords: Iterable[str], found: Iterable[str] = ()) -> None:
        self.reader = Reader(vectors, keywords, found)
        self.background = background_of(vectors)
        self._usual_page = self._usual_word = (0.0, 1.0)
        self._knows_keywords = len(self.reader.keyword_vectors) > 0
        if self._knows_keywords:
            self._topic = topic_direction(self.reader.keyword_vectors, self.background.centre)
            usual = np.sort(self.background.directions @ self._topic)[
                : int(OFF_TOPIC_SHARE * len(self.background.pages))
            ]
            self._usual_page = float(usual.mean()), float(usual.std())
            frequent = centred(
                vectors.units(np.arange(FUNCTION_ROWS, 20_000).clip(max=len(vectors.matrix) - 1)),
                self.background.centre,
            )
            self._usual_word = float((frequent @ self._topic).mean()), float((frequent @ self._topic).std())

    @cached_property
    def background_logits(self) -> Floats:
        """What it holds of the background; those above 0 may be about the topic."""
        return self.logits([self.reader.read(page) for page in self.background.pages])

    def nearness(self, means: Floats, usual: tuple[float, float] | None = None) -> Floats:
        """Cosines to the topic in standard deviations of the background; 0 without known keywords."""
        if not self._knows_keywords:
            return np.zeros(len(means), dtype=np.float32)
        mean, deviation = usual or self._usual_page
        found: Floats = (centred(means, self.background.centre) @ self._topic - mean) / deviation
        return found

    def word_nearness(self, units: Floats) -> Floats:
        """How near single words are to the topic, about between -1 and 1."""
        if not self._knows_keywords:
            return np.zeros(len(units), dtype=np.float32)
        found: Floats = centred(units, self.background.centre) @ self._topic
        return found

    def features(self, readings: Sequence[Reading]) -> Floats:
        """What the judgement of pages rests on, one row a page."""
        means, titles = np.stack([r.mean for r in readings]), np.stack([r.title for r in readings])
        title = (
            centred(titles, self.background.centre) @ self._topic if self._knows_keywords else np.zeros(len(readings))
        )
        columns = [
            np.minimum(self.nearness(means), MOST_NEARNESS),
            title,
            [min(r.kinds, 5) for r in readings],
            [min(np.log1p(r.known), 6.0) for r in readings],
            [min(r.function_share, 0.45) for r in readings],
        ]
        return np.stack([np.asarray(column, dtype=np.float32) for column in columns], axis=1)

    def logits(self, readings: Sequence[Reading]) -> Floats:
        if not readings:
            return np.zeros(0, dtype=np.float32)
        # A product of matrices now and then warns of invalid values where there are none.
        found: Floats = (self.features(readings) * PAGE_WEIGHTS).sum(axis=1) + np.float32(PAGE_INTERCEPT)
        return found

    def anchor_features(self, readings: Sequence[Reading]) -> Floats:
        means = np.stack([r.mean for r in readings])
        near = np.where([r.known > 0 for r in readings], self.nearness(means, self._usual_word), 0.0)
        return np.stack([near, [r.kinds > 0 for r in readings], [min(r.known, 6) for r in readings]], axis=1).astype(
            np.float32
        )

    def anchor_logits(self, readings: Sequence[Reading]) -> Floats:
        if not readings:
            return np.zeros(0, dtype=np.float32)
        found: Floats = self.anchor_features(readings) @ ANCHOR_WEIGHTS + ANCHOR_INTERCEPT
        return found

    def pages(self, pages: Sequence[PageText]) -> Floats:
        return sigmoid(self.logits([self.reader.read(page) for page in pages]))

    def anchors(self, anchors: Sequence[str]) -> Floats:
        return sigmoid(self.anchor_logits([self.reader.read_anchor(anchor) for anchor in anchors]))


def sigmoid(logits: Floats) -> Floats:
    found: Floats = (1.0 / (1.0 + np.exp(-np.clip(logits, -30, 30)))).astype(np.float32)
    return found
