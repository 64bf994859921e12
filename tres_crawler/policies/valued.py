"""A Tree-Frontier whose offers are ranked by what a learner holds of them (DESIGN, "Choose" and "Eagerness")."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from tres_crawler.frontier.leaves import TreeFrontier
from tres_crawler.frontier.look import NodeLook, look
from tres_crawler.records import Offer, Offers

Floats = npt.NDArray[np.float32]
Hosts = npt.NDArray[np.int32]
Links = npt.NDArray[np.int32]
Bools = npt.NDArray[np.bool_]
Rows = npt.NDArray[np.intp]

MOST_OFFERS = 64
"""Offers made at once; there are rarely more slots to fill."""


class ValuedFrontier:
    """Answers to the verbs of every frontier; `offer` puts the most valuable first, and waits for better if told so."""

    def __init__(
        self,
        tree: TreeFrontier,
        value: Callable[[Floats, Hosts], Floats],
        eagerness: float,
        is_out_of_reach: Callable[[int], bool],
        rng: np.random.Generator,
        refresh: Callable[[Floats, Hosts], Floats] = lambda features, hosts: features,
        shortlist: int = 0,
        are_full: Callable[[Hosts], Bools] = lambda hosts: np.zeros(len(hosts), np.bool_),
    ) -> None:
        self.tree = tree
        self.exploration = 0.0
        """Chance that an offer is one of a random leaf."""
        self._value = value
        self._eagerness = eagerness
        self._are_full = are_full
        self._is_out_of_reach = is_out_of_reach
        self._rng = rng
        self._refresh = refresh
        """The features of links as they are known now; offers bring them along, so that a choice can be explained."""
        self._shortlist = shortlist
        self._best: Links = np.zeros(0, np.int32)
        """The best links of earlier choices, so many at most: what draws have found once is looked at again."""

    def __len__(self) -> int:
        return len(self.tree)

    @property
    def leaves(self) -> int:
        return self.tree.leaves

    @property
    def can_offer(self) -> bool:
        return self.tree.can_offer

    def place(self, links: Iterable[Offer]) -> None:
        placed = list(links)
        if placed:
            self.tree.place(
                np.array([link.link for link in placed], np.int32),
                np.array([link.host for link in placed], np.int32),
                np.stack([link.features for link in placed if link.features is not None]),
            )

    def offer(self) -> list[Offer]:
        drawn = self.tree.offers()
        if not len(drawn):
            return []
        # Draws stand first: their rows are rows of all that is seen.
        seen = Offers.joined([drawn, self._others(drawn)])
        values = self._value(seen.features, seen.hosts)
        self._remember(seen.links, values)
        held = self.tree.are_held(seen.hosts)
        least = self._least(values, seen.hosts, held)
        order = _best_of_each_host(np.flatnonzero(~held & (values >= least)), values, seen.hosts)[:MOST_OFFERS]
        explored = self._rng.random(len(order)) < self.exploration
        order[explored] = self._of_random_leaves(drawn, int(explored.sum()))
        chosen: dict[int, bool] = {}
        for row, by_chance in zip(order.tolist(), explored.tolist(), strict=True):
            # A row may stand twice, drawn by chance and for its value: what comes first is why it is offered.
            chosen.setdefault(row, by_chance)
        rows = list(chosen)
        features = self._refresh(seen.features[rows], seen.hosts[rows])
        return [
            replace(seen[row], features=now, value=float(values[row]), explored=chosen[row])
            for row, now in zip(rows, features, strict=True)
        ]

    def take(self, offer: Offer) -> None:
        self.tree.take(offer.link)

    def drop(self, host: int) -> int:
        return self.tree.drop(host)

    def hold(self, *hosts: int) -> None:
        self.tree.hold(*hosts)

    def release(self, *hosts: int) -> None:
        self.tree.release(*hosts)

    def look(self) -> list[NodeLook]:
        """The nodes of the tree, with what waits below each and what the learner holds of it."""
        return look(self.tree, self._value)

    def sample(self, best: bool) -> Floats | None:
        """The features of one waiting link, which stays: the best of all leaves' draws, or one of any leaf."""
        samples = self.tree.samples()
        if not len(samples):
            return None
        at = (
            int(np.argmax(self._value(samples.features, samples.hosts)))
            if best
            else int(self._of_random_leaves(samples, 1)[0])
        )
        vector: Floats = self._refresh(samples.features[at : at + 1], samples.hosts[at : at + 1])[0]
        return vector

    def _of_random_leaves(self, offers: Offers, count: int) -> Rows:
        """Rows of offers: every leaf is as likely, however many links it offers."""
        # Offers of a leaf stand together.
        _, first, sizes = np.unique(offers.leaves, return_index=True, return_counts=True)
        leaves = self._rng.integers(len(first), size=count)
        return first[leaves] + (self._rng.random(count) * sizes[leaves]).astype(np.intp)

    def _others(self, drawn: Offers) -> Offers:
        """What is looked at besides draws: the best of earlier choices, and links that may be worth waiting for."""
        found = [self.tree.those_of(np.setdiff1d(self._best, drawn.links))]
        if self._eagerness < 1:
            samples = self.tree.samples()
            found.append(samples.only(self.tree.are_held(samples.hosts) & ~np.isin(samples.links, self._best)))
        others = Offers.joined(found)
        # Links of full sites stay in the tree, and would be the best of the list for good.
        return others.only(~self._are_full(others.hosts))

    def _remember(self, links: Links, values: Floats) -> None:
        most = min(self._shortlist, len(links))
        self._best = links[np.argpartition(-values, most - 1)[:most]] if most else links[:0]

    def _least(self, values: Floats, hosts: Hosts, held: Bools) -> float:
        """The value below which an offer is left for a better link whose host is resting."""
        best = float(values[~held].max())
        if self._eagerness < 1:
            better = _best_of_each_host(np.flatnonzero(held & (values > best)), values, hosts)
            row = next((row for row in better if not self._is_out_of_reach(int(hosts[row]))), None)
            best = best if row is None else float(values[row])
        return (1 - self._eagerness) * best if best > 0 else -np.inf


def _best_of_each_host(rows: Rows, values: Floats, hosts: Hosts) -> Rows:
    """The most valuable first, one a host: a host is held once a link of it is taken."""
    order = rows[np.argsort(-values[rows], kind="stable")]
    return order[np.sort(np.unique(hosts[order], return_index=True)[1])]
