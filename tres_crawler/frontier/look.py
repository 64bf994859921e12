"""A Tree-Frontier → its nodes as a person may look at them: what parts them, what waits below, what it has earned."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tres_crawler.frontier.arrays import Floats, Ints
from tres_crawler.frontier.leaves import TreeFrontier

DRAWS = 8
"""So often some waiting links of each leaf are drawn, whose values stand for all of them."""


@dataclass(frozen=True, slots=True)
class NodeLook:
    """A node with the sums and means of all leaves below it; a leaf has itself below it."""

    number: int
    parent: int | None
    depth: int
    feature: int | None
    """What it asks for; None for a leaf."""
    threshold: float | None
    left: int | None
    """Where links go whose feature is below the threshold."""
    right: int | None
    leaves: int
    links: int
    experiences: int
    mean_reward: float | None
    value: float | None
    """Mean of what the learner holds of some waiting links."""


def look(frontier: TreeFrontier, value: Callable[[Floats, Ints], Floats] | None = None) -> list[NodeLook]:
    """All nodes, by number. Looking draws nothing from the chance by which links are chosen."""
    tree, statistics = frontier.tree, frontier.tree.statistics()
    links, experiences, leaves = (np.zeros(tree.nodes, np.int64) for _ in range(3))
    rewards, values = np.zeros(tree.nodes), np.zeros(tree.nodes)
    at = statistics.leaves
    leaves[at] = 1
    links[at] = frontier.waiting(at)
    experiences[at] = statistics.experiences
    rewards[at] = np.nan_to_num(statistics.mean_rewards) * statistics.experiences
    if value is not None:
        values = _mean_values(frontier, value) * links
    parents = np.full(tree.nodes, -1, np.int64)
    depths = np.zeros(tree.nodes, np.int64)
    splits = {split.number: split for split in tree.splits()}
    for number in sorted(splits):
        children = [splits[number].left, splits[number].right]
        parents[children] = number
        depths[children] = depths[number] + 1
    # A child always has a higher number than its parent.
    for number in range(tree.nodes - 1, 0, -1):
        for sums in (leaves, links, experiences, rewards, values):
            sums[parents[number]] += sums[number]
    found = []
    for number in range(tree.nodes):
        split = splits.get(number)
        found.append(
            NodeLook(
                number,
                parent=int(parents[number]) if number else None,
                depth=int(depths[number]),
                feature=split.feature if split else None,
                threshold=split.threshold if split else None,
                left=split.left if split else None,
                right=split.right if split else None,
                leaves=int(leaves[number]),
                links=int(links[number]),
                experiences=int(experiences[number]),
                mean_reward=float(rewards[number] / experiences[number]) if experiences[number] else None,
                value=float(values[number] / links[number]) if value is not None and links[number] else None,
            )
        )
    return found


def _mean_values(frontier: TreeFrontier, value: Callable[[Floats, Ints], Floats]) -> npt.NDArray[np.float64]:
    found, counts = np.zeros(frontier.tree.nodes), np.zeros(frontier.tree.nodes)
    rng = np.random.default_rng(0)
    for _ in range(DRAWS):
        drawn = frontier.samples(rng)
        if len(drawn):
            np.add.at(found, drawn.leaves, value(drawn.features, drawn.hosts))
            np.add.at(counts, drawn.leaves, 1)
    return found / np.maximum(counts, 1)
