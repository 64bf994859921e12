"""The Tree-Frontier: waiting links in the leaves of a tree, each leaf offering some of them (TRES, Alg. 2-3)."""

from __future__ import annotations

from array import array
from collections.abc import Iterator

import numpy as np

from tres_crawler.frontier.arrays import Bools, Floats, Halves, Ints, with_room
from tres_crawler.frontier.lists import Groups, Lists
from tres_crawler.frontier.tree import SplitEvent, Tree
from tres_crawler.records import Offers

NOT_WAITING = NOT_ROUTED = -1
NOTHING: Ints = np.zeros(0, np.int32)
FEW_HOSTS = 32
"""Held or released together; a blog platform may have many thousands."""
LARGE = 60_000
"""What features stay below; they are kept in 16 bits."""


def rounded(features: Floats) -> Floats:
    """Features as a frontier keeps them, and routes links by them: to three digits."""
    return features.astype(np.float16).astype(np.float32)


class TreeFrontier:
    """Every waiting link is in exactly one leaf, the one that the features it was placed with are routed to.

    In the list of a leaf the links of free hosts stand first, so that a draw among them is one look into an array,
    for all leaves at once and however many hosts are held. A link has a slot, a row in the arrays, while it waits.
    """

    def __init__(self, tree: Tree, rng: np.random.Generator, width: int | None = None, draws: int = 1) -> None:
        """`width`: of the rows that links come with, if there is more to them than the tree looks at.

        `draws` are shared out among the leaves that have links; every one has at least one, as in TRES.
        """
        self.tree = tree
        self._draws = draws
        self._rng = rng
        self._count = 0
        self._numbers = np.zeros(0, np.int32)
        self._features = np.zeros((0, tree.width), np.float16)
        self._words = np.zeros((0, (width or tree.width) - tree.width), np.uint16)
        """What stands behind the features, all of it numbers of 16 bits."""
        self._by_leaf, self._by_host = Lists(), Lists()
        self._free = np.zeros(0, np.int32)
        """For each leaf, how many of its links are of free hosts."""
        self._free_links = 0
        self._holds = np.zeros(0, np.int32)
        self._slot_of = np.zeros(0, np.int32)
        """By link number. Numbers are given without gaps, so this is the smallest index there is."""
        self._slots = 0
        self._unused = array("i")
        self._reserve_leaves()

    def __len__(self) -> int:
        return self._count

    def __contains__(self, link: int) -> bool:
        return 0 <= link < len(self._slot_of) and bool(self._slot_of[link] != NOT_WAITING)

    @property
    def leaves(self) -> int:
        return self.tree.leaves

    @property
    def can_offer(self) -> bool:
        return self._free_links > 0

    @property
    def nbytes(self) -> int:
        """Memory of all that grows with the links and their hosts."""
        arrays = (self._numbers, self._features, self._words, self._free, self._holds, self._slot_of)
        unused = len(self._unused) * self._unused.itemsize
        return sum(one.nbytes for one in arrays) + self._by_leaf.nbytes + self._by_host.nbytes + unused

    def waiting(self, leaves: Ints) -> Ints:
        """How many links wait in each of `leaves`, those of held hosts included."""
        return self._by_leaf.sizes[leaves]

    # ---- placing ----

    def place(self, numbers: Ints, hosts: Ints, rows: Floats) -> None:
        """Add links, a row of each column for every one; a million at once is as welcome as ten."""
        if not len(numbers):
            return
        self._refuse_what_cannot_be_placed(numbers, rows)
        slots = self._new_slots(len(numbers))
        self._reserve_hosts(int(hosts.max()))
        self._slot_of[numbers] = slots
        self._numbers[slots] = numbers
        self._features[slots], self._words[slots] = np.split(rows, [self.tree.width], axis=1)
        self._count += len(slots)
        self._by_host.extend(hosts, slots)
        self._enter(slots, self._route(slots))

    def _refuse_what_cannot_be_placed(self, numbers: Ints, rows: Floats) -> None:
        """A link placed twice, or one that could never become an experience, would be found out much later."""
        width = self.tree.width + self._words.shape[1]
        if rows.shape != (len(numbers), width) or not (np.abs(rows[:, : self.tree.width]) < LARGE).all():
            raise ValueError(f"A link needs {width} features, none of them {LARGE:,} or more.")
        self._slot_of = with_room(self._slot_of, int(numbers.max()) + 1, NOT_WAITING)
        if (self._slot_of[numbers] != NOT_WAITING).any() or len(np.unique(numbers)) < len(numbers):
            raise ValueError("A link is placed that waits already.")

    def _enter(self, slots: Ints, leaves: Ints) -> None:
        """Add links to their leaves."""
        self._by_leaf.extend(leaves, slots)
        free = slots[self._holds[self._by_host.list_of[slots]] == 0]
        if len(free):
            self._let_go(free)

    def _route(self, slots: Ints) -> Ints:
        return self.tree.route(self._features.take(slots, axis=0).astype(np.float32))

    def placed(self) -> tuple[Ints, Halves]:
        """Numbers of the waiting links and features they were placed with; a copy, to be routed beside the loop."""
        slots = self._waiting()
        return self._numbers[slots], self._features.take(slots, axis=0)

    def rebuild(self, tree: Tree, numbers: Ints = NOTHING, leaves: Ints = NOTHING) -> None:
        """Move every link to its leaf of another tree.

        `leaves` are those of the links `numbers`, where they were routed before; the others are routed now.
        """
        self.tree = tree
        self._by_leaf, self._free, self._free_links = Lists(), np.zeros(0, np.int32), 0
        self._reserve_leaves()
        self._by_leaf.reserve(len(self._numbers), 0)
        if self._count:
            slots, leaf_of = self._waiting(), np.full(len(self._slot_of), NOT_ROUTED, np.int32)
            leaf_of[numbers] = leaves
            its_leaf = leaf_of[self._numbers[slots]]
            late = its_leaf == NOT_ROUTED
            its_leaf[late] = self._route(slots[late])
            self._enter(slots, its_leaf)

    def _waiting(self) -> Ints:
        """The slots of all links, in the order of their numbers."""
        slots: Ints = self._slot_of[self._slot_of != NOT_WAITING]
        return slots

    # ---- offering ----

    def offers(self) -> Offers:
        """Links of free hosts, some of every leaf that has any, drawn uniformly, leaf by leaf; nothing is removed."""
        return self._some_of_each_leaf(self._free, self._rng)

    def samples(self, rng: np.random.Generator | None = None) -> Offers:
        """Some links of every leaf that has any, held hosts or not; drawn by `rng` if only looked at."""
        return self._some_of_each_leaf(self._by_leaf.sizes, rng or self._rng)

    def those_of(self, links: Ints) -> Offers:
        """Those of `links` that still wait, held hosts or not."""
        slots = self._slot_of.take(links)
        slots = slots[slots != NOT_WAITING]
        return self._offers(slots, self._by_leaf.list_of.take(slots))

    def _some_of_each_leaf(self, among: Ints, rng: np.random.Generator) -> Offers:
        leaves = np.flatnonzero(among).astype(np.int32)
        each = -(-self._draws // max(1, len(leaves)))
        slots, leaves = self._by_leaf.draw(leaves, among.take(leaves), each, rng)
        return self._offers(slots, leaves)

    def _offers(self, slots: Ints, leaves: Ints) -> Offers:
        # take() and not [slots]: of a million links it fetches the rows of a few thousand five times as fast.
        return Offers(self._numbers.take(slots), self._by_host.list_of.take(slots), leaves, self._rows(slots))

    def _rows(self, slots: Ints) -> Floats:
        parts = [self._features.take(slots, axis=0), self._words.take(slots, axis=0)]
        return np.concatenate(parts, axis=1, dtype=np.float32)

    # ---- removing ----

    def take(self, link: int) -> Floats:
        """Remove a link for good; returns the row it waited with."""
        if link not in self:
            raise KeyError(link)
        slot = int(self._slot_of[link])
        leaf = self._by_leaf.list_of[slot]
        if self._by_leaf.place_of[slot] < self._free[leaf]:
            self._free[leaf] -= 1
            self._free_links -= 1
            self._by_leaf.swap(slot, self._free[leaf])
        self._by_leaf.remove(slot)
        self._by_host.remove(slot)
        self._slot_of[link] = NOT_WAITING
        self._unused.append(slot)
        self._count -= 1
        row: Floats = self._rows(np.array([slot], np.int32))[0]
        return row

    def drop(self, host: int) -> int:
        """Remove all links of a host; how many there were."""
        slots = self._links_of(host)
        if len(slots):
            if not self._holds[host]:
                self._park(slots)
            self._by_leaf.remove_all(slots)
            self._by_host.remove_all(slots)
            self._slot_of[self._numbers[slots]] = NOT_WAITING
            self._unused.frombytes(slots.tobytes())
            self._count -= len(slots)
        return len(slots)

    # ---- held hosts ----

    def hold(self, *hosts: int) -> None:
        """Offer no link of `hosts`, each named once, until they are released as often as they were held."""
        self._reserve_hosts(max(hosts, default=-1))
        held = np.array(hosts, np.int32)
        self._holds[held] += 1
        for slots in self._to_move(held[self._holds[held] == 1]):
            self._park(slots)

    def are_held(self, hosts: Ints) -> Bools:
        """Of hosts that links wait for, which are held."""
        held: Bools = self._holds.take(hosts) > 0
        return held

    def release(self, *hosts: int) -> None:
        """Undo one hold of each."""
        released = np.array(hosts, np.int32)
        if max(hosts, default=-1) >= len(self._holds) or not self._holds[released].all():
            raise KeyError(hosts)
        self._holds[released] -= 1
        for slots in self._to_move(released[self._holds[released] == 0]):
            self._let_go(slots)

    def _to_move(self, hosts: Ints) -> Iterator[Ints]:
        """The links of hosts: of many all at once, of a few host by host, as the draws of a seed have always met them.

        Either way the same links are the free ones of a leaf; only the order in which they stand there differs.
        """
        waited_for = hosts[self._by_host.sizes[hosts] > 0]
        if len(waited_for) > FEW_HOSTS:
            yield self._by_host.items_of(waited_for)
        else:
            yield from map(self._by_host.items, waited_for.tolist())

    def _park(self, slots: Ints) -> None:
        """Move links from among the free ones of their leaves to just behind them."""
        groups = Groups.by(self._by_leaf.list_of[slots])
        self._free[groups.lists] -= groups.sizes
        self._by_leaf.gather(slots, groups, self._free[groups.lists])
        self._free_links -= len(slots)

    def _let_go(self, slots: Ints) -> None:
        """Move links from behind the free ones of their leaves to among them."""
        groups = Groups.by(self._by_leaf.list_of[slots])
        self._by_leaf.gather(slots, groups, self._free[groups.lists])
        self._free[groups.lists] += groups.sizes
        self._free_links += len(slots)

    # ---- learning ----

    def learn(self, vector: Floats, reward: float) -> SplitEvent | None:
        """Hand an experience to the tree; if its leaf splits, the links of that leaf, and no others, move."""
        event = self.tree.learn(vector, reward)
        if event:
            self._reserve_leaves()
            node = event.node
            slots = self._by_leaf.items(node.number)
            goes_left = self._features[slots, node.feature] < np.float32(node.threshold)
            # Free links come first in both parts, because each part keeps its order.
            free_left = goes_left[: self._free[node.number]].sum()
            self._free[node.left], self._free[node.right] = free_left, self._free[node.number] - free_left
            self._free[node.number] = 0
            self._by_leaf.divide(node.number, node.left, node.right, goes_left)
        return event

    # ---- room ----

    def _links_of(self, host: int) -> Ints:
        return self._by_host.items(host) if host < len(self._holds) else np.zeros(0, np.int32)

    def _new_slots(self, count: int) -> Ints:
        """Slots that links have left, then ones never used."""
        used = min(count, len(self._unused))
        again = np.array(self._unused[len(self._unused) - used :], np.int32)
        del self._unused[len(self._unused) - used :]
        fresh = np.arange(self._slots, self._slots + count - used, dtype=np.int32)
        self._slots += len(fresh)
        self._numbers = with_room(self._numbers, self._slots)
        self._features = with_room(self._features, self._slots)
        self._words = with_room(self._words, self._slots)
        self._by_leaf.reserve(self._slots, 0)
        self._by_host.reserve(self._slots, 0)
        return np.concatenate([again, fresh])

    def _reserve_hosts(self, last: int) -> None:
        self._by_host.reserve(0, last + 1)
        self._holds = with_room(self._holds, last + 1)

    def _reserve_leaves(self) -> None:
        self._by_leaf.reserve(0, self.tree.nodes)
        self._free = with_room(self._free, self.tree.nodes)
