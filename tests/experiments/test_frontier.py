"""The frontier benchmark at its smallest: what it reports, not how fast anything is."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from tres_crawler.config import FeatureSettings
from tres_crawler.experiments import drawing, frontier
from tres_crawler.features import Describer


def test_every_beginning_of_the_world_has_the_same_leaves_to_choose_from_held_hosts_or_not() -> None:
    rng = np.random.default_rng(3)
    world = frontier.World.of(6_000, 500, 60, rng)
    offering = [
        frontier.Case(links, 60, 1, held, world, rng).frontier.offers().leaves.tolist()
        for links in (500, 6_000)
        for held in (False, True)
    ]
    assert len(offering[0]) > 40
    assert all(leaves == offering[0] for leaves in offering)


def test_links_are_as_wide_as_those_of_a_crawl_with_default_settings() -> None:
    describer, world = Describer(FeatureSettings(), ()), frontier.World.of(600, 500, 20, np.random.default_rng(3))
    assert (frontier.WIDTH, world.rows.shape[1]) == (describer.placed, describer.width)
    assert describer.dim - describer.placed == frontier.FOUND_OUT


def test_held_hosts_are_nine_in_ten() -> None:
    rng = np.random.default_rng(3)
    case = frontier.Case(5_000, 20, 1, True, frontier.World.of(5_000, 5_000, 20, rng), rng)
    hosts = {int(host) for _ in range(50) for host in case.frontier.offers().hosts}
    assert hosts <= set(range(0, 100, 10))
    assert len(case.frontier.samples()) >= len(case.frontier.offers()) > 0


def test_a_report_has_a_row_for_every_size_and_the_checks_of_its_goals() -> None:
    said: list[str] = []
    report = frontier.costs([3_000, 600], [20, 50], rounds=3, say=said.append)
    assert [(row["links"], row["leaves"], row["draws"], row["hosts_held"]) for row in report.rows] == [
        (links, leaves, draws, held)
        for leaves in (20, 50)
        for draws in (1, 2048)
        for held in ("none", "90 %")
        for links in (600, 3_000)
    ]
    for row in report.rows:
        assert 0 < row["q_evaluations"] <= row["leaves"] + (row["draws"] if row["draws"] > 1 else 0)
        assert row["sync_evaluations"] == row["links"]
        assert min(row["draw_ms"], row["choose_ms"], row["update_ms"], row["sync_ms"]) > 0
        assert row["draw_growth"] == 1 or row["links"] == 3_000
    assert len(report.checks) == 24
    assert {"at most 1.5", "at most 100", "at least 150", "at least 60"} < {check.goal for check in report.checks}
    assert [check.holds for check in report.checks if "valued" in check.name] == [True] * 8
    assert said


def test_the_costs_are_drawn(tmp_path: Path) -> None:
    (picture,) = drawing.plot(frontier.costs([600, 900], [20], rounds=1, say=lambda _: None), tmp_path)
    assert picture.read_bytes().startswith(b"\x89PNG")
