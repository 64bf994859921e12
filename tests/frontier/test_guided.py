"""A guide leads a frontier for a while; both know the same links and holds, so that letting go loses nothing."""

from __future__ import annotations

from tres_crawler.frontier.guided import GuidedFrontier
from tres_crawler.frontier.queue import OrderedFrontier, most_promising_first
from tres_crawler.records import Offer

LINKS = [Offer(number, host=number % 4, promise=(number * 7 % 10) / 10) for number in range(1, 21)]


def guided() -> GuidedFrontier:
    return GuidedFrontier(OrderedFrontier(), OrderedFrontier(most_promising_first))


def taken(frontier: GuidedFrontier) -> Offer:
    (offer,) = frontier.offer()
    frontier.take(offer)
    return offer


def test_the_guide_offers_until_it_is_let_go_and_then_the_policy() -> None:
    frontier = guided()
    frontier.place(iter(LINKS))
    led = [taken(frontier) for _ in range(6)]
    assert [offer.promise for offer in led] == sorted((link.promise for link in LINKS), reverse=True)[:6]
    frontier.let_go()
    rest = [taken(frontier).link for _ in range(len(frontier))]
    assert rest == sorted({link.link for link in LINKS} - {offer.link for offer in led}), "breadth-first from here on"


def test_holds_and_drops_of_the_guided_time_count_after_it() -> None:
    frontier = guided()
    frontier.hold(1)
    frontier.place(LINKS)
    frontier.hold(2)
    frontier.hold(2)
    frontier.release(2)
    assert frontier.drop(3) == 5
    frontier.let_go()
    assert {taken(frontier).host for _ in range(5)} == {0}
    assert (len(frontier), frontier.offer()) == (10, [])
    frontier.release(1)
    frontier.release(2)
    assert {taken(frontier).host for _ in range(10)} == {1, 2}


def test_without_a_guide_it_is_the_policys_own_frontier() -> None:
    frontier = GuidedFrontier(OrderedFrontier(), None)
    frontier.place(LINKS)
    assert [taken(frontier).link for _ in range(3)] == [1, 2, 3]
    frontier.let_go()
    assert (taken(frontier).link, frontier.leaves) == (4, 1)
