"""The worlds of the papers: what is simulated, planned and read is what they describe."""

from __future__ import annotations

import lzma
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from tres_crawler.errors import ConfigError
from tres_crawler.experiments.recrawl.beijing import (
    Definition,
    delays,
    distances,
    read_places,
    read_readings,
)
from tres_crawler.experiments.recrawl.dynamic import ExactProgramme, SampledProgramme
from tres_crawler.experiments.recrawl.latent import LatentModel, random_model, seasonal_rates
from tres_crawler.experiments.recrawl.world import play
from tres_crawler.recrawl.baselines import RoundRobin

PAIR = LatentModel(np.array([0.2, 0.1]), np.array([[0.9, 0.5], [0.0, 0.8]]))
"""Events of the first node reach both; those of the second stay there."""


def chance(seed: int = 1) -> np.random.Generator:
    return np.random.default_rng(seed)


def test_an_event_updates_its_node_and_its_neighbours_in_the_same_slot() -> None:
    updates = PAIR.updates(100_000, chance())
    assert updates.mean(0) == pytest.approx([0.18, 1 - 0.9 * 0.92], abs=0.005)
    assert PAIR.update_chances == pytest.approx([0.18, 1 - 0.9 * 0.92])
    both = (updates[:, 0] & updates[:, 1]).mean()
    assert both == pytest.approx(0.2 * 0.9 * (1 - 0.5 * 0.92), abs=0.004)


def test_a_random_graph_has_the_published_parameters() -> None:
    models = [random_model(chance(seed)) for seed in range(100)]
    off = ~np.eye(10, dtype=bool)
    assert np.mean([(model.weights[off] > 0).mean() for model in models]) == pytest.approx(1 / 3, abs=0.02)
    assert np.mean([model.weights[off][model.weights[off] > 0].mean() for model in models]) == pytest.approx(
        1 / 6, abs=0.01
    )
    assert np.mean([np.diag(model.weights).mean() for model in models]) == pytest.approx(0.7, abs=0.01)
    assert np.mean([model.rates.mean() for model in models]) == pytest.approx(1 / 16, abs=0.005)


def test_a_node_without_neighbours_is_named_and_one_without_any_updates_is_refused() -> None:
    alone = LatentModel(np.array([0.2, 0.1, 0.3]), np.array([[0.9, 0.5, 0], [0, 0.8, 0], [0, 0, 0.7]]))
    assert alone.isolated == [2]
    assert PAIR.isolated == []
    with pytest.raises(ConfigError, match="Node 1, 2 is never updated: no event reaches it"):
        LatentModel(np.array([0.2, 0.1, 0.3]), np.diag([0.9, 0, 0]))
    with pytest.raises(ConfigError, match="2 nodes need weights of 2 × 2"):
        LatentModel(np.array([0.2, 0.1]), np.eye(3))
    with pytest.raises(ConfigError, match="chances"):
        LatentModel(np.array([0.2, 1.1]), np.eye(2))


def test_seasons_come_back_and_rates_stay_around_their_base() -> None:
    """AR(7) with one coefficient at lag 7, as in the paper's Figure 3."""
    base = np.array([0.05, 0.2])
    rates = seasonal_rates(base, (0, 0, 0, 0, 0, 0, 0.95), 0.2, 4000, chance())
    odds = np.log(rates / (1 - rates))
    assert odds.mean(0) == pytest.approx(np.log(base / (1 - base)), abs=0.3)
    at = [np.corrcoef(odds[:-lag, 0], odds[lag:, 0])[0, 1] for lag in range(1, 9)]
    assert at[6] > 0.9
    assert max(np.abs(at[:6])) < 0.3
    assert PAIR.updates(500, chance(), rates[:500]).any()
    with pytest.raises(ConfigError, match="grows without limit"):
        seasonal_rates(base, (0.5, 0.6), 0.2, 10, chance())


