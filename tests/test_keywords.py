"""Keyword expansion is Algorithm 1 of TRES with the threshold of its equation 2, over words and phrases."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest

from tests.texts import COOKING, FOOD_KEYWORDS, GARDEN
from tres_crawler.keywords import LONE_THRESHOLD, Expansion, expand
from tres_crawler.text import words
from tres_crawler.vectors import Vectors, load_vectors

SEEDS = ("tennis", "coach", "championship", "match")
DOCUMENTS = (
    "The tournament was won by a player of sixteen. Her opponent lost two sets, and the final lasted three hours.",
    "A season in the league is long: teams travel, players are hurt, and the title goes to whoever has a deep bench.",
    COOKING,
    GARDEN,
)


@pytest.fixture(scope="module")
def vectors() -> Vectors:
    return load_vectors()


def cosine(vectors: Vectors, one: str, other: str) -> float:
    a, b = (np.asarray(vectors.matrix[vectors.row(word)], dtype=np.float64) for word in (one, other))
    return float(a @ b / (np.sqrt(a @ a) * np.sqrt(b @ b)))


def algorithm_1(vectors: Vectors, seeds: tuple[str, ...], documents: tuple[str, ...]) -> tuple[set[str], float]:
    """Line by line from the paper: the expanded set K, and b."""
    count = len(seeds)
    b = sum(cosine(vectors, one, other) for one, other in permutations(seeds, 2)) / (count * (count - 1))
    chosen = set()
    for word in {word for document in documents for word in words(document)}:
        if vectors.row(word) >= 0 and sum(cosine(vectors, word, seed) for seed in seeds) / count >= b:
            chosen.add(word)
    return set(seeds) | chosen, b


def texts_of(expansion: Expansion) -> set[str]:
    return {keyword.text for keyword in expansion.keywords}


@pytest.mark.parametrize("seeds", [SEEDS, FOOD_KEYWORDS, ("tennis", "soup"), ("tennis", "railway", "committee")])
def test_the_set_is_that_of_algorithm_1_to_the_word(vectors: Vectors, seeds: tuple[str, ...]) -> None:
    expansion = expand(seeds, DOCUMENTS, vectors)
    expected, threshold = algorithm_1(vectors, seeds, DOCUMENTS)
    assert expansion.threshold == pytest.approx(threshold, abs=1e-5)
    assert texts_of(expansion) == expected
    assert len(expected) > len(seeds), "something was found"


def test_each_keyword_tells_its_score_and_its_evidence_and_the_best_come_first(vectors: Vectors) -> None:
    expansion = expand(SEEDS, DOCUMENTS, vectors)
    assert [keyword.text for keyword in expansion.keywords[:4]] == list(SEEDS)
    found = [keyword for keyword in expansion.keywords if keyword.origin == "found"]
    assert [keyword.score for keyword in found] == sorted((keyword.score for keyword in found), reverse=True)
    for keyword in expansion.keywords:
        scored = sum(cosine(vectors, keyword.text, seed) for seed in SEEDS) / len(SEEDS)
        assert keyword.score == pytest.approx(scored, abs=1e-5)
        assert keyword.documents == sum(keyword.text in words(document) for document in DOCUMENTS)
    assert expansion.found == tuple(keyword.text for keyword in found)


def test_words_that_stand_together_more_often_than_by_chance_are_found_as_a_phrase(vectors: Vectors) -> None:
    before = ("Yesterday", "Our", "Every", "Another", "This", "No")
    documents = [f"{opening} championship final was a zorblax tennis match of its own kind" for opening in before]
    documents += [COOKING, GARDEN, "The whole village was there.", "In what was left of the day it rained."]
    expansion = expand(SEEDS, documents, vectors)
    found = {keyword.text: keyword for keyword in expansion.keywords if " " in keyword.text}
    assert "championship final" in found
    assert found["championship final"].documents == 6
    assert not any({"was", "a", "of"} & set(phrase.split()) for phrase in found), "function words make no phrases"
    assert not any("zorblax" in phrase for phrase in found), "nor do words of which nothing is known"


def test_a_pinned_word_is_always_in_and_a_banned_one_never(vectors: Vectors) -> None:
    plain = expand(SEEDS, DOCUMENTS, vectors)
    assert "tournament" in plain.found
    assert "railway" not in plain.found
    expansion = expand(SEEDS, DOCUMENTS, vectors, pin=["Railway ", "zorblax", "old gate"], ban=["Tournament", "player"])
    found = {keyword.text: keyword for keyword in expansion.keywords}
    assert (found["railway"].origin, found["railway"].documents) == ("pinned", 1)
    assert (found["zorblax"].origin, found["zorblax"].documents) == ("pinned", 0)
    assert found["old gate"].documents == 1, "a phrase that a person names is counted wherever it stands"
    assert set(expansion.found) == set(plain.found) - {"tournament", "player"} | {"railway", "zorblax", "old gate"}
    assert expand(SEEDS, DOCUMENTS, vectors, pin=["railway"], ban=["railway"]).found == plain.found, "ban is stronger"
    assert expand(SEEDS, DOCUMENTS, vectors, pin=["tennis"]).found == plain.found, "a seed is a seed"


def test_one_keyword_leads_to_its_near_synonyms_only(vectors: Vectors) -> None:
    expansion = expand(("soup",), (*DOCUMENTS, "a stew, a broth, a sauce and a parliament"), vectors)
    assert expansion.threshold == LONE_THRESHOLD
    assert {"stew", "broth"} <= set(expansion.found)
    assert all(cosine(vectors, word, "soup") >= LONE_THRESHOLD for word in expansion.found)
    assert not {"parliament", "railway", "the"} & set(expansion.found)


def test_keywords_that_no_vector_knows_are_told_and_lead_nowhere(vectors: Vectors) -> None:
    expansion = expand(("zorblax", "tennis", "coach"), (*DOCUMENTS, "a zorblax"), vectors)
    assert expansion.unknown == ("zorblax",)
    assert (expansion.keywords[0].score, expansion.keywords[0].documents) == (0.0, 1)
    assert expansion.found == expand(("tennis", "coach"), DOCUMENTS, vectors).found
    none_known = expand(("zorblax", "quuxification"), DOCUMENTS, vectors, pin=["court"])
    assert none_known.unknown == ("zorblax", "quuxification")
    assert none_known.found == ("court",)


@pytest.mark.parametrize("documents", [(), ("",), ("?! …", "")])
def test_without_documents_the_keywords_are_those_that_were_given(vectors: Vectors, documents: tuple[str, ...]) -> None:
    expansion = expand(SEEDS, documents, vectors)
    assert texts_of(expansion) == set(SEEDS)
    assert expansion.found == ()
