"""The indices, tested with the numbers of the paper's example."""

from __future__ import annotations

import numpy as np
import pytest

from tres_crawler.recrawl.whittle import (
    NEVER,
    age_of_index,
    change_index,
    change_index_slotted,
    ephemeral_index,
    ephemeral_index_reachable,
    ephemeral_index_slotted,
    ripe_at,
    ripeness,
    slot_inflow,
)

DECAY = np.array([0.7, 0.35, 0.7, 0.21])
"""Table I of Whittle 2018, as are the values below."""
INFLOW = slot_inflow(250 * np.array([1.0, 0.7, 0.2, 0.08]), DECAY)
RETENTION = np.exp(-DECAY)
INDEX_AT_AGES_1_TO_4 = np.array(
    [[90.51, 43.60, 18.10, 3.42], [180.40, 105.06, 36.08, 8.96], [247.36, 170.02, 49.47, 15.69],
     [291.69, 231.06, 58.34, 22.97]]
)  # fmt: skip


def after(age: int) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """The state of all four sources so many periods after a visit."""
    return np.asarray(INFLOW * (1 - RETENTION**age) / (1 - RETENTION))


def played(budget: int, steps: int = 1000) -> tuple[float, list[list[int]]]:
    """Mean reward and visits of the index policy from X = u, as in section IX."""
    pending = np.array(INFLOW)
    reward, visits = 0.0, []
    for _ in range(steps):
        index = np.asarray(ephemeral_index_slotted(pending, INFLOW, RETENTION))
        best = np.argsort(-index)[:budget]
        reward += float(pending[best].sum())
        pending = RETENTION * pending + INFLOW
        pending[best] = np.asarray(INFLOW)[best]
        visits.append(sorted(int(source) + 1 for source in best))
    return reward / steps, visits


@pytest.mark.parametrize("index", [ephemeral_index_slotted, ephemeral_index_reachable])
def test_the_index_has_the_values_of_table_one_at_ages_one_to_four(index: object) -> None:
    assert callable(index)
    for age in range(1, 5):
        assert index(after(age), INFLOW, RETENTION) == pytest.approx(INDEX_AT_AGES_1_TO_4[age - 1], abs=0.005)


def test_one_visit_a_step_alternates_between_two_sources_and_earns_what_the_paper_says() -> None:
    reward, visits = played(budget=1)
    assert reward == pytest.approx(260.30, abs=0.02)
    assert visits == [[1], [2]] * 500


def test_two_visits_a_step_settle_into_a_cycle_of_seven() -> None:
    reward, visits = played(budget=2)
    assert reward == pytest.approx(337.65, abs=0.02)
    for start in range(100, 900, 7):
        assert visits[start : start + 7] == visits[100:107]
    counts = [sum(source in step for step in visits[100:107]) for source in (1, 2, 3, 4)]
    assert counts == [7, 4, 2, 1]
    assert [sum(source in step for step in visits) for source in (1, 2, 3, 4)] == [1000, 572, 286, 142]


def test_visiting_one_source_only_earns_its_inflow() -> None:
    assert np.asarray(INFLOW)[0] == pytest.approx(179.791, abs=0.001)


@pytest.mark.parametrize("index", [ephemeral_index_slotted, ephemeral_index_reachable])
def test_at_and_above_the_most_a_source_can_hold_the_index_is_what_it_holds(index: object) -> None:
    assert callable(index)
    most = 100.0 / (1 - 0.5)
    for pending in (most, 1.5 * most, 40 * most):
        assert index(pending, 100.0, 0.5, 2.0) == pytest.approx(pending / 2)


def test_between_reachable_states_only_the_full_index_is_right() -> None:
    """Its value is the subsidy at which visiting and waiting pay the same, found here by trying all periods."""
    u, a = 100.0, 0.8
    for x in (110.0, 150.0, 333.0, 471.0):
        wait = next(n for n in range(1, 200) if u * (1 - a**n) / (1 - a) >= x)
        subsidy = float(ephemeral_index_slotted(x, u, a))
        mean_reward = (subsidy * (wait - 1) + u * (1 - a**wait) / (1 - a)) / wait
        # Waiting once leads to αx + u, which is then visited; the two may not differ.
        assert subsidy + (a * x + u) - mean_reward == pytest.approx(x)
    assert float(ephemeral_index_reachable(150.0, u, a)) != pytest.approx(float(ephemeral_index_slotted(150.0, u, a)))


def test_slotted_indices_become_the_continuous_ones_as_the_period_shrinks() -> None:
    period, age = 1e-4, 3.0
    u, a = slot_inflow(250.0, 0.7, period), float(np.exp(-0.7 * period))
    state = u * (1 - a ** (age / period)) / (1 - a)
    assert float(ephemeral_index_slotted(state, u, a)) == pytest.approx(
        float(ephemeral_index(age, 250.0, 0.7)), rel=1e-3
    )
    slotted = float(change_index_slotted(age / period, 0.4, 2.0, 1.5, period))
    assert slotted == pytest.approx(float(change_index(age, 0.4, 2.0, 1.5)), rel=1e-3)


def test_the_change_index_is_the_ephemeral_one_with_the_change_rate_in_the_exponent() -> None:
    ages = np.arange(1.0, 9.0)
    q = float(np.exp(-0.3))
    states = 1.7 * (1 - q**ages)
    assert change_index_slotted(ages, 0.3, 1.7) == pytest.approx(ephemeral_index_reachable(states, 1.7 * (1 - q), q))


@pytest.mark.parametrize("gap", [0.5, 2.0, 9.0])
def test_the_change_index_is_the_price_at_which_that_gap_between_visits_pays_best(gap: float) -> None:
    rate, utility, cost = 0.5, 3.0, 2.0
    price = float(change_index(gap, rate, utility, cost))
    gaps = np.linspace(0.01, 40, 100_000)
    gain = (utility * (1 - np.exp(-rate * gaps)) - price * cost) / gaps
    assert gaps[np.argmax(gain)] == pytest.approx(gap, abs=0.01)


def test_the_index_is_nothing_right_after_a_visit_and_for_a_page_that_never_changes() -> None:
    assert change_index(0.0, 5.0, 1.0) == 0
    assert change_index(1e9, 0.0, 1.0) == 0
    assert ephemeral_index(0.0, 5.0, 1.0) == 0


def test_the_age_of_an_index_is_when_it_crosses_the_price() -> None:
    for ripe in (1e-12, 1e-6, 0.01, 0.3, 0.9, 0.999999, 1 - 1e-12):
        assert float(ripeness(ripe_at(ripe))) == pytest.approx(ripe, rel=1e-6)
    age = age_of_index(price=0.2, rate=0.01, worth=0.5)
    assert float(change_index(age, 0.01, 0.5)) == pytest.approx(0.2)


def test_a_price_that_is_never_reached_has_no_age() -> None:
    assert age_of_index(price=0.5, rate=1.0, worth=0.5) == NEVER
    assert age_of_index(price=0.5, rate=0.0, worth=1.0) == NEVER
    assert age_of_index(price=0.0, rate=0.0, worth=1.0) == 0
