"""A frontier that is led by another one for a while: the most promising links first, then whatever the policy says."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tres_crawler.frontier.frontier import Frontier
from tres_crawler.records import Offer


class GuidedFrontier:
    """Both hold the same links and the same holds; the guide offers until it is let go."""

    def __init__(self, followed: Frontier, guide: Frontier | None) -> None:
        self._followed = followed
        self._guide = guide

    def guide_through(self, links: Iterable[Offer]) -> None:
        """Show the guide links that the policy has by itself."""
        if self._guide is not None:
            self._guide.place(links)

    def let_go(self) -> None:
        """From now on the policy offers by itself."""
        self._guide = None

    def __len__(self) -> int:
        return len(self._followed)

    @property
    def leaves(self) -> int:
        return self._followed.leaves

    @property
    def can_offer(self) -> bool:
        return self._followed.can_offer

    def place(self, links: Iterable[Offer]) -> None:
        placed = list(links)
        for frontier in self._both():
            frontier.place(placed)

    def offer(self) -> list[Offer]:
        return (self._followed if self._guide is None else self._guide).offer()

    def take(self, offer: Offer) -> None:
        for frontier in self._both():
            frontier.take(offer)

    def drop(self, host: int) -> int:
        if self._guide is not None:
            self._guide.drop(host)
        return self._followed.drop(host)

    def hold(self, *hosts: int) -> None:
        for frontier in self._both():
            frontier.hold(*hosts)

    def release(self, *hosts: int) -> None:
        for frontier in self._both():
            frontier.release(*hosts)

    def _both(self) -> Iterator[Frontier]:
        yield self._followed
        # An empty frontier is false: it must be asked whether there is one.
        if self._guide is not None:
            yield self._guide
