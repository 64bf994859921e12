"""The random frontier draws every link of a free host with equal chance, whichever way it goes about it."""

from __future__ import annotations

import random
from collections import Counter

from tres_crawler.frontier.buckets import RandomFrontier
from tres_crawler.records import Offer

FREE_LINKS_OF_HOST = {1: 1, 2: 2, 3: 5, 4: 12}
FREE_LINKS = sum(FREE_LINKS_OF_HOST.values())
CHI_SQUARE_999 = 43.82
"""What a uniform draw among 20 links stays below 999 times in 1,000 (19 degrees of freedom)."""


def frontier_with_free_and_held_links(held_links: int) -> RandomFrontier:
    """A few free hosts of very different size beside one held host; some links have come and gone again."""
    frontier, rng, last = RandomFrontier(random.Random(2)), random.Random(3), 0
    links = []
    for host, count in {**FREE_LINKS_OF_HOST, 9: held_links}.items():
        links += [Offer(last + at + 1, host) for at in range(2 * count)]
        last += 2 * count
    rng.shuffle(links)
    frontier.place(links)
    seen: Counter[int] = Counter()
    for link in links:
        seen[link.host] += 1
        if seen[link.host] % 2:
            frontier.take(link)
    frontier.hold(9)
    return frontier


def chi_square_of_draws(frontier: RandomFrontier, draws: int = 20_000) -> float:
    drawn = Counter(frontier.offer()[0].link for _ in range(draws))
    expected = draws / FREE_LINKS
    assert len(drawn) == FREE_LINKS
    return sum((count - expected) ** 2 / expected for count in drawn.values())


def test_draws_are_uniform_when_most_hosts_are_free() -> None:
    frontier = frontier_with_free_and_held_links(held_links=10)
    assert chi_square_of_draws(frontier) < CHI_SQUARE_999


def test_draws_are_uniform_when_nearly_all_links_belong_to_held_hosts() -> None:
    frontier = frontier_with_free_and_held_links(held_links=5_000)
    assert chi_square_of_draws(frontier) < CHI_SQUARE_999
