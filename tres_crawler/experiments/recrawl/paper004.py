"""Whittle index policy for crawling ephemeral content (paper 004): Table I, sections VII to IX, Figures 2 to 4."""

from __future__ import annotations

import numpy as np

from tres_crawler.experiments.pictures import Picture
from tres_crawler.experiments.recrawl.curves import Curve, stochastic_bound, true_index
from tres_crawler.experiments.recrawl.ephemeral import (
    TABLE_1,
    Floats,
    Index,
    Run,
    always,
    by_age,
    inflows,
    observed,
    round_robin,
    simulate,
)
from tres_crawler.experiments.recrawl.findings import Findings, Options
from tres_crawler.experiments.report import Check
from tres_crawler.recrawl.ephemeral import Ephemeral
from tres_crawler.recrawl.relaxed import DualPrice, relaxed_bound
from tres_crawler.recrawl.stochastic import Noise, arrivals, stochastic_index
from tres_crawler.recrawl.twoscale import learned_index
from tres_crawler.recrawl.whittle import ephemeral_index_slotted

STEPS = 1000
STATES = (180.0, 225.0, 270.0, 315.0, 350.0)
REFERENCE_INDEX = {
    "deterministic": (90.72, 136.03, 181.80, 250.56, 330.21),
    Noise.POISSON: (93.02, 136.03, 184.20, 252.78, 323.74),
    Noise.PER_ITEM: (93.99, 136.11, 185.36, 253.46, 320.09),
    Noise.PER_EPOCH: (122.24, 161.38, 203.18, 247.19, 282.67),
}
REFERENCE_AGES = {
    1: (90.51, 43.60, 18.10, 3.42),
    2: (180.40, 105.06, 36.08, 8.96),
    3: (247.36, 170.02, 49.47, 15.69),
    4: (291.69, 231.06, 58.34, 22.97),
}
CYCLE = 7
PRICE, STEP = 90.4, 1.0
"""Where dual descent begins, and its first step."""
NO_STATES = np.empty(0)


def findings(options: Options) -> Findings:
    found = Findings("004", {"quick": options.quick})
    _deterministic(found)
    options.say("The deterministic model is done; the stochastic one takes longest.")
    _stochastic(found, options)
    _section_8(found, options)
    return found


def theorem_1(source: Ephemeral, age: int) -> float:
    return float(ephemeral_index_slotted(source.pending_value(age), source.inflow, source.retention))


WHITTLE = by_age(TABLE_1, theorem_1)
GREEDY = by_age(TABLE_1, lambda source, age: source.pending_value(age))


def _deterministic(found: Findings) -> None:
    part, arriving = "deterministic, 1000 steps", inflows(TABLE_1, None, STEPS, 1)
    one, two = (simulate(TABLE_1, arriving, WHITTLE, budget) for budget in (1, 2))
    average = found.row(part, "Whittle, M = 1", one.averages, paper=260.30, reference=260.301, digits=3, within=1e-4)
    found.row(part, "greedy, M = 1", simulate(TABLE_1, arriving, GREEDY, 1).averages, reference=260.301, digits=3)
    found.row(part, "source 1 only", simulate(TABLE_1, arriving, always(0), 1).averages, paper=179.8, reference=179.791)
    found.row(part, "Whittle, M = 2", two.averages, reference=337.651, digits=3)
    bound = relaxed_bound(TABLE_1, 1).reward
    found.row(part, "relaxed bound, M = 1", bound, reference=260.390, digits=3)
    found.row(part, "relaxed bound, M = 2", relaxed_bound(TABLE_1, 2).reward, reference=338.054, digits=3)
    for name, share in (("relaxed control, M", 1.0), ("relaxed control, M/N as printed", 1.0 / len(TABLE_1))):
        reward, broken = _relaxed_control(share)
        found.row(part, f"{name}: reward", reward, paper=260.96, within=1e-4)
        found.row(part, f"{name}: % of steps over the budget", 100 * broken)
    for age, reference in REFERENCE_AGES.items():
        for at, source in enumerate(TABLE_1):
            found.row("index by age", f"source {at + 1}, age {age}", theorem_1(source, age), reference=reference[at])
    cycle = two.visited[-CYCLE * 100 :].reshape(-1, CYCLE, len(TABLE_1))
    regular = bool((cycle == cycle[0]).all()) and cycle[0].sum(0).tolist() == [7, 4, 2, 1]
    pattern = np.array_equal(np.argmax(one.visited, 1), np.resize([0, 1], STEPS))
    found.checks += [
        Check.near("Whittle, M = 1, from X = u", round(average, 3), 260.30, 0.02),
        Check("visits 1, 2, 1, 2, …", float(pattern), "throughout", pattern),
        Check("cycle at M = 2", float(cycle[0].sum()), "7 steps: 7, 4, 2, 1 visits of sources 1 to 4", regular),
        Check.near("relaxed bound, M = 1", round(bound, 3), 260.39, 0.005),
    ]
    found.pictures += [
        _evolution(one, "004-figure-2", "States under the Whittle policy, M = 1"),
        _evolution(two, "004-figure-3", "States under the Whittle policy, M = 2"),
    ]


