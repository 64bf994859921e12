"""Scores that stay, scores that are given anew, and values that are asked for at every choice."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tres_crawler.frontier.flat import FlatFrontier
from tres_crawler.frontier.scored import RescoredFrontier, ScoredFrontier
from tres_crawler.records import Offer

LINKS = [Offer(n, host=n % 3, features=np.array([n / 10], np.float32)) for n in range(1, 8)]


class Turning:
    """What a link is worth: its only feature, until that turns round."""

    sign = 1.0

    def scores(self, placed: Sequence[Offer]) -> list[float]:
        return [self.sign * float(link.features[0]) for link in placed if link.features is not None]

    def values(self, features: np.ndarray, hosts: np.ndarray) -> np.ndarray:
        return self.sign * features[:, 0]


def test_a_score_stays_as_it_was_when_the_link_was_placed() -> None:
    worth = Turning()
    frontier = ScoredFrontier(worth.scores)
    frontier.place(LINKS)
    worth.sign = -1.0
    frontier.place([Offer(9, host=1, features=np.array([0.01], np.float32))])
    (best,) = frontier.offer()
    assert (best.link, round(best.value or 0.0, 3)) == (7, 0.7)


def test_scores_given_anew_change_the_order_and_nothing_else() -> None:
    worth = Turning()
    frontier = RescoredFrontier(worth.scores)
    frontier.hold(1)
    frontier.place(LINKS)
    frontier.take(frontier.offer()[0])
    assert frontier.drop(0) == 1
    worth.sign = -1.0
    frontier.score_anew()
    assert (len(frontier), [offer.link for offer in frontier.offer()]) == (5, [2])
    frontier.release(1)
    assert [offer.link for offer in frontier.offer()] == [1]


def test_a_flat_frontier_follows_what_links_are_worth_now() -> None:
    worth = Turning()
    frontier = FlatFrontier(1, worth.values)
    frontier.place(LINKS)
    assert [offer.link for offer in frontier.offer()] == [7]
    worth.sign = -1.0
    (best,) = frontier.offer()
    assert (best.link, round(best.value or 0.0, 3)) == (1, -0.1)
