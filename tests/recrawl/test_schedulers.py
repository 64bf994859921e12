"""Every scheduler keeps the promises of the protocol, and each does what its name says."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from functools import partial

import numpy as np
import pytest

from tests import checks
from tests.checks import LATE, NOTHING_NEW, MakeScheduler
from tres_crawler.recrawl.baselines import (
    ExactWhittle,
    FixedInterval,
    Greedy,
    Multiplicative,
    RoundRobin,
    Thompson,
    Uniform,
)
from tres_crawler.recrawl.calendar import CalendarScheduler, ephemeral
from tres_crawler.recrawl.laboratory import LABORATORY, Circumstances
from tres_crawler.recrawl.scheduler import Belief, Beliefs, Finding, Scheduler, Source

HOUR = 3600.0
CHANGED = Finding(changed=True, value=0.5, status=200)


def believed(number: int) -> Belief:
    """The higher the number, the faster the changes; the first never changes at all."""
    return Belief(change_rate=(number - 1) * 1e-5, utility=1.0, evidence=3.0)


SCHEDULERS: dict[str, MakeScheduler] = {
    "uniform": lambda: Uniform(np.random.default_rng(1)),
    "round robin": RoundRobin,
    "fixed": lambda: FixedInterval(24 * HOUR),
    "multiplicative": lambda: Multiplicative(24 * HOUR, HOUR, 1000 * HOUR),
    "greedy": lambda: Greedy(believed),
    "thompson": lambda: Thompson(believed, np.random.default_rng(1)),
    "exact": lambda: ExactWhittle(believed),
    "calendar": lambda: CalendarScheduler(believed),
    "calendar with an oldest age": lambda: CalendarScheduler(believed, most_age_seconds=24 * HOUR),
    "calendar at a high price": lambda: CalendarScheduler(believed, price=5.0),
    "ephemeral": lambda: CalendarScheduler(believed, ephemeral(lambda: 1e-6)),
    **{name: partial(make, Circumstances(believed)) for name, make in LABORATORY.items()},
}
every_scheduler = pytest.mark.parametrize("make", SCHEDULERS.values(), ids=SCHEDULERS.keys())


@every_scheduler
def test_no_more_than_the_budget_is_chosen_and_nothing_twice_before_it_is_observed(make: MakeScheduler) -> None:
    checks.chooses_no_more_than_the_budget_and_none_twice_before_it_is_observed(make)


@every_scheduler
def test_one_page_of_a_host_is_chosen_at_a_time(make: MakeScheduler) -> None:
    checks.chooses_one_page_of_a_host_at_a_time(make)


@every_scheduler
def test_nothing_of_a_held_host_is_chosen(make: MakeScheduler) -> None:
    checks.chooses_nothing_of_a_held_host_until_it_is_released_as_often(make)


@every_scheduler
def test_a_retired_source_is_never_chosen(make: MakeScheduler) -> None:
    checks.never_chooses_a_retired_source(make)


@every_scheduler
def test_what_was_given_back_is_chosen_again(make: MakeScheduler) -> None:
    checks.chooses_again_what_was_given_back(make)


@every_scheduler
def test_a_clock_that_jumps_back_costs_no_source(make: MakeScheduler) -> None:
    checks.copes_with_a_clock_that_jumps_back(make)


@every_scheduler
def test_nothing_is_chosen_where_there_is_nothing(make: MakeScheduler) -> None:
    checks.chooses_nothing_where_there_is_nothing(make)


@every_scheduler
def test_a_scheduler_made_anew_goes_on_as_the_one_before(make: MakeScheduler) -> None:
    checks.says_what_it_must_know_again(make)


def ask(scheduler: Scheduler, visits: int, every: float, finding: Finding = NOTHING_NEW) -> Counter[int]:
    """Visit one source every so many seconds; how often each was."""
    count: Counter[int] = Counter()
    for at in range(visits):
        for number in scheduler.choose(LATE + at * every, 1):
            count[number] += 1
            scheduler.observe(number, LATE + at * every, finding)
    return count


def with_sources(scheduler: Scheduler, count: int = 10) -> Scheduler:
    for number in range(1, count + 1):
        scheduler.add(Source(number, number, LATE - 1000 * HOUR))
    return scheduler


def test_round_robin_visits_all_as_often() -> None:
    assert set(ask(with_sources(RoundRobin()), 50, HOUR).values()) == {5}


def test_uniform_visits_all_about_as_often() -> None:
    count = ask(with_sources(Uniform(np.random.default_rng(1))), 1000, HOUR)
    assert 60 < min(count.values()) < max(count.values()) < 140


def test_a_fixed_interval_is_kept_and_leaves_budget_unused() -> None:
    count = ask(with_sources(FixedInterval(100 * HOUR)), 400, HOUR)
    assert set(count.values()) == {4}


def test_an_interval_shrinks_after_a_change_and_grows_after_none_within_its_bounds() -> None:
    scheduler = Multiplicative(100.0, 50.0, 300.0)
    scheduler.add(Source(1, 1, 0.0))
    intervals = []
    for finding in [CHANGED, Finding(changed=None), NOTHING_NEW, *[CHANGED] * 9, *[NOTHING_NEW] * 9]:
        scheduler.observe(1, 10.0, finding)
        intervals.append(scheduler.memory(1))
    assert intervals[:3] == pytest.approx([80.0, 80.0, 112.0])
    assert intervals[11] == 50.0
    assert intervals[-1] == 300.0


def test_greedy_and_thompson_prefer_what_changes_often_and_never_ask_what_never_changes() -> None:
    for scheduler in (Greedy(believed), Thompson(believed, np.random.default_rng(2))):
        count = ask(with_sources(scheduler), 300, 20 * HOUR)
        assert count[10] > count[2] > 0


@pytest.mark.parametrize("make", [ExactWhittle, CalendarScheduler])
def test_of_dated_sources_that_seem_alike_the_little_known_one_is_visited_first(
    make: Callable[[Beliefs], Scheduler],
) -> None:
    well, little, known = (Belief(1 / HOUR, 1.0, evidence=shape, dated=True) for shape in (50.0, 0.5, math.inf))
    undated = Belief(1 / HOUR, 1.0, evidence=0.5)
    scheduler = make((undated, known, well, little).__getitem__)
    for number in range(4):
        scheduler.add(Source(number, number, LATE))
    assert scheduler.choose(LATE + HOUR / 2, 4) == [3, 2, 0, 1]


@pytest.mark.parametrize("per_host", [1, 4])
def test_the_calendar_earns_what_exact_ranking_earns(per_host: int) -> None:
    """Expected rewards at the true rates, one visit at a time, hosts resting after each."""
    rng = np.random.default_rng(5)
    rates, worths = 0.01 * 300 ** rng.random(300), rng.gamma(2, 0.5, 300)
    rates[rng.random(300) < 0.4] = 0.0
    start = -10 * rng.random(300)
    earned = []
    for scheduler in (
        ExactWhittle(lambda number: Belief(float(rates[number]), float(worths[number]))),
        CalendarScheduler(lambda number: Belief(float(rates[number]), float(worths[number]))),
    ):
        visited, total, resting = start.copy(), 0.0, []
        for number in range(300):
            scheduler.add(Source(number, number // per_host, float(start[number])))
        for step in range(3000):
            now = step / 30
            for number in scheduler.choose(now, 1):
                if step > 1000:
                    total += worths[number] * (1 - np.exp(-rates[number] * (now - visited[number])))
                visited[number] = now
                scheduler.observe(number, now, NOTHING_NEW)
                scheduler.hold(number // per_host)
                resting.append(number // per_host)
                if len(resting) > 10:
                    scheduler.release(resting.pop(0))
        earned.append(total)
    assert earned[1] == pytest.approx(earned[0], rel=0.01)


def test_the_price_follows_the_budget() -> None:
    """Twice the visits at half the gap are worth less each."""
    prices = []
    for per_unit in (20, 40):
        rates = 0.01 * 300 ** np.random.default_rng(5).random(200)
        scheduler = CalendarScheduler(lambda number, rates=rates: Belief(float(rates[number]), 1.0))  # type: ignore[misc]
        for number in range(200):
            scheduler.add(Source(number, number, 0.0))
        for step in range(100 * per_unit):
            for number in scheduler.choose(step / per_unit, 1):
                scheduler.observe(number, step / per_unit, NOTHING_NEW)
        prices.append(scheduler.price)
    assert prices[1] < 0.8 * prices[0]


def test_no_source_comes_sooner_than_the_least_gap_however_large_the_budget() -> None:
    for scheduler in (
        with_sources(CalendarScheduler(believed, least_gap_seconds=HOUR)),
        with_sources(RoundRobin(HOUR)),
    ):
        for number in scheduler.choose(LATE, 100):
            scheduler.observe(number, LATE, NOTHING_NEW)
        assert not scheduler.choose(LATE + HOUR - 1, 100)
        assert sorted(scheduler.choose(LATE + HOUR, 100)) == list(range(1, 11))


def test_no_source_is_forgotten_past_its_oldest_age() -> None:
    """The first source never changes: only its age brings it up, at most with every tenth visit."""
    scheduler = with_sources(CalendarScheduler(believed, most_age_seconds=100 * HOUR))
    assert ask(scheduler, 1000, HOUR)[1] == pytest.approx(10, abs=2)
    without = with_sources(CalendarScheduler(believed))
    assert ask(without, 1000, HOUR)[1] <= 1


def test_a_calendar_keeps_no_more_entries_than_it_needs() -> None:
    scheduler = CalendarScheduler(believed, price=1.0)
    ask(with_sources(scheduler, 50), 3000, HOUR)
    assert len(scheduler._calendar) <= 2 * 50 + 64


def test_a_source_is_where_its_index_says() -> None:
    scheduler = CalendarScheduler(believed, price=0.1)
    scheduler.add(Source(5, 5, 1000.0))
    due = scheduler.due_at(5)
    assert due is not None
    assert scheduler.index(5, due) == pytest.approx(0.1)
    assert scheduler.index(5, 1000.0) == 0
