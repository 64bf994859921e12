"""The link classifier of `ache`: what it learns from words, and when waiting links follow."""

from __future__ import annotations

import random

import numpy as np
import pytest

from tres_crawler.config import Settings
from tres_crawler.policies.ache import BUCKETS, LEARN_FIRST, WIDTH, AchePolicy
from tres_crawler.policies.policy import PageFact, Surroundings
from tres_crawler.records import Offer, Outlink


@pytest.fixture
def policy() -> AchePolicy:
    around = Surroundings(
        crawl=1,
        settings=Settings(),
        keywords=(),
        seed=1,
        rng=random.Random(1),
        sites_of=lambda hosts: hosts.astype(np.int64),
        are_full=lambda hosts: np.zeros(len(hosts), bool),
        is_out_of_reach=lambda host: False,
        tell=lambda change: None,
    )
    return AchePolicy(around)


def offer_of(policy: AchePolicy, number: int, outlink: Outlink, parent_relevant: bool = False) -> Offer:
    page = PageFact(1, None, 1, relevant=parent_relevant)
    return Offer(number, number, features=policy._describe(page, [outlink])[0])


def test_links_of_relevant_pages_come_first_before_anything_is_learned(policy: AchePolicy) -> None:
    plain = Outlink("http://a.test/1", "next")
    policy.frontier.place([offer_of(policy, 1, plain), offer_of(policy, 2, plain, parent_relevant=True)])
    assert [offer.link for offer in policy.frontier.offer()] == [2]


def test_words_that_led_to_relevant_pages_raise_links_that_wait_already(policy: AchePolicy) -> None:
    recipe, fares = Outlink("http://a.test/1", "soup recipe"), Outlink("http://a.test/2", "railway fares")
    around = Outlink("http://a.test/3", "more", context="a soup for the evening")
    policy.frontier.place([offer_of(policy, n, link) for n, link in enumerate((fares, around, recipe), 1)])
    assert [offer.link for offer in policy.frontier.offer()] == [1], "the oldest, as long as nothing is known"
    for number in range(1, LEARN_FIRST + 1):
        good = number % 2 == 0
        seen = policy._describe(PageFact(number, None, 1, False), [recipe if good else fares])[0]
        policy._live(PageFact(number + 1, number, 1, relevant=good), seen)
        policy._settle()
    (best,) = policy.frontier.offer()
    assert best.link == 3
    scores = policy._scores([offer_of(policy, n, link) for n, link in enumerate((recipe, around, fares))])
    assert scores[0] > scores[1] > scores[2], "a word around the link is another word than one in it"


def test_words_are_numbers_that_a_float_keeps(policy: AchePolicy) -> None:
    wordy = Outlink("http://a.test/soup", " ".join(f"word{n}" for n in range(100)), "soup")
    features = policy._describe(None, [wordy, Outlink("http://a.test/", "")])
    assert features.shape == (2, WIDTH)
    assert features.max() < BUCKETS < 2**24
    assert len(set(features[0].tolist())) == WIDTH
    assert (features[1] == 0).sum() > WIDTH / 2
    assert policy._describe(None, []).shape == (0, WIDTH)
