"""Rates, worth and cost as visits tell them."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from tres_crawler.recrawl.estimate import Estimates, Evidence, seen_changed
from tres_crawler.recrawl.scheduler import Finding

HOUR = 3600.0
DAY = 24 * HOUR


def visited(
    estimates: Estimates,
    number: int,
    rate: float,
    gaps: np.ndarray[tuple[int], np.dtype[np.float64]],
    rng: np.random.Generator,
    lies: bool = False,
    states: bool = False,
) -> None:
    """Visit a page that changes at a rate, at those gaps; a liar says that it changed just now."""
    now = estimates.evidence(number).visited_at
    last = now - rng.exponential(1 / rate)
    for gap in gaps:
        changes = rng.poisson(rate * gap)
        if changes:
            last = now + gap * rng.random(changes).max()
        now += gap
        stated = (now if lies else last) if states or lies else None
        estimates.observe(number, now, Finding(bool(changes), 0.1 * bool(changes), changed_at=stated))


def population(rates: list[float], pages: int = 60, visits: int = 20, **how: bool) -> tuple[Estimates, np.ndarray]:
    rng, estimates = np.random.default_rng(3), Estimates(first_rate=1 / DAY)
    true = np.repeat(rates, pages)
    for number in range(len(true)):
        estimates.add(number, number % 20, Evidence(0.0))
    for number, rate in enumerate(true):
        visited(estimates, number, float(rate), rng.exponential(DAY, visits), rng, **how)
    return estimates, true


def rates_of(estimates: Estimates) -> np.ndarray:
    return np.array([estimates.belief(number).change_rate for number in range(len(estimates))])


def test_a_change_moves_the_posterior_as_the_likelihood_says() -> None:
    """Mean and variance under the exact posterior, by sums over a fine grid."""
    shape, exposure, gap = 0.7, 3.0, 5.0
    rate = np.linspace(1e-6, 30, 3_000_000)
    weight = rate ** (shape - 1) * np.exp(-exposure * rate) * (1 - np.exp(-gap * rate))
    mean = (rate * weight).sum() / weight.sum()
    variance = ((rate - mean) ** 2 * weight).sum() / weight.sum()
    after = seen_changed(shape, exposure, gap)
    assert after[0] / after[1] == pytest.approx(mean, rel=1e-3)
    assert after[0] / after[1] ** 2 == pytest.approx(variance, rel=1e-3)


def test_rates_are_found_where_counting_changes_finds_half() -> None:
    estimates, true = population([0.3 / DAY, 1 / DAY, 2 / DAY])
    found = rates_of(estimates)
    for rate in (0.3 / DAY, 1 / DAY, 2 / DAY):
        assert found[true == rate].mean() == pytest.approx(rate, rel=0.35)


def test_a_page_that_never_changes_sinks_towards_zero_but_never_to_it() -> None:
    estimates = Estimates(first_rate=1 / DAY)
    estimates.add(1, 1, Evidence(0.0))
    rates = []
    for day in range(1, 60):
        estimates.observe(1, day * DAY, Finding(changed=False, status=304))
        rates.append(estimates.belief(1).change_rate)
    assert all(after < before for before, after in pairwise(rates))
    assert 0 < rates[-1] < 0.05 / DAY


def test_a_page_that_wakes_up_is_noticed() -> None:
    estimates = Estimates(first_rate=1 / DAY)
    estimates.add(1, 1, Evidence(0.0))
    for day in range(1, 401):
        estimates.observe(1, day * DAY, Finding(changed=False))
    asleep = estimates.belief(1).change_rate
    for day in range(401, 431):
        estimates.observe(1, day * DAY, Finding(changed=True, value=0.1))
    assert estimates.belief(1).change_rate > 20 * asleep
    without = Estimates(first_rate=1 / DAY, memory_visits=math.inf)
    without.add(1, 1, Evidence(0.0))
    for day in range(1, 431):
        without.observe(1, day * DAY, Finding(changed=day > 400))
    assert estimates.belief(1).change_rate > 2 * without.belief(1).change_rate


def test_a_new_page_is_expected_to_be_like_others_of_its_host() -> None:
    rng, estimates = np.random.default_rng(1), Estimates(first_rate=0.2 / DAY)
    for number in range(40):
        estimates.add(number, number % 2, Evidence(0.0))
        visited(estimates, number, (0.02 if number % 2 else 3.0) / DAY, rng.exponential(DAY, 15), rng)
    estimates.add(100, 0, Evidence(0.0))
    estimates.add(101, 1, Evidence(0.0))
    assert estimates.belief(100).change_rate > 5 * estimates.belief(101).change_rate


def test_last_modified_is_believed_once_it_proves_true_and_sharpens_the_estimate() -> None:
    stated, true = population([0.3 / DAY, 2 / DAY, 5 / DAY], states=True)
    plain, _ = population([0.3 / DAY, 2 / DAY, 5 / DAY])
    assert stated._is_trusted(3)
    errors = [np.abs(rates_of(estimates) / true - 1)[true == 5 / DAY].mean() for estimates in (stated, plain)]
    assert errors[0] < errors[1]


def test_what_a_page_said_at_its_first_visit_counts_once_statements_are_trusted() -> None:
    estimates, _ = population([1 / DAY], states=True)
    for number, stated in ((500, -1000 * DAY), (501, -0.01 * DAY)):
        estimates.add(number, 3, Evidence(0.0, stated_at=stated))
    assert estimates.belief(500).change_rate < 0.1 * estimates.belief(501).change_rate
    assert estimates.evidence(500).stated_at is None


def test_a_server_that_lies_in_last_modified_is_not_believed() -> None:
    """It says "just now" at every visit; taken at its word, every page would change without end."""
    lying, true = population([0.3 / DAY, 1 / DAY], lies=True)
    plain, _ = population([0.3 / DAY, 1 / DAY])
    assert not lying._is_trusted(3)
    assert rates_of(lying) == pytest.approx(rates_of(plain))
    assert rates_of(lying)[true == 1 / DAY].mean() == pytest.approx(1 / DAY, rel=0.2)


def test_a_liar_is_found_out_among_honest_hosts() -> None:
    estimates, _ = population([1 / DAY], states=True)
    rng = np.random.default_rng(2)
    estimates.add(900, 77, Evidence(0.0))
    assert estimates._is_trusted(77)
    visited(estimates, 900, 0.1 / DAY, rng.exponential(DAY, 20), rng, lies=True)
    assert not estimates._is_trusted(77)
    assert estimates._is_trusted(3)


def test_a_source_is_dated_where_it_says_when_it_changed_and_is_believed() -> None:
    """Not where its host is believed only because others are, nor where it lies."""
    estimates, _ = population([1 / DAY], states=True)
    rng = np.random.default_rng(4)
    estimates.add(901, 3, Evidence(0.0, stated_at=-DAY))
    assert estimates.belief(901).dated, "what it said at its first visit has been used"
    for number, host, lies in ((902, 78, False), (903, 79, True)):
        estimates.add(number, host, Evidence(0.0))
        visited(estimates, number, 0.1 / DAY, rng.exponential(DAY, 20), rng, lies=lies)
        assert not estimates.belief(number).dated
    assert estimates.belief(0).dated


def test_a_change_is_worth_what_it_brought_shrunk_to_the_mean_of_its_host() -> None:
    estimates = Estimates()
    for number in range(6):
        estimates.add(number, number // 3, Evidence(0.0))
    for day in range(1, 21):
        for number, value in enumerate([0.8, 0.8, None, 0.1, 0.1, None]):
            changed = value is not None
            estimates.observe(number, day * DAY, Finding(changed, value or 0.0))
    rich, new_here, poor, new_there = (estimates.belief(number).utility for number in (0, 2, 3, 5))
    assert rich > new_here > new_there > poor
    assert rich == pytest.approx(0.8, abs=0.05)


def test_cheap_answers_make_a_visit_cheaper_within_bounds() -> None:
    estimates = Estimates()
    for number, (seconds, size) in enumerate([(0.1, 5_000), (0.1, 30_000), (9.0, 90_000)]):
        estimates.add(number, number, Evidence(0.0))
        estimates.observe(number, DAY, Finding(False, seconds=seconds, bytes=size))
    costs = [estimates.belief(number).cost for number in range(3)]
    assert costs[0] < costs[1] < costs[2]
    assert costs[0] >= 0.5
    assert costs[2] <= 2.0


def test_a_visit_without_an_answer_tells_nothing() -> None:
    estimates = Estimates()
    estimates.add(1, 1, Evidence(100.0))
    before = estimates.belief(1)
    estimates.observe(1, 10 * DAY, Finding(changed=None))
    assert estimates.belief(1) == before
    assert estimates.evidence(1).visited_at == 100.0


def test_a_source_without_any_successful_visit_is_what_others_are() -> None:
    estimates = Estimates(first_rate=1 / DAY)
    estimates.add(1, 1, Evidence(0.0))
    belief = estimates.belief(1)
    assert belief.change_rate == pytest.approx(1 / DAY)
    assert belief.utility > 0
    assert belief.cost == 1


def test_a_clock_that_jumps_back_tells_nothing_about_the_rate() -> None:
    estimates = Estimates()
    estimates.add(1, 1, Evidence(10 * DAY))
    before = estimates.belief(1).change_rate
    estimates.observe(1, 5 * DAY, Finding(changed=True, value=0.2))
    assert estimates.belief(1).change_rate == pytest.approx(before)
    assert estimates.evidence(1).visited_at == 5 * DAY


def test_interest_fades_as_fast_as_pages_drop_what_was_new() -> None:
    estimates = Estimates()
    assert estimates.decay_rate == estimates.first_decay_rate
    estimates.add(1, 1, Evidence(0.0))
    for day in range(1, 1001):
        estimates.observe(1, day * DAY, Finding(changed=True, faded=0.5))
    assert estimates.decay_rate == pytest.approx(2 / 3 / DAY, rel=0.1)


def test_freshness_is_the_chance_that_nothing_has_changed_since() -> None:
    estimates = Estimates(first_rate=1 / DAY)
    estimates.add(1, 1, Evidence(0.0))
    estimates.belief(1)
    assert estimates.freshness(1, 0.0) == 1
    assert estimates.freshness(1, DAY) == pytest.approx(math.exp(-1))


def test_what_is_held_can_be_put_down_and_taken_up_again() -> None:
    estimates, _ = population([0.3 / DAY, 2 / DAY], states=True)
    again = Estimates(first_rate=1 / DAY)
    for number in range(len(estimates)):
        again.add(number, number % 20, replace(estimates.evidence(number)))
    assert rates_of(again) == pytest.approx(rates_of(estimates))
    for number in range(len(again)):
        again.retire(number)
    assert again._all.sources == 0
    assert again._all.rates == pytest.approx(0, abs=1e-12)