def test_an_update_is_found_once_and_its_delay_counts_from_the_first_unseen_one() -> None:
    updates = np.array([[1, 0], [1, 0], [0, 1], [0, 1]], bool)
    visits = play(updates, RoundRobin())
    assert visits.sources.tolist() == [0, 1, 0, 1]
    assert visits.changed.tolist() == [True, False, True, True]
    assert visits.delays.tolist() == [0, 0, 1, 1]
    assert visits.hit_rate == 0.75
    assert visits.freshness == pytest.approx((1 + 2 * np.exp(-1)) / 4)
    assert play(updates, RoundRobin(), fresh=True).rewards.sum() == pytest.approx(1 + 2 * np.exp(-1))
    late = visits.since(2)
    assert (late.hit_rate, late.freshness) == pytest.approx((1.0, np.exp(-1)))
    assert late.rewards.tolist() == [1, 1]


def by_hand(model: LatentModel, horizon: int) -> float:
    """The best expected hits of any plan, by going through all plans and all updates of two slots."""
    law = ExactProgramme(model)._updates
    count = len(model.rates)
    best = 0.0
    for first, if_hit, if_not in product(range(count), repeat=3):
        total = 0.0
        for one, other in product(range(1 << count), repeat=2):
            hit = one >> first & 1
            left = one & ~(1 << first) | other
            second = if_hit if hit else if_not
            total += law[one] * law[other] * (hit + (left >> second & 1))
        best = max(best, total)
    assert horizon == 2
    return best


def test_the_exact_programme_finds_the_best_plan() -> None:
    programme = ExactProgramme(PAIR)
    assert programme.plan(programme.start(), 2).hits == pytest.approx(by_hand(PAIR, 2))
    assert programme.plan(programme.start(), 1).source == 0


def test_the_sampled_programme_comes_near_the_exact_one() -> None:
    model = random_model(chance(3), 4)
    exact, sampled = ExactProgramme(model), SampledProgramme(model, 20_000, chance())
    for horizon in (1, 2, 3):
        best = exact.plan(exact.start(), horizon).hits
        assert sampled.plan(sampled.start(), horizon).hits == pytest.approx(best, rel=0.05)


def test_what_was_seen_changes_what_is_believed() -> None:
    exact, sampled = ExactProgramme(PAIR), SampledProgramme(PAIR, 20_000, chance())
    belief = exact.seen(exact.after_slot(exact.start()), 0, True)
    drawn = sampled.after(sampled.start(), 0, 0, True)
    second = float(belief[[2, 3]].sum())
    assert second == pytest.approx((0.18 * (1 - 0.5 * 0.92)) / 0.18)
    assert drawn[:, 1].mean() == pytest.approx(second, abs=0.02)
    assert not drawn[:, 0].any()


@pytest.mark.parametrize("programme", [ExactProgramme(PAIR), SampledProgramme(PAIR, 10, chance())])
def test_a_horizon_that_is_too_long_is_refused_with_the_longest_there_is(
    programme: ExactProgramme | SampledProgramme,
) -> None:
    with pytest.raises(ConfigError, match=r"A horizon of 30 slots over 2 sources means .* at most 9, or fewer"):
        programme.plan(programme.start(), 30)  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="at least 1 slot"):
        programme.plan(programme.start(), 0)  # type: ignore[arg-type]


def test_a_plan_for_rates_that_change_waits_for_what_is_to_come() -> None:
    """Both nodes keep to themselves; the first has its event in slot 0, the second in slot 1, and then nothing."""
    model, rates = LatentModel(np.array([0.5, 0.5]), np.eye(2)), np.array([[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]])
    programme = SampledProgramme(model, 50, chance(), rates)
    assert programme.plan(programme.start(), 2) == (0, 2.0)
    assert programme.plan(programme.start(), 1, slot=1) == (1, 1.0)
    with pytest.raises(ConfigError, match="given for 3 slots; a horizon of 2 from slot 2 on needs 4"):
        programme.plan(programme.start(), 2, slot=2)


def test_a_node_without_events_of_its_own_has_none_in_any_season() -> None:
    rates = seasonal_rates(np.array([0.0, 1.0]), (0.5,), 0.2, 10, chance())
    assert rates.tolist() == [[0, 1]] * 10


