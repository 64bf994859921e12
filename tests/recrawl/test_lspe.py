"""LSPE(0) of Whittle 2019 stays within its bounds, and learning the parameters instead does far better."""

from __future__ import annotations

import numpy as np
import pytest

from tres_crawler.experiments.recrawl.ephemeral import TABLE_1
from tres_crawler.recrawl.ephemeral import Ephemeral
from tres_crawler.recrawl.learned import LearnedEphemeral
from tres_crawler.recrawl.lspe import LspeScheduler, ThresholdLearner
from tres_crawler.recrawl.pending import PendingEstimate
from tres_crawler.recrawl.scheduler import Finding, Source


@pytest.mark.parametrize("seed", range(20))
def test_thresholds_stay_where_states_are_and_numbers_stay_numbers(seed: int) -> None:
    rng = np.random.default_rng(seed)
    learner = ThresholdLearner(list(TABLE_1), rng)
    ages = np.ones(4)
    for step in range(300):
        states = np.array([source.pending_value(age) for source, age in zip(TABLE_1, ages, strict=True)])
        visited = rng.random(4) < learner.chances(states)
        ages = np.where(visited, 1, ages + 1)
        after = np.array([source.pending_value(age) for source, age in zip(TABLE_1, ages, strict=True)])
        learner.learn(states, visited, float(states[visited].sum()), after)
        if step % 50 == 0:
            assert learner.finite and learner.inside


def test_a_scheduler_learns_from_its_own_visits() -> None:
    scheduler = LspeScheduler(np.random.default_rng(1), TABLE_1.__getitem__)
    for number in range(4):
        scheduler.add(Source(number, number, 0.0))
    for slot in range(1, 200):
        for number in scheduler.choose(float(slot), 1):
            scheduler.observe(number, float(slot), Finding(True, 10.0))
    assert scheduler.learner is not None
    assert scheduler.learner.finite


def test_what_a_source_publishes_is_learned_from_what_visits_collect() -> None:
    source, estimate, rng = Ephemeral(0.7, 0.35, 250), PendingEstimate(), np.random.default_rng(1)
    for age in [1, 2, 4, 8, 1, 3] * 20:
        estimate.learn(age, float(rng.poisson(source.pending_value(age))))
    found = estimate.likeliest()
    assert found.limit == pytest.approx(source.limit, rel=0.1)
    assert found.decay_rate == pytest.approx(source.decay_rate, rel=0.15)


def test_before_anything_was_collected_any_decay_is_as_likely() -> None:
    estimate = PendingEstimate()
    estimate.learn(1.0, 0.0)
    assert estimate.drawn(np.random.default_rng(1)).limit == pytest.approx(0.0, abs=1e-6)
    estimate.learn(0.0, 5.0)
    assert estimate.likeliest().limit == 0


def test_the_learned_index_earns_what_the_known_one_earns() -> None:
    """Alternating between sources 1 and 2 from soon on, without being told what any of them publishes."""
    scheduler = LearnedEphemeral(np.random.default_rng(1), slot_seconds=1.0)
    for number in range(4):
        scheduler.add(Source(number, number, 0.0))
    ages, total = np.zeros(4, int), 0.0
    for slot in range(1, 801):
        ages += 1
        for number in scheduler.choose(float(slot), 1):
            value = TABLE_1[number].pending_value(ages[number])
            scheduler.observe(number, float(slot), Finding(True, value))
            ages[number] = 0
            total += value if slot > 100 else 0
    assert total / 700 > 0.99 * 260.39
