"""Small worlds that a learner must master in a second: each kind of link is one feature of its own."""

from __future__ import annotations

from typing import Any

import numpy as np

from tres_crawler.config import LearnSettings
from tres_crawler.learn.ddqn import Ddqn
from tres_crawler.learn.network import Floats
from tres_crawler.learn.replay import Transition

KINDS = ("good", "plain", "hub")
DIM = len(KINDS)


def link(kind: str) -> Floats:
    return np.array([float(kind == other) for other in KINDS], np.float32)


def links(*kinds: str) -> Floats:
    return np.array([link(kind) for kind in kinds], np.float32).reshape(-1, DIM)


def transition(kind: str, *outlinks: str, page: int = 1, reward: float | None = None, sample: str = "") -> Transition:
    paid = float(kind == "good") if reward is None else reward
    return Transition(page, link(kind), paid, links(*outlinks), link(sample) if sample else None)


def learner(
    seed: int = 1, prior: Floats | None = None, max_reward: float = 1.0, prior_on: bool = True, **settings: Any
) -> Ddqn:
    given = {"hidden": (16, 16), "prior": prior_on, "target_every": 50, "learning_rate": 3e-3, **settings}
    return Ddqn(
        LearnSettings(**{"warm_up": 0, "steps_per_page": 1.0, **given}),
        "kinds",
        DIM,
        prior=prior,
        seed=seed,
        max_reward=max_reward,
    )


def values(of: Ddqn) -> dict[str, float]:
    """What each kind of link is worth to a learner."""
    return dict(zip(KINDS, of.weights().values(links(*KINDS)).tolist(), strict=True))
