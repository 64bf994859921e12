"""Are the deep policies worth their cost? Five hundred independent pages, one visit a slot, rates learned."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

from tres_crawler.experiments.recrawl.beliefs import Learned
from tres_crawler.experiments.recrawl.findings import Findings, Options
from tres_crawler.experiments.recrawl.world import independent, play
from tres_crawler.recrawl.baselines import RoundRobin
from tres_crawler.recrawl.calendar import CalendarScheduler
from tres_crawler.recrawl.laboratory import LABORATORY, Circumstances
from tres_crawler.recrawl.scheduler import Scheduler

WAYS = (
    "whittle-exact",
    "thompson-importance",
    "static",
    "exp3",
    "lspe",
    "fg-dqn",
    "dqn",
    "thompson-then-fg-dqn",
    "graph-ddqn",
)


def add(found: Findings, options: Options) -> None:
    """What a visit brings in the second half, and the CPU time of choosing and learning."""
    count, turns, runs = (100, 6, 1) if options.quick else (500, 20, 2)
    ways: dict[str, Callable[[Circumstances], Scheduler]] = {
        "whittle (calendar)": lambda given: CalendarScheduler(given.beliefs),
        "round-robin": lambda given: RoundRobin(),
        **{name: LABORATORY[name] for name in WAYS},
    }
    part = f"{count} pages, {turns * count} visits"
    for name, make in ways.items():
        values, costs = [], []
        for run in range(runs):
            rng = np.random.default_rng([run, 20])
            rates, importance = 0.05 * 100 ** rng.random(count) / count, rng.gamma(2, 0.5, count).tolist()
            updates = independent(rates.tolist(), turns * count, rng)
            beliefs = Learned(count, importance)
            started = time.process_time()
            visits = play(updates, make(Circumstances(beliefs, run)), importance=importance, tell=beliefs.tell)
            costs.append(1000 * (time.process_time() - started) / len(updates))
            values.append(visits.rewards[len(updates) // 2 :].mean())
        found.row(f"{part}: value a visit", name, values, digits=4)
        found.row(f"{part}: ms of CPU a visit, estimates included", name, costs, digits=3)
        options.say(f"{part}, {name}: {np.mean(values):.3f} a visit, {np.mean(costs):.2f} ms")