def _relaxed_control(budget: float) -> tuple[float, float]:
    """Average reward, and the share of steps with more than one visit, of visiting all above the price of eq. 22."""
    price = DualPrice(budget, PRICE, STEP)
    pending = by_age(TABLE_1, lambda source, age: source.pending_value(age))
    ages, total, broken = np.ones((1, len(TABLE_1)), np.int64), 0.0, 0
    for _ in range(STEPS):
        visited = WHITTLE(NO_STATES, ages) > price.price
        total += float(pending(NO_STATES, ages)[visited].sum())
        broken += int(visited.sum()) > 1
        price.pay(float(visited.sum()))
        ages = np.where(visited, 1, ages + 1)
    return total / STEPS, broken / STEPS


def _evolution(run: Run, name: str, title: str, steps: int = 40) -> Picture:
    at = list(range(steps))
    lines = {f"source {source + 1}": (at, run.states[:steps, source].tolist()) for source in range(len(TABLE_1))}
    visits = np.argwhere(run.visited[:steps])
    dots = {
        "visits": ([float(step) for step, _ in visits], [float(run.states[step, source]) for step, source in visits])
    }
    return Picture(name, title, "step", "pending value", lines=lines, dots=dots)


# ---- stochastic ----


def _printed(states: Floats, inflow: Floats, retention: Floats) -> Floats:
    """Theorem 1 as printed: log⁺ makes the index 0 at and above u*."""
    return np.where((1 - retention) * states < inflow, ephemeral_index_slotted(states, inflow, retention), 0.0)


def _simplified(states: Floats, inflow: Floats, retention: Floats) -> Floats:
    """The remark's formula off its states, with the ceiling left in, and the real part of the logarithm above u*."""
    left = np.maximum(np.abs(1 - (1 - retention) * states / inflow), 1e-300)
    eta = np.ceil(np.log(left) / np.log(retention))
    return np.asarray(eta * ((1 - retention) * states - inflow) + states)


def _theorem(states: Floats, inflow: Floats, retention: Floats) -> Floats:
    return np.asarray(ephemeral_index_slotted(states, inflow, retention))


PUBLISHED = {
    (Noise.POISSON, "round robin"): (208.4, 208.29),
    (Noise.PER_ITEM, "round robin"): (207.3, 208.32),
    (Noise.PER_EPOCH, "round robin"): (207.3, 208.11),
    (Noise.POISSON, "greedy-type, state not observed"): (260.2, 260.37),
    (Noise.PER_ITEM, "greedy-type, state not observed"): (259.3, 260.40),
    (Noise.PER_EPOCH, "greedy-type, state not observed"): (259.3, 260.26),
    (Noise.POISSON, "Whittle, state not observed"): (None, 260.37),
    (Noise.PER_ITEM, "Whittle, state not observed"): (None, 260.40),
    (Noise.PER_EPOCH, "Whittle, state not observed"): (None, 260.26),
    (Noise.POISSON, "Whittle observed, x above u*"): (253.1, 260.30),
    (Noise.PER_ITEM, "Whittle observed, x above u*"): (283.8, 260.55),
    (Noise.PER_EPOCH, "Whittle observed, x above u*"): (283.8, 293.41),
    (Noise.POISSON, "Whittle observed, 0 above u* (printed)"): (253.1, 260.57),
    (Noise.PER_ITEM, "Whittle observed, 0 above u* (printed)"): (283.8, 260.89),
    (Noise.PER_EPOCH, "Whittle observed, 0 above u* (printed)"): (283.8, 202.88),
    (Noise.POISSON, "simplified, ceiling kept, real part"): (253.1, 253.01),
    (Noise.PER_ITEM, "simplified, ceiling kept, real part"): (283.8, 253.08),
    (Noise.PER_EPOCH, "simplified, ceiling kept, real part"): (283.8, 287.54),
    (Noise.POISSON, "true stochastic index"): (None, 260.57),
    (Noise.PER_ITEM, "true stochastic index"): (None, 260.85),
    (Noise.PER_EPOCH, "true stochastic index"): (None, 294.65),
    (Noise.POISSON, "relaxed bound"): (None, 261.9),
    (Noise.PER_ITEM, "relaxed bound"): (None, 262.0),
    (Noise.PER_EPOCH, "relaxed bound"): (None, 309.8),
}
"""Published and reference figures; exponential values may have been drawn either way, so both stand beside them."""


