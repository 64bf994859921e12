"""Every policy by its name: to add one, write its entry here and its name in `config.CrawlSettings`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from tres_crawler.config import Settings
from tres_crawler.frontier.buckets import RandomFrontier
from tres_crawler.frontier.queue import OrderedFrontier, most_promising_first
from tres_crawler.policies.ache import AchePolicy
from tres_crawler.policies.policy import PlainPolicy, Policy, Surroundings
from tres_crawler.policies.sarsa import SarsaPolicy
from tres_crawler.policies.scored import ScoredPolicy, by_anchor
from tres_crawler.vectors import load_vectors

MakePolicy = Callable[[Surroundings], Policy]

PRESETS: Mapping[str, Mapping[str, Mapping[str, Any]]] = {
    "tres-paper": {
        "crawl": {"objective": "pages"},
        "features": {"set": "paper"},
        "frontier": {"min_experiences": 2, "max_depth": 18, "draws": 1, "shortlist": 0},
        "learn": {
            "discount": 0.3,
            "target": "paper",
            "hidden": (30, 15),
            "prior": False,
            "start": "untaught",
            "warm_up": 0,
            "learning_rate": 1e-3,
            "batch": 60,
            "replay": 20_000,
            "target_every": 500,
            "weight_decay": 0.0,
            "loss": "squared",
            "steps_per_page": 1.0,
            "random_pages": 300,
            "epsilon": 0.0,
        },
    },
    "tree-random": {
        "choose": {"eagerness": 1.0},
        "frontier": {"shortlist": 0},
        "learn": {"random_pages": 10**9, "steps_per_page": 0.0},
    },
}
"""Settings that a policy is by definition, whatever was set: TRES, and where it is silent its authors' program."""


def settled(settings: Settings) -> Settings:
    """The settings with what their policy fixes."""
    for section, values in PRESETS.get(settings.crawl.policy, {}).items():
        settings = settings.replaced(section, values)
    return settings


# torch takes seconds to import, which policies without a learner need not wait for.


def _tres(around: Surroundings) -> Policy:
    from tres_crawler.policies.tres import TresPolicy

    return TresPolicy(around)


def _tres_async(around: Surroundings) -> Policy:
    from tres_crawler.policies.queued import QueuedPolicy

    return QueuedPolicy(around)


def _sync(around: Surroundings) -> Policy:
    from tres_crawler.policies.queued import SyncPolicy

    return SyncPolicy(around)


LEARNERS: Mapping[str, MakePolicy] = {
    "tres": _tres,
    "tres-paper": _tres,
    "tres-async": _tres_async,
    "tree-random": _tres,
    "sync": _sync,
}
"""Policies that can begin with what another crawl has learned."""

POLICIES: Mapping[str, MakePolicy] = {
    **LEARNERS,
    "best-first": lambda around: PlainPolicy(around.crawl, OrderedFrontier(most_promising_first)),
    "anchor-first": lambda around: ScoredPolicy(around.crawl, by_anchor),
    "ache": AchePolicy,
    "async": lambda around: SarsaPolicy(around, load_vectors(around.settings.relevance.vectors)),
    "breadth-first": lambda around: PlainPolicy(around.crawl, OrderedFrontier()),
    "random": lambda around: PlainPolicy(around.crawl, RandomFrontier(around.rng)),
}


def create_policy(around: Surroundings) -> Policy:
    """The policy that the crawl's settings name."""
    return POLICIES[around.settings.crawl.policy](around)
