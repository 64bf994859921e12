"""The learner masters small worlds, survives bad ones, and goes on after a restart as if nothing had happened."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
import torch

from tests.learn.worlds import DIM, KINDS, learner, link, links, transition, values
from tres_crawler.config import LearnSettings
from tres_crawler.errors import ModelError
from tres_crawler.learn.ddqn import GOOD_EVERY, Ddqn
from tres_crawler.learn.replay import Transition
from tres_crawler.learn.snapshot import FORMAT, Shape, _sealed, pack


def taught_hubs(
    target: str, tree: tuple[str, ...] = ("good", "plain"), discount: float = 0.3, steps: int = 600
) -> Ddqn:
    """In this world hubs pay nothing but lead to good pages; good and plain pages lead to plain ones."""
    made = learner(target=target, discount=discount)
    for at in range(300):
        kind = KINDS[at % 3]
        outlinks = ("good", "good", "plain") if kind == "hub" else ("plain", "plain")
        made.remember(transition(kind, *outlinks, page=at, sample=tree[at // 3 % len(tree)]))
    made.train(steps)
    return made


# ---- worlds ----


@pytest.mark.parametrize("loss", ["huber", "squared"])
@pytest.mark.parametrize("target", ["paper", "outlinks", "advantage"])
def test_it_learns_which_kind_of_link_pays(target: str, loss: str) -> None:
    made = learner(target=target, loss=loss)
    for at in range(100):
        made.remember(transition(("good", "plain")[at % 2], page=at))
    made.train(300)
    learned = values(made)
    assert learned["good"] == pytest.approx(1, abs=0.1)
    assert learned["plain"] == pytest.approx(0, abs=0.1)


def test_the_value_is_the_mean_of_what_is_paid() -> None:
    made = learner(discount=0)
    for at in range(200):
        made.remember(transition("plain", page=at, reward=float(at % 4 == 0)))
    made.train(400)
    assert values(made)["plain"] == pytest.approx(0.25, abs=0.08)


@pytest.mark.parametrize(("target", "ahead"), [("outlinks", 0.3), ("advantage", 0.15)])
def test_a_hub_is_worth_more_than_a_plain_page(target: str, ahead: float) -> None:
    learned = values(taught_hubs(target))
    assert learned["hub"] - learned["plain"] == pytest.approx(ahead, abs=0.07)
    assert learned["good"] > learned["hub"]


def test_a_good_link_that_waits_anyway_drowns_the_hub_in_the_papers_target() -> None:
    learned = values(taught_hubs("paper", tree=("good",)))
    assert learned["hub"] == pytest.approx(0.3 / 0.7, abs=0.07), "a good link now and for ever after"
    assert learned["hub"] - learned["plain"] == pytest.approx(0, abs=0.07)


def test_without_a_discount_a_hub_is_a_plain_page() -> None:
    learned = values(taught_hubs("outlinks", discount=0))
    assert learned["hub"] - learned["plain"] == pytest.approx(0, abs=0.07)


@pytest.mark.parametrize(("target", "waiting"), [("paper", ""), ("outlinks", "good"), ("advantage", "good")])
def test_a_page_that_leads_nowhere_is_worth_its_reward(target: str, waiting: str) -> None:
    made = learner(target=target, discount=0.9)
    for at in range(100):
        made.remember(transition(("good", "plain")[at % 2], page=at, sample=waiting))
    made.train(400)
    assert values(made)["good"] == pytest.approx(1, abs=0.1)
    assert values(made)["plain"] == pytest.approx(0, abs=0.1)


@pytest.mark.parametrize(("loss", "value"), [("squared", 2.0), ("huber", 1 / 9)])
def test_a_few_wild_rewards_move_the_huber_loss_little(loss: str, value: float) -> None:
    made = learner(loss=loss, discount=0, weight_decay=0, max_reward=20)
    for at in range(100):
        made.remember(transition("plain", page=at, reward=20.0 if at % 10 == 0 else 0.0))
    made.train(800)
    assert values(made)["plain"] == pytest.approx(value, rel=0.4)


def test_what_learning_began_with_holds_against_a_few_pages() -> None:
    believed = []
    for decay in (0.0, 1.0, 10.0):
        made = learner(discount=0, weight_decay=decay, prior=np.zeros(DIM, np.float32))
        for at in range(12):
            made.remember(transition("good", page=at, reward=1.0))
        made.train(600)
        believed.append(values(made)["good"])
    assert believed[0] > believed[1] > believed[2]
    assert believed[1] > 0.7, "and yet it learns"


def test_the_next_step_is_chosen_by_one_network_and_valued_by_the_other() -> None:
    made = learner(target="outlinks", discount=0.5, target_every=10_000)
    made.remember(transition("hub", "good", "plain"))
    with torch.no_grad():
        for network, good, plain in ((made._online, 5.0, 1.0), (made._target, 2.0, 3.0)):
            for parameter in network.parameters():
                parameter.zero_()
            network.prior.copy_(torch.tensor([good, plain, 0.0]))
    batch = made.replay.sample(1, np.random.default_rng(1))
    assert made._next_value(batch).tolist() == [2.0]


# ---- before learning ----


def test_before_learning_the_value_is_the_prior() -> None:
    made = learner(prior=np.array([0.9, 0.1, 0.4], np.float32))
    assert values(made) == pytest.approx({"good": 0.9, "plain": 0.1, "hub": 0.4})


def test_a_wrong_prior_is_unlearned() -> None:
    made = learner(prior=np.array([0.0, 1.0, 0.0], np.float32))
    for at in range(100):
        made.remember(transition(("good", "plain")[at % 2], page=at))
    made.train(400)
    assert values(made)["good"] > 0.8 > 0.2 > values(made)["plain"]


def test_the_prior_can_be_switched_off() -> None:
    off = learner(prior=np.array([0.9, 0.1, 0.4], np.float32), prior_on=False)
    assert values(off) == values(learner())


def test_without_experience_there_is_nothing_to_train() -> None:
    made = learner()
    before = values(made)
    assert made.train(10) is None
    assert values(made) == before and made.steps == 0


def test_exploration_is_all_random_first_and_seldom_later() -> None:
    settings = LearnSettings(random_pages=300, epsilon=0.02)
    assert [settings.exploration(pages) for pages in (0, 299, 300, 5_000)] == [1.0, 1.0, 0.02, 0.02]


# ---- the same again ----


def test_one_seed_gives_one_learner() -> None:
    one, same, other = (taught_hubs_with_seed(seed) for seed in (1, 1, 2))
    assert values(one) == values(same)
    assert values(one) != values(other)


def taught_hubs_with_seed(seed: int) -> Ddqn:
    made = learner(seed)
    many = Transition(1, link("hub"), 0.0, links(*["good"] * 50, *["plain"] * 50), link("plain"))
    for at in range(30):
        made.remember(replace(many, page=at))
    made.train(120)
    return made


def test_a_restored_learner_has_the_same_values_and_learns_the_same() -> None:
    first, second = taught_hubs_with_seed(1), learner(seed=9)
    second.load(first.snapshot())
    assert (second.steps, second.last_page, len(second.replay)) == (first.steps, first.last_page, len(first.replay))
    assert second.weights().version == first.weights().version
    assert values(second) == values(first)
    for made in (first, second):
        made.remember(transition("good", "plain", page=77))
        assert made.train(100)
    assert values(second) == values(first)


def test_a_learner_that_has_not_learned_can_be_restored() -> None:
    first, second = learner(1), learner(2)
    second.load(first.snapshot())
    assert values(second) == values(first)


def test_a_policy_starts_another_learner_with_its_values_only() -> None:
    first, second = taught_hubs_with_seed(1), learner(seed=9)
    for saved in (first.policy(), first.snapshot()):
        second.load_policy(saved)
        assert values(second) == values(first)
        assert (second.steps, second.last_page, len(second.replay)) == (0, 0, 0)
    assert len(first.policy()) < len(first.snapshot())


def test_a_new_judge_changes_what_is_learned() -> None:
    made = learner(discount=0)
    for at in range(1, 101):
        made.remember(transition("good", page=at))
    assert made.relabel(dict.fromkeys(range(1, 101), 0.0)) == 100
    made.train(300)
    assert values(made)["good"] == pytest.approx(0, abs=0.1)


# ---- divergence ----


def spoiled(made: Ddqn, value: float) -> None:
    with torch.no_grad():
        for parameter in made._online.parameters():
            parameter.fill_(value)


@pytest.mark.parametrize(("value", "reason"), [(float("nan"), "not finite"), (1e30, "finite"), (3.0, "beyond 4.29")])
def test_a_learner_gone_astray_returns_to_its_last_good_weights(value: float, reason: str) -> None:
    made = learner()
    made.remember(transition("good", "plain"))
    made.train(GOOD_EVERY)
    good = values(made)
    spoiled(made, value)
    made.train(1)
    assert values(made) == good
    assert made.divergences == 1
    (told,) = made.divergences_untold()
    assert (told.step, told.learning_rate) == (GOOD_EVERY + 1, made.settings.learning_rate / 2)
    assert reason in told.reason
    assert made.divergences_untold() == []
    made.train(200)
    assert values(made)["good"] == pytest.approx(1, abs=0.1) and made.divergences == 1


def test_good_weights_that_lead_astray_at_once_are_good_no_longer() -> None:
    made = learner(prior=np.array([0.9, 0.1, 0.4], np.float32))
    first = values(made)
    made.remember(transition("good", "plain", reward=0.0))
    made.train(GOOD_EVERY)
    assert values(made) != first
    for _ in range(2):
        spoiled(made, float("nan"))
        made.train(1)
    assert values(made) == first


def test_rewards_that_grow_beyond_all_bounds_leave_finite_values() -> None:
    made = learner(target="outlinks", discount=0.99, learning_rate=0.5, target_every=1, loss="squared", clip=1e9)
    for at in range(50):
        made.remember(transition("good", "good", page=at, reward=1e6))
    made.train(300)
    assert made.divergences > 0
    assert all(np.isfinite(value) for value in values(made).values())


@pytest.mark.parametrize(
    "broken",
    [
        transition("good", reward=float("nan")),
        replace(transition("good"), features=np.full(DIM, np.nan, np.float32)),
        replace(transition("good"), outlinks=np.full((2, DIM), np.inf, np.float32)),
        replace(transition("good"), sample=np.full(DIM, np.nan, np.float32)),
    ],
)
def test_what_is_not_a_number_is_refused_and_counted(broken: Transition) -> None:
    made = learner()
    made.remember(broken)
    assert (made.refused, len(made.replay)) == (1, 0)


# ---- bad snapshots ----

SHAPE = Shape("kinds", DIM, (16, 16))


def of_the_future() -> bytes:
    return pack(SHAPE, {"kind": "policy", "format": FORMAT + 1}, {})


def with_weights_that_are_no_numbers() -> bytes:
    made = learner()
    spoiled(made, float("nan"))
    return made.snapshot()


@pytest.mark.parametrize(
    ("saved", "told"),
    [
        (of_the_future, rf"has format {FORMAT + 1}.*newer.*begin a new crawl without"),
        (lambda: Ddqn(LearnSettings(), "extended", 14).snapshot(), r'"extended" \(14.*"kinds" \(3\).*features\.set'),
        (lambda: Ddqn(LearnSettings(hidden=(16, 16)), "other", DIM).snapshot(), r'"other" \(3.*"kinds" \(3\)'),
        (lambda: Ddqn(LearnSettings(), "kinds", 4).snapshot(), r'"kinds" \(4.*"kinds" \(3\)'),
        (lambda: learner(hidden=(8, 16)).snapshot(), r"\(8, 16\).*\(16, 16\).*learn\.hidden"),
        (with_weights_that_are_no_numbers, "damaged.*not numbers"),
        (lambda: pack(SHAPE, {"kind": "full"}, {}), "damaged"),
        (lambda: b"", "damaged"),
        (lambda: b"PK\x03\x04 not really", "damaged"),
        (lambda: _sealed(b"PK\x03\x04 not really"), "damaged"),
        (lambda: _sealed(b""), "damaged"),
        (lambda: learner().snapshot()[:-100], "damaged"),
    ],
)
def test_a_snapshot_that_does_not_fit_is_refused_with_advice(saved: Callable[[], bytes], told: str) -> None:
    made = learner()
    before = values(made)
    for load in (made.load, made.load_policy):
        with pytest.raises(ModelError, match=told):
            load(saved())
    assert values(made) == before


def test_a_byte_that_has_changed_is_noticed_wherever_it_stands() -> None:
    saved = taught_hubs_with_seed(1).snapshot()
    made = learner()
    for at in (*range(0, len(saved), 997), len(saved) - 1):
        with pytest.raises(ModelError, match="damaged"):
            made.load(saved[:at] + bytes([saved[at] ^ 1]) + saved[at + 1 :])


def test_a_policy_is_no_snapshot_to_go_on_from() -> None:
    with pytest.raises(ModelError, match="--policy-from"):
        learner().load(learner().policy())


def test_a_snapshot_holds_nothing_that_could_run() -> None:
    assert b"pickle" not in taught_hubs_with_seed(1).snapshot()


def test_nothing_is_learned_from_a_handful() -> None:
    made = learner(warm_up=10)
    for page in range(10):
        made.remember(transition("good", "plain", page=page))
        assert made.train(4) is None
    made.remember(transition("good", "plain", page=10))
    assert made.train(4) is not None
    assert made.steps == 4
