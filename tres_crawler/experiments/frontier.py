"""What a choice and an update of the Tree-Frontier cost, and a link in memory, beside valuing every waiting link."""

from __future__ import annotations

import time
import tracemalloc
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from statistics import median
from typing import Any

import numpy as np

from tres_crawler.config import FrontierSettings
from tres_crawler.experiments.report import Check, Report, Say
from tres_crawler.features import ANCHOR, NAMED, NAMED_SITE
from tres_crawler.finds import ADDRESS, Finds
from tres_crawler.frontier.arrays import Floats, Ints
from tres_crawler.frontier.leaves import TreeFrontier, rounded
from tres_crawler.frontier.tree import Growth, Tree
from tres_crawler.wording import BUCKETS, WORDS, Wording

SIZES, LEAVES = (10_000, 100_000, 1_000_000), (500, 2_500)
DRAWS = (1, FrontierSettings().draws)
"""Links that a choice looks at: one of each leaf, as in TRES, and as many as crawls take by default."""
ROUNDS, QUICK_ROUNDS = 200, 40
SYNC_ROUNDS = 3
LINKS_PER_HOST = 50
HOSTS_PER_FREE_ONE = 10
"""When 90 % of the hosts are held, those with a number divisible by this are free."""
STEP_LINKS = 60
"""Links that one page brings."""
WIDTH, HIDDEN = 10, 64
"""As many features as a link of the set `extended` is kept with; the numbers of words follow them."""
FOUND_OUT = len(NAMED) + len(NAMED_SITE)
"""So many more are found out about it when it is valued."""
ROWS = 64
"""Rows that the network takes at once, so that it stays on one thread and in the caches.

Waking a second thread for half a millisecond of work took 15 ms when both cores were busy.
"""
MOST_GROWTH, MOST_BYTES = 1.5, 100
ENOUGH = 0.9
"""Share of the links valued at the largest size that makes another size comparable."""


class Network:
    """A value network 15-64-64-1 in plain numpy, with weights that mean nothing; it counts what it values."""

    def __init__(self, rng: np.random.Generator) -> None:
        shapes = ((WIDTH + FOUND_OUT, HIDDEN), (HIDDEN, HIDDEN), (HIDDEN, 1))
        self._layers = [rng.standard_normal(shape, np.float32) / np.float32(shape[0] ** 0.5) for shape in shapes]
        self._words, self._finds = Wording(), Finds()
        self.evaluations = 0

    def values(self, rows: Floats) -> Floats:
        """Of links as they are known now: their words, addresses and sites are looked up."""
        self.evaluations += len(rows)
        named = self._finds.of_links(rows[:, -ADDRESS:], rows[:, ANCHOR])
        # A number of the link stands in for that of its site, which costs as much to look up.
        site = self._finds.of_sites(rows[:, -1].astype(np.int64), 0.5)
        known = np.concatenate([rows[:, :WIDTH], named, site], axis=1)
        known[:, WIDTH - 1] = self._words.probabilities(rows[:, WIDTH:-ADDRESS])
        first, second, last = self._layers
        values = np.empty(len(rows), np.float32)
        for at in range(0, len(rows), ROWS):
            hidden = np.maximum(np.maximum(known[at : at + ROWS] @ first, 0) @ second, 0)
            values[at : at + ROWS] = (hidden @ last)[:, 0]
        return values


# ---- a world of links ----


def some_vectors(count: int, rng: np.random.Generator) -> Floats:
    """Vectors like those of a crawl: yes-or-no features, small fractions, and one that is nearly continuous."""
    steps, visits = rng.integers(1, 12, count), rng.integers(1, 30, count)
    columns = [
        rng.random(count) < 0.3,  # parent relevant
        1 / rng.integers(1, 8, count),  # inverse distance
        rng.integers(0, steps + 1) / steps,  # path ratio
        rng.random(count) < 0.1,  # keyword in URL
        rng.random(count) < 0.2,  # keyword in anchor
        rng.random(count) ** 3,  # relevance of the anchor
        rng.integers(0, visits + 1) / visits,  # site ratio
        np.where(rng.random(count) < 0.4, 0.5, 1.0),  # unknown site
        rng.random(count) ** 2,  # share of the site
        rng.random(count),  # chance by its words
    ]
    return rounded(np.column_stack(columns).astype(np.float32))


