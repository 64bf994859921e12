"""The matrix: which crawls it asks for, what it makes of their figures, and the goals it checks."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.commands import tres
from tres_crawler.experiments import focused_plots
from tres_crawler.experiments.cells import Cell
from tres_crawler.experiments.comparison import report_of
from tres_crawler.experiments.matrix import matrix
from tres_crawler.experiments.orderings import orderings
from tres_crawler.experiments.page import write_page
from tres_crawler.experiments.plan import Plan
from tres_crawler.experiments.rows import CAPS, KEY, TOPICS, Row, chosen_rows
from tres_crawler.experiments.spending import KINDS
from tres_crawler.policies.registry import POLICIES
from tres_crawler.simweb.params import FAMILIES, WebParams

SITE_PARAMETERS = {"size_exponent", "portals", "on_topic", "hidden_sites"}


def plan(**given: Any) -> Plan:
    return Plan(lambda _: None, **given).of(2000, 3)


def figures(topic: str, harvest: float, sites: int, pages: int = 1000, web: int = 3) -> Mapping[str, Any]:
    """A crawl whose harvest is the same all the way."""
    curve = [[n, int(n * harvest), sites] for n in range(100, pages + 1, 100)]
    lives = [{"growth": [[50, 3, 100], [100, 5, 200]]}]
    return {
        "topic": topic, "harvest": harvest, "relevant_sites": sites, "pages": pages, "curve": curve, "lives": lives,
        "judge": {"precision": 0.9}, "web": web,
    }  # fmt: skip


def found(**harvests: tuple[float, int]) -> dict[Row, list[Mapping[str, Any]]]:
    """By policy under caps 50, none and 5:2."""
    return {
        Row(name.replace("_", "-"), cap, name.replace("_", "-")): [
            figures(topic, harvest, sites) for topic in ("sports", "food", "hardware")
        ]
        for cap in ("50", "none", "5:2")
        for name, (harvest, sites) in harvests.items()
    }


def test_every_policy_is_crossed_with_every_cap_and_key_rows_come_first() -> None:
    rows = chosen_rows(plan())
    plain = {(row.policy, row.cap) for row in rows if row.name == row.policy}
    assert plain >= {(policy, cap) for policy in {*POLICIES, "oracle"} - {"sync"} for cap in CAPS}
    assert [row.policy for row in rows[:7]] == list(KEY)
    assert {row.name for row in rows if row.judge == "true"} == {
        f"{name}, true judge" for name in ("tres", "best-first", "tres-paper")
    }
    assert {(row.name, row.cap) for row in rows} >= {("tres, NH", "10"), ("tres, SVM judge", "5:2"), ("sync", "50")}
    assert len(set(rows)) == len(rows)


def test_rows_can_be_chosen_by_policy_and_cap() -> None:
    rows = chosen_rows(plan(policies=("tres", "ache"), caps=("50",)))
    assert [(row.name, row.cap) for row in rows] == [("tres", "50"), ("ache", "50")], "variants come with the whole"
    assert [row.name for row in chosen_rows(plan(policies=("sync",)))] == ["sync"]
    assert {row.name for row in chosen_rows(plan(caps=("5:2",)))} > {"tres", "tres, SVM judge", "tres, BiLSTM alone"}
    few = chosen_rows(plan(quick=True, caps=("10", "5:2"), policies=("ache",)))
    assert [(row.name, row.cap) for row in few] == [("ache", "10"), ("ache", "5:2")]
    (variant,) = chosen_rows(plan(policies=("tres, untaught, no lessons",)))
    assert (variant.policy, dict(variant.settings)) == (
        "tres",
        {"learn.start": "untaught", "learn.steps_per_page": "0"},
    )


def test_cells_are_on_reported_webs_and_brute_force_is_short() -> None:
    cells = Row("sync", "50", "sync").cells(plan())
    assert [(cell.web, cell.topic) for cell in cells if cell.seed == 1] == [(3, "sports"), (4, "food"), (5, "hardware")]
    assert ({cell.pages for cell in cells}, {cell.family for cell in cells}) == ({1000}, {"report"})
    assert Row("tres", "5:2", "tres").cells(plan(family="tune"))[0].family == "tune"


@pytest.mark.parametrize("name", ["report", "tune"])
def test_every_seed_has_webs_of_its_own_and_every_topic_meets_every_kind_of_web(name: str) -> None:
    cells = Row("tres", "50", "tres").cells(plan(family=name))
    assert len({cell.web for cell in cells}) == len(cells) == 9
    kinds = range(len(FAMILIES[name]["webs"]))
    for topic in TOPICS[name]:
        mine = sorted((cell.seed, cell.web % len(kinds)) for cell in cells if cell.topic == topic)
        assert sorted(kind for _, kind in mine) == list(kinds)


def test_webs_for_choosing_and_for_reporting_differ_in_everything() -> None:
    tune, report = FAMILIES["tune"], FAMILIES["report"]
    assert not set(tune["seeds"]) & set(report["seeds"])
    assert not set(tune["topics"]) & set(report["topics"])
    for mine in tune["webs"]:
        for theirs in report["webs"]:
            one, other = WebParams.of(**mine).model_dump(), WebParams.of(**theirs).model_dump()
            changed = {name for name in one if one[name] != other[name]}
            assert changed & SITE_PARAMETERS, (mine, theirs)
            assert changed - SITE_PARAMETERS, (mine, theirs)


def test_a_row_has_mean_and_spread_by_topic_and_the_output_says_which_webs() -> None:
    report = report_of(plan(), found(tres=(0.6, 100)))
    row = report.rows[0]
    assert row["judge_precision"] == "sports 0.90, food 0.90, hardware 0.90"
    assert (row["policy"], row["max"], row["sports"], row["food_sites"], row["all"]) == (
        "tres",
        "50",
        "60.0",
        "100",
        60.0,
    )
    assert "no setting was chosen on them" in report.settings["purpose"]
    assert {row["family"]: row["used_here"] for row in report.rows if row["part"] == "webs"} == {
        "report": "3",
        "tune": "none",
    }


def test_rows_stand_by_cap_and_the_best_of_a_cap_first() -> None:
    rows = report_of(plan(), found(random=(0.1, 9), tres=(0.6, 100), ache=(0.3, 120))).rows
    told = [(row["max"], row["policy"]) for row in rows if row["part"] == "matrix"]
    assert told == [(cap, policy) for cap in ("50", "none", "5:2") for policy in ("tres", "ache", "random")]


def test_tres_is_compared_with_others_web_by_web_after_as_many_pages() -> None:
    rows = {
        Row("tres", "50", "tres"): [figures("food", 0.8, 1, web=4), figures("food", 0.4, 1, web=8)],
        Row("ache", "50", "ache"): [figures("food", 0.6, 1, web=4), figures("food", 0.3, 1, web=8)],
        Row("async", "50", "async"): [figures("food", 0.3, 1, web=8)],
        Row("sync", "50", "sync"): [figures("food", 0.5, 1, pages=500, web=4)],
        Row("ache", "10", "ache"): [figures("food", 0.3, 1)],
    }
    told = {(row["policy"], row["max"]): row["tres_ahead"] for row in report_of(plan(), rows).rows[: len(rows)]}
    assert told["ache", "50"] == "15.0 ± 7.1"
    assert told["async", "50"] == "10.0", "an easier web that it has not crawled says nothing"
    assert told["sync", "50"] == "30.0"
    assert (told["tres", "50"], told["ache", "10"]) == ("–", "–")


def test_harvest_over_time_is_that_of_each_tenth_of_the_pages() -> None:
    falling = [[100, 100, 1], [500, 500, 1], [1000, 500, 1], [1003, 500, 1]]
    rows = {Row("tres", "50", "tres"): [{**figures("food", 0.5, 1), "curve": falling}]}
    (told,) = [row for row in report_of(plan(), rows).rows if row["part"] == "over time"]
    assert (told["policy"], told["topic"]) == ("tres", "food")
    assert told["harvest_in_each_tenth_of_the_pages"] == "100 100 100 100 99 0 0 0 0 0"


@pytest.mark.parametrize("curve", [[], [[72, 30, 1]], [[n, n // 2, 1] for n in range(100, 1000, 100)]])
def test_of_crawls_with_fewer_points_than_tenths_nothing_is_made_up(curve: list[list[int]]) -> None:
    rows = {Row("tres", "50", "tres"): [{**figures("sports", 0.5, 1), "curve": curve}]}
    assert not [row for row in report_of(plan(), rows).rows if row["part"] == "over time"]


def test_what_pages_were_is_told_in_per_cent_by_the_crawls_that_kept_it() -> None:
    def spending(relevant: int) -> dict[str, int]:
        return {**dict.fromkeys(KINDS, 0), "relevant": relevant, "off_topic": 1000 - relevant}

    crawls = [{**figures("food", 0.5, 1), "pages": 1000, "spent": spending(relevant)} for relevant in (500, 700)]
    older = figures("food", 0.5, 1)
    rows = {Row("tres", "50", "tres"): [*crawls, older], Row("ache", "50", "ache"): [older]}
    (told,) = [row for row in report_of(plan(), rows).rows if row["part"].startswith("what pages were")]
    assert (told["policy"], told["crawls"]) == ("tres", 2)
    assert (told["relevant"], told["off_topic"], told["copies"]) == (60.0, 40.0, 0.0)


def test_orders_of_the_paper_stand_beside_ours_and_those_of_its_own_settings() -> None:
    ours = {
        ("tres", "none"): (50.0, 90.0),
        ("tres-paper", "none"): (30.0, 95.0),
        ("ache", "none"): (40.0, 80.0),
        ("random", "none"): (5.0, 9.0),
    }
    harvest, sites, of_paper, _ = orderings(ours)
    assert harvest["in_the_paper"] == "tres 96 > ache 55 > random 5"
    assert harvest["here"] == "tres 50 > ache 40 > random 5"
    assert (harvest["in_the_place_of_tres"], harvest["pairs_alike"]) == ("tres", "3 of 3")
    assert sites["in_the_paper"].startswith("ache 1725 > tres 72")
    assert sites["pairs_alike"] == "2 of 3"
    assert (of_paper["in_the_place_of_tres"], of_paper["here"]) == ("tres-paper", "ache 40 > tres 30 > random 5")
    assert of_paper["pairs_alike"] == "2 of 3"


def test_orders_are_those_on_the_webs_that_all_have() -> None:
    rows = {
        Row("tres", "none", "tres"): [figures("food", 0.5, 1, web=4), figures("food", 0.1, 1, web=8)],
        Row("ache", "none", "ache"): [figures("food", 0.4, 1, web=4)],
    }
    (order, *_) = [row for row in report_of(plan(), rows).rows if row["part"] == "orderings"]
    assert order["here"] == "tres 50 > ache 40", "a hard web that ache has not crawled says nothing"


def test_the_matrix_has_pictures_of_curves_fronts_and_growth(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    rows = found(tres=(0.6, 100), ache=(0.3, 120), tres_async=(0.4, 90), oracle=(0.9, 200))
    report = report_of(plan(), {**rows, Row("tres, NH", "50", "tres"): [figures("food", 0.5, 9)]})
    assert list(report.settings["curves"])[:2] == ["tres", "ache"]
    assert {group: list(lines) for group, lines in report.settings["variants"].items()} == {
        "tres": ["tres", "tres, NH"]
    }
    assert list(report.settings["pareto"]["food"]) == ["tres", "ache", "tres-async"], "what knows the truth is no rival"
    assert list(report.settings["growth"]) == ["tres"], "the others have no tree"
    assert [cap for cap, _, _ in report.settings["pareto"]["food"]["tres"]] == ["∞", "50", "5:2"]
    assert report.settings["growth_of"].endswith("of web 3, one crawl each; MAX 50, 2,000 pages")
    drawn = focused_plots.plot(report, tmp_path)
    assert [path.name for path in drawn] == [
        f"focused-matrix-{name}.png" for name in ("curves", "variants", "pareto", "growth")
    ]
    assert all(path.stat().st_size > 5000 for path in drawn)
    page = write_page(report, drawn, tmp_path).read_text()
    assert page.count("data:image/png;base64,") == len(drawn)
    assert "<td>tres, NH</td>" in page
    assert "MAX 50: tres : oracle" in page


def test_other_caps_than_the_usual_one_are_drawn_and_named(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    rows = {row: crawls for row, crawls in found(tres=(0.6, 100)).items() if row.cap == "5:2"}
    report = report_of(plan(), rows)
    assert list(report.settings["curves"]) == ["tres"]
    assert report.settings["curves_of"].endswith("MAX 5:2, 2,000 pages")
    assert tmp_path / "focused-matrix-curves.png" in focused_plots.plot(report, tmp_path)


def test_pages_are_set_against_sites_on_the_webs_that_all_caps_have_and_after_as_many_pages() -> None:
    rows = {
        Row("tres", "50", "tres"): [figures("food", 0.5, 10, web=4), figures("food", 0.1, 2, web=8)],
        Row("tres", "5", "tres"): [figures("food", 0.3, 20, web=4)],
        Row("sync", "50", "sync"): [figures("food", 0.9, 5, pages=500, web=4)],
    }
    told = report_of(plan(), rows).settings
    assert told["pareto"] == {"food": {"tres": [("50", 0.5, 10), ("5", 0.3, 20)]}}
    assert told["pareto_of"].endswith("2,000 pages, 1 webs")


async def test_what_is_kept_is_reported_without_running_anything(tmp_path: Path) -> None:
    some = plan(keep=tmp_path, only_kept=True, caps=("50",), policies=("tres", "ache"))
    cell = Row("ache", "50", "ache").cells(some)[1]
    assert isinstance(cell, Cell)
    (tmp_path / f"{cell.name}.json").write_text(json.dumps({"figures": figures("food", 0.3, 12)}))
    other = Row("tres", "50", "tres").cells(some)[0]
    (tmp_path / f"{other.name}.json").write_text("{}")
    report = await matrix(some)
    assert [(row["policy"], row["crawls"], row["sports"], row["food"]) for row in report.rows[:1]] == [
        ("ache", 1, "–", "30.0")
    ]


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (["--max", "many"], "--max: 'many' is not a cap"),
        (["--family", "reports"], 'There is no family of webs "reports". Did you mean "report"?'),
        (["--only-kept"], "--only-kept needs --keep DIR"),
        (["--only-kept", "--keep", "typo"], "typo has none of these 882 crawls. Run them: leave out --only-kept."),
        (["--policy", "sync", "--max", "10"], "The matrix has no row of sync under MAX 10, but under 50."),
        (["--policy", "topic-oracle", "--max", "10"], "under MAX 10, but under 50 and 100."),
        (["--policy", "tres", "--policy", "sync", "--max", "10"], "The matrix has no row of sync under MAX 10"),
        (["--policy", "tres, untaugt"], 'There is no policy "tres, untaugt". Did you mean "tres, untaught"?'),
        (["--pages", "100001"], "has 100,000 pages; a crawl of 100,001 cannot be measured on it"),
    ],
)
def test_bad_input_is_refused_before_anything_runs(given: list[str], told: str, tmp_path: Path) -> None:
    done = tres("bench", "focused", *given, cwd=tmp_path)
    assert done.returncode == 2
    assert told in done.stderr
    assert not any(tmp_path.iterdir())
