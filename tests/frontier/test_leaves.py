"""The Tree-Frontier keeps every link in the leaf it is routed to, those that may be fetched now first."""

from __future__ import annotations

import tracemalloc
from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from tests import checks
from tests.checks import Operation
from tres_crawler.config import FeatureSettings
from tres_crawler.features import Describer
from tres_crawler.frontier.arrays import Floats, Ints
from tres_crawler.frontier.leaves import FEW_HOSTS, TreeFrontier, rounded
from tres_crawler.frontier.tree import Tree
from tres_crawler.records import Offer, Offers

WIDTH = 3


def ints(values: Iterable[int]) -> Ints:
    return np.array(list(values), np.int32)


class Waiting(NamedTuple):
    host: int
    vector: Floats


class Model:
    """A frontier as plain as can be beside the real one; both live through the same."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.frontier = TreeFrontier(Tree(WIDTH), np.random.default_rng(seed + 1), WIDTH + 1)
        self.waiting: dict[int, Waiting] = {}
        self.taken: list[tuple[int, Waiting]] = []
        self.learned: list[tuple[Floats, float]] = []
        self.holds: Counter[int] = Counter()
        self.last = 0

    def vectors(self, count: int) -> Floats:
        """Some features have few values, and some vectors are the same."""
        vectors = rounded(self.rng.random((count, WIDTH), np.float32))
        vectors[:, 0] = np.round(vectors[:, 0])
        vectors[:, 1] = np.round(vectors[:, 1] * 4) / 4
        return vectors

    def rows(self, numbers: Iterable[int], vectors: Floats) -> Floats:
        """Beside what the tree looks at, a link has a word: its number."""
        return np.column_stack([vectors, ints(numbers)]).astype(np.float32)

    def do(self, verb: str, host: int, pick: int) -> None:
        if verb == "place":
            numbers, vectors = range(self.last + 1, self.last + pick + 1), self.vectors(pick)
            hosts = [host + at % 2 for at in range(pick)]
            self.last += pick
            self.waiting |= {
                number: Waiting(its, vector) for number, its, vector in zip(numbers, hosts, vectors, strict=True)
            }
            self.frontier.place(ints(numbers), ints(hosts), self.rows(numbers, vectors))
        elif verb == "place again" and self.taken:  # a fetch that is to be tried again
            number, link = self.taken.pop(pick % len(self.taken))
            self.waiting[number] = link
            self.frontier.place(ints([number]), ints([link.host]), self.rows([number], link.vector[None]))
        elif verb == "take" and self.waiting:
            number = sorted(self.waiting)[pick % len(self.waiting)]
            link = self.waiting.pop(number)
            self.taken.append((number, link))
            assert self.frontier.take(number).tolist() == [*link.vector.tolist(), number]
        elif verb == "hold":
            self.holds[host] += 1
            self.frontier.hold(host)
        elif verb == "release" and self.holds[host]:
            self.holds[host] -= 1
            self.frontier.release(host)
        elif verb == "drop":
            dropped = [number for number, link in self.waiting.items() if link.host == host]
            for number in dropped:
                del self.waiting[number]
            assert self.frontier.drop(host) == len(dropped)
        elif verb == "learn":
            self.learned.append((self.vectors(1)[0], float(pick % 2)))
            self.frontier.learn(*self.learned[-1])
        elif verb == "rebuild":
            self.learned = [(vector, 1 - reward) for vector, reward in self.learned]
            tree = Tree(WIDTH)
            for vector, reward in self.learned:
                tree.learn(vector, reward)
            self.frontier.rebuild(tree)

    def by_leaf(self) -> dict[int, tuple[set[int], set[int]]]:
        """For every leaf with links, those of free hosts and those of held ones."""
        leaves: dict[int, tuple[set[int], set[int]]] = {}
        for number, link in self.waiting.items():
            (leaf,) = self.frontier.tree.route(link.vector[None]).tolist()
            leaves.setdefault(leaf, (set(), set()))[self.holds[link.host] > 0].add(number)
        return leaves

    def agrees(self) -> None:
        frontier, expected = self.frontier, self.by_leaf()
        assert len(frontier) == len(self.waiting)
        assert found_by_leaf(frontier) == expected
        free = {leaf: mine for leaf, (mine, _) in expected.items() if mine}
        assert frontier.can_offer == bool(free)
        assert frontier._free_links == sum(map(len, free.values()))
        self.are_one_of_each(frontier.offers(), free)
        self.are_one_of_each(frontier.samples(), {leaf: mine | held for leaf, (mine, held) in expected.items()})
        # Of any numbers there ever were, those that wait, as they are known; every third is asked for.
        asked = ints(range(1 + self.last % 3, self.last + 1, 3))
        known = frontier.those_of(asked)
        assert known.links.tolist() == [number for number in asked.tolist() if number in self.waiting]
        assert known.features[:, WIDTH].tolist() == known.links.tolist()
        assert known.hosts.tolist() == [self.waiting[number].host for number in known.links.tolist()]
        assert all(number in set.union(*expected[leaf]) for number, leaf in zip(known.links, known.leaves, strict=True))
        assert frontier.are_held(known.hosts).tolist() == [self.holds[host] > 0 for host in known.hosts.tolist()]
        for host in set(self.holds) | {link.host for link in self.waiting.values()}:
            theirs = {number for number, link in self.waiting.items() if link.host == host}
            assert set(frontier._numbers[frontier._links_of(host)].tolist()) == theirs

    def are_one_of_each(self, offers: Offers, leaves: dict[int, set[int]]) -> None:
        assert offers.leaves.tolist() == sorted(leaves)
        for at in range(len(offers)):
            offer = offers[at]
            assert offer.link in leaves[offer.leaf]
            assert offer.host == self.waiting[offer.link].host
            assert offers.features[at].tolist() == [*self.waiting[offer.link].vector.tolist(), offer.link]


def found_by_leaf(frontier: TreeFrontier) -> dict[int, tuple[set[int], set[int]]]:
    """What the arrays hold: the first links of a leaf are free ones, the rest held ones, and none is there twice."""
    found = {}
    for leaf in np.flatnonzero(frontier._by_leaf.sizes).tolist():
        links = frontier._numbers[frontier._by_leaf.items(leaf)].tolist()
        assert len(set(links)) == len(links)
        free = int(frontier._free[leaf])
        found[leaf] = set(links[:free]), set(links[free:])
    return found


verbs = [
    "place",
    "place",
    "take",
    "take",
    "place again",
    "hold",
    "release",
    "drop",
    "learn",
    "learn",
    "rebuild",
]
operations = some.lists(some.tuples(some.sampled_from(verbs), some.integers(1, 5), some.integers(0, 9)), max_size=60)


@settings(derandomize=True, database=None, deadline=None, max_examples=150)
@given(seed=some.integers(0, 1_000), operations=operations)
def test_every_link_is_in_its_leaf_free_ones_first_after_any_life(
    seed: int, operations: list[tuple[str, int, int]]
) -> None:
    model = Model(seed)
    for operation in operations:
        model.do(*operation)
        model.agrees()


def test_thousands_of_links_on_large_and_small_hosts_stay_where_they_belong() -> None:
    model, rng = Model(7), np.random.default_rng(8)
    chances = [0.25, 0.25, 0.05, 0.15, 0.1, 0.02, 0.17, 0.01]
    for at in range(900):
        verb = rng.choice(["place", "take", "place again", "hold", "release", "drop", "learn", "rebuild"], p=chances)
        model.do(verb, int(rng.integers(1, 9) ** 2), int(rng.integers(0, 60)))
        if at % 100 == 99:
            model.agrees()
    assert len(model.waiting) > 1_000
    assert model.frontier.leaves > 30


class Protocolled(TreeFrontier):
    """A Tree-Frontier of one leaf that speaks as the others do."""

    def __init__(self) -> None:
        super().__init__(Tree(1), np.random.default_rng(1))

    def place(self, links: Iterable[Offer]) -> None:  # type: ignore[override]  # for the shared checks
        placed = list(links)
        features = np.zeros((len(placed), 1), np.float32)
        super().place(ints(link.link for link in placed), ints(link.host for link in placed), features)

    def offer(self) -> list[Offer]:
        offers = self.offers()
        return [offers[at] for at in range(len(offers))]

    def take(self, offer: Offer) -> None:  # type: ignore[override]
        super().take(offer.link)


def test_what_every_frontier_must_do_it_does() -> None:
    checks.offers_every_link_until_it_is_taken(Protocolled)
    checks.offers_nothing_of_a_held_host_and_keeps_its_links(Protocolled)
    checks.frees_a_host_only_after_as_many_releases_as_holds(Protocolled)
    checks.holds_and_releases_many_hosts_at_once(Protocolled)
    rng, shared = np.random.default_rng(5), ["place", "place again", "take", "hold", "release"]
    for _ in range(30):
        life = [Operation(rng.choice(shared), int(rng.integers(1, 5)), int(rng.integers(6))) for _ in range(80)]
        checks.does_what_a_plain_model_does(Protocolled, life)


def test_a_split_moves_the_links_of_its_leaf_and_no_others() -> None:
    frontier = TreeFrontier(Tree(1), np.random.default_rng(1))
    frontier.learn(np.array([0.0], np.float32), 0.0)
    frontier.learn(np.array([1.0], np.float32), 1.0)
    frontier.hold(3)
    numbers = np.arange(100, dtype=np.int32)
    frontier.place(numbers, numbers % 7, (numbers[:, None] / 100).astype(np.float32))
    before = found_by_leaf(frontier)
    event = frontier.learn(np.array([0.75], np.float32), 0.0)
    assert event is not None
    assert (event.node.number, event.node.threshold) == (2, 0.875)
    assert before.keys() == {1, 2}
    held = set(range(3, 100, 7))
    assert found_by_leaf(frontier) == {
        1: before[1],
        event.node.left: (set(range(50, 88)) - held, set(range(50, 88)) & held),
        event.node.right: (set(range(88, 100)) - held, set(range(88, 100)) & held),
    }


def test_a_million_links_at_once_end_where_they_would_one_by_one() -> None:
    """In small: the order of lists may differ, what is in them may not."""
    features = np.random.default_rng(1).random((500, 2), np.float32)
    rewards = (features[:, 0] > features[:, 1]) * 1.0
    numbers, hosts = ints(range(1, 501)), ints(at % 17 for at in range(500))
    frontiers = [TreeFrontier(Tree.grown(features[:99], rewards[:99]), np.random.default_rng(2)) for _ in range(2)]
    for frontier in frontiers:
        frontier.hold(4)
    frontiers[0].place(numbers, hosts, features)
    for at in range(500):
        frontiers[1].place(numbers[at : at + 1], hosts[at : at + 1], features[at : at + 1])
    assert found_by_leaf(frontiers[0]) == found_by_leaf(frontiers[1])


@pytest.mark.parametrize("hosts", [FEW_HOSTS, FEW_HOSTS + 1])
def test_hosts_held_and_released_together_end_as_one_by_one(hosts: int) -> None:
    """Links of few hosts stand in the same order, too, so that a seed draws the same ones."""
    features = np.random.default_rng(1).random((900, 2), np.float32)
    rewards = (features[:, 0] > features[:, 1]) * 1.0
    numbers, its_host = ints(range(1, 901)), ints(at % 45 for at in range(900))
    frontiers = [TreeFrontier(Tree.grown(features[:99], rewards[:99]), np.random.default_rng(2)) for _ in range(2)]
    together, one_by_one = frontiers
    for frontier in frontiers:
        frontier.place(numbers, its_host, features)
        frontier.hold(4)
    together.hold(*range(hosts))
    for host in range(hosts):
        one_by_one.hold(host)
    assert found_by_leaf(together) == found_by_leaf(one_by_one)
    together.release(*range(hosts))
    for host in range(hosts):
        one_by_one.release(host)
    assert found_by_leaf(together) == found_by_leaf(one_by_one)
    if hosts <= FEW_HOSTS:
        assert [list(together.offers().links) for _ in range(9)] == [list(one_by_one.offers().links) for _ in range(9)]


def test_links_that_were_routed_beforehand_end_where_they_would_otherwise() -> None:
    """Also those that were taken, came or came back meanwhile."""
    features = rounded(np.random.default_rng(1).random((500, 2), np.float32))
    rewards = (features[:, 0] > features[:, 1]) * 1.0
    numbers, hosts = ints(range(1, 501)), ints(at % 17 for at in range(500))
    frontiers = [TreeFrontier(Tree(2), np.random.default_rng(2)) for _ in range(2)]
    grown = [Tree.grown(features[:99], rewards[:99]) for _ in range(2)]
    for frontier in frontiers:
        frontier.place(numbers[:400], hosts[:400], features[:400])
        frontier.hold(4)
    known, placed = frontiers[0].placed()
    leaves = grown[0].route(placed.astype(np.float32))
    for frontier in frontiers:
        for number in range(1, 50, 3):
            frontier.take(number)
        frontier.place(ints([4, 40, 1]), hosts[[3, 39, 0]], features[[3, 39, 0]])
        frontier.place(numbers[400:], hosts[400:], features[400:])
    frontiers[0].rebuild(grown[0], known, leaves)
    frontiers[1].rebuild(grown[1])
    assert found_by_leaf(frontiers[0]) == found_by_leaf(frontiers[1])
    assert len(found_by_leaf(frontiers[0])) > 5
    assert list(frontiers[0].offers().links) == list(frontiers[1].offers().links)


def test_an_empty_frontier_offers_nothing_and_takes_every_command() -> None:
    frontier = TreeFrontier(Tree(2), np.random.default_rng(1))
    frontier.place(ints([]), ints([]), np.zeros((0, 2), np.float32))
    assert (len(frontier), len(frontier.offers()), len(frontier.samples())) == (0, 0, 0)
    assert not frontier.can_offer
    assert frontier.drop(12) == 0
    frontier.hold()
    frontier.release()
    frontier.hold(3)
    frontier.release(3)
    frontier.rebuild(Tree(2))
    assert 1 not in frontier


def test_what_cannot_be_placed_taken_or_released_is_refused_and_changes_nothing() -> None:
    frontier, vector = TreeFrontier(Tree(2), np.random.default_rng(1)), np.zeros((1, 2), np.float32)
    frontier.place(ints([5]), ints([1]), vector)
    with pytest.raises(ValueError, match="waits already"):
        frontier.place(ints([5]), ints([2]), vector)
    with pytest.raises(ValueError, match="waits already"):
        frontier.place(ints([6, 6]), ints([2, 2]), np.zeros((2, 2), np.float32))
    for features in (vector + np.nan, vector + 1e6, vector[:, :1], np.zeros((2, 2), np.float32)):
        with pytest.raises(ValueError, match="2 features"):
            frontier.place(ints([6]), ints([2]), features)
    for link in (0, 6, 10**6, -1):
        with pytest.raises(KeyError):
            frontier.take(link)
    for host in (1, 10**6):
        with pytest.raises(KeyError):
            frontier.release(host)
    frontier.hold(2)
    with pytest.raises(KeyError):
        frontier.release(2, 1)
    frontier.release(2)
    assert found_by_leaf(frontier) == {0: ({5}, set())}


def test_a_link_as_crawls_describe_it_costs_less_than_100_bytes_however_it_came() -> None:
    rng, count, describer = np.random.default_rng(1), 60_000, Describer(FeatureSettings(), ())
    tree = Tree.grown(rng.random((400, describer.placed), np.float32), rng.integers(0, 2, 400) * 1.0)
    rows = rng.random((count, describer.width), np.float32)
    hosts = rng.integers(1, count // 50, count).astype(np.int32)
    numbers, worst = ints(range(1, count + 1)), 0.0
    for step in (count, 500):
        tracemalloc.start()
        frontier = TreeFrontier(tree, rng, describer.width)
        for at in range(0, count, step):
            part = slice(at, at + step)
            frontier.place(numbers[part], hosts[part], rows[part])
            if len(frontier) >= count // 4:  # the worst moment is just after the arrays have grown
                worst = max(worst, tracemalloc.get_traced_memory()[0] / len(frontier))
        assert frontier.nbytes == pytest.approx(tracemalloc.get_traced_memory()[0], rel=0.02)
        tracemalloc.stop()
    assert worst < 100, worst
