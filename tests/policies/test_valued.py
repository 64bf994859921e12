"""Offers ranked by value, and the patience to wait for a better one."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pytest

from tres_crawler.frontier.leaves import TreeFrontier
from tres_crawler.frontier.tree import Tree
from tres_crawler.policies.valued import MOST_OFFERS, ValuedFrontier
from tres_crawler.records import Offer

Floats = npt.NDArray[np.float32]
Hosts = npt.NDArray[np.int32]


def frontier_of(values: dict[int, float], eagerness: float, out_of_reach: set[int] | None = None) -> ValuedFrontier:
    """A leaf for each link; link n is on host n and is worth its only feature."""
    rng = np.random.default_rng(1)
    tree = Tree(1)
    # Experiences between any two values part the line, so that every link has a leaf of its own.
    for value in sorted(set(values.values())):
        for reward, at in ((1.0, value), (0.0, value + 1e-3)):
            tree.learn(np.array([at], np.float32), reward)
    frontier = ValuedFrontier(
        TreeFrontier(tree, rng),
        lambda features, hosts: features[:, 0],
        eagerness,
        lambda host: host in (out_of_reach or set()),
        rng,
    )
    frontier.place(Offer(n, n, features=np.array([value], np.float32)) for n, value in values.items())
    return frontier


def offered(frontier: ValuedFrontier) -> list[int]:
    return [offer.link for offer in frontier.offer()]


def test_the_most_valuable_link_is_offered_first_and_tells_its_value() -> None:
    frontier = frontier_of({1: 0.2, 2: 0.9, 3: 0.5}, eagerness=1.0)
    assert offered(frontier) == [2, 3, 1]
    best = frontier.offer()[0]
    assert (round(best.value or 0, 3), best.explored) == (0.9, False)
    assert best.features is not None and best.features[0] == pytest.approx(0.9, abs=1e-3)


def test_an_eager_crawl_takes_anything_and_a_patient_one_waits_for_the_best_host() -> None:
    values = {1: 0.2, 2: 0.9, 3: 0.5}
    for eagerness, expected in ((1.0, [3, 1]), (0.5, [3]), (0.2, []), (0.0, [])):
        frontier = frontier_of(values, eagerness)
        frontier.hold(2)
        assert offered(frontier) == expected, eagerness


def test_nobody_waits_for_a_host_that_is_out_of_reach() -> None:
    frontier = frontier_of({1: 0.2, 2: 0.9, 3: 0.5}, eagerness=0.0, out_of_reach={2})
    frontier.hold(2)
    assert offered(frontier) == [3]


def test_where_nothing_is_worth_anything_everything_may_be_taken() -> None:
    assert sorted(offered(frontier_of({1: -0.2, 2: -0.9, 3: 0.0}, eagerness=0.0))) == [1, 2, 3]


def test_exploration_offers_any_leaf_and_says_so() -> None:
    frontier = frontier_of({n: n / 100 for n in range(1, 21)}, eagerness=0.5)
    frontier.exploration = 1.0
    drawn = [frontier.offer()[0] for _ in range(200)]
    assert all(offer.explored for offer in drawn)
    assert len({offer.link for offer in drawn}) > 15


def test_a_choice_by_chance_and_one_by_value_are_told_apart() -> None:
    frontier = frontier_of({n: n / 100 for n in range(1, 21)}, eagerness=1.0)
    frontier.exploration = 0.3
    first = [frontier.offer()[0] for _ in range(400)]
    assert all(offer.explored for offer in first if offer.link != 20), "only chance puts another before the best"
    by_value = [offer for offer in first if not offer.explored]
    assert 230 < len(by_value) < 330


def test_exploration_knows_leaves_and_not_how_many_links_they_offer() -> None:
    rng, tree = np.random.default_rng(1), Tree(1)
    for value, reward in ((0.0, 0.0), (1.0, 1.0)):
        tree.learn(np.array([value], np.float32), reward)
    frontier = ValuedFrontier(
        TreeFrontier(tree, rng, draws=600), lambda features, hosts: features[:, 0], 1.0, lambda host: False, rng
    )
    frontier.place(Offer(n, n, features=np.array([float(n <= 10)], np.float32)) for n in range(1, 300))
    frontier.exploration = 1.0
    few = sum(offer.link <= 10 for offer in (frontier.offer()[0] for _ in range(400)))
    assert 150 < few < 250


def test_of_every_host_the_best_link_is_offered() -> None:
    rng = np.random.default_rng(1)
    frontier = ValuedFrontier(
        TreeFrontier(Tree(1), rng, draws=1000), lambda features, hosts: features[:, 0], 1.0, lambda host: False, rng
    )
    frontier.place(Offer(n, n % 3, features=np.array([n / 100], np.float32)) for n in range(1, 91))
    assert offered(frontier) == [90, 89, 88]


def test_a_link_is_offered_once_and_not_too_many_at_a_time() -> None:
    frontier = frontier_of({n: n / 1000 for n in range(1, 200)}, eagerness=1.0)
    frontier.exploration = 0.5
    links = offered(frontier)
    assert len(links) == len(set(links)) <= MOST_OFFERS


def test_a_sample_is_drawn_without_being_removed_held_or_not() -> None:
    frontier = frontier_of({1: 0.2, 2: 0.9}, eagerness=1.0)
    frontier.hold(2)
    best = frontier.sample(best=True)
    assert best is not None and best[0] == pytest.approx(0.9, abs=1e-3)
    assert len(frontier) == 2
    assert frontier_of({}, 1.0).sample(best=True) is None


def test_a_better_draw_of_a_free_host_is_no_reason_to_wait() -> None:
    rng = np.random.default_rng(1)
    tree = TreeFrontier(Tree(1), rng)
    frontier = ValuedFrontier(tree, lambda features, hosts: features[:, 0], 0.5, lambda host: False, rng)
    frontier.place(Offer(n, n, features=np.array([0.1 if n % 2 else 0.9], np.float32)) for n in range(1, 41))
    # One leaf with good and bad links: with nothing under way, an empty answer would end the crawl's life.
    assert all(len(offered(frontier)) == 1 for _ in range(50))


@dataclass
class Remembering:
    """Link n of 500 is on host n and worth n / 1,000; twenty are drawn at a time, eight remembered, all met by now."""

    eagerness: float = 1.0
    full: set[int] = field(default_factory=set)
    valued: list[list[float]] = field(default_factory=list)
    """What each choice has valued."""

    def __post_init__(self) -> None:
        rng = np.random.default_rng(1)
        self.frontier = ValuedFrontier(
            TreeFrontier(Tree(1), rng, draws=20),
            self.value,
            self.eagerness,
            lambda host: False,
            rng,
            shortlist=8,
            are_full=lambda hosts: np.isin(hosts, list(self.full)),
        )
        self.frontier.place(Offer(n, n, features=np.array([n / 1000], np.float32)) for n in range(1, 501))
        for _ in range(300):
            self.frontier.offer()

    def value(self, features: Floats, hosts: Hosts) -> Floats:
        self.valued.append(hosts.tolist())
        return features[:, 0]

    def fill(self, *hosts: int) -> None:
        """A full site's hosts are held for good."""
        self.full.update(hosts)
        for host in hosts:
            self.frontier.hold(host)


