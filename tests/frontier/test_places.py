"""No site is charged more pages than its cap, whatever the order of events."""

from __future__ import annotations

import random
from collections import Counter
from itertools import count

import numpy as np
import pytest

from tres_crawler.caps import SiteCap
from tres_crawler.frontier.buckets import RandomFrontier
from tres_crawler.frontier.places import Places
from tres_crawler.records import Offer

link_numbers = count(1)


def places_with(cap: SiteCap | None) -> tuple[Places, RandomFrontier]:
    frontier = RandomFrontier(random.Random(1))
    return Places(cap, frontier), frontier


def place(places: Places, frontier: RandomFrontier, *urls: str) -> None:
    frontier.place([Offer(next(link_numbers), places.host(url)) for url in urls])


def charge_until_nothing_is_offered(places: Places, frontier: RandomFrontier) -> Counter[int]:
    """Choose as a crawl does, and leave every fetch in flight."""
    charged: Counter[int] = Counter()
    while offers := frontier.offer():
        frontier.take(offers[0])
        site = places.site(offers[0].host)
        places.charge(site)
        charged[site] += 1
    return charged


def test_a_site_is_never_charged_above_its_cap_while_fetches_start_end_and_are_refunded() -> None:
    rng = random.Random(4)
    places, frontier = places_with(SiteCap(5, 5))
    place(places, frontier, *(f"http://{rng.choice('abc')}.s{rng.randrange(8)}.test/{at}" for at in range(400)))
    kept: Counter[int] = Counter()
    in_flight: list[Offer] = []
    while frontier.offer() or in_flight:
        if frontier.offer() and rng.random() < 0.6:
            (chosen,) = frontier.offer()
            frontier.take(chosen)
            places.charge(places.site(chosen.host))
            in_flight.append(chosen)
        elif in_flight:
            ended = in_flight.pop(rng.randrange(len(in_flight)))
            if rng.random() < 0.5:
                places.refund(places.site(ended.host))
            else:
                kept[places.site(ended.host)] += 1
        charged = kept + Counter(places.site(one.host) for one in in_flight)
        assert max(charged.values(), default=0) <= 5
    assert set(kept.values()) == {5}
    assert len(kept) == 8


def test_all_hosts_of_a_full_site_are_held_and_a_refund_opens_them_again() -> None:
    places, frontier = places_with(SiteCap(2, 2))
    place(places, frontier, "http://a.one.test/", "http://b.one.test/", "http://c.one.test/", "http://c.one.test/2")
    assert charge_until_nothing_is_offered(places, frontier).total() == 2
    assert len(frontier) == 2
    site = places.site(places.host("http://a.one.test/"))
    hosts = np.array([places.host(f"http://{name}.test/") for name in ("a.one", "c.one", "another")], np.int32)
    assert (places.is_full(site), places.are_full(hosts).tolist()) == (True, [True, True, False])
    assert places.are_full(np.array([places.host("http://new.one.test/")], np.int32)).tolist() == [True]
    places.refund(site)
    assert (places.is_full(site), places.are_full(hosts).tolist()) == (False, [False, False, False])
    assert charge_until_nothing_is_offered(places, frontier).total() == 1
    assert places.is_full(site)


def test_a_host_first_seen_when_its_site_is_full_is_held_until_the_site_has_room() -> None:
    places, frontier = places_with(SiteCap(1, 1))
    place(places, frontier, "http://www.full.test/")
    assert charge_until_nothing_is_offered(places, frontier).total() == 1
    place(places, frontier, "http://news.full.test/")
    assert frontier.offer() == []
    assert len(frontier) == 1
    places.refund(places.site(places.host("http://www.full.test/")))
    assert places.names[frontier.offer()[0].host] == "news.full.test"


def test_a_host_that_rests_stays_held_when_its_site_gets_room_again() -> None:
    places, frontier = places_with(SiteCap(1, 1))
    place(places, frontier, "http://a.test/1", "http://a.test/2")
    host = places.host("http://a.test/")
    frontier.hold(host)
    places.charge(places.site(host))
    places.refund(places.site(host))
    assert frontier.offer() == []
    frontier.release(host)
    assert frontier.offer()[0].host == host


@pytest.mark.parametrize(("spent_pages", "cap"), [(0, 5), (29, 5), (30, 3), (59, 3), (60, 2), (90, 2)])
def test_the_adaptive_cap_5_2_is_5_then_3_then_2_by_thirds_of_the_budget(spent_pages: int, cap: int) -> None:
    places, frontier = places_with(SiteCap(5, 2))
    place(places, frontier, *(f"http://a.test/{at}" for at in range(20)))
    places.tighten(spent_pages / 90)
    assert charge_until_nothing_is_offered(places, frontier).total() == cap


def test_a_falling_cap_closes_sites_that_are_over_it_until_refunds_bring_them_below() -> None:
    places, frontier = places_with(SiteCap(5, 2))
    place(places, frontier, *(f"http://{site}.test/{at}" for site in "ab" for at in range(9)))
    a, b = (places.site(places.host(f"http://{site}.test/")) for site in "ab")
    for site in (a, a, a, a, b):
        places.charge(site)
    places.tighten(0.5)
    assert [places.is_full(a), places.is_full(b)] == [True, False]
    places.refund(a)
    assert places.is_full(a)
    places.refund(a)
    assert not places.is_full(a)


def test_without_a_cap_no_site_is_ever_full() -> None:
    places, frontier = places_with(None)
    place(places, frontier, *(f"http://a.test/{at}" for at in range(500)))
    places.tighten(1.0)
    assert charge_until_nothing_is_offered(places, frontier).total() == 500


def test_hosts_and_sites_get_back_their_numbers_after_a_restart() -> None:
    before, frontier = places_with(SiteCap(1, 1))
    urls = ["http://a.one.test/", "http://two.test:8080/", "http://b.one.test/", "http://192.0.2.1/"]
    numbers = [before.host(url) for url in urls]
    assert len(before.unsaved_sites) == 3
    after, frontier = places_with(SiteCap(1, 1))
    after.restore(before.unsaved_sites, reversed(before.unsaved_hosts))
    assert [after.host(url) for url in urls] == numbers
    assert [after.site(number) for number in numbers] == [before.site(number) for number in numbers]
    assert (after.unsaved_hosts, after.unsaved_sites) == ([], [])
    new = after.host("http://www.two.test/")
    assert new not in numbers
    assert after.site(new) == after.site(numbers[1])
    assert (len(after.unsaved_hosts), after.unsaved_sites) == (1, [])
    place(after, frontier, *urls)
    assert charge_until_nothing_is_offered(after, frontier).total() == 3
