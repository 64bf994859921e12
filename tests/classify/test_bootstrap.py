"""Without labels: what the prior is sure of becomes examples, and style cannot stand in for topic."""

from __future__ import annotations

from collections import Counter
from random import Random

import numpy as np
import pytest

from tests.texts import COOKING, GARDEN
from tres_crawler.classify.bootstrap import (
    LEAST_COMPANY,
    LEAST_CONFIDENCE,
    LEAST_POSITIVES,
    MOST_OF_A_KIND,
    Found,
    _by_company,
    enough,
    pseudo_labels,
)
from tres_crawler.classify.neural import NeuralModel
from tres_crawler.classify.prior import Prior, sigmoid
from tres_crawler.classify.training import fit
from tres_crawler.records import Example, PageText
from tres_crawler.simweb import prose
from tres_crawler.vectors import Floats, Vectors

KEYWORDS = ("recipe", "cooking", "baking", "bread", "soup", "kitchen", "flavour", "dish", "ingredients", "dinner")
BOILERPLATE = (
    "Sign in or subscribe to our newsletter.",
    "Cookies help us to deliver our services, and by using the website you accept them.",
    "Read the terms of use and the privacy policy before you register an account.",
    "Share this article with your friends on Facebook, or send it by email.",
    "All rights reserved; the content of this website is protected by copyright.",
    "Click here to log in, or download the app for your phone.",
)


def web_page(rng: Random, topic: prose.TopicProse) -> PageText:
    """Prose of a topic inside what every site of this web says."""
    said = " ".join(rng.choice(rng.choice(topic.facets).paragraphs).fill(rng.randrange(1000)) for _ in range(2))
    around = [" ".join(rng.sample(BOILERPLATE, k=2)) for _ in range(2)]
    return PageText("Welcome", "", f"{around[0]} {said} {around[1]}")


def web(seed: int, relevant: int, others: int) -> list[tuple[Found, bool]]:
    """Pages of a small web whose style is the same whatever their topic, and whether they are about food."""
    rng = Random(seed)
    topics = prose.load("tune").topics
    food = next(topic for topic in topics if topic.name == "food")
    rest = [topic for topic in topics if topic.name != "food"]
    chosen = [food] * relevant + [rng.choice(rest) for _ in range(others)]
    rng.shuffle(chosen)
    return [(Found(web_page(rng, topic), f"site {n % 20}"), topic is food) for n, topic in enumerate(chosen)]


@pytest.fixture(scope="module")
def prior(vectors: Vectors) -> Prior:
    return Prior(vectors, KEYWORDS)


def test_only_pages_that_are_surely_one_or_the_other_become_examples(prior: Prior) -> None:
    pages = [found for found, _ in web(1, 20, 40)]
    examples = pseudo_labels(pages, prior)
    own = [example for example in examples if not example.group.startswith("background")]
    assert all(LEAST_CONFIDENCE <= example.weight <= 1.0 for example in own)
    assert {example.page for example in own} <= {found.page for found in pages}
    assert len(own) < len(pages), "of some it is not sure"
    assert not any(example.is_label for example in examples), "no person said so"
    truth = {found.page: relevant for found, relevant in web(1, 20, 40)}
    assert np.mean([truth[example.page] == example.relevant for example in own]) > 0.85


def test_an_example_keeps_its_site_and_the_words_of_its_link(prior: Prior) -> None:
    examples = pseudo_labels([Found(PageText("", "", COOKING), "a.test", "our soup")], prior)
    assert (examples[0].relevant, examples[0].group, examples[0].anchor) == (True, "a.test", "our soup")


def test_negatives_are_from_the_same_web_and_the_background_weighs_no_more_than_they(prior: Prior) -> None:
    examples = pseudo_labels([found for found, _ in web(1, 20, 40)], prior)
    negatives = [example for example in examples if not example.relevant]
    weights: Counter[bool] = Counter()
    for example in negatives:
        weights[example.group.startswith("background")] += example.weight  # type: ignore[assignment]  # a sum
    assert weights[False] > 5
    assert weights[True] == pytest.approx(weights[False])
    assert all(not example.relevant for example in examples if example.group.startswith("background"))


def test_where_the_web_has_shown_nothing_else_the_background_alone_makes_no_negatives(prior: Prior) -> None:
    examples = pseudo_labels([Found(PageText("", "", f"{COOKING} {n}"), "a.test") for n in range(12)], prior)
    assert enough(examples)
    assert all(example.relevant for example in examples), "clean prose alone would teach style"


def test_what_a_person_said_sharpens_what_is_thought_of_other_pages(prior: Prior) -> None:
    rng = Random(4)
    food = next(topic for topic in prose.load("tune").topics if topic.name == "food")
    pages = [Found(web_page(rng, food), "a.test") for _ in range(20)]

    def relevant(labelled: list[Example]) -> float:
        return sum(example.weight for example in pseudo_labels(pages, prior, labelled) if example.relevant)

    said = [web_page(rng, food) for _ in range(30)]
    assert relevant([Example(page, True, group="b.test") for page in said]) > relevant([])
    assert relevant([Example(page, False, group="b.test") for page in said]) < relevant([])


def test_no_pages_and_pages_without_text_give_nothing_to_learn_from(prior: Prior) -> None:
    assert pseudo_labels([], prior) == []
    examples = pseudo_labels([Found(PageText("", "", text), "a.test") for text in ("", "???", "zorblax")], prior)
    assert not any(example.relevant for example in examples)
    assert not enough(examples)


