"""What must hold of the reproductions, where it can be seen within a second, and what the command refuses."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from tests.commands import tres
from tests.experiments.recrawl.test_worlds import PLACES, READINGS
from tres_crawler.config import Settings
from tres_crawler.errors import ConfigError
from tres_crawler.experiments import pictures
from tres_crawler.experiments.pictures import Picture
from tres_crawler.experiments.recrawl import air, bench, live, paper000, paper001, paper002, paper004
from tres_crawler.experiments.recrawl.curves import Curve, stochastic_bound, true_index
from tres_crawler.experiments.recrawl.ephemeral import TABLE_1, always, by_age, inflows, round_robin, simulate
from tres_crawler.experiments.recrawl.findings import Findings, Options, window_mean
from tres_crawler.experiments.recrawl.latent import LatentModel, random_model
from tres_crawler.experiments.recrawl.world import play
from tres_crawler.experiments.report import Check
from tres_crawler.recrawl.baselines import RoundRobin
from tres_crawler.recrawl.exp3 import Exp3
from tres_crawler.recrawl.lspe import LspeScheduler
from tres_crawler.recrawl.stochastic import Noise


def silent(text: str) -> None:
    """Says nothing."""


def failed(found: Findings) -> list[Check]:
    return [check for check in found.checks if not check.holds]


def test_the_deterministic_figures_of_004_hold() -> None:
    found = Findings("004")
    paper004._deterministic(found)
    assert len(found.checks) == 4
    assert not failed(found)
    ours = {row["what"]: row["ours"] for row in found.rows}
    assert ours["Whittle, M = 2"] == pytest.approx(337.651, abs=0.001)
    assert ours["source 1, age 4"] == pytest.approx(291.69, abs=0.01)
    assert ours["relaxed control, M/N as printed: reward"] == pytest.approx(261.06, abs=0.01)
    assert [picture.name for picture in found.pictures] == ["004-figure-2", "004-figure-3"]


def test_the_stochastic_figures_of_004_hold_for_policies_that_look_at_ages() -> None:
    arriving = inflows(TABLE_1, Noise.POISSON, 1500, 4)
    assert simulate(TABLE_1, arriving, round_robin, 1).averages.mean() == pytest.approx(208.3, abs=0.7)
    greedy = by_age(TABLE_1, lambda source, age: source.pending_value(age))
    assert simulate(TABLE_1, arriving, greedy, 1).averages.mean() == pytest.approx(260.4, abs=0.7)
    assert simulate(TABLE_1, arriving, always(0), 1).averages.mean() == pytest.approx(179.8, abs=0.7)


def test_the_true_index_earns_most_and_stays_below_its_bound() -> None:
    """Where values are drawn once for all items of a period, seeing the state is worth most."""
    curves = [Curve.of(source, Noise.PER_EPOCH, 12) for source in TABLE_1]
    arriving = inflows(TABLE_1, Noise.PER_EPOCH, 1500, 4)
    seen = simulate(TABLE_1, arriving, true_index(curves), 1).averages.mean()
    unseen = simulate(TABLE_1, arriving, by_age(TABLE_1, paper004.theorem_1), 1).averages.mean()
    assert unseen + 20 < seen < stochastic_bound(curves, 1)


def test_lspe_runs_through_the_protocol_within_its_bounds() -> None:
    scheduler = LspeScheduler(np.random.default_rng(1), TABLE_1.__getitem__, randomised=True)
    collected = paper002.collect(inflows(TABLE_1, None, 300, 1)[:, 0], scheduler, 4)
    assert scheduler.learner is not None
    assert scheduler.learner.finite and scheduler.learner.inside
    assert 0 < collected.arms < 4
    assert np.isfinite(collected.rewards).all()


def test_the_shares_of_000_agree_to_three_digits_once_two_entries_are_swapped() -> None:
    found = Findings("000")
    paper000._shares(found)
    assert not failed(found)
    assert [row["verdict"] for row in found.rows] == ["agrees"] * 4


def test_curves_of_000_have_the_spread_of_their_runs_around_them() -> None:
    picture = paper000._curves("name", "title", {"way": [np.array([1.0, 1.0]), np.array([3.0, 5.0])]}, 2)
    _, low, high = picture.bands["way"]
    assert picture.lines["way"][1] == [2, 2.5]
    assert low == pytest.approx([2 - 1.96, 2.5 - 1.96 * 1.5])
    assert high == pytest.approx([2 + 1.96, 2.5 + 1.96 * 1.5])


def test_learned_rates_earn_what_known_rates_earn_in_000() -> None:
    ways = [paper000.WAYS["Whittle, rates learned"], paper000.WAYS["Whittle, rates known"]]
    learned, known = (
        np.mean([paper000._rewards(paper000.SINGLE, way, run, 2000).mean() for run in range(3)]) for way in ways
    )
    assert learned >= 0.99 * known


def test_learned_whittle_finds_more_than_turns_and_bandits_on_graphs_of_001() -> None:
    hits = []
    for graph in range(3):
        rng = np.random.default_rng([graph, 300])
        updates = random_model(rng).updates(2000, rng)
        ways = (paper001.learned(updates), play(updates, RoundRobin()), play(updates, Exp3(rng, 0.05)))
        hits.append([100 * visits.hit_rate for visits in ways])
    learned, robin, exp3 = np.mean(hits, axis=0)
    assert learned >= robin + 1
    assert learned >= exp3 + 5


def test_learners_of_001_are_paid_by_hits_and_beside_it_by_freshness() -> None:
    """Of a source that changes all the time every find is fresh; one that changed long ago pays next to nothing."""
    updates = np.zeros((400, 2), bool)
    updates[:, 0] = True
    updates[::20, 1] = True
    rewards = {
        name: visits.rewards for name, visits in paper001._learners(updates, 0, np.random.default_rng(1), True).items()
    }
    assert len(rewards) == 6
    assert all(set(one) <= {0, 1} for name, one in rewards.items() if "freshness" not in name)
    assert all(np.any((one > 0) & (one < 1)) for name, one in rewards.items() if "freshness" in name)
    assert len(paper001._learners(updates[:20], 0, np.random.default_rng(1), False)) == 4


def test_nodes_without_neighbours_are_named_and_what_that_means_is_said() -> None:
    said: list[str] = []
    model = LatentModel(np.array([0.2, 0.1, 0.3]), np.array([[0.9, 0.5, 0], [0, 0.8, 0], [0, 0, 0.7]]))
    assert paper001._alone(model, 4, Options(said.append)) == ["graph 5, node 2"]
    assert len(said) == 1
    assert said[0].startswith("Without neighbours: graph 5, node 2. They stay in")
    whole = LatentModel(np.array([0.2, 0.1]), np.full((2, 2), 0.5))
    assert paper001._alone(whole, 0, Options(said.append)) == []
    assert len(said) == 1


def air_data(folder: Path) -> Path:
    """Three stations and 60 hours, the second as the first an hour later."""
    rows = ["station,time,pm25,pm10,co"]
    rng = np.random.default_rng(1)
    north = 100 + 80 * np.sin(np.arange(61) / 3)
    series = {"A": north[1:], "B": north[:-1], "C": 200 * rng.random(60)}
    for station, values in series.items():
        rows += [
            f"{station},2013-03-01T{hour:02},{value:.1f},{8 * value:.0f},{80 * value:.0f}"
            for hour, value in enumerate(values)
        ]
    (folder / "beijing_pm_co.csv").write_text("\n".join(rows) + "\n")
    (folder / "stations.csv").write_text("station,lat,lon\nA,40.0,116.0\nB,40.1,116.0\nC,41.0,116.5\n")
    return folder


def test_the_air_is_crawled_under_each_definition_and_delay_is_set_against_distance(tmp_path: Path) -> None:
    found = Findings("001")
    air.add(found, Options(silent, quick=True), air.read(air_data(tmp_path)))
    parts = {row["part"] for row in found.rows}
    assert len([part for part in parts if part.startswith("Beijing")]) == 9
    assert "delay against distance, PM2.5 (Figure 4)" in parts
    near = next(picture for picture in found.pictures if picture.name == "001-figure-4-pm25")
    distances, delays = near.dots["pairs of stations"]
    assert len(distances) == len(delays) == 6
    assert set(found.bars) == {"PM2.5", "PM10", "CO"}


def test_a_paper_is_reported_with_its_pictures(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def tiny(options: Options) -> Findings:
        found = Findings("004", {"quick": options.quick})
        found.row("part", "what", [1.0, 3.0], paper=2.2, reference=2.0)
        found.row("part", "other", 5.0, paper=4.0)
        found.checks.append(Check.near("near", 2.0, 2.1, 0.2))
        found.pictures.append(
            Picture(
                "tiny", "Title", "x", "y",
                lines={"a": ([0, 1], [1, 2])}, bands={"a": ([0, 1], [0, 1], [2, 3])},
                dots={"b": ([0], [1])}, bars={"c": {"g": 1.0, "h": 2.0}, "d": {"h": 1.0}},
            )
        )  # fmt: skip
        return found

    monkeypatch.setitem(bench.PAPERS, "004", tiny)
    report = bench.reproduce("004", silent, quick=True, plots=tmp_path)
    told = json.loads(report.json())
    assert told["bench"] == "recrawl"
    assert told["settings"] == {"paper": "004", "quick": True}
    assert told["rows"][0] == {
        "part": "part", "what": "what", "paper": 2.2, "reference": 2.0,
        "ours": 2.0, "deviation": 1.41, "runs": 2, "verdict": "agrees",
    }  # fmt: skip
    assert told["rows"][1]["verdict"] == "differs"
    assert told["checks"] == [{"name": "near", "value": 2.0, "goal": "2.1 ± 0.2", "holds": True}]
    assert (tmp_path / "tiny.png").stat().st_size > 1000


def test_pictures_that_cannot_be_written_say_so(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be written to"):
        pictures.write([Picture("a", "", "", "", lines={"a": ([0], [0])})], tmp_path / "none")


def test_a_window_is_shorter_at_the_beginning() -> None:
    assert window_mean([1.0, 3.0, 5.0, 7.0], 2).tolist() == [1, 2, 4, 6]


def test_a_paper_nobody_knows_is_named_and_data_goes_to_the_paper_it_is_of(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match='no paper "003" in the laboratory; there are: 004, 002, 000, 001'):
        bench.reproduce("003", silent, quick=True)
    with pytest.raises(ConfigError, match=r"Paper 004 has no data .* --data is for paper 001"):
        bench.reproduce("004", silent, quick=True, data=tmp_path)


def test_data_is_looked_at_before_anything_long_begins(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"no beijing_pm_co\.csv\.xz"):
        bench.reproduce("001", silent, quick=True, data=tmp_path)
    (tmp_path / "beijing_pm_co.csv").write_text(READINGS)
    (tmp_path / "stations.csv").write_text(PLACES.replace("South", "West"))
    with pytest.raises(ConfigError, match="does not say where South is"):
        bench.reproduce("001", silent, quick=True, data=tmp_path)


def test_the_command_refuses_a_paper_nobody_knows(tmp_path: Path) -> None:
    done = tres("bench", "recrawl", "--paper", "003", cwd=tmp_path)
    assert done.returncode == 2
    assert 'no paper "003"' in done.stderr


def test_a_recrawl_policy_nobody_knows_is_refused_with_those_there_are() -> None:
    with pytest.raises(ConfigError, match=r"(?s)recrawl.policy.*'fg-dqn'"):
        Settings().replaced("recrawl", {"policy": "fg-dnq"})


def test_a_live_comparison_takes_other_policies_beside_the_index_and_refuses_what_it_does_not_know() -> None:
    plan = live.Plan().changed(["fg-dqn", "whittle"], 500, 3)
    assert plan.policies == ("whittle", "fg-dqn")
    assert (plan.sources, plan.hosts, plan.seeds) == (500, 75, 3)
    assert live.Plan().changed(None, None, None) == live.Plan()
    with pytest.raises(ConfigError, match='no recrawl policy "fg-dnq"; there are: whittle, '):
        live.Plan().changed(["fg-dnq"], None, None)