def some_rows(count: int, rng: np.random.Generator) -> Floats:
    """Vectors, and words of which every fourth link lacks some."""
    words = rng.integers(1, BUCKETS, (count, WORDS + ADDRESS))
    words[:, WORDS // 2 : WORDS] *= rng.random((count, 1)) > 0.25
    return np.column_stack([some_vectors(count, rng), words]).astype(np.float32)


def some_rewards(features: Floats, rng: np.random.Generator) -> Floats:
    chances = 0.2 * features[:, 0] + 0.5 * features[:, 5] + 0.3 * features[:, 6]
    rewards: Floats = (rng.random(len(features)) < chances).astype(np.float32)
    return rewards


def grown_to(leaves: int, rng: np.random.Generator) -> Tree:
    """A tree that has learned until it has so many leaves; it may grow further."""
    tree = Tree(WIDTH, Growth(min_experiences=5, max_depth=18))
    while tree.leaves < leaves:
        (vector,) = features = some_vectors(1, rng)
        tree.learn(vector, float(some_rewards(features, rng)[0]))
    return tree


@dataclass(frozen=True, eq=False)
class World:
    """Links in an order in which every leaf gets one that may be fetched before any gets its second.

    So each beginning of it has as many leaves to choose from, and sizes can be compared with equal leaves.
    """

    rows: Floats
    hosts: Ints
    tree: Tree

    @classmethod
    def of(cls, links: int, least: int, leaves: int, rng: np.random.Generator) -> World:
        """`least` is the shortest beginning that will be asked for."""
        tree, rows = grown_to(leaves, rng), some_rows(links, rng)
        first = np.unique(tree.route(rows[:, :WIDTH]), return_index=True)[1][:least]
        order = np.concatenate([first, np.setdiff1d(np.arange(links), first)])
        # A few hosts have thousands of links, most have a few; numbers without regard to size.
        hosts = rng.permutation(hosts_for(links))[(hosts_for(links) * rng.random(links) ** 3).astype(np.intp)]
        hosts[: len(first)] -= hosts[: len(first)] % HOSTS_PER_FREE_ONE
        return cls(rows[order], hosts.astype(np.int32), tree)

    def frontier(self, tree: Tree, links: int, draws: int, rng: np.random.Generator) -> TreeFrontier:
        """The first links of this world, waiting; all hosts are free."""
        numbers, hosts = np.arange(1, links + 1, dtype=np.int32), self.hosts[:links] % hosts_for(links)
        frontier = TreeFrontier(tree, rng, WIDTH + WORDS + ADDRESS, draws)
        frontier.place(numbers, hosts, self.rows[:links])
        return frontier

    def copy_of_tree(self) -> Tree:
        return Tree.restored(self.tree.splits(), *self.tree.experienced(), self.tree.growth)


def hosts_for(links: int) -> int:
    return max(1, links // LINKS_PER_HOST // HOSTS_PER_FREE_ONE) * HOSTS_PER_FREE_ONE


# ---- one frontier of one size ----


@dataclass(eq=False)
class Case:
    """A frontier under measurement, and the seconds of each thing done to it."""

    links: int
    leaves: int
    draws: int
    held: bool
    world: World
    rng: np.random.Generator
    evaluations: dict[str, int] = field(default_factory=dict)
    seconds: dict[str, list[float]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.network = Network(self.rng)
        tracemalloc.start()
        tree = self.world.copy_of_tree()
        self.tree_bytes = tracemalloc.get_traced_memory()[0]
        self.frontier = self.world.frontier(tree, self.links, self.draws, self.rng)
        self.bytes_per_link = (tracemalloc.get_traced_memory()[0] - self.tree_bytes) / self.links
        tracemalloc.stop()
        self.last = self.links
        for host in range(hosts_for(self.links)):
            if self.held and host % HOSTS_PER_FREE_ONE:
                self.frontier.hold(host)

    def __str__(self) -> str:
        return f"{self.leaves:,} leaves, {self.draws:,} draws, {'90 %' if self.held else 'none'} of the hosts held"

    def draw(self) -> float:
        """An offer of every leaf, and nothing more."""
        started = time.perf_counter()
        self.frontier.offers()
        return time.perf_counter() - started

    def choose(self) -> float:
        """An offer of every leaf, valued, and the best of them."""
        before, started = self.network.evaluations, time.perf_counter()
        offers = self.frontier.offers()
        offers[int(np.argmax(self.network.values(offers.features)))]
        seconds = time.perf_counter() - started
        self.evaluations["choose"] = self.network.evaluations - before
        return seconds

    def sync(self) -> float:
        """Every waiting link valued, and the best of them."""
        before, rows, started = self.network.evaluations, self.world.rows[: self.links], time.perf_counter()
        int(np.argmax(self.network.values(rows)))
        seconds = time.perf_counter() - started
        self.evaluations["sync"] = self.network.evaluations - before
        return seconds

    def update(self) -> float:
        """What a fetched page brings: its link is taken and learned from, its outlinks are placed."""
        link = int(self.rng.choice(self.frontier.offers().links))
        rows = some_rows(STEP_LINKS, self.rng)
        hosts = self.rng.integers(0, hosts_for(self.links), STEP_LINKS).astype(np.int32)
        numbers = np.arange(self.last + 1, self.last + STEP_LINKS + 1, dtype=np.int32)
        self.last += STEP_LINKS
        reward = float(self.rng.random() < 0.3)
        started = time.perf_counter()
        self.frontier.learn(self.frontier.take(link)[:WIDTH], reward)
        self.frontier.place(numbers, hosts, rows)
        return time.perf_counter() - started

    def median_ms(self, work: str) -> float:
        return 1000 * median(self.seconds[work])

    def row(self, smallest: Case) -> dict[str, Any]:
        figures = {f"{work}_ms": round(self.median_ms(work), 3) for work in ("draw", "choose", "update", "sync")}
        growth = {f"{work}_growth": round(self.growth(work, smallest), 2) for work in ("draw", "choose", "update")}
        return {
            "links": self.links,
            "leaves": self.leaves,
            "draws": self.draws,
            "hosts_held": "90 %" if self.held else "none",
            **figures,
            **growth,
            "q_evaluations": self.evaluations["choose"],
            "sync_evaluations": self.evaluations["sync"],
            "bytes_per_link": round(self.bytes_per_link, 1),
            "tree_kilobytes": round(self.tree_bytes / 1000),
        }

    def growth(self, work: str, smallest: Case) -> float:
        """How many times the cost it is at the smallest size with the same leaves."""
        return self.median_ms(work) / smallest.median_ms(work)


# ---- the benchmark ----


def costs(sizes: Sequence[int], leaves: Sequence[int], rounds: int, say: Say, seed: int = 1) -> Report:
    """Medians over rounds; in each round every frontier has its turn, so that a busy moment of the machine hits all."""
    rng = np.random.default_rng(seed)
    rows: list[dict[str, Any]] = []
    checks: list[Check] = []
    for wanted in leaves:
        say(f"{wanted:,} leaves: growing them and placing up to {max(sizes):,} links")
        world = World.of(max(sizes), min(sizes), wanted, rng)
        for draws, held in product(DRAWS, (False, True)):
            cases = [Case(links, wanted, draws, held, world, rng) for links in sorted(sizes)]
            say(f"{cases[0]}: measuring")
            _in_turns(cases, rounds)
            rows += [case.row(cases[0]) for case in cases]
            checks += _checks(cases)
    settings = {"sizes": sorted(sizes), "leaves": list(leaves), "rounds": rounds, "seed": seed}
    return Report("frontier", settings, rows, checks)


def _in_turns(cases: Sequence[Case], rounds: int) -> None:
    works: Mapping[str, tuple[Callable[[Case], float], int]] = {
        "draw": (Case.draw, rounds),
        "choose": (Case.choose, rounds),
        "sync": (Case.sync, min(rounds, SYNC_ROUNDS)),
        "update": (Case.update, rounds),  # last: it changes the leaves
    }
    for name, (work, times) in works.items():
        for case in cases:
            work(case)  # not counted: it warms the caches
            case.seconds[name] = []
        for _ in range(times):
            for case in cases:
                case.seconds[name].append(work(case))


def _checks(cases: Sequence[Case]) -> Iterator[Check]:
    largest = cases[-1]
    # A choice costs what it values: compared with the smallest size that has links of free hosts for as many draws.
    most = largest.evaluations["choose"]
    full = next(case for case in cases if case.evaluations["choose"] >= ENOUGH * most)
    growth = round(largest.growth("choose", full), 2)
    fewer = round(largest.evaluations["sync"] / most, 1)
    at_most = largest.leaves * -(-largest.draws // largest.leaves)
    yield Check.at_most(f"one choice, {largest.links:,} / {full.links:,} links, {largest}", growth, MOST_GROWTH)
    yield Check.at_most(f"bytes a link of {largest.links:,}, {largest}", round(largest.bytes_per_link, 1), MOST_BYTES)
    yield Check.at_least(f"links valued by sync / by us, {largest}", fewer, largest.links / at_most)
