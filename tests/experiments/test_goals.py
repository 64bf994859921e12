"""A goal is met by what was measured, on every topic, and not by rounding."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from tests.experiments.test_matrix import figures
from tres_crawler.experiments.goals import checks_of, pages_to_learn
from tres_crawler.experiments.report import Check

TOPICS = ("sports", "food", "hardware")
Crawls = list[Mapping[str, Any]]


def told(rows: Mapping[tuple[str, str], Crawls]) -> dict[str, Check]:
    return {check.name.partition(", ")[2]: check for check in checks_of(rows, 2000)}


def everywhere(**policies: tuple[float, int]) -> dict[tuple[str, str], Crawls]:
    """By policy under caps 50, none and 5:2."""
    return {
        (name.replace("_", "-"), cap): [figures(topic, harvest, sites) for topic in TOPICS]
        for cap in ("50", "none", "5:2")
        for name, (harvest, sites) in policies.items()
    }


def test_goals_are_checked_by_the_rows_that_were_measured() -> None:
    rows = everywhere(
        tres=(0.6, 100), best_first=(0.4, 90), ache=(0.3, 120), async_=(0.1, 5), oracle=(0.9, 80), random=(0.05, 9)
    )
    checks = {name: (check.value, check.holds) for name, check in told(rows).items()}
    assert checks["MAX 50: tres : ache, the best of ache"] == (2.0, True)
    assert checks["MAX 50: tres : best-first"] == (1.5, True)
    assert checks["MAX 50: tres : oracle"] == (0.67, False)
    assert checks["MAX none: tres - best-first, the best other, points"] == (20.0, True)
    assert checks["MAX 5:2: relevant sites, tres : ache, the most of all others"] == (0.833, False)
    assert checks["MAX 50: pages until 80% of its own final rate, warm"] == (100, True)
    assert checks["MAX 50: harvest of the first 500 pages, warm"] == (60.0, True)
    assert not any(name.startswith("MAX 100") for name in checks), "what was not measured is not judged"


def test_a_check_says_of_how_many_pages_it_is() -> None:
    assert all(check.name.startswith("10,000 pages, ") for check in checks_of(everywhere(tres=(0.5, 1)), 10_000))


def test_rows_that_are_not_whole_yet_are_compared_on_the_webs_they_share() -> None:
    def ratio(*of_bound: Mapping[str, Any]) -> float | None:
        rows = {("tres", "50"): [figures("sports", 0.6, 1)], ("oracle", "50"): list(of_bound)}
        return told(rows)["MAX 50: tres : oracle"].value

    assert ratio(figures("sports", 0.9, 1), figures("hardware", 0.1, 1)) == 0.67
    assert ratio(figures("sports", 0.9, 1), figures("sports", 0.1, 1, web=7)) == 0.67
    assert ratio(figures("food", 0.9, 1)) is None


def test_the_best_rival_is_the_one_that_comes_nearest_on_the_webs_both_have() -> None:
    rows: dict[tuple[str, str], Crawls] = {
        ("tres", "50"): [figures("sports", 0.6, 1), figures("hardware", 0.2, 1)],
        ("ache", "50"): [figures("sports", 0.36, 1), figures("hardware", 0.12, 1)],
        ("async", "50"): [figures("hardware", 0.19, 1)],
    }
    assert told(rows)["MAX 50: tres : async, the best of ache, async"].value == 1.05


@pytest.mark.parametrize("cap", ["none", "5:2"])
def test_a_policy_that_has_only_an_easy_topic_by_now_is_compared_on_that_topic(cap: str) -> None:
    mine = [figures("sports", 0.6, 100), figures("hardware", 0.2, 10)]
    checks = told({("tres", cap): mine, ("ache", cap): [figures("sports", 0.595, 80)]})
    assert [check.value for check in checks.values()] == [0.5, 1.25, 20]
    assert not told({("tres", cap): mine, ("ache", cap): [figures("food", 0.9, 1)]})


def test_what_is_shown_rounded_is_compared_as_it_is() -> None:
    tied = told(everywhere(tres=(0.5, 1000), ache=(0.5, 1000)))
    fewer = told(everywhere(tres=(0.4999, 1000), ache=(0.5, 1004)))
    sites = "MAX 5:2: relevant sites, tres : ache, the most of all others"
    assert not tied[sites].holds, "as many are not more"
    assert not fewer[sites].holds
    points = fewer["MAX none: tres - ache, the best other, points"]
    assert (points.value, points.holds) == (0.0, False)


def test_it_must_not_be_behind_on_any_topic_under_any_cap_from_page_500_on() -> None:
    caught_up = [[n, 50 if n <= 500 else n // 2, 1] for n in range(100, 1001, 100)]
    rows = {
        ("tres", "10"): [figures("sports", 0.6, 1), figures("hardware", 0.2, 1), figures("food", 0.1, 1)],
        ("best-first", "10"): [figures("sports", 0.3, 1), figures("hardware", 0.4, 1)],
    }
    ((name, check),) = [(name, check) for name, check in told(rows).items() if "most points behind" in name]
    assert name.endswith("anywhere (MAX 10, hardware)")
    assert (check.value, check.holds) == (20.0, False)
    late: dict[tuple[str, str], Crawls] = {
        ("tres", "50"): [{**figures("food", 0.5, 1), "curve": caught_up}],
        ("best-first", "50"): [figures("food", 0.5, 1)],
    }
    (check,) = [check for name, check in told(late).items() if "most points behind" in name]
    assert check.value == 40.0, "page 500 counts"


def test_a_few_pages_are_no_test_of_a_goal() -> None:
    rows: dict[tuple[str, str], Crawls] = {
        ("tres", "50"): [{**figures("food", 0.4, 1), "curve": [[72, 29, 1]]}],
        ("best-first", "50"): [{**figures("food", 0.5, 1), "curve": [[72, 36, 1]]}],
    }
    (check,) = checks_of(rows, 72)
    assert (check.name, check.value) == ("72 pages, MAX 50: tres : best-first", 0.8)
    assert (check.goal, check.holds) == ("report", True)


def test_more_sites_are_told_with_their_standard_error() -> None:
    rows: dict[tuple[str, str], Crawls] = {
        ("tres", "5:2"): [figures("food", 0.4, 110), figures("food", 0.4, 130, web=7)],
        ("ache", "5:2"): [figures("food", 0.3, 104), figures("food", 0.3, 126, web=7)],
    }
    assert told(rows)["MAX 5:2: relevant sites, tres - ache (standard error 1.0)"].value == 5


def test_pages_to_learn_are_those_until_most_of_the_final_rate() -> None:
    slow = [[100, 0, 1], [200, 10, 1], [300, 60, 1], [400, 130, 1], [500, 210, 1], [600, 290, 1]]
    assert pages_to_learn([{**figures("food", 0.5, 1), "curve": slow}]) == 500
