"""The focused benchmark at its smallest: what it reports and keeps, not how well anything crawls."""

from __future__ import annotations

import json
import signal
import subprocess
from contextlib import suppress
from dataclasses import asdict, replace
from pathlib import Path
from time import sleep
from typing import Any

import numpy as np
import pytest

from tests.commands import TRES, environment, tres
from tres_crawler.errors import ConfigError
from tres_crawler.experiments import afterwards, cells, crawling, focused, focused_plots, harvests, judges
from tres_crawler.experiments.cells import Cell
from tres_crawler.experiments.plan import Plan
from tres_crawler.experiments.report import Check, joined
from tres_crawler.experiments.rows import Row
from tres_crawler.simweb.describe import split
from tres_crawler.simweb.model import Form, Web
from tres_crawler.simweb.params import family

CHEAP = (("fetch.slots", "4"), ("relevance.model", "prior"))
TINY = Cell(0, "games", "best-first", 30, 1, CHEAP)


async def test_cells_of_an_interrupted_bench_are_not_run_again(tmp_path: Path) -> None:
    said: list[str] = []
    first = await cells.run_cells([TINY], tmp_path, 1, said.append)
    figures = first[TINY]
    assert (figures["pages"], figures["own"]["stop_reason"]) == (30, "budget")
    assert figures["harvest"] == round(figures["relevant_pages"] / 30, 4)
    assert figures["curve"][-1] == [30, figures["relevant_pages"], figures["relevant_sites"]]
    assert [path.suffix for path in tmp_path.iterdir()] == [".json"]
    # As if a bench of two cells had been killed while it wrote the second.
    other = replace(TINY, policy="tres", seed=2, kills=1, settings=(*CHEAP, ("crawl.objective", "balanced")))
    (tmp_path / f"{other.name}.json").write_text('{"cell":')
    said.clear()
    both = await cells.run_cells([TINY, other], tmp_path, 2, said.append)
    assert said[0] == "1 of 2 cells were kept from before"
    assert len(said) == 2
    assert both[TINY] == figures
    killed, ended = both[other]["lives"]
    assert 0 < killed["pages"] < ended["pages"] == 30
    assert killed["same_tree"] and ended["same_tree"]
    assert both[other]["learned"]["irrelevant"]["links"] > 0
    assert both[other]["ranking"]["waiting"] > 0
    kept = json.loads((tmp_path / f"{other.name}.json").read_text())
    assert kept["cell"]["policy"] == "tres"


def test_equal_cells_have_one_name_and_others_another() -> None:
    ways = [TINY, replace(TINY, seed=2), replace(TINY, kills=1), replace(TINY, settings=()), replace(TINY, scale=2)]
    assert len({cell.name for cell in ways}) == 5
    assert replace(TINY).name == TINY.name
    assert asdict(TINY)["settings"] == CHEAP


def test_a_cell_that_begins_with_the_shipped_policy_is_another_when_that_changes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    learns = replace(TINY, policy="tres")
    ways = [TINY, learns, replace(learns, settings=(("learn.start", "untaught"),))]
    before = [cell.name for cell in ways]
    monkeypatch.setattr(cells, "checked", lambda path: {"sha256": "of another"})
    assert [cell.name == name for cell, name in zip(ways, before, strict=True)] == [True, False, True]


def test_a_scaled_web_has_more_sites_and_pages_and_is_else_of_its_family() -> None:
    plain, large = crawling.scaled("report", 1), crawling.scaled("report", 1, 3)
    assert (large.sites, large.pages) == (3 * plain.sites, 3 * plain.pages)
    assert large.model_dump(exclude={"sites", "pages"}) == plain.model_dump(exclude={"sites", "pages"})


async def test_cells_of_one_web_topic_and_seed_share_one_judge_from_their_first_page(tmp_path: Path) -> None:
    taught = (("fetch.slots", "4"), ("relevance.model", "svm"), ("relevance.bootstrap_pages", "36"))
    said: list[str] = []
    two = [replace(TINY, policy=policy, settings=taught) for policy in ("best-first", "breadth-first")]
    found = await cells.run_cells(two, tmp_path, 2, said.append)
    assert [line for line in said if line.startswith("training")] == [f"training {two[0].lesson}"]
    assert all(figures["judge"]["shared"] for figures in found.values())
    assert all(30 <= figures["pages"] <= 35 for figures in found.values()), "some hosts want to be asked again"
    with judges.Judges(tmp_path, said.append) as kept:
        assert await kept.give_to(tmp_path / "again", two[0].lesson), "it is there for the next bench"
    assert sum(line.startswith("training") for line in said) == 1