def test_keywords_that_no_vector_knows_make_no_positives(vectors: Vectors) -> None:
    odd = Prior(vectors, ["zorblax"])
    examples = pseudo_labels([Found(PageText("", "", text), "a.test") for text in (COOKING, GARDEN)], odd)
    assert not enough(examples)


def test_what_only_looks_like_the_topic_is_told_by_the_company_it_keeps() -> None:
    """Of two kinds of text the prior is sure of few; their sites' other pages say which kind is meant."""
    rng = np.random.default_rng(5)
    is_topic = np.arange(600) < 300
    kinds = np.where(is_topic[:, None], [1.0, 0.2], [0.2, 1.0])
    texts = (kinds + 0.2 * rng.standard_normal((600, 2))).astype(np.float32)
    sure = rng.random(600) < np.where(is_topic, 0.3, 0.03)
    sites = [f"{at // 10}.test" for at in range(600)]
    told = _by_company(texts, sites, sure)
    assert np.mean((told > 0) == is_topic) > 0.95
    unsure = told[~sure]
    assert unsure[is_topic[~sure]].mean() > 1 > -1 > unsure[~is_topic[~sure]].mean(), "also of those it was not sure of"


@pytest.mark.parametrize("strays", [0, 1, 4])
def test_where_one_site_has_nearly_all_pages_company_says_nothing_against_the_prior(strays: int) -> None:
    rng = np.random.default_rng(strays)
    sure = np.arange(900) < 300
    texts = (np.where(sure[:, None], 1.0, -1.0) + 0.3 * rng.standard_normal((900, 3))).astype(np.float32)
    sites = [f"{at}.test" if at % 100 < strays else "large.test" for at in range(900)]
    told = _by_company(texts, sites, sure)
    assert told[sure].mean() >= told[~sure].mean() - 0.1


def test_company_says_nothing_of_few_pages_nor_where_every_page_is_alone_or_nothing_is_sure() -> None:
    texts = np.random.default_rng(1).standard_normal((600, 3)).astype(np.float32)
    some, none = np.arange(600) % 3 == 0, np.zeros(600, bool)
    together, apart = [f"{at // 10}" for at in range(600)], [f"{at}" for at in range(600)]
    assert _by_company(texts, together, np.arange(600) < 200).any()
    assert not _by_company(texts, apart, some).any()
    assert not _by_company(texts, together, none).any()
    few = LEAST_COMPANY - 10
    assert not _by_company(texts[:few], together[:few], np.arange(few) < 60).any(), "as of a crawl's first pages"


def test_of_many_pages_some_of_each_time_are_learned_from_and_few_relevant_ones_are_all_kept(prior: Prior) -> None:
    count = 6 * MOST_OF_A_KIND
    pages = [Found(PageText("", "", f"{GARDEN if n % 20 else COOKING} Number {n}."), f"{n}.test") for n in range(count)]
    own = [example for example in pseudo_labels(pages, prior) if not example.group.startswith("background")]
    relevant = [example for example in own if example.relevant]
    others = [example for example in own if not example.relevant]
    assert len(relevant) == count / 20
    assert MOST_OF_A_KIND / 2 < len(others) <= MOST_OF_A_KIND
    assert {int(example.group.split(".")[0]) * 4 // count for example in others} == {0, 1, 2, 3}


def test_enough_is_a_number_of_positives() -> None:
    positive = Example(PageText("", "", COOKING), True)
    assert not enough([positive] * (LEAST_POSITIVES - 1))
    assert enough([positive] * LEAST_POSITIVES)


def test_style_does_not_stand_in_for_topic(prior: Prior) -> None:
    found = web(1, 25, 60)
    examples = pseudo_labels([page for page, _ in found], prior)
    clean = [page for page, logit in zip(prior.background.pages, prior.background_logits, strict=True) if logit < 0]
    trap = [
        *(example for example in examples if example.relevant),
        *(Example(page, False, group=f"clean {at}", is_label=False) for at, page in enumerate(clean[::8])),
    ]
    tested = web(2, 40, 80)
    truth = np.array([relevant for _, relevant in tested])

    def said(lesson: list[Example], seed: int) -> tuple[Floats, Floats]:
        """What the network alone holds of pages of the same web that are irrelevant, and of relevant ones."""
        model = fit("bilstm", lesson, prior, seed=seed, refit=False).model
        assert isinstance(model, NeuralModel)
        found = sigmoid(model.logits([prior.reader.read(page.page) for page, _ in tested], anchors=False))
        return found[~truth], found[truth]

    fair, trapped = ([said(lesson, seed) for seed in (1, 2)] for lesson in (examples, trap))
    for irrelevant, relevant in fair:
        assert (irrelevant > 0.5).mean() < 0.2
        assert (relevant > 0.5).mean() > 0.6
    wrong, in_the_trap = (np.mean([irrelevant.mean() for irrelevant, _ in made]) for made in (fair, trapped))
    assert in_the_trap > 1.5 * wrong, "against clean prose it would take this web's style for the topic"


def test_nothing_is_learned_of_pages_that_only_list_words(prior: Prior) -> None:
    pages = [found for found, _ in web(1, 12, 30)]
    stuffed = Found(PageText("Recipes", "", "bread recipe, soup recipe, baking dish, " * 20), "farm")
    assert "farm" not in {example.group for example in pseudo_labels([*pages, stuffed], prior)}
