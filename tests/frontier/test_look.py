"""Looking at a tree sums up what is in its leaves and changes nothing."""

from __future__ import annotations

import numpy as np

from tres_crawler.frontier.arrays import Floats, Ints
from tres_crawler.frontier.leaves import TreeFrontier
from tres_crawler.frontier.look import look
from tres_crawler.frontier.tree import Tree


def grown(seed: int = 1) -> TreeFrontier:
    """Links in a tree that has learned that the first feature pays above one half."""
    rng = np.random.default_rng(seed)
    frontier = TreeFrontier(Tree(3), rng)
    frontier.place(np.arange(1, 201, dtype=np.int32), np.ones(200, np.int32), rng.random((200, 3)).astype(np.float32))
    for vector in rng.random((60, 3)).astype(np.float32):
        frontier.learn(vector, float(vector[0] > 0.5))
    return frontier


def by_first(features: Floats, _hosts: Ints) -> Floats:
    values: Floats = features[:, 0] * 10
    return values


def test_the_root_has_everything_and_every_node_what_its_children_have() -> None:
    frontier = grown()
    nodes = look(frontier, by_first)
    root = nodes[0]
    _, rewards = frontier.tree.experienced()
    assert (root.leaves, root.links, root.experiences) == (frontier.leaves, 200, 60)
    assert root.mean_reward is not None
    assert abs(root.mean_reward - rewards.mean()) < 1e-6
    for node in nodes:
        if node.left is not None and node.right is not None:
            left, right = nodes[node.left], nodes[node.right]
            assert (left.parent, right.parent, left.depth) == (node.number, node.number, node.depth + 1)
            assert node.links == left.links + right.links


def test_values_are_means_of_links_of_each_leaf() -> None:
    nodes = look(grown(), by_first)
    low, high = (nodes[at].value for at in (nodes[0].left or 0, nodes[0].right or 0))
    assert nodes[0].feature == 0
    assert low is not None and high is not None
    assert low < 5 < high
    assert all(node.value is None for node in look(grown()))


def test_looking_leaves_the_choice_of_links_as_it_is() -> None:
    looked, alone = grown(), grown()
    for _ in range(3):
        look(looked, by_first)
    assert looked.offers().links.tolist() == alone.offers().links.tolist()


def test_an_experience_that_is_given_another_reward_counts_with_it() -> None:
    tree = grown().tree
    vectors, rewards = tree.experienced()
    rewards[7] = 1 - rewards[7]
    splits = list(tree.splits())
    tree.relabel(rewards)
    assert tree.experienced()[1].tolist() == rewards.tolist()
    assert list(tree.splits()) == splits, "what has split stays"
    again = Tree.restored(splits, vectors, rewards)
    assert tree.statistics().mean_rewards.tolist() == again.statistics().mean_rewards.tolist()
    for vector in vectors:
        tree.learn(vector + np.float32(1e-4), float(vector[1] > 0.5))
    assert tree.experiences == 120
