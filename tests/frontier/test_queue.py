"""The ordered frontier is breadth-first: the link found first goes first."""

from __future__ import annotations

from tres_crawler.frontier.queue import OrderedFrontier
from tres_crawler.records import Offer


def taken(frontier: OrderedFrontier) -> int:
    (offer,) = frontier.offer()
    frontier.take(offer)
    return offer.link


def test_links_come_out_oldest_first_whatever_their_hosts_and_the_order_of_placing() -> None:
    frontier = OrderedFrontier()
    frontier.place([Offer(4, 1), Offer(2, 2), Offer(6, 3), Offer(1, 1)])
    assert [taken(frontier), taken(frontier)] == [1, 2]
    frontier.place([Offer(5, 2), Offer(3, 4)])
    assert [taken(frontier) for _ in range(4)] == [3, 4, 5, 6]


def test_a_rested_host_goes_on_with_its_oldest_link_before_all_younger_ones() -> None:
    frontier = OrderedFrontier()
    frontier.place([Offer(1, 1), Offer(2, 1), Offer(3, 2), Offer(4, 2)])
    frontier.hold(1)
    assert taken(frontier) == 3
    frontier.release(1)
    assert [taken(frontier) for _ in range(3)] == [1, 2, 4]


def test_a_link_that_is_put_back_keeps_its_place_in_the_queue() -> None:
    frontier = OrderedFrontier()
    frontier.place([Offer(1, 1), Offer(2, 1), Offer(3, 2)])
    assert taken(frontier) == 1
    frontier.place([Offer(1, 1)])
    assert [taken(frontier) for _ in range(3)] == [1, 2, 3]
