"""Slots are never more than there are, and crawls that run share them."""

from __future__ import annotations

from tres_crawler.fetch.slots import FetchSlots


def test_without_a_limit_a_crawl_takes_what_it_likes() -> None:
    assert FetchSlots().free(own=500) is None


def test_crawls_share_evenly_and_each_has_at_least_one() -> None:
    slots = FetchSlots(8)
    for crawl in (1, 2):
        slots.join(crawl, lambda: None)
    assert slots.free(own=1) == 3
    for crawl in range(3, 20):
        slots.join(crawl, lambda: None)
    assert slots.free(own=0) == 1


def test_what_another_crawl_still_has_under_way_is_waited_for() -> None:
    slots = FetchSlots(4)
    slots.join(1, lambda: None)
    for _ in range(4):
        slots.take()
    slots.join(2, lambda: None)
    assert slots.free(own=0) == 0
    slots.give_back()
    assert slots.free(own=0) == 1


def test_crawls_are_woken_when_there_is_a_slot_again_and_when_shares_grow() -> None:
    slots, woken = FetchSlots(1), list[int]()
    for crawl in (1, 2):
        slots.join(crawl, lambda crawl=crawl: woken.append(crawl))  # type: ignore[misc]  # bound at once
    slots.take()
    assert woken == []
    slots.give_back()
    assert woken == [1, 2]
    slots.leave(1)
    slots.leave(1)
    assert woken == [1, 2, 2]
