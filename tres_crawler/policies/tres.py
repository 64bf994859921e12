"""TRES: features, Tree-Frontier and DDQN on the live engine (TRES, Alg. 4)."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import asdict

import numpy as np

from tres_crawler.frontier.leaves import TreeFrontier
from tres_crawler.frontier.tree import Growth, Node, Tree
from tres_crawler.policies.learning import LearningPolicy
from tres_crawler.policies.policy import Floats, Surroundings
from tres_crawler.policies.valued import ValuedFrontier
from tres_crawler.store import crawls, learning, links
from tres_crawler.store.database import Change, Database


class TresPolicy(LearningPolicy):
    """Every page that arrives is also an experience of the tree, whose leaves offer what the learner values."""

    def __init__(self, around: Surroundings) -> None:
        super().__init__(around)
        grow = around.settings.frontier
        self._growth = Growth(grow.min_experiences, grow.max_depth, grow.max_leaves)
        self._judge_version = 1
        rng = np.random.default_rng(around.seed)
        tree = TreeFrontier(Tree(self._describer.placed, self._growth), rng, self._describer.width, grow.draws)
        self._valued = ValuedFrontier(
            tree,
            self._value,
            around.settings.choose.eagerness,
            around.is_out_of_reach,
            rng,
            self._refreshed,
            grow.shortlist,
            around.are_full,
        )

    @property
    def frontier(self) -> ValuedFrontier:
        return self._valued

    async def _take_up(self, database: Database, vectors: Floats, rewards: Floats, judge_version: int) -> None:
        self._judge_version = judge_version
        nodes = [Node(*row) for row in await learning.nodes(database, self._crawl, judge_version)]
        if nodes:
            tree = await asyncio.to_thread(Tree.restored, nodes, vectors, rewards, self._growth)
        else:
            # A judge that took over while the crawl lay still (`tres topic rejudge`) has no tree yet.
            tree = await asyncio.to_thread(Tree.grown, vectors, rewards, self._growth)
            await database.write(learning.new_nodes(self._crawl, judge_version, map(asdict, tree.splits())))
        self.frontier.tree.rebuild(tree)
        async for waiting in links.waiting_columns(database, self._crawl):
            rows = learning.matrix(waiting.features, self._describer.width)
            self.frontier.tree.place(waiting.numbers, waiting.hosts, rows)
        self._plan()

    def _experience(self, features: Floats, reward: float) -> list[Change]:
        event = self.frontier.tree.learn(features, reward)
        self._plan()
        if not event:
            return []
        node = asdict(event.node)
        told = {**node, "feature": self._describer.columns[event.node.feature], "gain": event.gain}
        return [
            learning.new_nodes(self._crawl, self._judge_version, [node]),
            crawls.event(self._crawl, "split", **told),
        ]

    def _sample(self) -> Floats | None:
        return self.frontier.sample(best=self._learn.target == "paper")

    async def _experience_anew(self, rewards: Mapping[int, float], judge_version: int) -> list[Change]:
        # The tree has an experience for every page, in order; more may arrive while it grows beside the loop.
        known = np.array(list(rewards.values()), np.float32)
        if judge_version == self._judge_version:
            # A person's word, or a few pages that the judge before was still at: what has split stays as it is.
            self.frontier.tree.tree.relabel(known)
            return []
        vectors, _ = self.frontier.tree.tree.experienced()
        tree = await asyncio.to_thread(Tree.grown, vectors[: len(known)], known, self._growth)
        numbers, placed = self.frontier.tree.placed()
        leaves = await asyncio.to_thread(lambda: tree.route(placed.astype(np.float32)))
        # From here on nothing is awaited: whatever splits next is saved after the tree it belongs to.
        later, late_rewards = self.frontier.tree.tree.experienced()
        self.frontier.tree.rebuild(tree, numbers, leaves)
        for vector, reward in zip(later[len(known) :], late_rewards[len(known) :].tolist(), strict=True):
            self.frontier.tree.learn(vector, reward)
        self._judge_version = judge_version
        return [learning.new_nodes(self._crawl, judge_version, map(asdict, tree.splits()))]

    def _plan(self) -> None:
        self.frontier.exploration = self._learn.exploration(len(self._history))