def test_a_judge_is_another_one_on_another_web_with_another_seed_or_other_settings() -> None:
    other = replace(TINY, settings=(("relevance.model", "svm"), ("learn.discount", "0.9")))
    lessons = [TINY, replace(TINY, seed=2), replace(TINY, web=1), replace(TINY, family="report"), other]
    assert len({cell.lesson.name for cell in lessons}) == 5
    assert replace(other, settings=other.settings[:1]).lesson == other.lesson, "the learner does not matter to it"


def test_a_shared_judge_stays_as_it_is_unless_the_row_says_that_it_goes_on_learning() -> None:
    ways = {judge: replace(TINY, judge=judge) for judge in ("shared", "learning", "own")}
    assert [judge for judge, cell in ways.items() if ("relevance.relearn", "false") in cell.given] == ["shared"]
    assert len({cell.name for cell in ways.values()}) == 3
    assert len({cell.lesson for cell in ways.values()}) == 1


def test_every_seed_begins_at_a_page_of_its_own(tmp_path: Path) -> None:
    web = Web(family("tune", 0))
    texts = {crawling.topic_file(web, "games", seed, tmp_path).read_text() for seed in (1, 2, 3, 4)}
    assert len(texts) == 4


@pytest.mark.parametrize(
    ("cell", "told"),
    [
        (replace(TINY, topic="cookery"), 'Web 0 of the family "tune" has no page about "cookery"'),
        (replace(TINY, pages=100_001), "has 100,000 pages; a crawl of 100,001 cannot be measured"),
    ],
)
async def test_a_cell_that_its_web_cannot_give_is_refused_before_anything_runs(cell: Cell, told: str) -> None:
    said: list[str] = []
    with pytest.raises(ConfigError, match=told):
        await cells.run_cells([TINY, cell], None, 1, said.append)
    assert said == []


def test_a_cell_is_another_one_only_if_a_setting_changes_that_counts_for_its_policy() -> None:
    def names(policy: str, setting: str) -> int:
        return len({replace(TINY, policy=policy, settings=((setting, value),)).name for value in ("0.3", "0.9")})

    assert [names(policy, "learn.discount") for policy in ("tres", "tres-paper", "best-first", "oracle")] == [
        2,
        1,
        1,
        1,
    ]
    assert [names(policy, "choose.eagerness") for policy in ("tres", "best-first")] == [2, 1]
    assert names("best-first", "fetch.delay_seconds") == 2


def test_a_cell_knows_nobodys_own_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRES_LEARN__DISCOUNT", "0.7")
    found = crawling.environment((("crawl.max_per_site", "none"),))
    assert "TRES_LEARN__DISCOUNT" not in found
    assert (found["TRES_FETCH__DELAY_SECONDS"], found["TRES_CRAWL__MAX_PER_SITE"]) == ("0", "none")


def test_what_a_link_leads_to_is_told_by_truth() -> None:
    web = Web(family("tune", 0))
    number = web.topic_names.index("games")
    region = web.regions_of_topic[number][0]
    assert afterwards.group_of(web, web.url(web.gate(region, 0)), "games") == "gate"
    assert afterwards.group_of(web, web.url(web.gate(region, 0)), "health") == "other hub"
    assert afterwards.group_of(web, "http://nowhere.example/", "games") == "nothing"
    assert afterwards.group_of(web, web.seeds("games")[0], "games") == "relevant"
    assert afterwards.group_of(web, web.seeds("health")[0], "games") == "irrelevant"
    directory = web.sites[web.directories[0]]
    listing = next(web.page(directory, at) for at in range(1, directory.size))
    assert listing.form is Form.LISTING
    assert split(web.url(listing))[0] == directory.host
    assert afterwards.group_of(web, web.url(listing), web.topic_names[listing.subject]) == "listing"


def test_odds_are_a_half_where_there_is_no_difference() -> None:
    assert afterwards.odds_above(np.array([1.0, 2.0]), np.array([1.0, 2.0])) == 0.5
    assert afterwards.odds_above(np.array([3.0]), np.array([1.0, 2.0])) == 1.0
    mine = np.array([True] * 2 + [False] * 40)
    score = np.array([0.5, 0.5] + [0.1] * 20 + [0.9] * 20)
    found = afterwards.compared(mine, ~mine, np.array([0, 0] + [0] * 20 + [1] * 20), {"value": score})
    assert (found["links"], found["value"], found["value_odds"], found["value_odds_alike"]) == (2, 0.5, 0.5, 1.0)


def test_harvest_of_late_is_over_two_hundred_pages() -> None:
    curve = [[100, 50, 1], [200, 60, 2], [300, 160, 3], [330, 160, 3]]
    assert harvests.late([{"curve": curve}]) == [0.5, 0.3, 0.55]
    assert harvests.spread([1.0, 3.0]) == "2.0 ± 1.4"


