"""The ordered frontier offers the link found first, or the one that promises most."""

from __future__ import annotations

from tres_crawler.frontier.queue import OrderedFrontier, most_promising_first
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


def test_a_host_that_is_asked_again_and_again_takes_no_more_memory() -> None:
    frontier = OrderedFrontier()
    frontier.place(Offer(n, n % 3) for n in range(1, 10))
    for _ in range(1000):
        frontier.hold(1)
        frontier.release(1)
    assert len(frontier._heads) < 10
    assert [taken(frontier) for _ in range(9)] == list(range(1, 10))


def test_a_link_that_is_put_back_keeps_its_place_in_the_queue() -> None:
    frontier = OrderedFrontier()
    frontier.place([Offer(1, 1), Offer(2, 1), Offer(3, 2)])
    assert taken(frontier) == 1
    frontier.place([Offer(1, 1)])
    assert [taken(frontier) for _ in range(3)] == [1, 2, 3]


def test_the_most_promising_link_goes_first_and_the_older_of_two_alike() -> None:
    frontier = OrderedFrontier(most_promising_first)
    frontier.place([Offer(1, 1, promise=0.1), Offer(2, 1, promise=0.9), Offer(3, 2, promise=0.5)])
    frontier.place([Offer(4, 3, promise=0.5), Offer(5, 2, promise=2.0)])
    assert [taken(frontier) for _ in range(5)] == [5, 2, 3, 4, 1]


def test_a_link_keeps_its_promise_when_it_is_put_back() -> None:
    frontier = OrderedFrontier(most_promising_first)
    frontier.place([Offer(1, 1, promise=0.9), Offer(2, 2, promise=0.5)])
    (offer,) = frontier.offer()
    frontier.take(offer)
    assert offer == Offer(1, 1, promise=0.9)
    frontier.place([offer])
    assert [taken(frontier), taken(frontier)] == [1, 2]


def test_any_link_may_be_taken_not_only_the_first_of_its_host() -> None:
    frontier = OrderedFrontier(most_promising_first)
    links = [Offer(number, 1, promise=number / 10) for number in range(1, 8)]
    frontier.place(links)
    for link in (links[3], links[6], links[0]):
        frontier.take(link)
    assert [taken(frontier) for _ in range(len(frontier))] == [6, 5, 3, 2]
