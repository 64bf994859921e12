"""What every frontier must do, whatever its policy; each kind is run through these by parametrising."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Literal, NamedTuple

from tres_crawler.frontier.frontier import Frontier
from tres_crawler.records import Offer

MakeFrontier = Callable[[], Frontier]


class Operation(NamedTuple):
    """Something that a crawl does to its frontier; `pick` chooses among the links where there is a choice."""

    verb: Literal["place", "place again", "take", "hold", "release"]
    host: int
    pick: int


def offers_every_link_until_it_is_taken(make: MakeFrontier) -> None:
    """An offer removes nothing; taking removes that link and no other, until none is left."""
    frontier, links = make(), [Offer(number, host=number % 3) for number in range(1, 31)]
    frontier.place(links)
    taken: list[Offer] = []
    while len(frontier):
        assert len(frontier) == len(links) - len(taken)
        for _ in range(5):
            (offered,) = frontier.offer()
            assert offered in links
            assert offered not in taken
        assert len(frontier) == len(links) - len(taken)
        frontier.take(offered)
        taken.append(offered)
    assert frontier.offer() == []
    assert sorted(taken, key=lambda offer: offer.link) == links


def offers_nothing_of_a_held_host_and_keeps_its_links(make: MakeFrontier) -> None:
    """Held before or after its links came, a host is passed over, and has all of them when it is free again."""
    frontier = make()
    frontier.hold(1)
    frontier.place(Offer(number, host=number % 3) for number in range(1, 16))
    frontier.hold(2)
    assert {offer.host for offer in _taken_until_nothing_is_offered(frontier)} == {0}
    assert len(frontier) == 10
    frontier.release(1)
    assert [offer.link for offer in _in_order(_taken_until_nothing_is_offered(frontier))] == [1, 4, 7, 10, 13]
    frontier.release(2)
    assert [offer.link for offer in _in_order(_taken_until_nothing_is_offered(frontier))] == [2, 5, 8, 11, 14]
    assert len(frontier) == 0


def frees_a_host_only_after_as_many_releases_as_holds(make: MakeFrontier) -> None:
    """A host held by its pause and by the cap of its site is free once both are gone."""
    frontier, only = make(), Offer(1, host=7)
    frontier.place([only])
    frontier.hold(7)
    frontier.hold(7)
    frontier.release(7)
    assert frontier.offer() == []
    frontier.hold(7)
    frontier.release(7)
    assert frontier.offer() == []
    frontier.release(7)
    assert frontier.offer() == [only]


def drops_a_host_with_all_its_links(make: MakeFrontier) -> None:
    """What is dropped is never offered again, and what waits for other hosts stays; held or free."""
    frontier = make()
    frontier.place(Offer(number, host=number % 3) for number in range(1, 16))
    frontier.hold(1)
    assert [frontier.drop(1), frontier.drop(2), frontier.drop(9)] == [5, 5, 0]
    frontier.release(1)
    assert (len(frontier), frontier.can_offer) == (5, True)
    assert {offer.host for offer in _taken_until_nothing_is_offered(frontier)} == {0}
    assert (len(frontier), frontier.can_offer) == (0, False)
    frontier.place([Offer(20, host=1)])
    assert [offer.link for offer in frontier.offer()] == [20]


def does_what_a_plain_model_does(make: MakeFrontier, operations: Sequence[Operation]) -> None:
    """After each of many operations it offers a waiting link of a free host, and nothing only if there is none."""
    frontier = make()
    waiting: dict[int, Offer] = {}
    gone: list[Offer] = []
    holds: Counter[int] = Counter()
    last = 0
    for verb, host, pick in operations:
        free = [link for link in waiting.values() if not holds[link.host]]
        if verb == "place":
            new = [Offer(last + at + 1, host) for at in range(pick % 3)]
            last += len(new)
            waiting |= {link.link: link for link in new}
            frontier.place(iter(new))
        elif verb == "place again" and gone:  # a fetch that is to be tried again
            back = gone.pop(pick % len(gone))
            waiting[back.link] = back
            frontier.place([back])
        elif verb == "take" and free:
            (taken,) = frontier.offer()
            frontier.take(taken)
            gone.append(waiting.pop(taken.link))
        elif verb == "hold":
            holds[host] += 1
            frontier.hold(host)
        elif verb == "release" and holds[host]:
            holds[host] -= 1
            frontier.release(host)
        free = [link for link in waiting.values() if not holds[link.host]]
        offered = frontier.offer()
        assert len(offered) == bool(free)
        assert all(offer in free for offer in offered)
        assert len(frontier) == len(waiting)
    for host, times in holds.items():
        for _ in range(times):
            frontier.release(host)
    assert _in_order(_taken_until_nothing_is_offered(frontier)) == _in_order(waiting.values())


def _taken_until_nothing_is_offered(frontier: Frontier) -> list[Offer]:
    taken = []
    while offers := frontier.offer():
        frontier.take(offers[0])
        taken.append(offers[0])
    return taken


def _in_order(offers: Iterable[Offer]) -> list[Offer]:
    return sorted(offers, key=lambda offer: offer.link)