def test_curves_and_fronts_have_pictures(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    plan = Plan(lambda _: None)
    drawn = plan.report("learn", [], [], curves={"tres": [0.1, 0.2]})
    assert focused_plots.plot(drawn, tmp_path) == [tmp_path / "focused-learn-curves.png"]
    front = plan.report("front", [], [], points={"pages": [(0.5, 10)]})
    assert focused_plots.plot(front, tmp_path) == [tmp_path / "focused-front-points.png"]
    assert focused_plots.plot(plan.report("async", [], []), tmp_path) == []


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (["--part", "lern"], 'There is no part "lern" of this bench. Did you mean "learn"?'),
        (["--policy", "bestfirst"], 'There is no policy "bestfirst". Did you mean "best-first"?'),
        (["--keep", "/dev/null/cells"], "/dev/null/cells cannot be a folder for cells"),
        (["--part", "learn", "--max", "10"], "--max is for matrix; it means nothing to learn."),
        (["--part", "hubs", "--policy", "tres"], "--policy is for matrix and learn; it means nothing to hubs."),
        (["--part", "learn", "--policy", "tres, untaught"], 'There is no policy "tres, untaught".'),
    ],
)
def test_bad_input_is_refused_before_anything_runs(given: list[str], told: str, tmp_path: Path) -> None:
    done = tres("bench", "focused", *given, cwd=tmp_path)
    assert done.returncode == 2
    assert told in done.stderr


@pytest.mark.parametrize("given", [{"family": "tune"}, {"only_kept": True}, {"caps": ("10",)}])
def test_what_counts_for_the_matrix_alone_is_not_ignored_by_other_parts(given: dict[str, Any], tmp_path: Path) -> None:
    plan = Plan(lambda _: None, keep=tmp_path, **given)
    assert focused.chosen_parts([], plan) == ["matrix"]
    with pytest.raises(ConfigError, match="is for matrix; it means nothing to resume"):
        focused.chosen_parts(["matrix", "resume"], plan)


def test_figures_as_json_are_one_report_however_many_parts(tmp_path: Path) -> None:
    cell = Row("ache", "50", "ache").cells(Plan(lambda _: None).of(2000, 3))[0]
    known = {"topic": cell.topic, "harvest": 0.3, "relevant_sites": 2, "pages": 2000, "curve": [[2000, 600, 2]]}
    (tmp_path / f"{cell.name}.json").write_text(json.dumps({"figures": {**known, "lives": [{"growth": []}]}}))
    done = tres("bench", "focused", "--only-kept", "--keep", ".", "--json", cwd=tmp_path)
    told = json.loads(done.stdout)
    assert (told["bench"], told["settings"]["part"], told["checks"]) == ("focused", "matrix", [])
    assert [row["part"] for row in told["rows"]] == ["matrix", "webs", "webs", "over time"]
    assert "1 of them are kept" in done.stderr
    plan = Plan(lambda _: None)
    both = [plan.report(part, [{"way": part}], [Check.at_least("points", 1, 0)]) for part in ("learn", "front")]
    one = joined(both)
    assert list(one.settings) == ["learn", "front"]
    assert one.rows == [{"part": "learn", "way": "learn"}, {"part": "front", "way": "front"}]
    assert [check.name for check in one.checks] == ["learn: points", "front: points"]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_bench_that_is_broken_off_leaves_no_process_and_goes_on_where_it_was(
    number: signal.Signals, tmp_path: Path
) -> None:
    command = [*TRES, "bench", "focused", "--quick", "--keep", "kept", "--jobs", "1"]
    scratch = {**environment(), "TMPDIR": str(tmp_path)}
    # As a shell starts what is to run in the background: deaf to Ctrl-C, unless that is what is tried.
    heard = signal.SIG_DFL if number is signal.SIGINT else signal.SIG_IGN
    with subprocess.Popen(
        command,
        cwd=tmp_path,
        env=scratch,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, heard),
    ) as process:
        assert process.stderr
        assert any(line.startswith("1 of 2: ") for line in process.stderr), "it tells of its first crawl"
        while len(processes_about(tmp_path)) < 2:
            assert process.poll() is None, "the second crawl and its web run"
            sleep(0.05)
        process.send_signal(number)
        told = process.communicate(timeout=60)[1]
    assert process.returncode not in (0, None)
    assert "Broken off after 1 of 2 crawls, which are kept in kept; the same command goes on." in told
    assert not processes_about(tmp_path)
    (first,) = (tmp_path / "kept").glob("*.json")
    done = tres("bench", "focused", "--quick", "--keep", "kept", "--only-kept", "--json", cwd=tmp_path)
    assert [row["crawls"] for row in json.loads(done.stdout)["rows"] if row["part"] == "matrix"] == [1], first


def processes_about(folder: Path) -> list[str]:
    """Commands that are running and have the folder's name in them."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):
            found.append(path.read_bytes().replace(b"\0", b" ").decode(errors="replace"))
    return [command for command in found if str(folder) in command]
