"""Every frontier keeps the promises of the Frontier protocol."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from tests import checks
from tests.checks import MakeFrontier, Operation
from tres_crawler.frontier.buckets import RandomFrontier
from tres_crawler.frontier.flat import FlatFrontier
from tres_crawler.frontier.guided import GuidedFrontier
from tres_crawler.frontier.queue import OrderedFrontier, most_promising_first
from tres_crawler.frontier.scored import RescoredFrontier, ScoredFrontier
from tres_crawler.records import Offer


def random_frontier() -> RandomFrontier:
    return RandomFrontier(random.Random(1))


def best_first() -> OrderedFrontier:
    return OrderedFrontier(most_promising_first)


def guided() -> GuidedFrontier:
    return GuidedFrontier(random_frontier(), best_first())


def let_go() -> GuidedFrontier:
    frontier = guided()
    frontier.let_go()
    return frontier


def scored() -> ScoredFrontier:
    return ScoredFrontier(all_alike)


def rescored() -> RescoredFrontier:
    return RescoredFrontier(all_alike)


def flat() -> FlatFrontier:
    return FlatFrontier(2, lambda features, hosts: features[:, 0])


def all_alike(placed: Sequence[Offer]) -> list[float]:
    return [0.0] * len(placed)


every_frontier = pytest.mark.parametrize(
    "make", [random_frontier, OrderedFrontier, best_first, guided, let_go, scored, rescored, flat]
)
operations = some.lists(
    some.builds(
        Operation,
        some.sampled_from(["place", "place again", "take", "hold", "release"]),
        some.integers(1, 4),
        some.integers(0, 5),
    ),
    max_size=80,
)


@every_frontier
def test_every_link_is_offered_until_it_is_taken_and_taken_once(make: MakeFrontier) -> None:
    checks.offers_every_link_until_it_is_taken(make)


@every_frontier
def test_a_held_host_offers_nothing_and_loses_nothing(make: MakeFrontier) -> None:
    checks.offers_nothing_of_a_held_host_and_keeps_its_links(make)


@every_frontier
def test_a_host_is_free_after_as_many_releases_as_holds(make: MakeFrontier) -> None:
    checks.frees_a_host_only_after_as_many_releases_as_holds(make)


@every_frontier
def test_many_hosts_are_held_and_released_at_once(make: MakeFrontier) -> None:
    checks.holds_and_releases_many_hosts_at_once(make)


@every_frontier
@settings(derandomize=True, database=None, deadline=None, max_examples=300)
@given(operations=operations)
def test_a_long_random_life_agrees_with_a_plain_model(make: MakeFrontier, operations: list[Operation]) -> None:
    checks.does_what_a_plain_model_does(make, operations)


@every_frontier
def test_a_host_that_is_dropped_takes_all_its_links_with_it(make: MakeFrontier) -> None:
    checks.drops_a_host_with_all_its_links(make)