def _stochastic(found: Findings, options: Options) -> None:
    steps, runs, points = (2000, 5, 25) if options.quick else (10_000, 20, 80)
    found.settings |= {"steps": steps, "seeds": runs, "index_points": points}
    averages: dict[str, float] = {}
    for noise in Noise:
        arriving = inflows(TABLE_1, noise, steps, runs)
        curves = [Curve.of(source, noise, points) for source in TABLE_1]
        policies: dict[str, Index] = {
            "round robin": round_robin,
            "greedy-type, state not observed": GREEDY,
            "Whittle, state not observed": WHITTLE,
            "Whittle observed, x above u*": observed(TABLE_1, _theorem),
            "Whittle observed, 0 above u* (printed)": observed(TABLE_1, _printed),
            "simplified, ceiling kept, real part": observed(TABLE_1, _simplified),
            "true stochastic index": true_index(curves),
        }
        for name, index in policies.items():
            run = simulate(TABLE_1, arriving, index, 1)
            paper, reference = PUBLISHED[noise, name]
            averages[f"{noise} {name}"] = found.row(
                f"stochastic: {noise}", name, run.averages, paper=paper, reference=reference, within=0.001
            )
        _, reference = PUBLISHED[noise, "relaxed bound"]
        found.row(f"stochastic: {noise}", "relaxed bound", stochastic_bound(curves, 1), reference=reference)
        options.say(f"Stochastic model, {noise}: done.")
    shown = simulate(TABLE_1, inflows(TABLE_1, Noise.POISSON, 200, 1), observed(TABLE_1, _theorem), 2)
    found.pictures.append(_evolution(shown, "004-figure-4", "States with Poisson arrivals, M = 2"))
    robin, greedy = averages["poisson round robin"], averages["poisson greedy-type, state not observed"]
    found.checks += [
        Check.near("round robin, Poisson arrivals", round(robin, 2), 208.3, 0.5),
        Check.near("greedy-type, Poisson arrivals", round(greedy, 2), 260.4, 0.5),
    ]


# ---- section VIII ----


def _section_8(found: Findings, options: Options) -> None:
    source, part = TABLE_1[0], "index of source 1 (section VIII)"
    worst = worst_learned = 0.0
    for kind, reference in REFERENCE_INDEX.items():
        for state, expected in zip(STATES, reference, strict=True):
            if isinstance(kind, Noise):
                ours = stochastic_index(source, kind, state)
                worst = max(worst, abs(ours / expected - 1))
            else:
                ours = float(ephemeral_index_slotted(state, source.inflow, source.retention))
            found.row(part, f"{kind}, x = {state:g}", ours, reference=expected)
    for noise in Noise:
        law = arrivals(source, noise)
        for state in STATES[::2]:
            seeds = range(1 if options.quick else 3)
            drawn = [learned_index(source, law, state, 3000, np.random.default_rng(seed)) for seed in seeds]
            expected = dict(zip(STATES, REFERENCE_INDEX[noise], strict=True))[state]
            mean = found.row(part, f"two time scales, {noise}, x = {state:g}", drawn, reference=expected)
            worst_learned = max(worst_learned, abs(mean / expected - 1))
    found.checks += [
        Check.at_most("linear solve, largest error against the reference, %", round(100 * worst, 3), 1),
        Check.at_most("two time scales, largest error, %", round(100 * worst_learned, 2), 4),
    ]
