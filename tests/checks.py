"""What every frontier and every scheduler must do, whatever its policy; each kind is run through these."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Literal, NamedTuple

from tres_crawler.frontier.frontier import Frontier
from tres_crawler.records import Offer
from tres_crawler.recrawl.scheduler import Finding, Scheduler, Source

MakeFrontier = Callable[[], Frontier]
MakeScheduler = Callable[[], Scheduler]


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


def holds_and_releases_many_hosts_at_once(make: MakeFrontier) -> None:
    """As one by one: a host that was held before stays held, one without links takes none from the others."""
    frontier = make()
    frontier.place(Offer(number, host=number % 50) for number in range(1, 151))
    frontier.hold(7)
    frontier.hold(*range(1, 60))
    assert {offer.host for offer in _taken_until_nothing_is_offered(frontier)} == {0}
    frontier.release(*range(1, 60))
    assert {offer.host for offer in _taken_until_nothing_is_offered(frontier)} == {*range(1, 50)} - {7}
    frontier.release(7)
    assert {offer.host for offer in _taken_until_nothing_is_offered(frontier)} == {7}
    assert len(frontier) == 0


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


# ---- schedulers ----

LATE = 1e7
"""By then every source is due under any policy, last visited as they were around 0."""
NOTHING_NEW = Finding(changed=False, status=304)


def _scheduler(make: MakeScheduler, sources: int = 12, hosts: int = 12) -> Scheduler:
    scheduler = make()
    for number in range(1, sources + 1):
        scheduler.add(Source(number, number % hosts, visited_at=0.1 * number))
    assert len(scheduler) == sources
    return scheduler


def chooses_no_more_than_the_budget_and_none_twice_before_it_is_observed(make: MakeScheduler) -> None:
    scheduler = _scheduler(make)
    chosen: list[int] = []
    while found := scheduler.choose(LATE, 5):
        assert len(found) <= 5
        chosen += found
    assert sorted(chosen) == list(range(1, 13))
    scheduler.observe(3, LATE, NOTHING_NEW)
    assert list(scheduler.choose(2 * LATE, 5)) == [3]


def chooses_one_page_of_a_host_at_a_time(make: MakeScheduler) -> None:
    scheduler = _scheduler(make, hosts=3)
    found = scheduler.choose(LATE, 12)
    assert sorted(number % 3 for number in found) == [0, 1, 2]


def chooses_nothing_of_a_held_host_until_it_is_released_as_often(make: MakeScheduler) -> None:
    scheduler = _scheduler(make, hosts=3)
    scheduler.hold(1)
    scheduler.hold(1)
    scheduler.hold(2)
    scheduler.release(1)
    chosen: list[int] = []
    while found := scheduler.choose(LATE, 2):
        chosen += found
    assert sorted(chosen) == [3, 6, 9, 12]
    scheduler.add(Source(13, 1, 0.0))
    assert not scheduler.choose(LATE, 2)
    scheduler.release(1)
    while found := scheduler.choose(LATE, 1):
        chosen += found
    assert sorted(chosen) == [1, 3, 4, 6, 7, 9, 10, 12, 13]


def never_chooses_a_retired_source(make: MakeScheduler) -> None:
    scheduler = _scheduler(make)
    (chosen,) = scheduler.choose(LATE, 1)
    for number in (chosen, 2 if chosen != 2 else 3):
        scheduler.retire(number)
    scheduler.observe(chosen, LATE, NOTHING_NEW)
    scheduler.give_back(chosen)
    assert len(scheduler) == 10
    found = scheduler.choose(2 * LATE, 100)
    assert len(found) == 10
    assert chosen not in found


def chooses_again_what_was_given_back(make: MakeScheduler) -> None:
    scheduler = _scheduler(make, sources=1)
    assert list(scheduler.choose(LATE, 1)) == [1]
    assert not scheduler.choose(LATE, 1)
    scheduler.give_back(1)
    assert list(scheduler.choose(LATE, 1)) == [1]


def copes_with_a_clock_that_jumps_back(make: MakeScheduler) -> None:
    """A jump costs no source; what was visited "in the future" comes up when the clock has caught up."""
    scheduler = _scheduler(make)
    for number in scheduler.choose(LATE, 12):
        scheduler.observe(number, LATE, NOTHING_NEW)
    for number in scheduler.choose(LATE / 2, 12):
        scheduler.observe(number, LATE / 2, NOTHING_NEW)
    assert sorted(scheduler.choose(3 * LATE, 12)) == list(range(1, 13))


def chooses_nothing_where_there_is_nothing(make: MakeScheduler) -> None:
    assert not make().choose(LATE, 5)
    assert not _scheduler(make).choose(LATE, 0)


def says_what_it_must_know_again(make: MakeScheduler) -> None:
    """A scheduler made anew with what another said goes on as that one does."""
    first, second = _scheduler(make), make()
    for now in (LATE, 2 * LATE):
        for number in first.choose(now, 4):
            first.observe(number, now, Finding(changed=True, value=0.5, status=200))
    chosen, second.price = first.choose(3 * LATE, 6), first.price
    for number in chosen:
        first.observe(number, 3 * LATE, NOTHING_NEW)
        second.add(Source(number, number % 12, 3 * LATE, first.memory(number)))
        assert second.memory(number) == first.memory(number)
        assert second.due_at(number) == first.due_at(number)
