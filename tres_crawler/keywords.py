"""Seed keywords and the topic's documents → more keywords (TRES, sec. 2.3, Algorithm 1)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from tres_crawler.records import Keyword
from tres_crawler.text import PhraseFinder, words
from tres_crawler.vectors import FUNCTION_ROWS, Floats, Vectors

LONE_THRESHOLD = 0.6
"""For a topic with one known keyword, which equation 2 says nothing about: a near synonym has about this cosine."""
PHRASE_COUNT, PHRASE_SCORE = 3, 0.5
"""Two words are a phrase when they stand together so often, and so much more often than by chance (NPMI)."""


@dataclass(frozen=True)
class Expansion:
    """The keywords of a topic, best first, and the threshold that the found ones passed."""

    keywords: tuple[Keyword, ...]
    threshold: float
    unknown: tuple[str, ...]
    """Seed keywords that have no vector: they are looked for in texts but cannot lead to others."""

    @property
    def found(self) -> tuple[str, ...]:
        return tuple(keyword.text for keyword in self.keywords if keyword.origin != "seed")


def threshold_of(vectors: Floats) -> float:
    """b of equation 2: the mean cosine of all pairs of seed keywords."""
    count = len(vectors)
    if count < 2:
        return LONE_THRESHOLD
    return float((np.square(vectors.sum(axis=0)).sum() - count) / (count * (count - 1)))


def expand(
    seeds: Sequence[str],
    documents: Sequence[str],
    vectors: Vectors,
    pin: Iterable[str] = (),
    ban: Iterable[str] = (),
) -> Expansion:
    """Every word and phrase of the documents whose mean cosine to the seeds is at least the threshold."""
    known = {seed: vector for seed in seeds if (vector := vectors.phrase(seed)) is not None}
    unknown = tuple(seed for seed in seeds if seed not in known)
    matrix = np.stack(list(known.values())) if known else np.zeros((0, vectors.dimensions), np.float32)
    threshold = threshold_of(matrix)
    texts = [words(document) for document in documents]
    counts = Counter(candidate for text in _with_phrases(texts) for candidate in set(text))
    scores = _scores(counts, matrix, vectors)
    pinned, banned = {" ".join(words(word)) for word in pin}, {" ".join(words(word)) for word in ban}
    given = {" ".join(words(seed)) for seed in seeds}
    # Phrases that a person names stand in a document whether or not they are frequent enough to be found as such.
    named = PhraseFinder(pinned | given)
    counts |= Counter(" ".join(phrase) for text in texts for phrase in named.count(text))
    chosen = {word for word, score in scores.items() if score >= threshold} | pinned
    found = [
        Keyword(word, scores.get(word, 0.0), counts[word], "pinned" if word in pinned else "found")
        for word in chosen - given - banned
    ]
    first = [
        Keyword(
            seed, float((matrix @ known[seed]).mean()) if seed in known else 0.0, counts[" ".join(words(seed))], "seed"
        )
        for seed in seeds
    ]
    found.sort(key=lambda keyword: (-keyword.score, keyword.text))
    return Expansion((*first, *found), threshold, unknown)


def _scores(candidates: Iterable[str], seeds: Floats, vectors: Vectors) -> dict[str, float]:
    if not len(seeds):
        return {}
    found = {
        word: vector
        for word in candidates
        if (vector := vectors.phrase(word)) is not None and (" " not in word or _is_phrase(word, vectors))
    }
    if not found:
        return {}
    # The mean of cosines to unit vectors is the product with their mean.
    means = np.stack(list(found.values())) @ seeds.mean(axis=0)
    return dict(zip(found, means.tolist(), strict=True))


def _is_phrase(found: str, vectors: Vectors) -> bool:
    """ "final was" is often said, but is no phrase; and what "zorblax final" means is not known."""
    return all(vectors.row(word) >= FUNCTION_ROWS for word in found.split())


def _with_phrases(texts: Sequence[list[str]]) -> list[list[str]]:
    """Each text's words, and the phrases that stand in it."""
    # gensim takes a second to import, which commands that expand nothing need not wait for.
    from gensim.models.phrases import Phrases

    phrases = Phrases(texts, min_count=PHRASE_COUNT, threshold=PHRASE_SCORE, scoring="npmi", delimiter=" ")
    return [[*text, *(part for part in phrases[text] if " " in part)] for text in texts]
