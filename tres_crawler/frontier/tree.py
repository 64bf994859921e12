"""The tree that parts vectors by the rewards seen so far: nodes, routing, growth (TRES, Alg. 3)."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tres_crawler.frontier.arrays import Floats, Ints, with_room
from tres_crawler.frontier.split import best_split

LEAF = -1
"""Stands for the feature of a node that has none."""
FEW = 32
"""Up to so many vectors, following each from the root is faster than moving all of them level by level."""


@dataclass(frozen=True, slots=True)
class Growth:
    """Which leaves may split. As it stands, all may that gain by it, as in the paper."""

    min_experiences: int = 2
    """The authors' program asks for 5."""
    max_depth: int | None = None
    """A leaf so deep stays whole; the root has depth 0. The authors' program stops at 18."""
    max_leaves: int | None = None
    """Bounds the cost of a choice, which values a link of every leaf."""


@dataclass(frozen=True, slots=True)
class Node:
    """A node that has split; these and the experiences, both in order, are all there is to a tree."""

    number: int
    feature: int
    threshold: float
    left: int
    right: int


@dataclass(frozen=True, slots=True)
class SplitEvent:
    """A leaf has become a node with two leaves."""

    node: Node
    gain: float


@dataclass(frozen=True, slots=True, eq=False)
class LeafStatistics:
    """Columns with a row for every leaf, by number."""

    leaves: Ints
    depths: Ints
    experiences: Ints
    mean_rewards: npt.NDArray[np.float64]
    """Not a number where there is no experience."""


