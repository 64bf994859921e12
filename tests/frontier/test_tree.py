"""The tree grows by its experiences alone, and is the same however it came back."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from tres_crawler.frontier.arrays import Floats
from tres_crawler.frontier.split import best_split
from tres_crawler.frontier.tree import FEW, Growth, Node, SplitEvent, Tree

PROGRAM = Growth(min_experiences=5, max_depth=18)
every_growth = pytest.mark.parametrize("growth", [Growth(), PROGRAM, Growth(max_leaves=9)])


def some_experiences(count: int, seed: int = 1, width: int = 5) -> tuple[Floats, Floats]:
    """Vectors with a yes-or-no feature, a few-valued one, duplicates and noise; a reward that depends on them."""
    rng = np.random.default_rng(seed)
    features = rng.random((count, width)).astype(np.float32)
    features[:, 0] = features[:, 0] < 0.3
    features[:, 1] = np.round(features[:, 1] * 4) / 4
    again = rng.integers(0, count, count // 4)
    features[again] = features[rng.integers(0, count, count // 4)]
    rewards = rng.random(count) < 0.2 + 0.4 * features[:, 0] + 0.4 * features[:, 2]
    return features, rewards.astype(np.float32)


def arrays_of(tree: Tree) -> dict[str, bytes]:
    """All that a tree is, byte by byte."""
    arrays = {
        name: getattr(tree, name)[: tree.nodes].tobytes()
        for name in ("_feature", "_threshold", "_left", "_right", "_parent", "_depth", "_low", "_high")
    }
    members = {str(leaf): some.tobytes() for leaf, some in tree._members.items()}
    return arrays | members | {"_seen": tree._seen[: tree.experiences].tobytes()}


def follow(tree: Tree, vector: Floats) -> int:
    """Equation 3, from the root, by what the tree says of its splits."""
    splits, at = {node.number: node for node in tree.splits()}, 0
    while node := splits.get(at):
        at = node.left if vector[node.feature] < np.float32(node.threshold) else node.right
    return at


@every_growth
@pytest.mark.parametrize("count", [1, FEW, FEW + 1, 500])
def test_routing_in_batches_goes_where_each_vector_goes_alone(growth: Growth, count: int) -> None:
    tree = Tree.grown(*some_experiences(400), growth)
    vectors, _ = some_experiences(count, seed=2)
    assert tree.route(vectors).tolist() == [follow(tree, vector) for vector in vectors]


def test_a_tree_without_experience_is_one_leaf() -> None:
    tree = Tree(3)
    assert tree.leaves == 1
    assert tree.route(np.zeros((0, 3), np.float32)).tolist() == []
    assert tree.route(np.zeros((99, 3), np.float32)).tolist() == [0] * 99
    assert np.isnan(tree.statistics().mean_rewards).all()


@settings(derandomize=True, database=None, deadline=None, max_examples=60)
@given(seed=some.integers(0, 10_000), count=some.integers(0, 120))
def test_leaves_are_at_most_one_more_than_experiences(seed: int, count: int) -> None:
    tree = Tree(5)
    for known, (vector, reward) in enumerate(zip(*some_experiences(count, seed), strict=True), start=1):
        before = tree.leaves
        event = tree.learn(vector, float(reward))
        assert tree.leaves == before + (event is not None) <= 1 + known


def test_only_the_leaf_that_learned_is_split_and_by_its_best_split() -> None:
    tree, (features, rewards) = Tree(5), some_experiences(300)
    splits = 0
    for at, (vector, reward) in enumerate(zip(features, rewards, strict=True)):
        leaves = tree.route(features[: at + 1])
        mine = leaves == leaves[at]
        expected = best_split(features[: at + 1][mine], rewards[: at + 1][mine])
        event = tree.learn(vector, float(reward))
        assert (event is None) == (expected is None)
        if event and expected:
            splits += 1
            node = event.node
            assert (node.number, node.feature, node.threshold, event.gain) == (
                leaves[at],
                expected.feature,
                expected.threshold,
                expected.gain,
            )
            assert (tree.route(features[: at + 1])[~mine] == leaves[~mine]).all()
    assert splits > 30


def test_growth_is_limited_as_the_authors_program_does() -> None:
    features = np.arange(40, dtype=np.float32)[:, None]
    patient = Tree(1, Growth(min_experiences=5))
    events = [patient.learn(features[at], at % 2) for at in range(5)]
    assert [event is not None for event in events] == [False] * 4 + [True]
    rewards = np.arange(40) % 2 * 1.0
    assert Tree.grown(features, rewards).statistics().depths.max() > 3
    assert Tree.grown(features, rewards, Growth(max_depth=3)).statistics().depths.max() == 3
    assert Tree.grown(features, rewards, Growth(max_leaves=6)).leaves == 6


def test_a_label_that_is_taken_back_leaves_no_leaf_to_be_sorted_in_vain(monkeypatch: pytest.MonkeyPatch) -> None:
    tree = Tree.grown(np.arange(40, dtype=np.float32)[:, None], np.zeros(40))
    for rewards in (np.eye(1, 40, 7, dtype=np.float32)[0], np.zeros(40, np.float32)):
        tree.relabel(rewards)
    monkeypatch.setattr("tres_crawler.frontier.tree.best_split", lambda *_: pytest.fail("there is nothing to split"))
    assert tree.learn(np.array([50], np.float32), 0.0) is None


@every_growth
def test_replaying_the_experiences_gives_the_same_tree_bit_for_bit(growth: Growth) -> None:
    features, rewards = some_experiences(600)
    assert arrays_of(Tree.grown(features, rewards, growth)) == arrays_of(Tree.grown(features, rewards, growth))


@every_growth
@pytest.mark.parametrize("known", [0, 1, 37, 400])
def test_a_tree_from_stored_nodes_and_experiences_is_the_same_and_goes_on_the_same(growth: Growth, known: int) -> None:
    features, rewards = some_experiences(600)
    lived = Tree.grown(features[:known], rewards[:known], growth)
    nodes = list(lived.splits())[::-1]  # a database gives them in any order
    restored = Tree.restored(nodes, features[:known], rewards[:known].astype(np.float64), growth)
    assert arrays_of(restored) == arrays_of(lived)
    assert [column.tolist() for column in restored.experienced()] == [
        features[:known].tolist(),
        rewards[:known].tolist(),
    ]
    for vector, reward in zip(features[known:], rewards[known:], strict=True):
        assert restored.learn(vector, float(reward)) == lived.learn(vector, float(reward))
    assert arrays_of(restored) == arrays_of(lived)


def test_stored_splits_are_not_decided_again() -> None:
    features, rewards = np.zeros((4, 2), np.float32), np.zeros(4)
    odd = Tree.restored([Node(0, 1, 0.25, 1, 2), Node(2, 0, 0.5, 3, 4)], features, rewards)
    assert odd.leaves == 3
    assert odd.route(np.array([[0, 0], [0, 1], [1, 1]], np.float32)).tolist() == [1, 3, 4]


@pytest.mark.parametrize(
    "nodes",
    [[Node(1, 0, 0.5, 1, 2)], [Node(0, 0, 0.5, 2, 3)], [Node(0, 0, 0.5, 1, 2), Node(0, 0, 0.4, 3, 4)]],
)
def test_nodes_that_make_no_tree_are_refused(nodes: list[Node]) -> None:
    with pytest.raises(ValueError, match="does not follow"):
        Tree.restored(nodes, np.zeros((0, 2), np.float32), np.zeros(0))


@pytest.mark.parametrize("vector", [[0.0, np.nan], [np.inf, 0.0], [0.0], [0.0, 0.0, 0.0]])
def test_what_is_no_vector_is_refused_before_anything_is_learned(vector: list[float]) -> None:
    tree = Tree(2)
    with pytest.raises(ValueError, match="Not an experience"):
        tree.learn(np.array(vector, np.float32), 1.0)
    assert tree.experiences == 0


def test_statistics_are_those_of_the_experiences_of_each_leaf() -> None:
    features, rewards = some_experiences(300)
    tree = Tree.grown(features, rewards, PROGRAM)
    told, leaves = tree.statistics(), tree.route(features)
    assert told.leaves.tolist() == sorted(set(leaves.tolist()))
    assert len(told.leaves) == tree.leaves
    for at, leaf in enumerate(told.leaves):
        mine = rewards[leaves == leaf]
        assert told.experiences[at] == len(mine)
        assert told.mean_rewards[at] == pytest.approx(mine.mean())


def test_the_rules_of_a_leaf_are_true_of_its_vectors_and_of_no_others() -> None:
    nodes = [Node(0, 1, 0.5, 1, 2), Node(1, 1, 0.25, 3, 4), Node(4, 0, 1.0, 5, 6)]
    tree = Tree.restored(nodes, np.zeros((0, 2), np.float32), np.zeros(0))
    told = {leaf: tree.rules(leaf, ["reward", "ratio"]) for leaf in tree.statistics().leaves.tolist()}
    assert told == {
        2: ("ratio ≥ 0.5",),
        3: ("ratio < 0.25",),
        5: ("reward < 1", "0.25 ≤ ratio < 0.5"),
        6: ("reward ≥ 1", "0.25 ≤ ratio < 0.5"),
    }
    assert Tree(2).rules(0, ["reward", "ratio"]) == ()


def test_a_world_of_two_kinds_of_links_is_told_apart_by_one_split() -> None:
    tree = Tree(2)
    events = [tree.learn(np.array([good, 0.3], np.float32), good) for good in (1.0, 0.0, 1.0, 0.0)]
    assert events == [None, SplitEvent(Node(0, 0, 0.5, 1, 2), 0.25), None, None]
