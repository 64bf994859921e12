"""A frontier of one leaf that offers the link with the highest score, which it was given when it was placed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from tres_crawler.frontier.queue import OrderedFrontier, most_promising_first
from tres_crawler.records import Offer

Score = Callable[[Sequence[Offer]], Sequence[float]]
"""What links are worth, by their features; those that are placed together are asked for together."""


class ScoredFrontier(OrderedFrontier):
    """A score stays as it was: the asynchronous method (TRES, sec. 3.2)."""

    def __init__(self, score: Score) -> None:
        super().__init__(most_promising_first)
        self._score = score

    def place(self, links: Iterable[Offer]) -> None:
        placed = list(links)
        if placed:
            super().place(replace(link, promise=score) for link, score in zip(placed, self._score(placed), strict=True))

    def offer(self) -> list[Offer]:
        return [replace(offer, value=offer.promise) for offer in super().offer()]


class RescoredFrontier(ScoredFrontier):
    """All scores can be given anew, for which every waiting link is kept whole."""

    def __init__(self, score: Score) -> None:
        super().__init__(score)
        self._whole: dict[int, Offer] = {}

    def place(self, links: Iterable[Offer]) -> None:
        placed = list(links)
        self._whole.update((link.link, link) for link in placed)
        super().place(placed)

    def take(self, offer: Offer) -> None:
        super().take(offer)
        del self._whole[offer.link]

    def drop(self, host: int) -> int:
        for link in self.of_host(host):
            del self._whole[link]
        return super().drop(host)

    def score_anew(self) -> None:
        """The holds stay, the order does not."""
        waiting = list(self._whole.values())
        self.clear()
        super().place(waiting)
