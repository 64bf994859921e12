"""Lists in one array hold what plain lists would, and every item knows its place."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
import pytest

from tres_crawler.frontier.arrays import Ints, stretches
from tres_crawler.frontier.lists import Groups, Lists

Model = dict[int, set[int]]


def ints(*values: int) -> Ints:
    return np.array(values, np.int32)


def agrees(lists: Lists, model: Model) -> None:
    for number in range(len(lists.sizes)):
        items = lists.items(number)
        assert sorted(items.tolist()) == sorted(model.get(number, ()))
        assert (lists.list_of[items] == number).all()
        assert lists.place_of[items].tolist() == list(range(len(items)))
    some = np.arange(len(lists.sizes), dtype=np.int32)[::-2]
    assert lists.items_of(some).tolist() == [item for number in some for item in lists.items(number)]


def test_stretches_follow_each_other_and_may_be_empty() -> None:
    assert stretches(ints(5, 0, 9), ints(3, 0, 2)).tolist() == [5, 6, 7, 9, 10]
    assert stretches(ints(), ints()).tolist() == []


@pytest.mark.parametrize("seed", range(8))
def test_a_long_random_life_agrees_with_plain_lists(seed: int) -> None:
    rng, lists, model = np.random.default_rng(seed), Lists(), defaultdict[int, set[int]](set)
    lists.reserve(600, 12)
    outside, numbers, last = set(range(600)), list(range(12)), 12
    for _ in range(200):
        inside = sorted(set(range(600)) - outside)
        verb = rng.choice(["extend", "remove", "remove all", "divide"], p=[0.5, 0.2, 0.2, 0.1])
        if verb == "extend" and outside:
            items = rng.permutation(sorted(outside))[: rng.integers(1, 40)].astype(np.int32)
            goals = rng.choice(numbers, len(items)).astype(np.int32)
            lists.extend(goals, items)
            outside -= set(items.tolist())
            for item, goal in zip(items.tolist(), goals.tolist(), strict=True):
                model[goal].add(item)
        elif verb == "remove" and inside:
            item = int(rng.choice(inside))
            model[int(lists.list_of[item])].remove(item)
            lists.remove(item)
            outside.add(item)
        elif verb == "remove all" and inside:
            items = rng.permutation(inside)[: rng.integers(1, 60)].astype(np.int32)
            for item in items.tolist():
                model[int(lists.list_of[item])].remove(item)
            lists.remove_all(items)
            outside |= set(items.tolist())
        elif verb == "divide":
            number, left = numbers.pop(int(rng.integers(len(numbers)))), last
            last += 2
            lists.reserve(0, last)
            items = lists.items(number)
            goes_left = rng.random(len(items)) < 0.5
            lists.divide(number, left, left + 1, goes_left)
            numbers += [left, left + 1]
            model.pop(number, None)
            model[left], model[left + 1] = set(items[goes_left].tolist()), set(items[~goes_left].tolist())
        agrees(lists, model)


@pytest.mark.parametrize("seed", range(20))
def test_gathered_items_stand_side_by_side_and_only_those_in_the_way_move(seed: int) -> None:
    rng, lists = np.random.default_rng(seed), Lists()
    lists.reserve(90, 3)
    lists.extend((np.arange(90) % 3).astype(np.int32), np.arange(90, dtype=np.int32))
    before = [lists.items(number) for number in range(3)]
    items = rng.permutation(90)[: rng.integers(1, 60)].astype(np.int32)
    groups = Groups.by(lists.list_of[items])
    places = rng.integers(0, 30 - groups.sizes + 1).astype(np.int32)
    lists.gather(items, groups, places)
    agrees(lists, {number: set(range(number, 90, 3)) for number in range(3)})
    for number, size, place in zip(groups.lists.tolist(), groups.sizes.tolist(), places.tolist(), strict=True):
        after = lists.items(number)
        assert set(after[place : place + size].tolist()) == {item for item in items.tolist() if item % 3 == number}
        assert (after != before[number]).sum() <= 2 * size


def test_a_divided_list_keeps_the_order_of_its_items() -> None:
    lists = Lists()
    lists.reserve(9, 3)
    lists.extend(ints(0, 0, 0, 0, 0), ints(7, 1, 5, 3, 8))
    lists.divide(0, 1, 2, np.array([True, False, True, False, True]))
    assert [lists.items(number).tolist() for number in range(3)] == [[], [7, 5, 8], [1, 3]]


def test_memory_follows_what_the_lists_hold_now_however_often_they_move() -> None:
    rng, lists = np.random.default_rng(1), Lists()
    lists.reserve(10_000, 300)
    items = np.arange(10_000, dtype=np.int32)
    lists.extend(rng.integers(0, 300, 10_000).astype(np.int32), items)
    for _ in range(100):
        some = rng.permutation(items)[:2_000]
        lists.remove_all(some)
        lists.extend(rng.integers(0, 300, 2_000).astype(np.int32), some)
    assert lists._array.nbytes < 1.6 * items.nbytes
