"""Each policy of the papers does what sets it apart, in a world it must master within a second."""

from __future__ import annotations

from collections.abc import Sequence
from typing import get_args

import numpy as np
import pytest

from tres_crawler.config import RecrawlPolicy, RecrawlSettings
from tres_crawler.experiments.recrawl.beliefs import known
from tres_crawler.experiments.recrawl.world import Visits, independent, play
from tres_crawler.recrawl.bandit import BanditThompson
from tres_crawler.recrawl.baselines import ExactWhittle, RoundRobin
from tres_crawler.recrawl.covering import ActiveCovering
from tres_crawler.recrawl.deep import DeepScheduler, FullGradient, GraphDeep
from tres_crawler.recrawl.estimate import Evidence
from tres_crawler.recrawl.exp3 import Exp3
from tres_crawler.recrawl.grouped import BeliefGroups, Grouped
from tres_crawler.recrawl.laboratory import LABORATORY, Circumstances
from tres_crawler.recrawl.neighbours import NeighbourWhittle
from tres_crawler.recrawl.policies import create_estimates, create_scheduler
from tres_crawler.recrawl.qlearner import Gradient, QLearner
from tres_crawler.recrawl.ranked import RankedScheduler
from tres_crawler.recrawl.scheduler import Belief, Finding, Source
from tres_crawler.recrawl.static import StaticShares, best_shares
from tres_crawler.recrawl.switched import Switched

IMPORTANCE = (5.0, 0.2, 1.0, 0.5)
RATES = (0.6, 0.08, 0.01, 0.3)
"""The four pages of FG-DQN, sec. V."""
GROUPED = {"thompson-printed", "thompson-importance", "fg-dqn", "dqn", "thompson-then-fg-dqn", "lspe"}
"""FG-DQN's arms are groups; LSPE(0) works with a matrix over all its arms."""


def chance(seed: int = 1) -> np.random.Generator:
    return np.random.default_rng(seed)


def one_pays(slots: int) -> np.ndarray[tuple[int, int], np.dtype[np.bool_]]:
    """Of four sources the third changes in every slot and the others never."""
    updates = np.zeros((slots, 4), bool)
    updates[:, 2] = True
    return updates


