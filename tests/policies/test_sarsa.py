"""The SARSA of `async`: its numbers, its features, and that a life lived twice ends the same."""

from __future__ import annotations

import random

import numpy as np
import pytest

from tres_crawler.config import Settings
from tres_crawler.policies.policy import PageFact, Surroundings
from tres_crawler.policies.sarsa import COLUMNS, LEARNING_RATE, SarsaPolicy
from tres_crawler.records import Outlink
from tres_crawler.vectors import load_vectors


@pytest.fixture
def policy() -> SarsaPolicy:
    around = Surroundings(
        crawl=1,
        settings=Settings(),
        keywords=("tennis", "coach", "championship"),
        seed=1,
        rng=random.Random(1),
        sites_of=lambda hosts: hosts.astype(np.int64),
        are_full=lambda hosts: np.zeros(len(hosts), bool),
        is_out_of_reach=lambda host: False,
        tell=lambda change: None,
    )
    return SarsaPolicy(around, load_vectors())


def test_a_value_moves_towards_the_reward_and_the_value_of_the_best_outlink(policy: SarsaPolicy) -> None:
    link, poor, good = np.eye(len(COLUMNS), dtype=np.float32)[[0, 4, 3]]
    policy._live(PageFact(1, None, 1, relevant=True), policy._lesson(link, np.zeros((0, len(COLUMNS)), np.float32)))
    assert policy._weights.tolist() == pytest.approx([LEARNING_RATE, 0, 0, 1, 0]), "nothing comes next"
    policy._live(PageFact(2, 1, 1, relevant=False), policy._lesson(link, np.stack([poor, good])))
    grown = LEARNING_RATE + LEARNING_RATE * (0.3 * 1.0 - LEARNING_RATE)
    assert policy._weights.tolist() == pytest.approx([grown, 0, 0, 1, 0])


def test_a_link_has_its_path_and_its_cosine_and_no_keyword(policy: SarsaPolicy) -> None:
    policy._enter(PageFact(1, None, 1, relevant=True))
    page = PageFact(2, 1, 1, relevant=False)
    policy._enter(page)
    said = [Outlink("http://a.test/1", "the coach of the tennis players"), Outlink("http://a.test/2", "railway fares")]
    near, far = policy._describe(page, said)
    assert near[:3].tolist() == far[:3].tolist() == pytest.approx([0.0, 0.5, 0.5])
    assert near[3] > far[3]
    assert policy._describe(page, [Outlink("http://zzzq/", "")])[0, 3] == 0.0


async def test_keywords_that_a_new_judge_has_found_count_from_then_on(policy: SarsaPolicy) -> None:
    link = Outlink("http://a.test/", "railway fares")
    before = policy._cosine(link)
    await policy.judged_again({}, ("railway", "fares"), judge_version=2)
    assert policy._cosine(link) > before + 0.3, "as they would after a restart"


async def test_a_new_judges_word_is_lived_through_from_the_start(policy: SarsaPolicy) -> None:
    rng = np.random.default_rng(1)
    for number in range(1, 20):
        policy._pages.append(PageFact(number, number - 1 or None, 1, relevant=number % 3 == 0))
        policy._lessons.append(rng.random(2 * len(COLUMNS)).astype(np.float32))
    policy._relive()
    before = policy._weights.copy()
    await policy.judged_again(dict.fromkeys(range(1, 20), True), (), judge_version=2)
    assert (policy._weights > before).all()
    policy._relive()
    once = policy._weights.copy()
    policy._relive()
    assert np.array_equal(policy._weights, once)
