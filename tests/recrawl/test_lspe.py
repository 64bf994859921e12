"""LSPE(0) of Whittle 2019 stays within its bounds, and learning the parameters instead does far better."""

from __future__ import annotations

import numpy as np
import pytest

from tres_crawler.experiments.recrawl.ephemeral import TABLE_1
from tres_crawler.recrawl.ephemeral import Ephemeral
from tres_crawler.recrawl.learned import LearnedEphemeral
from tres_crawler.recrawl.lspe import OUTER_STEP, LspeScheduler, ThresholdLearner
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


def test_values_solve_the_poisson_equation_of_what_happens_over_and_over() -> None:
    """Whittle 2019, eq. 6: the value of a state is its reward, less the average, and the value of the next one."""
    learner, ages = (
        ThresholdLearner(list(TABLE_1), np.random.default_rng(1)),
        [(1, 2, 3, 3), (2, 1, 1, 1), (1, 2, 2, 2)],
    )
    cycle = [np.array([one.pending_value(age) for one, age in zip(TABLE_1, at, strict=True)]) for at in ages]
    visits = [np.array([0, 1, 1, 1], bool), np.array([1, 0, 0, 0], bool), np.array([0, 1, 0, 0], bool)]
    for step in range(3000):
        at = step % 3
        learner.learn(cycle[at], visits[at], float(cycle[at][visits[at]].sum()), cycle[(at + 1) % 3])
    values = [float(learner._weights @ learner._features(states)) for states in cycle]
    rewards = [float(states[visited].sum()) for states, visited in zip(cycle, visits, strict=True)]
    for at in range(3):
        expected = rewards[at] - np.mean(rewards) + values[(at + 1) % 3]
        assert values[at] == pytest.approx(expected, abs=0.02 * np.ptp(rewards))


def test_thresholds_follow_the_gradient_of_what_was_done_times_the_value_it_led_to() -> None:
    """Eqs. 8 and 9, beside differences of the log chance; each source's step is measured in its own range."""
    learner = ThresholdLearner(list(TABLE_1), np.random.default_rng(1))
    learner._q = np.tile([0.2, 0.3, 0.1], (4, 1))
    states = np.array([source.pending_value(2) for source in TABLE_1])
    for _ in range(200):
        # States at which a visit is about as likely as none.
        states = learner.thresholds(states) + 0.5 + np.array([0.3, -0.2, 0.1, -0.4])
    visited = np.array([True, False, False, True])
    learner.learn(states, visited, 1.0, states * 0.9)
    q = learner._q = np.tile([0.2, 0.3, 0.1], (4, 1))

    def log_chance(place: tuple[int, ...], by: float) -> float:
        learner._q = q.copy()
        learner._q[place] += by
        chances = learner.chances(states)
        return float(np.log(np.where(visited, chances, 1 - chances)).sum())

    places = list(np.ndindex(4, 3))
    slopes = np.reshape([(log_chance(at, 1e-6) - log_chance(at, -1e-6)) / 2e-6 for at in places], (4, 3))
    learner._q, after = q.copy(), states * 0.8
    learner.learn(states, visited, 1.01, after)
    value = float(learner._weights @ learner._features(after))
    assert abs(value) > 1e-6
    ranges = np.array([source.limit - source.inflow for source in TABLE_1])[:, None]
    assert (learner._q - q) / (OUTER_STEP * value) == pytest.approx(slopes / ranges, rel=1e-3)


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


@pytest.mark.parametrize("seed", range(3))
def test_the_learned_index_earns_what_the_known_one_earns(seed: int) -> None:
    """Alternating between sources 1 and 2 from soon on, without being told what any of them publishes."""
    scheduler = LearnedEphemeral(np.random.default_rng(seed), slot_seconds=1.0)
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


def test_an_unlucky_draw_is_not_kept_for_ever() -> None:
    """A source that is held to publish next to nothing is not visited, so only drawing again can help it."""
    scheduler = LearnedEphemeral(np.random.default_rng(1), slot_seconds=1.0)
    for number in range(4):
        scheduler.add(Source(number, number, 0.0))
    visited: list[int] = []
    for slot in range(1, 60):
        if slot == 40:
            scheduler._drawn[1] = Ephemeral(1e-6, 1.0, 1.0)
        for number in scheduler.choose(float(slot), 1):
            scheduler.observe(number, float(slot), Finding(True, TABLE_1[number].pending_value(2)))
            visited.append(number)
    assert 1 in visited[40:]
