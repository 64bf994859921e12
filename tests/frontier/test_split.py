"""The best split is the one that trying them all would find, and routing by it parts the experiences the same way."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from tres_crawler.frontier.arrays import Floats
from tres_crawler.frontier.split import Split, best_split, threshold_between

LARGEST = np.finfo(np.float32).max


def variance(rewards: list[Fraction]) -> Fraction:
    mean = sum(rewards, Fraction()) / len(rewards)
    return sum(((reward - mean) ** 2 for reward in rewards), Fraction()) / len(rewards)


def best_by_trying_all(features: Floats, rewards: Floats) -> tuple[int, float, Fraction] | None:
    """Equations 3 and 4 as they stand, in exact numbers; the first of the best by feature, then by threshold."""
    exact = [Fraction(reward) for reward in rewards.tolist()]
    best: tuple[int, float, Fraction] | None = None
    for feature in range(features.shape[1]):
        values = features[:, feature]
        distinct = sorted(set(values.tolist()))
        for low, high in pairwise(distinct):
            threshold = threshold_between(np.float32(low), np.float32(high))
            left = [reward for value, reward in zip(values, exact, strict=True) if value < threshold]
            right = [reward for value, reward in zip(values, exact, strict=True) if value >= threshold]
            gain = variance(exact) - (len(left) * variance(left) + len(right) * variance(right)) / len(exact)
            if gain > 0 and (best is None or gain > best[2]):
                best = feature, threshold, gain
    return best


@some.composite
def leaves(draw: some.DrawFn) -> tuple[Floats, Floats]:
    """Experiences with few distinct values, duplicates and constant rewards among them."""
    count, width = draw(some.integers(1, 24)), draw(some.integers(1, 4))
    kinds = some.sampled_from(["few", "many"])
    columns = []
    for kind in draw(some.lists(kinds, min_size=width, max_size=width)):
        values = some.sampled_from([0.0, 0.5, 1.0]) if kind == "few" else some.floats(-2, 2, width=32)
        columns.append(draw(some.lists(values, min_size=count, max_size=count)))
    earned = draw(some.sampled_from([[0.0], [0.25], [0.0, 1.0], [0.0, 0.25, 1.0, 1.5]]))
    rewards = draw(some.lists(some.sampled_from(earned), min_size=count, max_size=count))
    return np.array(columns, np.float32).T, np.array(rewards, np.float32)


@settings(derandomize=True, database=None, deadline=None, max_examples=500)
@given(leaf=leaves())
def test_the_best_split_is_the_one_found_by_trying_all(leaf: tuple[Floats, Floats]) -> None:
    found, expected = best_split(*leaf), best_by_trying_all(*leaf)
    if expected is None:
        assert found is None
    else:
        assert found is not None
        assert (found.feature, found.threshold) == expected[:2]
        assert found.gain == pytest.approx(float(expected[2]))


def test_rewards_that_no_float_holds_exactly_make_no_split_when_they_are_equal() -> None:
    rng = np.random.default_rng(1)
    for count in (3, 10, 1_000):
        features = rng.random((count, 8), np.float32)
        assert best_split(features, np.full(count, 0.1)) is None
        assert best_split(features, np.full(count, 0.1, np.float32)) is None
        assert best_split(features, np.zeros(count)) is None


def test_one_good_page_among_a_hundred_thousand_is_a_gain() -> None:
    features = np.arange(100_000, dtype=np.float32)[:, None]
    rewards = np.zeros(100_000)
    rewards[70_000] = 1.0
    assert best_split(features, rewards) is not None


def test_equal_vectors_are_never_parted() -> None:
    features = np.full((6, 3), 0.7, np.float32)
    assert best_split(features, np.array([0, 1, 0, 1, 1, 1], np.float32)) is None


def test_ties_go_to_the_first_feature_and_then_to_the_lowest_threshold() -> None:
    column = np.array([0, 1, 2, 3], np.float32)
    features = np.column_stack([np.zeros(4, np.float32), column, column])
    assert best_split(features, np.array([1.0, 0.0, 0.0, 1.0])) == Split(1, 0.5, 1 / 12)


@pytest.mark.parametrize(
    ("low", "high"),
    [
        (0.0, 1.0),
        (1.0, np.nextafter(np.float32(1), np.float32(2))),
        (np.nextafter(np.float32(1), np.float32(0)), 1.0),
        (0.0, np.finfo(np.float32).smallest_subnormal),
        (-np.finfo(np.float32).smallest_subnormal, 0.0),
        (-LARGEST, LARGEST),
        (np.nextafter(LARGEST, np.float32(0)), LARGEST),
    ],
)
def test_a_threshold_parts_even_neighbouring_floats(low: float, high: float) -> None:
    threshold = np.float32(threshold_between(np.float32(low), np.float32(high)))
    assert np.float32(low) < threshold <= np.float32(high)
