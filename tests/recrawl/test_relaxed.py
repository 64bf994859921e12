"""Whittle 2018, sec. VII: the bound on every policy, the wait that a price asks for, the price of a budget."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tres_crawler.experiments.recrawl.ephemeral import TABLE_1
from tres_crawler.recrawl.relaxed import DualPrice, best_wait, relaxed_bound, threshold
from tres_crawler.recrawl.whittle import ephemeral_index_slotted

FIRST = TABLE_1[0]


@pytest.mark.parametrize(("budget", "reward"), [(1, 260.390), (2, 338.054)])
def test_no_policy_earns_more_than_the_exact_bound(budget: int, reward: float) -> None:
    assert relaxed_bound(TABLE_1, budget).reward == pytest.approx(reward, abs=0.001)


def test_the_price_of_the_bound_is_the_index_of_the_last_visit_that_is_paid_for() -> None:
    """With one visit a period, source 2 is at its second age half of the time."""
    second = TABLE_1[1]
    index = ephemeral_index_slotted(second.pending_value(2), second.inflow, second.retention)
    assert relaxed_bound(TABLE_1, 1).price == pytest.approx(float(index))


def test_a_budget_for_all_visits_all_always() -> None:
    assert relaxed_bound(TABLE_1, 9).reward == pytest.approx(sum(source.inflow for source in TABLE_1))


@pytest.mark.parametrize("price", [5.0, 90.0, 200.0, 340.0])
def test_the_best_wait_earns_more_than_waits_beside_it(price: float) -> None:
    """On the branch W₋₁; the principal branch would give a negative wait."""

    def gain(wait: float) -> float:
        return (FIRST.pending_value(wait) - price) / wait

    wait = best_wait(FIRST, price)
    assert wait > 0
    assert gain(wait) > max(gain(0.98 * wait), gain(1.02 * wait))
    assert threshold(FIRST, price) == pytest.approx(FIRST.pending_value(wait))


def test_what_costs_nothing_is_visited_at_once_and_what_costs_too_much_never() -> None:
    assert best_wait(FIRST, 0.0) == 0
    assert math.isinf(best_wait(FIRST, FIRST.limit))
    assert threshold(FIRST, 2 * FIRST.limit) == FIRST.limit


def test_the_price_settles_where_visits_cost_the_budget_on_average() -> None:
    """Dual descent with M in place of the printed M/N, starts at a wrong price and ends near the exact one."""
    price, ages, spent = DualPrice(1.0, 20.0, 60.0), np.ones(4), []
    for _ in range(4000):
        states = np.array([source.pending_value(age) for source, age in zip(TABLE_1, ages, strict=True)])
        index = np.array(
            [
                float(ephemeral_index_slotted(state, source.inflow, source.retention))
                for source, state in zip(TABLE_1, states, strict=True)
            ]
        )
        visited = index > price.price
        price.pay(float(visited.sum()))
        spent.append(visited.sum())
        ages = np.where(visited, 1, ages + 1)
    assert np.mean(spent[1000:]) == pytest.approx(1.0, abs=0.02)
    assert price.price == pytest.approx(relaxed_bound(TABLE_1, 1).price, rel=0.2)
