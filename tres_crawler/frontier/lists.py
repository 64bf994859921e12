"""Many lists of items in one array; leaves and hosts keep their waiting links in such lists."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tres_crawler.frontier.arrays import LEAST_ROOM, Bools, Indices, Ints, stretches, with_room


@dataclass(frozen=True, slots=True, eq=False)
class Groups:
    """Items by the list they are in."""

    order: Indices
    """Brings the items of one list together, the lists in order of number."""
    lists: Ints
    sizes: Indices
    """How many of the items are in each of `lists`."""

    @classmethod
    def by(cls, lists: Ints) -> Groups:
        order = np.argsort(lists, kind="stable")
        ordered = lists[order]
        heads = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]]))
        return cls(order, ordered[heads], np.diff(heads, append=len(ordered)))


class Lists:
    """An item is in at most one list and knows its place there; the order in a list is free for its user to choose.

    Items and lists are small whole numbers. A list has a stretch of the array to itself, with some room to grow; when
    it needs more, it moves behind all others; when the array is full, all lists are laid out afresh.
    """

    def __init__(self) -> None:
        self.list_of = np.zeros(0, np.int32)
        self.place_of = np.zeros(0, np.int32)
        self.sizes = np.zeros(0, np.int32)
        self._starts = np.zeros(0, np.int32)
        self._rooms = np.zeros(0, np.int32)
        self._array = np.zeros(0, np.int32)
        self._end = 0

    @property
    def nbytes(self) -> int:
        arrays = (self.list_of, self.place_of, self.sizes, self._starts, self._rooms, self._array)
        return sum(one.nbytes for one in arrays)

    def reserve(self, items: int, lists: int) -> None:
        """Make the numbers below `items` and `lists` usable."""
        self.list_of = with_room(self.list_of, items)
        self.place_of = with_room(self.place_of, items)
        self.sizes = with_room(self.sizes, lists)
        self._starts = with_room(self._starts, lists)
        self._rooms = with_room(self._rooms, lists)

    def items(self, number: int) -> Ints:
        start = self._starts[number]
        return self._array[start : start + self.sizes[number]].copy()

    def items_of(self, lists: Ints) -> Ints:
        """Those of many lists, one list after the other."""
        return self._array[stretches(self._starts[lists], self.sizes[lists])]

    def draw(self, lists: Ints, among: Ints, most: int, rng: np.random.Generator) -> tuple[Ints, Ints]:
        """Up to `most` items of each list, with equal chance for each of its first `among`; and which list each is of.

        From a place drawn by chance they follow each other at equal distances, so none is drawn twice.
        """
        counts = np.minimum(among, most)
        step = np.arange(counts.sum()) - (counts.cumsum() - counts).repeat(counts)
        places = ((rng.random(len(lists)).repeat(counts) + step) * (among / counts).repeat(counts)).astype(np.int32)
        lists, last = lists.repeat(counts), (among - 1).repeat(counts)
        return self._array.take(self._starts.take(lists) + np.minimum(places, last)), lists

    # ---- one item ----

    def swap(self, item: int, place: int) -> None:
        """Let an item change places with the one at `place` of its list."""
        start, before = self._starts[self.list_of[item]], self.place_of[item]
        other = self._array[start + place]
        self._array[start + before], self._array[start + place] = other, item
        self.place_of[item], self.place_of[other] = place, before

    def remove(self, item: int) -> None:
        number = self.list_of[item]
        last = int(self.sizes[number]) - 1
        self.swap(item, last)
        self.sizes[number] = last

    # ---- many items at once ----

    def extend(self, lists: Ints, items: Ints) -> None:
        """Add each item to the end of its list."""
        groups = Groups.by(lists)
        self._make_room(groups.lists, groups.sizes)
        ordered, sizes = items[groups.order], self.sizes[groups.lists]
        self._array[stretches(self._starts[groups.lists] + sizes, groups.sizes)] = ordered
        self.list_of[items] = lists
        self.place_of[ordered] = stretches(sizes, groups.sizes)
        self.sizes[groups.lists] += groups.sizes

    def gather(self, items: Ints, groups: Groups, places: Ints) -> None:
        """Swap items so that those of one list stand side by side, in each list from a place of its own.

        `places` has a row for each of `groups.lists`. Only items that stand elsewhere move, and those they displace.
        """
        items, row = items[groups.order], np.repeat(np.arange(len(groups.lists)), groups.sizes)
        ahead = self.place_of[items] - places[row]
        there = (ahead >= 0) & (ahead < groups.sizes[row])
        wanted = stretches(self._starts[groups.lists] + places, groups.sizes)
        open_to_swap = np.ones(len(items), np.bool_)
        open_to_swap[(np.cumsum(groups.sizes) - groups.sizes)[row[there]] + ahead[there]] = False
        # Both sides are in order of list, and in each list as many come as go: so they can be paired off.
        coming, to = items[~there], wanted[open_to_swap]
        going, starts = self._array[to], self._starts[self.list_of[coming]]
        self._array[starts + self.place_of[coming]] = going
        self._array[to] = coming
        self.place_of[going] = self.place_of[coming]
        self.place_of[coming] = to - starts

    def remove_all(self, items: Ints) -> None:
        groups = Groups.by(self.list_of[items])
        left = (self.sizes[groups.lists] - groups.sizes).astype(np.int32)
        self.gather(items, groups, left)
        self.sizes[groups.lists] = left

    def divide(self, number: int, left: int, right: int, goes_left: Bools) -> None:
        """Share the items of a list between two empty ones, each in the order they had."""
        items = self.items(number)
        start, room, cut = self._starts[number], self._rooms[number], int(goes_left.sum())
        self._array[start : start + len(items)] = np.concatenate([items[goes_left], items[~goes_left]])
        for heir, first, its_room, size in (
            (left, start, cut, cut),
            (right, start + cut, room - cut, len(items) - cut),
            (number, 0, 0, 0),
        ):
            self._starts[heir], self._rooms[heir], self.sizes[heir] = first, its_room, size
            mine = self._array[first : first + size]
            self.list_of[mine] = heir
            self.place_of[mine] = np.arange(size)

    # ---- room ----

    def _make_room(self, lists: Ints, more: Indices) -> None:
        """Give each of `lists` room for so many more items."""
        wanted = self.sizes[lists] + more
        short = wanted > self._rooms[lists]
        rooms = _roomy(wanted[short])
        if self._end + rooms.sum() > len(self._array):
            self._lay_out(lists, wanted)
            return
        moved = lists[short]
        starts, sizes = self._end + np.cumsum(rooms) - rooms, self.sizes[moved]
        self._array[stretches(starts, sizes)] = self._array[stretches(self._starts[moved], sizes)]
        self._starts[moved], self._rooms[moved] = starts, rooms
        self._end += int(rooms.sum())

    def _lay_out(self, lists: Ints, wanted: Indices) -> None:
        """Give every list a new stretch, without the gaps that lists left behind when they moved or shrank."""
        sizes = self.sizes.astype(np.intp)
        sizes[lists] = wanted
        rooms = _roomy(sizes)
        starts, self._end = np.cumsum(rooms) - rooms, int(rooms.sum())
        array = np.zeros(self._end + self._end // 8 + LEAST_ROOM, np.int32)
        array[stretches(starts, self.sizes)] = self._array[stretches(self._starts, self.sizes)]
        self._starts, self._rooms, self._array = starts.astype(np.int32), rooms.astype(np.int32), array


def _roomy(sizes: Indices) -> Indices:
    """A quarter more than is needed now, and nothing for nothing."""
    return np.where(sizes > 0, sizes + sizes // 4 + 1, 0)
