"""The benchmarks of decisions and of estimates, in small."""

from __future__ import annotations

import numpy as np
import pytest

from tests.commands import tres
from tres_crawler.experiments.recrawl import cost, hope
from tres_crawler.experiments.recrawl.drawn import Drawn
from tres_crawler.experiments.recrawl.estimators import estimators
from tres_crawler.recrawl.whittle import age_of_index, clearing_price


def test_at_the_clearing_price_visits_meet_the_budget() -> None:
    drawn = Drawn.of(500, 3)
    price = clearing_price(drawn.rates, drawn.worths, 50.0)
    ages = [age_of_index(price, rate, worth) for rate, worth in zip(drawn.rates, drawn.worths, strict=True)]
    assert sum(1 / age for age in ages) == pytest.approx(50.0, rel=0.01)
    assert clearing_price(np.zeros(3), np.ones(3), 1.0) == pytest.approx(0.0, abs=1e-9)


def test_the_calendar_is_timed_beside_ranking_and_earns_as_much(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (("QUICK_SIZES", (200, 400)), ("QUICK_DECISIONS", 50), ("PARITY_SOURCES", 100)):
        monkeypatch.setattr(cost, name, value)
    report = cost.cost(True, lambda _: None)
    assert [row["sources"] for row in report.rows if row["part"] == "cost"] == [200, 400]
    parity = [row["reward_beside_exact"] for row in report.rows if row["part"] == "parity"]
    assert min(parity) > 0.98


def test_learned_rates_earn_less_than_known_ones_and_hope_makes_up_for_some_of_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name, value in (("SOURCES", 150), ("HOPES", (0.0, 1.0))):
        monkeypatch.setattr(hope, name, value)
    rows, checks = hope.learning(True, lambda _: None)
    assert [(row["dated"], row["hope"]) for row in rows] == [(True, 0.0), (True, 1.0), (False, 0.0), (False, 1.0)]
    assert all(80 < row["percent_of_known"] < 100 for row in rows)
    assert all(check.holds for check in checks)


def test_estimates_are_less_biased_than_counting_and_its_correction(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tres_crawler.experiments.recrawl.estimators.learning", lambda quick, say: ([], []))
    report = estimators(True, lambda _: None)
    assert {check.name: check.holds for check in report.checks} == dict.fromkeys(
        (check.name for check in report.checks), True
    )


@pytest.mark.parametrize("given", [(), ("--live", "--cost")])
def test_the_benchmark_asks_what_to_measure(tmp_path: object, given: tuple[str, ...]) -> None:
    from pathlib import Path

    ended = tres("bench", "recrawl", *given, cwd=Path(str(tmp_path)))
    assert ended.returncode == 2
    assert "Say what to measure" in ended.stderr
