"""What focused crawling is worth on simulated webs, by their truth: one part per question, each ends in a Report."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from statistics import mean
from typing import Any

from tres_crawler.errors import ConfigError
from tres_crawler.experiments.cells import Figures
from tres_crawler.experiments.harvests import harvest_row, late, mean_of, share_of, spread, spread_of, variance_of
from tres_crawler.experiments.lag import loop_lag
from tres_crawler.experiments.matrix import matrix
from tres_crawler.experiments.oracles import ORACLES
from tres_crawler.experiments.plan import PLACES, REPORTED, Plan
from tres_crawler.experiments.ranking import BEST
from tres_crawler.experiments.report import Check, Report
from tres_crawler.experiments.rows import NAMES
from tres_crawler.explaining import nearest
from tres_crawler.policies.registry import POLICIES

BASE = {
    "learn.target": "outlinks",
    "learn.discount": "0.3",
    "features.set": "paper",
    "learn.prior": "true",
    "choose.eagerness": "0.5",
    "learn.steps_per_page": "1",
}
"""What `targets` varies, one or two at a time; written out, so that a cell stays what it is when a default changes."""
TARGETS: tuple[Mapping[str, str], ...] = (
    {},
    {"learn.steps_per_page": "4"},
    {"choose.eagerness": "1.0"},
    {"learn.discount": "0"},
    {"learn.discount": "0.6"},
    {"learn.discount": "0.9"},
    {"learn.target": "paper"},
    {"learn.target": "advantage"},
    {"features.set": "extended"},
    {"learn.prior": "false"},
)
MODES = ("paper", "outlinks", "advantage")
OBJECTIVES = ("pages", "balanced", "sites")
SLOTS = (1, 8, 32, 64)
LOST_BY_SLOTS = 3.0
KILLS = 3

# ---- parts ----


async def learn(plan: Plan) -> Report:
    """The learner beside policies that learn nothing, and how harvest goes on."""
    plan = plan.of(1500, 3)
    plan = replace(plan, policies=plan.policies or ("tres", "best-first", "random"))
    ways = {
        f"{policy}, {topic} of web {web}": [
            cell for cell in plan.cells(policy=policy) if (cell.web, cell.topic) == (web, topic)
        ]
        for web, topic in PLACES[: 1 if plan.quick else 2]
        for policy in plan.policies
    }
    found = await plan.run(ways)
    rows = [
        {"way": name, **harvest_row(figures), "last_200_over_time": " ".join(f"{part:.2f}" for part in late(figures))}
        for name, figures in found.items()
    ]
    every = {
        policy: [f for name, fs in found.items() if name.startswith(policy + ",") for f in fs]
        for policy in plan.policies
    }
    checks = []
    if "tres" in every and "random" in every:
        ratio = mean_of(every["tres"], "harvest") / max(mean_of(every["random"], "harvest"), 1e-9)
        checks.append(Check.at_least("tres : random, harvest", round(ratio, 2), 1.5))
    if "tres" in every and "best-first" in every:
        points = 100 * (mean_of(every["tres"], "harvest") - mean_of(every["best-first"], "harvest"))
        checks.append(Check.at_least("tres - best-first, points", round(points, 1), 0))
        recent = 100 * (late(every["tres"])[-1] - late(every["best-first"])[-1])
        checks.append(Check.at_least("the same over the last 200 pages", round(recent, 1), 0))
    return plan.report("learn", rows, checks, curves={name: late(figures) for name, figures in found.items()})


async def asynchrony(plan: Plan) -> Report:
    """What fetches in flight cost the learner, and what the learner costs the event loop."""
    plan = plan.of(1000, 2)
    slots = SLOTS[::2] if plan.quick else SLOTS
    found = await plan.run({f"{number} slots": plan.cells({"fetch.slots": str(number)}, places=1) for number in slots})
    rows: list[dict[str, Any]] = [{"way": name, **harvest_row(figures)} for name, figures in found.items()]
    lost = 100 * (mean_of(found["1 slots"], "harvest") - mean_of(found["32 slots"], "harvest"))
    checks = [Check.at_most("1 slot - 32 slots, points of harvest", round(lost, 1), LOST_BY_SLOTS)]
    assert plan.pages
    lags = {}
    for name, steps in (("learner on", 1.0), ("learner off", 0.0)):
        lags[name] = await loop_lag(*PLACES[0], plan.pages, steps)
        plan.say(f"{name}: the loop lags {lags[name]}")
        rows.append({**dict.fromkeys(rows[0]), "way": f"loop lag in ms, {name}", **_lag_cells(lags[name])})
    return plan.report("async", rows, checks, lag=lags)


def _lag_cells(lag: Mapping[str, float]) -> dict[str, str]:
    return {"harvest": f"p50 {lag['p50_ms']}, p99 {lag['p99_ms']}, max {lag['max_ms']}"}


async def resume(plan: Plan) -> Report:
    """Crawls killed and resumed on their way beside crawls that are not."""
    plan = plan.of(900, 3)
    ways = {"left alone": plan.cells(places=1), f"killed {KILLS} times": plan.cells(places=1, kills=KILLS)}
    found = await plan.run(ways)
    whole, killed = found.values()
    rows = [
        {"way": name, **harvest_row(figures), "repeats": spread([f["repeats"] for f in figures], 0), **_lives(figures)}
        for name, figures in found.items()
    ]
    apart = 100 * abs(mean_of(whole, "harvest") - mean_of(killed, "harvest"))
    noise = 100 * (variance_of(whole) / len(whole) + variance_of(killed) / len(killed)) ** 0.5
    lives = [f["lives"] for f in killed]
    checks = [
        Check.at_most("harvest apart, points (goal: two standard errors)", round(apart, 1), round(2 * noise, 1)),
        Check.at_least(
            "lives whose tree is the same when rebuilt", share_of(x["same_tree"] for ls in lives for x in ls), 1
        ),
        Check.at_least("kills after which the learner went on", share_of(_grew(lives, "version")), 1),
        Check.at_least("kills after which the tree went on", share_of(_grew(lives, "leaves")), 1),
    ]
    return plan.report("resume", rows, checks)


def _lives(figures: Sequence[Figures]) -> dict[str, str]:
    """Versions and leaves at the end of each life, of the first seed."""
    lives = figures[0]["lives"]
    return {name: " → ".join(str(life[name]) for life in lives) for name in ("pages", "version", "leaves")}


def _grew(lives: Iterable[Sequence[Figures]], name: str) -> Iterable[bool]:
    return [later[name] > earlier[name] for ls in lives for earlier, later in pairwise(ls)]


async def hubs(plan: Plan) -> Report:
    """What the learner holds of links to hubs beside links to ordinary irrelevant pages, by target mode."""
    plan = plan.of(1500, 2)
    found = await plan.run({mode: plan.cells({**BASE, "learn.target": mode}) for mode in MODES})
    rows = []
    for mode, figures in found.items():
        for group in ("listing", "gate", "relevant", "irrelevant"):
            seen = [f["learned"][group] for f in figures if f["learned"].get(group, {}).get("links")]
            names = (
                "value",
                "value_error",
                "value_odds",
                "value_odds_alike",
                "promise",
                "promise_odds",
                "promise_odds_alike",
            )
            links = sum(one["links"] for one in seen)
            rows.append(
                {"target": mode, "links_to": group, "links": links, **{name: spread_of(seen, name) for name in names}}
            )
    checks = []
    for mode, figures in found.items():
        for group in ("listing", "gate"):
            seen = [
                f["learned"][group] for f in figures if f["learned"].get(group, {}).get("value_odds_alike") is not None
            ]
            odds = round(mean(one["value_odds_alike"] for one in seen), 3) if seen else None
            checks.append(
                Check.at_least(f"{mode}: chance that a {group} is valued above an irrelevant page", odds, 0.5)
            )
    return plan.report("hubs", rows, checks)


async def front(plan: Plan) -> Report:
    """Pages against sites without a cap, moved by the objective alone."""
    plan = plan.of(1500, 2)
    ways = {name: plan.cells({"crawl.objective": name, "crawl.max_per_site": "none"}) for name in OBJECTIVES}
    found = await plan.run(ways)
    rows = [{"way": name, **harvest_row(figures)} for name, figures in found.items()]
    gain = mean_of(found["sites"], "relevant_sites") / max(mean_of(found["pages"], "relevant_sites"), 1)
    loss = 100 * (mean_of(found["pages"], "harvest") - mean_of(found["sites"], "harvest"))
    checks = [
        Check.at_least("relevant sites, sites : pages", round(gain, 2), 1.2),
        Check.at_most("points of harvest given for them", round(loss, 1), 10),
    ]
    points = {name: [(f["harvest"], f["relevant_sites"]) for f in figures] for name, figures in found.items()}
    return plan.report("front", rows, checks, points=points, max_per_site="none")


async def targets(plan: Plan) -> Report:
    """Settings of the learner beside each other, to choose defaults by."""
    plan = plan.of(1500, 2)
    ways = {_changed(given): plan.cells({**BASE, **given}) for given in (TARGETS[:2] if plan.quick else TARGETS)}
    found = await plan.run(ways)
    first = next(iter(found.values()))
    rows = []
    for name, figures in found.items():
        apart = [100 * (mine["harvest"] - base["harvest"]) for mine, base in zip(figures, first, strict=True)]
        rows.append(
            {
                "way": name,
                **harvest_row(figures),
                "points_to_first": spread(apart),
                "last_200": f"{late(figures)[-1]:.2f}",
            }
        )
    best = max(mean_of(figures, "harvest") for figures in found.values())
    behind = round(100 * (best - mean_of(first, "harvest")), 1)
    return plan.report("targets", rows, [Check.at_most("best way - first way, points", behind, 1)], base=BASE)


async def telling_apart(plan: Plan) -> Report:
    """How many of the best waiting links lead to relevant pages when a crawl has ended, by score."""
    plan = plan.of(1500, 2)
    (figures,) = (await plan.run({"tres": plan.cells()})).values()
    # A crawl that was kept by an older program has none.
    told = [f["ranking"] for f in figures if f.get("ranking")]
    ranked = [one["best"] for one in told]
    rows = [
        {
            "score": name,
            **{
                f"best_{count}": spread([100 * best[name][at] for best in ranked if name in best])
                for at, count in enumerate(BEST)
            },
        }
        for name in dict.fromkeys(name for best in ranked for name in best)
    ]
    waiting = {name: spread([one[name] for one in told], 0) for name in ("waiting", "relevant")}
    return plan.report("ranking", rows, [], **waiting)


def _changed(given: Mapping[str, str]) -> str:
    return ", ".join(f"{name}={value}" for name, value in given.items()) or "base"


PARTS: Mapping[str, Callable[[Plan], Coroutine[Any, Any, Report]]] = {
    "matrix": matrix,
    "targets": targets,
    "learn": learn,
    "async": asynchrony,
    "hubs": hubs,
    "front": front,
    "resume": resume,
    "ranking": telling_apart,
}


def chosen_parts(names: Sequence[str], plan: Plan) -> list[str]:
    """The matrix of policies when none is named; what is asked for must count for all of them."""
    for name in names:
        if name not in PARTS:
            raise ConfigError(f'There is no part "{name}" of this bench.{nearest(name, PARTS)}')
    chosen = [name for name in PARTS if name in names] or ["matrix"]
    for option, given, parts in (
        ("--max", plan.caps, ("matrix",)),
        ("--family", plan.family != REPORTED, ("matrix",)),
        ("--scale", plan.scale > 1, ("matrix",)),
        ("--only-kept", plan.only_kept, ("matrix",)),
        ("--policy", plan.policies, ("matrix", "learn")),
    ):
        others = [name for name in chosen if name not in parts]
        if given and others:
            raise ConfigError(f"{option} is for {' and '.join(parts)}; it means nothing to {', '.join(others)}.")
    known = (*POLICIES, *ORACLES) if "learn" in chosen else NAMES
    for name in plan.policies:
        if name not in known:
            raise ConfigError(f'There is no policy "{name}".{nearest(name, known)}')
    return chosen
