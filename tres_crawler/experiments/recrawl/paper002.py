"""A learning algorithm for the Whittle index policy (paper 002): LSPE(0) beside what should replace it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tres_crawler.experiments.pictures import Picture
from tres_crawler.experiments.recrawl.ephemeral import TABLE_1, Floats, by_age, inflows, simulate
from tres_crawler.experiments.recrawl.findings import Findings, Options, seeds, window_mean
from tres_crawler.experiments.recrawl.paper004 import theorem_1
from tres_crawler.experiments.report import Check
from tres_crawler.recrawl.learned import LearnedEphemeral
from tres_crawler.recrawl.lspe import LspeScheduler
from tres_crawler.recrawl.scheduler import Finding, Scheduler, Source
from tres_crawler.recrawl.stochastic import Noise

PUBLISHED = 160.0
"""LSPE(0) with one arm on average, "around" so much."""
REFERENCES = {False: 192.0, True: 172.0}
"""With the reward of visited sources, and of all as printed."""
WIDE = "cannot be told: the thresholds a run begins with decide"


@dataclass(frozen=True, eq=False)
class Collected:
    rewards: Floats
    """Of each slot."""
    arms: float
    """Visits per slot."""


def collect(arriving: Floats, scheduler: Scheduler, budget: int) -> Collected:
    """Let a scheduler visit the sources of Table I, at which (slots, sources) arrives; it is told what it collected."""
    slots, count = arriving.shape
    kept = np.array([source.retention for source in TABLE_1])
    states, rewards, visits = np.zeros(count), np.zeros(slots), 0
    for number in range(count):
        scheduler.add(Source(number, number, 0.0))
    for slot in range(slots):
        states = kept * states + arriving[slot]
        now = slot + 1.0
        for number in scheduler.choose(now, budget):
            rewards[slot] += states[number]
            scheduler.observe(number, now, Finding(True, float(states[number])))
            states[number] = 0.0
            visits += 1
    return Collected(rewards, visits / slots)


def findings(options: Options) -> Findings:
    steps = 1500 if options.quick else 10_000
    found = Findings("002", {"quick": options.quick, "steps": steps})
    _lspe(found, options, steps)
    _learned(found, options, steps)
    return found


def _lspe(found: Findings, options: Options, steps: int) -> None:
    arriving = inflows(TABLE_1, None, steps, 1)[:, 0]
    sound = inside = 0
    runs = seeds(options, 20, 6)
    for all_pay, name in ((False, "reward of visited sources (corrected)"), (True, "reward of all sources (eq. 6)")):
        totals: list[Collected] = []
        for seed in runs:
            rng = np.random.default_rng([seed, 2])
            scheduler = LspeScheduler(rng, TABLE_1.__getitem__, randomised=True, all_states_pay=all_pay)
            totals.append(collect(arriving, scheduler, len(TABLE_1)))
            assert scheduler.learner is not None
            sound += scheduler.learner.finite and bool(np.isfinite(totals[-1].rewards).all())
            inside += scheduler.learner.inside
        averages = [one.rewards.mean() for one in totals]
        found.row("LSPE(0)", name, averages, paper=PUBLISHED, reference=REFERENCES[all_pay], digits=1, verdict=WIDE)
        found.row("LSPE(0)", f"{name}: arms a step", [one.arms for one in totals], paper=1.0, verdict=WIDE)
        options.say(f"LSPE(0), {name}: done.")
    wanted = 2 * len(runs)
    found.checks += [
        Check("LSPE(0): runs without a number that is none", sound, f"all {wanted}", sound == wanted),
        Check("LSPE(0): runs with all thresholds between u and u*", inside, f"all {wanted}", inside == wanted),
    ]


def _learned(found: Findings, options: Options, steps: int) -> None:
    worst = 1.0
    for noise in (None, Noise.POISSON, Noise.PER_ITEM):
        part = f"one visit a step, {noise or 'deterministic'}"
        runs = seeds(options, 10 if noise else 5, 3)
        arriving = inflows(TABLE_1, noise, steps, len(runs))
        known = simulate(TABLE_1, arriving, by_age(TABLE_1, theorem_1), 1)
        learned = [
            collect(arriving[:, seed], LearnedEphemeral(np.random.default_rng([seed, 3]), slot_seconds=1.0), 1).rewards
            for seed in runs
        ]
        paper = 283.0 if noise is Noise.PER_ITEM else None
        first = found.row(part, "Whittle, parameters known", known.averages, paper=paper)
        second = found.row(part, "Whittle, parameters learned", [one.mean() for one in learned])
        worst = min(worst, second / first)
        if noise is Noise.POISSON:
            at = [float(step) for step in range(steps)]
            lines = {
                "known": (at, window_mean(known.rewards[:, 0], 200).tolist()),
                "learned": (at, window_mean(learned[0], 200).tolist()),
            }
            title = "Reward a step over the last 200 steps, Poisson arrivals"
            found.pictures.append(Picture("002-learned-whittle", title, "step", "reward", lines=lines))
        options.say(f"Learned Whittle, {noise or 'deterministic'}: done.")
    found.checks.append(Check.at_least("learned Whittle / known", round(worst, 4), 0.99))
