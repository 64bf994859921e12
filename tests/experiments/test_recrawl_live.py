"""Live monitors beside each other: the web's own account of them, and the budget that all are given."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tres_crawler.experiments.recrawl import live
from tres_crawler.experiments.recrawl.live import TRUE_RATES, Plan
from tres_crawler.experiments.recrawl.live_world import PacedServer, Truth, candidates, rate_of, web_of
from tres_crawler.simweb.change import newest
from tres_crawler.simweb.describe import split

PLAN = Plan(sources=40, hosts=12, hours=8, seeds=1, delay_seconds=0.01)
WEB = web_of(0, PLAN.sources)


def test_candidates_are_on_the_topic_on_as_many_hosts_as_asked_for() -> None:
    pages = candidates(WEB, 12, 60)
    assert len(pages) == 60
    assert len({page.site for page in pages}) == 12
    assert {WEB.topic_names[page.subject] for page in pages} == {"sports"}


def test_freshness_and_changes_are_what_a_fine_look_at_the_web_finds() -> None:
    urls = [WEB.url(page) for page in candidates(WEB, 12, 40)]
    visited = {url: [0.0, 10.0, 30.0] for url in urls}
    truth = Truth.of(WEB, visited, 20.0, 40.0)
    times = np.arange(20.005, 40.0, 0.01)
    fresh, changes = [], 0
    for url in urls:
        page = WEB.find(*split(url))
        assert page is not None
        last = [item.hours for item in newest(WEB, page, 40.0, 500)]
        changes += any(10 < hours <= 30 for hours in last)
        for at in times[::50]:
            seen = 30.0 if at >= 30 else 10.0
            fresh.append(not any(seen < hours <= at for hours in last))
    assert truth.visits == len(urls)
    assert truth.changes == changes > 3
    assert truth.fresh == pytest.approx(float(np.mean(fresh)), abs=0.02)
    assert 0 < truth.value < truth.text < truth.changes


def test_time_passes_with_every_page_asked_for_and_not_with_robots_txt() -> None:
    server = PacedServer(WEB, visits_per_hour=10.0)
    url = WEB.url(candidates(WEB, 12, 1)[0])
    for _ in range(5):
        server.answer(*split(url), {})
        server.answer(split(url)[0], "/robots.txt", {})
    assert server.hours == pytest.approx(0.5)
    assert server.visited([url]) == {url: pytest.approx([0.0, 0.0, 0.1, 0.2, 0.3, 0.4])}


def test_monitors_of_one_web_get_the_same_budget_and_are_kept(tmp_path: Path) -> None:
    assert live.prepared(PLAN, 0, tmp_path) >= PLAN.sources
    rows = [live.measured(PLAN, 0, policy, tmp_path) for policy in ("whittle", TRUE_RATES)]
    for row in rows:
        assert row["visits"] == pytest.approx(PLAN.visits_per_hour * PLAN.hours / 2, abs=2)
        assert 0 < row["changes_per_visit"] < 1
        assert 0 < row["fresh"] < 1
        assert row["least_pause"] >= PLAN.delay_seconds
    assert live.measured(PLAN, 0, "whittle", tmp_path) == rows[0], "run once"
    (tmp_path / "40-12-8-0-whittle.json").write_text('{"told": "before"}')
    assert live.measured(PLAN, 0, "whittle", tmp_path) == {"told": "before"}


def test_true_rates_are_those_of_the_web() -> None:
    pages = candidates(WEB, 12, 40)
    rates = [rate_of(WEB, WEB.url(page)) * 3600 for page in pages]
    assert min(rates) == 0
    assert 0.002 <= max(rates) <= 1.0


def test_what_is_told_compares_policies_on_the_same_webs() -> None:
    rows = [
        {
            "seed": seed,
            "policy": policy,
            "visits": 100,
            "value_per_hour": value * (1 + seed / 10),
            "text_per_hour": 1.0,
            "changes_per_visit": 0.5,
            "fresh": 0.8,
            "least_pause": 0.06,
        }
        for seed in (1, 2)
        for policy, value in (("whittle", 1.0), (TRUE_RATES, 1.02), ("uniform", 0.5 + seed / 100), ("greedy", 0.9))
    ]
    plan = Plan(seeds=2, policies=("whittle", TRUE_RATES, "uniform", "greedy"))
    told = {row["policy"]: row for row in live._summaries(plan, rows)}
    assert told["whittle"]["whittle_ahead_percent"] == 0
    assert told["uniform"]["whittle_ahead_percent"] == pytest.approx(94.2, abs=0.1)
    checks = {check.name: check.holds for check in live._checks(plan, rows)}
    assert all(checks.values())
    assert len(checks) == 4


def test_a_quick_run_asks_no_more_than_two_small_webs_can_show_and_says_so() -> None:
    plan = Plan.quick()
    figures = {"visits": 9, "text_per_hour": 1.0, "changes_per_visit": 0.5, "fresh": 0.8, "least_pause": 0.06}
    values = {"whittle": 0.91, TRUE_RATES: 1.0, "uniform": 0.5, "round-robin": 0.5}
    rows = [
        {**figures, "seed": seed, "policy": policy, "value_per_hour": values[policy] + 0.01 * seed}
        for seed in plan.webs
        for policy in plan.policies
    ]
    quick, full = (
        next(check for check in live._checks(given, rows) if "true rates" in check.name)
        for given in (plan, Plan(policies=plan.policies))
    )
    assert (quick.value, quick.holds) == (0.82, True)
    assert "the full run: value collected beside true rates" in quick.name
    assert not full.holds
    alone = replace(plan, policies=("whittle", TRUE_RATES))
    assert [check.name for check in live._checks(alone, rows)] == ["shortest pause of a host beside its delay"]
