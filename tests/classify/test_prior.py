"""The judge without training: keywords and word vectors."""

import pytest

from tests.texts import COOKING, FOOD_KEYWORDS, GARDEN, WORD_LIST
from tres_crawler.classify.prior import Prior
from tres_crawler.records import PageText
from tres_crawler.vectors import load_vectors


@pytest.fixture(scope="module")
def prior() -> Prior:
    return Prior(load_vectors(), FOOD_KEYWORDS)


def probability(prior: Prior, text: str, title: str = "") -> float:
    return float(prior.pages([PageText(title, "", text)])[0])


def test_a_page_on_the_topic_is_relevant_and_one_off_it_is_not(prior: Prior) -> None:
    assert probability(prior, COOKING) > 0.5 > probability(prior, GARDEN)


def test_a_page_on_the_topic_need_not_use_a_keyword(prior: Prior) -> None:
    said = COOKING
    for word, other in (("soup", "broth"), ("bread", "loaf"), ("kitchen", "room"), ("sauce", "gravy")):
        said = said.replace(word, other)
    assert not prior.reader.read(PageText("", "", said)).kinds
    assert probability(prior, said) > 0.3 > probability(prior, GARDEN)


def test_a_list_of_the_topics_words_is_no_page_about_it(prior: Prior) -> None:
    assert probability(prior, WORD_LIST) < 0.2


def test_a_page_in_another_language_or_without_text_is_not_relevant(prior: Prior) -> None:
    german = "Die Suppe wird langsam gekocht und mit frischem Brot serviert, dazu passt ein kleiner Salat. " * 5
    assert probability(prior, german) < 0.2
    assert probability(prior, "") < 0.01
    assert probability(prior, "?!… 123 ###") < 0.01


def test_an_anchor_about_the_topic_looks_better_than_one_that_says_nothing(prior: Prior) -> None:
    soup, more, empty, cars = prior.anchors(["Tomato soup with garlic", "read more", "", "Used cars for sale"])
    assert soup > more
    assert soup > empty
    assert soup > cars


def test_keywords_that_no_vector_knows_are_still_looked_for() -> None:
    odd = Prior(load_vectors(), ["zorblax", "quuxification"])
    plain = probability(odd, GARDEN)
    named = probability(odd, f"zorblax and quuxification. {GARDEN} zorblax.")
    assert named > plain
    assert 0.0 <= float(odd.anchors(["zorblax"])[0]) <= 1.0
