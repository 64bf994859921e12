"""A host is asked one request at a time, with a pause after each; the clock is the test's own."""

from __future__ import annotations

import math

import pytest

from tres_crawler.fetch.pace import Pace


class Clock:
    """Time that passes only when told to."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


def pause_after_trouble(pace: Pace, clock: Clock, wait_seconds: float = 0.0) -> float:
    pace.begin("a.test")
    pace.end_badly("a.test", wait_seconds)
    return pace.free_at("a.test") - clock.now


def test_a_host_is_not_free_while_a_request_is_under_way_nor_until_its_pause_is_over(clock: Clock) -> None:
    pace = Pace(2.0, clock)
    assert pace.is_free("a.test")
    pace.begin("a.test")
    clock.now += 100
    assert not pace.is_free("a.test")
    pace.end("a.test")
    clock.now += 1.99
    assert not pace.is_free("a.test")
    clock.now += 0.01
    assert pace.is_free("a.test")


def test_hosts_do_not_wait_for_each_other(clock: Clock) -> None:
    pace = Pace(2.0, clock)
    pace.begin("a.test")
    assert pace.is_free("b.test")
    pace.begin("b.test")
    pace.end("b.test")
    assert (pace.free_at("a.test"), pace.free_at("b.test")) == (math.inf, clock.now + 2)


def test_a_request_that_was_not_sent_costs_no_pause(clock: Clock) -> None:
    pace = Pace(2.0, clock)
    pace.begin("a.test")
    pace.cancel("a.test")
    assert pace.is_free("a.test")


def test_the_longer_of_our_delay_and_the_hosts_own_counts(clock: Clock) -> None:
    pace = Pace(2.0, clock)
    for wish, pause in ((5.0, 5.0), (0.5, 2.0)):
        pace.slow_down("a.test", wish)
        pace.begin("a.test")
        pace.end("a.test")
        assert pace.free_at("a.test") == clock.now + pause
    assert pace.free_at("b.test") <= clock.now


def test_the_pause_doubles_while_a_host_is_in_trouble_up_to_a_day_and_is_short_again_after_an_answer(
    clock: Clock,
) -> None:
    pace = Pace(1.0, clock)
    assert [pause_after_trouble(pace, clock) for _ in range(9)] == [4, 8, 16, 32, 64, 128, 256, 512, 1024]
    assert [pause_after_trouble(pace, clock) for _ in range(11)][-1] == 86_400
    pace.end("a.test")
    assert pace.free_at("a.test") == clock.now + 1
    assert pause_after_trouble(pace, clock) == 4


def test_a_host_that_says_how_long_to_wait_is_left_alone_that_long(clock: Clock) -> None:
    pace = Pace(1.0, clock)
    assert pause_after_trouble(pace, clock, wait_seconds=3600) == 3600
    assert pause_after_trouble(pace, clock, wait_seconds=1) == 8


def test_trouble_never_makes_the_pause_shorter_than_the_host_asks_for(clock: Clock) -> None:
    pace = Pace(1.0, clock)
    pace.slow_down("a.test", 900.0)
    assert pause_after_trouble(pace, clock) >= 900


@pytest.mark.parametrize("delay_seconds", [0.0, 1.0])
def test_a_host_may_be_in_trouble_any_number_of_times(clock: Clock, delay_seconds: float) -> None:
    pace = Pace(delay_seconds, clock)
    for _ in range(2000):
        assert pause_after_trouble(pace, clock) <= 86_400


def test_a_host_in_trouble_again_and_again_is_in_quarantine_with_its_reason_until_it_answers(clock: Clock) -> None:
    pace = Pace(1.0, clock)
    for _ in range(4):
        pace.end_badly("a.test", reason="status 500")
    assert pace.quarantined() == []
    pace.end_badly("a.test", reason="no connection")
    (found,) = pace.quarantined()
    assert (found.host, found.troubles, found.reason) == ("a.test", 5, "no connection")
    clock.now = found.until
    assert pace.quarantined() == [], "it may be tried again"
    pace.end("a.test")
    pace.end_badly("a.test", reason="status 500")
    assert pace.quarantined() == []


def test_an_address_backs_off_but_is_never_in_quarantine(clock: Clock) -> None:
    pace, pauses = Pace(1.0, clock), []
    for _ in range(6):
        pace.end_badly("address", shared=True)
        pauses.append(pace.free_at("address") - clock.now)
    assert pauses == [4, 8, 16, 32, 32, 32]
    assert pace.quarantined() == []


def test_a_slow_host_rests_longer_and_a_quick_one_is_asked_at_the_usual_pace_again(clock: Clock) -> None:
    pace = Pace(1.0, clock)
    for _ in range(20):
        pace.end("a.test", seconds=4.0)
    assert 7.5 < pace.free_at("a.test") - clock.now < 8.5
    for _ in range(20):
        pace.end("a.test", seconds=0.1)
    assert pace.free_at("a.test") - clock.now == 1.0
