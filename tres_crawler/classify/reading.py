"""PageText or anchor → numbers: the rows, means and marks that every judge is built on."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from tres_crawler.records import PageText
from tres_crawler.text import PhraseFinder, words
from tres_crawler.vectors import FUNCTION_ROWS, Floats, Rows, Vectors, unit

MAX_TOKENS = 200
"""Words of a page that a network reads, function words left out; the authors' program reads 300."""
MAX_CHARACTERS = 4000
"""Characters of a text that are looked at: some 600 words, and a 10 MB page costs no more than that."""


@dataclass(frozen=True, slots=True)
class Reading:
    """A page as a judge sees it."""

    rows: Rows
    """Known words of title, description and text in order, function words left out."""
    whole: Floats
    """Mean vector of those rows: on a page of few words the title says most."""
    mean: Floats
    """Mean vector of the text."""
    title: Floats
    """Mean vector of the title."""
    kinds: int
    """How many different keywords it uses."""
    hits: int
    """How often it uses any."""
    words: int
    """Words of the text that were looked at."""
    known: int
    """Those that have a vector."""
    function_share: float
    """Share of function words: prose has many, word lists and other languages few."""


class Reader:
    """Reads texts for one topic; the same page always gives the same reading."""

    def __init__(self, vectors: Vectors, keywords: Iterable[str], found: Iterable[str] = ()) -> None:
        self.vectors = vectors
        self.keywords = tuple(keywords)
        """As a person gave them: what the topic is."""
        self.found_keywords = tuple(found)
        """By expansion: marks for a network that is aware of keywords, no more."""
        self._finder = PhraseFinder(self.keywords)
        known = [vector for vector in map(vectors.phrase, self.keywords) if vector is not None]
        self.keyword_vectors: Floats = np.stack(known) if known else np.zeros((0, vectors.dimensions), np.float32)
        singles = (word for word in (*self.keywords, *self.found_keywords) if len(words(word)) == 1)
        self.keyword_rows = {vectors.row(word.lower()) for word in singles} - {-1}

    def read(self, page: PageText) -> Reading:
        title, description, text = (words(part[:MAX_CHARACTERS]) for part in (page.title, page.description, page.text))
        # A description usually repeats the text's beginning: it is read only where it says something of its own.
        if text[: len(description)] == description:
            description = []
        rows, title_rows = self.vectors.rows(text), self.vectors.rows(title)
        found = self._finder.count(title + description + text)
        content = np.concatenate([title_rows, self.vectors.rows(description), rows])
        content = content[content >= FUNCTION_ROWS][:MAX_TOKENS]
        return Reading(
            rows=content,
            whole=self.vectors.mean(content),
            mean=self.vectors.mean(rows),
            title=self.vectors.mean(title_rows),
            kinds=len(found),
            hits=sum(found.values()),
            words=len(text),
            known=len(rows),
            function_share=float((rows < FUNCTION_ROWS).sum() / len(text)) if text else 0.0,
        )

    def read_anchor(self, anchor: str) -> Reading:
        """A few words as a page of their own."""
        tokens = words(anchor[:MAX_CHARACTERS])
        rows = self.vectors.rows(tokens)
        content = rows[rows >= FUNCTION_ROWS]
        found = self._finder.count(tokens)
        mean = self.vectors.mean(content)
        return Reading(
            content[:MAX_TOKENS], mean, mean, mean, len(found), sum(found.values()), len(tokens), len(content), 0.0
        )


class Background:
    """What texts are like whatever their topic: cosines are measured against it, not from zero."""

    def __init__(self, vectors: Vectors, pages: Sequence[PageText]) -> None:
        reader = Reader(vectors, ())
        means = np.stack([reader.read(page).mean for page in pages])
        self.pages = tuple(pages)
        self.centre: Floats = means.mean(axis=0)
        self.directions = centred(means, self.centre)


def centred(means: Floats, centre: Floats) -> Floats:
    """Unit vectors of the difference to the centre; zero where there is no text."""
    moved = means - centre
    lengths = np.linalg.norm(moved, axis=-1, keepdims=True)
    empty = ~means.any(axis=-1, keepdims=True)
    found: Floats = np.where(empty | (lengths == 0), 0.0, moved / np.maximum(lengths, 1e-9)).astype(np.float32)
    return found


def topic_direction(keyword_vectors: Floats, centre: Floats) -> Floats:
    return unit(keyword_vectors.mean(axis=0) - centre)
