"""The scheduler of each policy that a crawl can be told to follow."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import numpy as np

from tres_crawler.config import RecrawlSettings
from tres_crawler.recrawl.baselines import FixedInterval, Greedy, Multiplicative, RoundRobin, Thompson, Uniform
from tres_crawler.recrawl.calendar import CalendarScheduler, ephemeral
from tres_crawler.recrawl.estimate import Estimates
from tres_crawler.recrawl.laboratory import LABORATORY, Circumstances
from tres_crawler.recrawl.scheduler import Beliefs, Scheduler


def create_estimates(settings: RecrawlSettings) -> Estimates:
    return Estimates(
        first_rate=1 / settings.first_gap_seconds, first_decay_rate=math.log(2) / settings.half_life_seconds
    )


def create_scheduler(
    settings: RecrawlSettings, estimates: Estimates, seed: int, beliefs: Beliefs | None = None
) -> Scheduler:
    """The scheduler of `settings.policy`; an experiment may bring beliefs of its own."""
    gap, age, held = settings.least_gap_seconds, settings.most_age_seconds, beliefs or estimates.belief
    rng = np.random.default_rng(seed)
    schedulers: Mapping[str, Callable[[], Scheduler]] = {
        "whittle": lambda: CalendarScheduler(held, least_gap_seconds=gap, most_age_seconds=age),
        "ephemeral": lambda: CalendarScheduler(
            held, ephemeral(lambda: estimates.decay_rate), least_gap_seconds=gap, most_age_seconds=age
        ),
        "uniform": lambda: Uniform(rng, gap),
        "round-robin": lambda: RoundRobin(gap),
        "fixed": lambda: FixedInterval(max(gap, settings.interval_seconds)),
        "multiplicative": lambda: Multiplicative(settings.interval_seconds, gap, age),
        "greedy": lambda: Greedy(held, gap),
        "thompson": lambda: Thompson(held, rng, gap),
    }
    if settings.policy in schedulers:
        return schedulers[settings.policy]()
    return LABORATORY[settings.policy](Circumstances(held, seed, gap))