def late_share(visits: Visits, source: int) -> float:
    """How often a source was visited in the second half."""
    return float((visits.sources[len(visits.sources) // 2 :] == source).mean())


def test_the_best_fixed_shares_are_the_published_ones_with_pages_two_and_three_the_other_way_round() -> None:
    """FG-DQN, sec. V prints 0.942, 0.055, 0.003, 0: as chances of a change, and with two entries swapped."""
    found = best_shares(IMPORTANCE, 1 - np.exp(-np.array(RATES)))
    assert found == pytest.approx([0.942, 0.003, 0.055, 0.0], abs=0.0005)
    assert best_shares(IMPORTANCE, RATES) == pytest.approx([0.9529, 0, 0.0471, 0], abs=0.0005)


def test_no_other_shares_keep_more_fresh() -> None:
    worth, delta = np.array(IMPORTANCE), 1 - np.exp(-np.array(RATES))

    def fresh(shares: np.ndarray[tuple[int], np.dtype[np.float64]]) -> float:
        return float((worth * shares / (shares + delta - delta * shares)).sum())

    best = best_shares(worth, delta)
    assert fresh(best) >= max(fresh(chance().dirichlet(np.ones(4) / 2)) for _ in range(200))
    for seed in range(200):
        assert fresh(best) >= fresh(0.98 * best + 0.02 * chance(seed).dirichlet(np.ones(4)))


def test_shares_of_sources_that_never_or_always_change_are_all_or_nothing() -> None:
    assert best_shares([1.0, 1.0], [0.0, 0.5]) == pytest.approx([0.0, 1.0])
    assert best_shares([1.0, 3.0], [1.0, 1.0]) == pytest.approx([0.0, 1.0])
    assert best_shares([1.0, 1.0], [0.0, 0.0]) == pytest.approx([0.5, 0.5])


def test_static_visits_are_drawn_by_the_shares() -> None:
    scheduler = StaticShares(known(RATES, IMPORTANCE), chance(), slot_seconds=1.0)
    visits = play(np.zeros((2000, 4), bool), scheduler)
    assert np.bincount(visits.sources, minlength=4) / 2000 == pytest.approx([0.942, 0.003, 0.055, 0], abs=0.02)


@pytest.mark.parametrize(
    "scheduler",
    [
        FullGradient(1, hidden=(32, 8), settled_after=200),
        FullGradient(1, hidden=(32, 8), settled_after=200, gradient=Gradient.SEMI),
        GraphDeep(1, settled_after=200),
        Exp3(chance(), 0.2),
        BanditThompson(chance()),
        Switched(BanditThompson(chance()), FullGradient(1, hidden=(32, 8), settled_after=200), 100),
    ],
    ids=["fg-dqn", "dqn", "graph", "exp3", "thompson", "switched"],
)
def test_a_learner_finds_the_one_source_that_pays(scheduler: RankedScheduler) -> None:
    assert late_share(play(one_pays(800), scheduler), 2) > 0.6


def test_thompson_as_printed_prefers_what_changes_and_times_importance_what_pays() -> None:
    """A source that changes always and is worth little, beside one that changes seldom and is worth much."""
    updates = independent((5.0, 0.5), 800, chance())
    printed = play(updates, BanditThompson(chance()), importance=(1, 5))
    weighted = play(updates, BanditThompson(chance(), (1.0, 5.0).__getitem__), importance=(1, 5))
    assert late_share(printed, 0) > 0.8
    assert late_share(weighted, 1) > 0.8


def test_a_full_gradient_also_lowers_what_comes_next() -> None:
    """Where the next state is valued too high, full gradients correct both ends, semi-gradients the near one."""
    moved = {}
    for gradient in (Gradient.FULL, Gradient.SEMI):
        learner = QLearner(2, 2, (16, 16), 0.9, gradient, seed=3)
        here, there = np.array([1.0, 0.0]), np.array([0.0, 1.0])
        before = learner.values(there).max()
        for _ in range(60):
            learner.learn(here, 0, -3.0, there)
        moved[gradient] = float(learner.values(there).max() - before)
    assert moved[Gradient.FULL] > moved[Gradient.SEMI] + 0.3


@pytest.mark.parametrize("gradient", Gradient)
def test_a_step_goes_down_the_bellman_error_by_what_its_gradient_lets_move(gradient: Gradient) -> None:
    """FG-DQN, eq. 9: both terms move; in DQN and double DQN the target stands still, valued by an older copy."""
    learner = QLearner(3, 4, (6, 5), 0.9, gradient, seed=2)
    network, rng = learner._network, chance(4)
    for weights in (*network.weights, *learner._older):
        weights += rng.normal(0, 0.3, weights.shape).astype(np.float32)
    states, after = rng.random((2, 40, 3))
    actions, rewards = rng.integers(4, size=40), rng.random(40)
    learner._states[:40], learner._after[:40] = states, after
    learner._actions[:40], learner._rewards[:40] = actions, rewards

    def values(weights: Sequence[np.ndarray], rows: np.ndarray) -> np.ndarray:
        for at in (0, 2):
            rows = np.maximum(rows @ weights[at] + weights[at + 1], 0)
        return np.asarray(rows @ weights[4] + weights[5])

    def target(weights: Sequence[np.ndarray]) -> np.ndarray:
        ours, older, at = values(weights, after), values(learner._older, after), np.arange(40)
        pays = {Gradient.FULL: ours.max(1), Gradient.SEMI: older.max(1), Gradient.DOUBLE: older[at, ours.argmax(1)]}
        return np.asarray(rewards + 0.9 * pays[gradient])

    fixed = [one.astype(float) for one in network.weights]
    standing = target(fixed)

    def error(weights: Sequence[np.ndarray]) -> float:
        wanted = target(weights) if gradient is Gradient.FULL else standing
        return float(((wanted - values(weights, states)[np.arange(40), actions]) ** 2).mean())

    learner._step(np.arange(40))
    for layer, mean in enumerate(network._means):
        for place in np.ndindex(mean.shape):
            low, high = ([one.copy() for one in fixed] for _ in range(2))
            low[layer][place] -= 1e-6
            high[layer][place] += 1e-6
            slope = (error(high) - error(low)) / 2e-6
            assert mean[place] / (1 - network.FIRST) == pytest.approx(slope, abs=1e-3)


def test_a_network_begins_anew_when_it_has_too_few_places() -> None:
    scheduler: DeepScheduler = GraphDeep(1, exploration=(0.0, 0.0))
    play(one_pays(50), scheduler)
    scheduler.add(Source(9, 9, 50.0))
    for slot in (51.0, 52.0, 53.0):
        (chosen,) = scheduler.choose(slot, 1)
        scheduler.observe(chosen, slot, Finding(True, 1.0))
    assert len(scheduler) == 5


def test_the_five_columns_tell_what_visits_found_and_how_long_ago() -> None:
    """Graph-structured crawling, sec. 6: asked; since updated; since not; what is left of both marks."""
    scheduler = GraphDeep(1)
    for number in range(3):
        scheduler.add(Source(number, number, 0.0))
    for slot, (number, changed) in enumerate([(0, True), (1, False), (1, True)]):
        scheduler.observe(number, slot + 1.0, Finding(changed, 1.0))
    slots, left = GraphDeep.SLOTS, GraphDeep.DECAY
    assert scheduler.describe(np.zeros(3)) == pytest.approx(
        np.array(
            [
                [1, 3 / slots, 3 / slots, left**2, 0],
                [1, 1 / slots, 2 / slots, 1, left],
                [0, 3 / slots, 3 / slots, 0, 0],
            ]
        )
    )


def test_a_deep_policy_remembers_state_choice_reward_and_the_state_of_the_next_choice() -> None:
    """FG-DQN, sec. II and Alg. 1: slots since each was chosen, and whether that found a change, as they were before."""
    scheduler = FullGradient(1, hidden=(8, 4))
    for number in range(2):
        scheduler.add(Source(number, number, 0.0))
    for slot, (number, changed) in enumerate([(0, True), (1, False), (0, False), (0, True)]):
        scheduler.observe(number, slot + 1.0, Finding(changed, 5.0 * changed))
    learner = scheduler._network()
    assert (learner._seen, learner._actions[:3].tolist(), learner._rewards[:3].tolist()) == (3, [0, 1, 0], [5, 0, 0])
    # The slot is the time so far by the visits so far: 1, 2, 3/2 and 4/3 seconds.
    expected = [[[1, 0], [1, 0]], [[1 / 2, 1], [2 / 2, 0]], [[2 / 1.5, 1], [1 / 1.5, 0]], [[0.75, 0], [1.5, 0]]]
    states = np.array(expected) / [FullGradient.SLOTS, 1]
    assert learner._states[:3].reshape(3, 4, 2)[:, :2] == pytest.approx(states[:3])
    assert learner._after[:3].reshape(3, 4, 2)[:, :2] == pytest.approx(states[1:])


def test_within_a_group_sources_take_turns() -> None:
    groups = Grouped(BanditThompson(chance()), lambda number: number // 4)
    updates = np.zeros((400, 8), bool)
    updates[:, 4:] = True
    visits = play(updates, groups)
    second = visits.sources[visits.sources >= 4]
    assert len(second) > 300
    assert np.array_equal(second, np.resize(np.arange(4, 8), len(second)))


def test_groups_part_the_often_changing_and_the_dear_from_the_others() -> None:
    beliefs = [Belief(rate, utility) for rate in (1e-6, 1e-2) for utility in (0.1, 5.0)] * 3
    group_of = BeliefGroups(beliefs.__getitem__)
    found = [group_of(number) for number in range(len(beliefs))]
    assert found[4:8] == found[8:] == [0, 2, 1, 3]


def visits_of(number: int, scheduler: Exp3, slots: int) -> float:
    """The share of a source among so many choices, all of them given back."""
    chosen: list[int] = []
    for slot in range(slots):
        chosen += scheduler.choose(slot + 1.0, 1)
        scheduler.give_back(chosen[-1])
    return chosen.count(number) / slots


def test_exp3_pays_what_was_found_by_how_unlikely_it_was_drawn_and_mixes_in_blind_draws() -> None:
    """Auer et al.: w ← w · exp(γ · x / (p · K)), and p = (1 − γ) · w / Σw + γ / K."""
    scheduler = Exp3(chance(), 0.4)
    for number in range(4):
        scheduler.add(Source(number, number, 0.0))
    weights = np.ones(4)
    for slot in range(30):
        chances = 0.6 * weights / weights.sum() + 0.4 / 4
        (number,) = scheduler.choose(slot + 1.0, 1)
        scheduler.observe(number, slot + 1.0, Finding(True, 0.8))
        weights[number] *= np.exp(0.4 * 0.8 / (chances[number] * 4))
    chances = 0.6 * weights / weights.sum() + 0.4 / 4
    assert [visits_of(number, scheduler, 4000) for number in range(4)] == pytest.approx(chances, abs=0.025)
    assert scheduler._odds[:4] / 4 == pytest.approx(chances)


def test_exp3_gives_the_chances_of_a_source_that_is_gone_to_the_others_as_they_have_earned() -> None:
    scheduler = Exp3(chance(), 0.1)
    for number in range(3):
        scheduler.add(Source(number, number, 0.0))
    for number, hits in ((1, 60), (0, 400)):
        for slot in range(hits):
            scheduler.observe(number, float(slot), Finding(True, 1.0))
    scheduler.retire(0)
    assert visits_of(1, scheduler, 500) > 0.9


def test_covering_asks_each_source_once_a_round_and_those_near_a_change_first() -> None:
    nearness = np.asarray(np.kron(np.eye(2), np.ones((4, 4))), float)
    updates = np.zeros((400, 8), bool)
    updates[:, :4] = True
    visits = play(updates, ActiveCovering(chance(), nearness, by_chance=0.2))
    rounds = visits.sources.reshape(50, 8)
    assert all(sorted(one) == list(range(8)) for one in rounds.tolist())
    assert np.mean(rounds[:, 2:4] < 4) > 0.8
    assert np.mean(rounds[:, 6:] < 4) < 0.3


def test_covering_asks_the_nearest_to_any_change_first_not_the_one_near_to_many() -> None:
    """Source 3 is a little near to three that have changed, source 4 nearer to one of them, source 5 to none."""
    nearness = np.zeros((6, 6))
    nearness[:3, 3], nearness[0, 4] = 0.5, 0.6
    for seed in range(20):
        scheduler = ActiveCovering(chance(seed), nearness, by_chance=0.5)
        for number in range(6):
            scheduler.add(Source(number, number, 0.0))
        for number in range(3):
            scheduler.observe(number, 1.0, Finding(True, 1.0))
        assert list(scheduler.choose(2.0, 3)) == [4, 3, 5]


def test_the_second_policy_decides_after_so_many_visits() -> None:
    class Only(RankedScheduler):
        def __init__(self, number: int) -> None:
            super().__init__()
            self.number = number

        def scores(self, rows, ages):  # type: ignore[no-untyped-def]
            return (rows == self.number).astype(float)

    visits = play(np.zeros((30, 4), bool), Switched(Only(1), Only(2), 10))
    assert visits.sources.tolist() == [1] * 10 + [2] * 20


def together(slots: int) -> np.ndarray[tuple[int, int], np.dtype[np.bool_]]:
    """Four families of five sources that change together."""
    return np.repeat(independent((0.05,) * 4, slots, chance(5)), 5, axis=1)


def test_neighbours_are_learned_and_strangers_stay_strangers() -> None:
    scheduler = NeighbourWhittle(known((0.05,) * 20))
    play(together(3000), scheduler)
    influence = np.array([[scheduler.influence(on, of) for of in range(20)] for on in range(20)])
    family = np.kron(np.eye(4), np.ones((5, 5))).astype(bool) & ~np.eye(20, dtype=bool)
    assert influence[family].mean() > 0.2
    assert abs(influence[~family].mean()) < 0.05


def test_knowing_neighbours_finds_more_where_changes_come_together() -> None:
    updates = together(3000)
    plain = play(updates, ExactWhittle(known((0.05,) * 20)))
    aware = play(updates, NeighbourWhittle(known((0.05,) * 20)))
    assert aware.hit_rate > plain.hit_rate + 0.02


def test_without_surprises_the_index_is_the_plain_one() -> None:
    updates = independent(RATES, 200, chance())
    plain = play(updates, ExactWhittle(known(RATES)))
    assert play(updates, NeighbourWhittle(known(RATES), most=0)).sources.tolist() == plain.sources.tolist()


def test_what_a_group_is_worth_comes_from_beliefs() -> None:
    """Of four pages that change in every slot two are worth nothing: Thompson × importance leaves them alone."""
    scheduler = LABORATORY["thompson-importance"](Circumstances(known((0.5,) * 4, (0.0, 1.0, 0.0, 1.0))))
    visits = play(np.ones((60, 4), bool), scheduler)
    assert set(visits.sources[10:]) == {1, 3}


@pytest.mark.parametrize("name", sorted(LABORATORY))
def test_policies_of_the_paper_that_groups_and_lspe_run_over_four_groups(name: str) -> None:
    """Within a group pages take turns, so a page that has been visited comes after the others of its group."""
    rates = [1e-3 if number % 2 else 1.0 for number in range(16)]
    worth = [5.0 if number % 4 < 2 else 0.1 for number in range(16)]
    scheduler = LABORATORY[name](Circumstances(known(rates, worth)))
    assert isinstance(scheduler, Grouped) == (name in GROUPED)
    if isinstance(scheduler, Grouped):
        visits = play(independent(rates, 400, chance()), scheduler)
        assert len(scheduler._groups) == 4
        for group in range(4):
            turns = [source for source in visits.sources[16:].tolist() if source % 4 == group]
            assert all(len(set(turns[at : at + 4])) == len(turns[at : at + 4]) for at in range(0, len(turns), 4))


def test_round_robin_is_what_it_says_in_the_laboratory_too() -> None:
    assert play(np.zeros((8, 4), bool), RoundRobin()).sources.tolist() == [0, 1, 2, 3] * 2


@pytest.mark.parametrize("name", get_args(RecrawlPolicy))
def test_every_policy_that_a_crawl_can_be_told_to_follow_makes_choices(name: str) -> None:
    settings = RecrawlSettings.model_validate({"policy": name, "least_gap_seconds": 0.0})
    estimates = create_estimates(settings)
    scheduler = create_scheduler(settings, estimates, seed=1)
    for number in range(1, 6):
        estimates.add(number, number, Evidence(0.0))
        scheduler.add(Source(number, number, 0.0))
    for day in range(40, 60):
        for number in scheduler.choose(day * 86_400.0, 2):
            finding = Finding(number % 2 == 0, 0.3 * (number % 2 == 0), 0.1, 1000, 200)
            estimates.observe(number, day * 86_400.0, finding)
            scheduler.observe(number, day * 86_400.0, finding)
    assert scheduler.choose(100 * 86_400.0, 5)


def test_no_policy_of_the_papers_is_kept_from_a_crawl() -> None:
    assert set(LABORATORY) < set(get_args(RecrawlPolicy))