def test_the_best_links_that_were_ever_drawn_are_looked_at_again() -> None:
    frontier = Remembering().frontier
    assert all(offered(frontier)[:5] == [500, 499, 498, 497, 496] for _ in range(20))


def test_of_remembered_links_those_that_are_gone_or_whose_host_rests_are_not_offered() -> None:
    frontier = Remembering().frontier
    frontier.take(Offer(500, 500))
    frontier.drop(499)
    frontier.hold(498)
    assert offered(frontier)[:2] == [497, 496]
    frontier.release(498)
    assert offered(frontier)[:2] == [498, 497]


def test_a_remembered_link_is_worth_waiting_for_while_its_host_rests() -> None:
    frontier = Remembering(eagerness=0.0).frontier
    frontier.hold(500)
    assert all(offered(frontier) == [] for _ in range(20))
    frontier.release(500)
    assert offered(frontier) == [500]


@pytest.mark.parametrize("eagerness", [0.1, 1.0])
def test_links_of_full_sites_leave_the_list_to_others(eagerness: float) -> None:
    crawl = Remembering(eagerness)
    crawl.fill(*range(401, 501))
    for _ in range(300):
        crawl.frontier.offer()
    crawl.valued.clear()
    assert offered(crawl.frontier)[:3] == [400, 399, 398]
    assert not crawl.full & set(crawl.valued[0])


def test_a_choice_values_no_link_twice() -> None:
    crawl = Remembering(eagerness=0.1)
    for host in range(490, 500):
        crawl.frontier.hold(host)
    crawl.valued.clear()
    for _ in range(50):
        crawl.frontier.offer()
    assert all(len(links) == len(set(links)) for links in crawl.valued)


def test_an_eager_crawl_takes_what_is_worth_nothing_while_what_it_remembers_rests() -> None:
    rng = np.random.default_rng(1)
    tree = TreeFrontier(Tree(1), rng, draws=20)
    frontier = ValuedFrontier(tree, lambda features, hosts: features[:, 0], 1.0, lambda host: False, rng, shortlist=8)
    frontier.place(Offer(n, n, features=np.array([value], np.float32)) for n, value in ((1, -0.2), (2, 0.5), (3, -0.1)))
    assert offered(frontier)[0] == 2
    frontier.hold(2)
    assert offered(frontier) == [3, 1]


def test_exploration_takes_nothing_of_a_host_that_rests() -> None:
    frontier = Remembering().frontier
    resting = set(range(493, 501))
    for host in resting:
        frontier.hold(host)
    frontier.exploration = 1.0
    assert not resting & {link for _ in range(100) for link in offered(frontier)}