class Tree:
    """Every vector has exactly one leaf, and so has every experience; a leaf is known by the number of its node.

    Nothing but the order of experiences decides how it grows: the same ones make the same tree, bit for bit.
    """

    def __init__(self, width: int, growth: Growth | None = None) -> None:
        self.width = width
        self.growth = growth or Growth()
        self.nodes = 1
        self.experiences = 0
        self._feature = np.full(1, LEAF, np.int32)
        self._threshold = np.zeros(1, np.float32)
        self._left, self._right, self._parent, self._depth = (np.zeros(1, np.int32) for _ in range(4))
        self._seen = np.zeros((0, width + 1), np.float32)
        """A row for every experience: its vector, then its reward."""
        self._low = np.full((1, width + 1), np.inf, np.float32)
        self._high = np.full((1, width + 1), -np.inf, np.float32)
        """What the experiences of each leaf lie between: without a gap in both vector and reward it cannot split."""
        self._members: dict[int, array[int]] = {0: array("i")}

    @classmethod
    def grown(cls, features: Floats, rewards: npt.NDArray[np.floating[Any]], growth: Growth | None = None) -> Tree:
        """The tree that learned these experiences, in this order."""
        tree = cls(features.shape[1], growth)
        for vector, reward in zip(features, rewards.tolist(), strict=True):
            tree.learn(vector, reward)
        return tree

    @classmethod
    def restored(
        cls,
        nodes: Iterable[Node],
        features: Floats,
        rewards: npt.NDArray[np.floating[Any]],
        growth: Growth | None = None,
    ) -> Tree:
        """A tree as it was: its splits are taken as they are, not decided again."""
        tree = cls(features.shape[1], growth)
        for node in sorted(nodes, key=lambda node: node.left):  # the order in which they split
            if node.left != tree.nodes or node.right != node.left + 1 or not tree.is_leaf(node.number):
                raise ValueError(f"Node {node.number} does not follow from the nodes before it.")
            tree._divide(node)
        tree._fill(features, rewards)
        return tree

    # ---- routing ----

    @property
    def leaves(self) -> int:
        return (self.nodes + 1) // 2

    def is_leaf(self, number: int) -> bool:
        return 0 <= number < self.nodes and bool(self._feature[number] == LEAF)

    def route(self, features: Floats) -> Ints:
        """The leaf of each vector."""
        if len(features) <= FEW:
            return np.array([self._leaf_of(vector) for vector in features.tolist()], np.int32)
        found = np.empty(len(features), np.int32)
        rows, at = np.arange(len(features)), np.zeros(len(features), np.intp)
        while len(rows):
            asked = self._feature[at]
            arrived = asked == LEAF
            if arrived.any():
                found[rows[arrived]] = at[arrived]
                rows, at, asked = rows[~arrived], at[~arrived], asked[~arrived]
            at = np.where(features[rows, asked] < self._threshold[at], self._left[at], self._right[at])
        return found

    def _leaf_of(self, vector: Sequence[float]) -> int:
        at = 0
        while (asked := self._feature[at]) != LEAF:
            at = self._left[at] if vector[asked] < self._threshold[at] else self._right[at]
        return int(at)

    # ---- growth ----

    def learn(self, vector: Floats, reward: float) -> SplitEvent | None:
        """Add an experience to its leaf; that leaf, and no other, splits if there is a gain in it."""
        row = np.append(vector, np.float32(reward)).astype(np.float32)
        if len(row) != self.width + 1 or not np.isfinite(row).all():
            raise ValueError(f"Not an experience of {self.width} features and a reward: {row}")
        leaf = self._leaf_of(row.tolist())
        self._seen = with_room(self._seen, self.experiences + 1)
        self._seen[self.experiences] = row
        self._members[leaf].append(self.experiences)
        self.experiences += 1
        np.minimum(self._low[leaf], row, out=self._low[leaf])
        np.maximum(self._high[leaf], row, out=self._high[leaf])
        return self._split(leaf) if self._may_split(leaf) else None

    def relabel(self, rewards: Floats) -> None:
        """Give experiences, from the first on, other rewards; what has split stays as it is."""
        changed = np.flatnonzero(self._seen[: len(rewards), -1] != rewards)
        self._seen[changed, -1] = rewards[changed]
        for leaf in np.unique(self.route(self._seen[changed, :-1])).tolist():
            members = self._seen[self._members[leaf]]
            self._low[leaf], self._high[leaf] = members.min(0), members.max(0)

    def _may_split(self, leaf: int) -> bool:
        """Whether to look for a split at all; large leaves hold one reward or one vector, and are never sorted."""
        growth, varies = self.growth, self._low[leaf] < self._high[leaf]
        return bool(
            len(self._members[leaf]) >= growth.min_experiences
            and (growth.max_depth is None or self._depth[leaf] < growth.max_depth)
            and (growth.max_leaves is None or self.leaves < growth.max_leaves)
            and varies[-1]
            and varies[:-1].any()
        )

    def _split(self, leaf: int) -> SplitEvent | None:
        members = np.array(self._members[leaf], np.int32)
        seen = self._seen[members]
        split = best_split(seen[:, :-1], seen[:, -1])
        if split is None:
            return None
        node = Node(leaf, split.feature, split.threshold, self.nodes, self.nodes + 1)
        self._divide(node)
        left = seen[:, split.feature] < np.float32(split.threshold)
        self._give(node.left, members[left])
        self._give(node.right, members[~left])
        return SplitEvent(node, split.gain)

    def _divide(self, node: Node) -> None:
        """Turn a leaf into a node with two leaves that have no experience yet."""
        self._reserve(self.nodes + 2)
        self.nodes += 2
        self._feature[node.number], self._threshold[node.number] = node.feature, node.threshold
        self._left[node.number], self._right[node.number] = node.left, node.right
        children = slice(node.left, node.right + 1)
        self._feature[children] = LEAF
        self._parent[children] = node.number
        self._depth[children] = self._depth[node.number] + 1
        nobody = [node.number, node.left, node.right]
        self._low[nobody], self._high[nobody] = np.inf, -np.inf
        del self._members[node.number]
        self._members[node.left], self._members[node.right] = array("i"), array("i")

    def _reserve(self, nodes: int) -> None:
        self._feature = with_room(self._feature, nodes)
        self._threshold = with_room(self._threshold, nodes)
        self._left = with_room(self._left, nodes)
        self._right = with_room(self._right, nodes)
        self._parent = with_room(self._parent, nodes)
        self._depth = with_room(self._depth, nodes)
        self._low = with_room(self._low, nodes)
        self._high = with_room(self._high, nodes)

    def _fill(self, features: Floats, rewards: npt.NDArray[np.floating[Any]]) -> None:
        """Give every leaf its experiences, in their order."""
        self.experiences = len(features)
        self._seen = np.column_stack([features, rewards.astype(np.float32)]).astype(np.float32)
        leaves = self.route(self._seen[:, :-1])
        order = np.argsort(leaves, kind="stable")
        found, starts = np.unique(leaves[order], return_index=True)
        for leaf, members in zip(found.tolist(), np.split(order, starts)[1:], strict=True):
            self._give(leaf, members.astype(np.int32))

    def _give(self, leaf: int, members: Ints) -> None:
        self._members[leaf] = array("i", members.tobytes())
        self._low[leaf] = self._seen[members].min(axis=0)
        self._high[leaf] = self._seen[members].max(axis=0)

    # ---- looking ----

    def splits(self) -> Iterator[Node]:
        """The nodes that have split, by number."""
        for number in np.flatnonzero(self._feature[: self.nodes] != LEAF).tolist():
            yield Node(
                number,
                int(self._feature[number]),
                float(self._threshold[number]),
                int(self._left[number]),
                int(self._right[number]),
            )

    def experienced(self) -> tuple[Floats, Floats]:
        """The vectors and rewards of all experiences, in order."""
        seen = self._seen[: self.experiences]
        return seen[:, :-1].copy(), seen[:, -1].copy()

    def statistics(self) -> LeafStatistics:
        leaves = np.flatnonzero(self._feature[: self.nodes] == LEAF).astype(np.int32)
        members = [self._members[leaf] for leaf in leaves.tolist()]
        sizes = np.array([len(some) for some in members], np.int32)
        of_leaf = np.repeat(np.arange(len(leaves)), sizes)
        rewards = self._seen[np.frombuffer(b"".join(members), np.int32), -1].astype(np.float64)
        divisor = np.where(sizes > 0, sizes, np.nan)
        means = np.bincount(of_leaf, rewards, len(leaves)) / divisor
        return LeafStatistics(leaves, self._depth[leaves], sizes, means)

    def rules(self, leaf: int, names: Sequence[str]) -> tuple[str, ...]:
        """What is true of all vectors of a leaf, a condition for each feature on its path: `0.2 ≤ path ratio < 0.5`."""
        bounds: dict[int, list[float | None]] = {}
        child = leaf
        while child:
            parent = int(self._parent[child])
            found = bounds.setdefault(int(self._feature[parent]), [None, None])
            side = int(child == self._left[parent])  # 1: an upper bound
            if found[side] is None:  # the first met on the way up is the narrowest
                found[side] = float(self._threshold[parent])
            child = parent
        return tuple(_condition(names[feature], low, high) for feature, (low, high) in sorted(bounds.items()))


def _condition(name: str, low: float | None, high: float | None) -> str:
    if high is None:
        return f"{name} ≥ {low:g}"
    return f"{name} < {high:g}" if low is None else f"{low:g} ≤ {name} < {high:g}"