def test_too_many_nodes_for_the_exact_programme_are_refused() -> None:
    with pytest.raises(ConfigError, match="at most 10 nodes, not 11"):
        ExactProgramme(random_model(chance(), 11))


def write(folder: Path, name: str, text: str) -> None:
    path = folder / name
    if path.suffix == ".xz":
        path.write_bytes(lzma.compress(text.encode()))
    else:
        path.write_text(text)


READINGS = """station,time,pm25,pm10,co
North,2013-03-01T00,90,10,300
North,2013-03-01T01,110,10,
North,2013-03-01T02,120,900,9000
North,2013-03-01T03,,10,300
South,2013-03-01T00,,10,300
South,2013-03-01T01,80,10,300
South,2013-03-01T02,130,10,300
South,2013-03-01T03,70,10,300
"""
PLACES = "station,lat,lon\nSouth,39.0,116.0\nNorth,40.0,116.0\n"


@pytest.mark.parametrize("name", ["beijing_pm_co.csv", "beijing_pm_co.csv.xz"])
def test_readings_become_updates_by_each_definition(tmp_path: Path, name: str) -> None:
    write(tmp_path, name, READINGS)
    readings = read_readings(tmp_path)
    assert readings.stations == ("North", "South")
    found = {kind: readings.updates("pm25", kind).astype(int).T.tolist() for kind in Definition}
    assert found == {
        Definition.ABOVE: [[0, 1, 1, 1], [0, 0, 1, 0]],
        Definition.UPWARD: [[0, 1, 0, 0], [0, 0, 1, 0]],
        Definition.CROSSING: [[0, 1, 0, 0], [0, 0, 1, 1]],
    }
    assert readings.updates("co", Definition.ABOVE)[:, 0].tolist() == [False, False, True, False]


def test_stations_lie_as_far_apart_as_a_degree_says(tmp_path: Path) -> None:
    write(tmp_path, "stations.csv", PLACES)
    places = read_places(tmp_path, ["North", "South"])
    assert distances(places)[0, 1] == pytest.approx(111.2, abs=0.1)


def test_a_delay_runs_to_the_next_update_elsewhere() -> None:
    updates = np.array([[1, 0], [0, 0], [1, 1], [0, 1], [1, 0]], bool)
    found = delays(updates)
    assert found[0, 1] == pytest.approx((2 + 0) / 2)
    assert found[1, 0] == pytest.approx((0 + 1) / 2)
    assert np.isnan(delays(np.zeros((5, 2), bool))).all()


@pytest.mark.parametrize(
    ("name", "text", "told"),
    [
        ("nothing.csv", "", r"There is no beijing_pm_co.csv.xz in"),
        (
            "beijing_pm_co.csv",
            "station,when,pm25\n",
            r"has the columns station, when, pm25; expected station, time, pm25",
        ),
        ("beijing_pm_co.csv", "", r"has the columns of an empty file; expected"),
        ("beijing_pm_co.csv", READINGS + "South,2013\n", r"line 10: 2 values in place of 5"),
        ("beijing_pm_co.csv", READINGS + "South,2013-03-01T04,1,2,3\n", r"every station must have the same hours"),
        ("beijing_pm_co.csv", READINGS.replace("900", "many"), r"a value is no number .*many"),
        ("beijing_pm_co.csv.xz", "no archive", r"cannot be read"),
    ],
)
def test_readings_that_cannot_be_used_are_told_apart(tmp_path: Path, name: str, text: str, told: str) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(ConfigError, match=told):
        read_readings(tmp_path)


def test_places_that_cannot_be_used_are_told_apart(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"There is no stations.csv"):
        read_places(tmp_path, ["North"])
    write(tmp_path, "stations.csv", PLACES)
    with pytest.raises(ConfigError, match="does not say where West is"):
        read_places(tmp_path, ["North", "West"])
    write(tmp_path, "stations.csv", PLACES.replace("39.0", "x"))
    with pytest.raises(ConfigError, match="a coordinate is no number"):
        read_places(tmp_path, ["North"])
