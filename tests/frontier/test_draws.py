"""The leaves of a Tree-Frontier draw among their links by chance, and by nothing else."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from tres_crawler.frontier.leaves import TreeFrontier
from tres_crawler.frontier.tree import Tree

CHI_SQUARE_999 = 43.82
"""What a uniform draw among 20 links stays below 999 times in 1,000 (19 degrees of freedom)."""


def frontier_of_three_leaves(draws: int = 1) -> TreeFrontier:
    """Two leaves of 20 free and 5 held links each and an empty one, after links and holds have come and gone."""
    frontier, rng = TreeFrontier(Tree(1), np.random.default_rng(11), draws=draws), np.random.default_rng(12)
    for value, reward in ((0.0, 0.0), (1.0, 1.0), (2.0, 0.0)):
        frontier.learn(np.array([value], np.float32), reward)
    assert frontier.leaves == 3
    numbers = rng.permutation(np.arange(1, 101)).astype(np.int32)
    hosts = np.where(numbers % 10 < 2, 9, numbers % 7).astype(np.int32)
    for part in np.split(np.arange(100), 10):
        frontier.place(numbers[part], hosts[part], (numbers[part, None] % 2).astype(np.float32))
    for host in (3, 9, 5):
        frontier.hold(host)
    for number in range(1, 51):
        frontier.take(number)
    for host in (3, 5):
        frontier.release(host)
    return frontier


def chi_squares(frontier: TreeFrontier, links: int, *, held_too: bool) -> list[float]:
    """For each leaf, how far from uniform its draws are."""
    draws, drawn = 12_000, Counter[tuple[int, int]]()
    for _ in range(draws):
        offers = frontier.samples() if held_too else frontier.offers()
        drawn.update(zip(offers.leaves.tolist(), offers.links.tolist(), strict=True))
    leaves = sorted({leaf for leaf, _ in drawn})
    counts = [[count for (its, _), count in drawn.items() if its == leaf] for leaf in leaves]
    assert [len(count) for count in counts] == [links, links]
    return [sum((one - draws / links) ** 2 / (draws / links) for one in count) for count in counts]


def test_every_leaf_draws_uniformly_among_its_links_of_free_hosts() -> None:
    assert max(chi_squares(frontier_of_three_leaves(), 20, held_too=False)) < CHI_SQUARE_999


def test_samples_are_uniform_among_all_links_held_ones_included() -> None:
    assert max(chi_squares(frontier_of_three_leaves(), 25, held_too=True)) < CHI_SQUARE_999 + 8  # 24 degrees: 51.2


@pytest.mark.parametrize(("draws", "each"), [(1, 1), (3, 2), (5, 3), (14, 7), (10_000, 20)])
def test_draws_are_shared_out_among_leaves_and_no_link_is_offered_twice(draws: int, each: int) -> None:
    frontier = frontier_of_three_leaves(draws)
    offered: set[int] = set()
    for _ in range(200):
        offers = frontier.offers()
        assert len(set(offers.links.tolist())) == len(offers)
        assert [*Counter(offers.leaves.tolist()).values()] == [each, each], "of both leaves with links of free hosts"
        offered.update(offers.links.tolist())
    assert len(offered) == 40


def test_with_many_draws_every_link_is_as_likely_as_any_other() -> None:
    frontier, drawn, times = frontier_of_three_leaves(14), Counter[int](), 6_000
    for _ in range(times):
        drawn.update(frontier.offers().links.tolist())
    mean = drawn.total() / 40
    assert len(drawn) == 40
    assert max(abs(count - mean) for count in drawn.values()) < 0.08 * mean


def test_the_draws_of_two_leaves_are_independent() -> None:
    frontier, seen = frontier_of_three_leaves(), set()
    for _ in range(4_000):
        seen.add(tuple(frontier.offers().links.tolist()))
    assert len(seen) > 390  # of 400 pairs
