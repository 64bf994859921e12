"""What focused crawling is worth on simulated webs, by their truth: one part per question, each ends in a Report."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from statistics import mean, stdev
from typing import Any, Literal, get_args

from tres_crawler.config import CrawlSettings, nearest
from tres_crawler.errors import ConfigError
from tres_crawler.experiments.cells import CURVE_EVERY, FAMILY, Cell, Figures, run_cells
from tres_crawler.experiments.crawling import CAP
from tres_crawler.experiments.lag import loop_lag
from tres_crawler.experiments.report import Check, Report, Say

PLACES = ((0, "games"), (1, "health"))
"""Webs of the family, each with its topic."""
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
QUICK_PAGES = 72
"""Too few for a judge to be trained, which takes most of such a crawl's time."""
WINDOW = 2
"""Points of a curve, 100 pages each, that harvest of late is taken over."""


@dataclass(frozen=True)
class Plan:
    """How much is measured; None: what the part deserves."""

    say: Say
    pages: int | None = None
    seeds: int | None = None
    jobs: int = 2
    policies: tuple[str, ...] = ("tres", "best-first", "random")
    keep: Path | None = None
    quick: bool = False
    judge: Literal["shared", "own"] = "shared"
    """Whether crawls of one web, topic and seed begin with the same judge, or each bootstraps its own."""

    def __post_init__(self) -> None:
        for name in self.policies:
            known = get_args(CrawlSettings.model_fields["policy"].annotation)
            if name not in known:
                raise ConfigError(f'There is no policy "{name}".{nearest(name, known)}')
        if self.keep:
            try:
                self.keep.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise ConfigError(f"{self.keep} cannot be a folder for cells: {error.strerror}.") from error

    def of(self, pages: int, seeds: int) -> Plan:
        """With what a part asks for where nothing is given."""
        if self.quick:
            return replace(self, pages=self.pages or QUICK_PAGES, seeds=self.seeds or 1, judge="own")
        return replace(self, pages=self.pages or pages, seeds=self.seeds or seeds)

    def cells(
        self, settings: Mapping[str, str] | None = None, places: int = 2, policy: str = "tres", kills: int = 0
    ) -> list[Cell]:
        """One way to crawl on every place with every seed."""
        assert self.pages and self.seeds
        over = tuple(sorted((settings or {}).items()))
        chosen = PLACES[: 1 if self.quick else places]
        return [
            Cell(web, topic, policy, self.pages, seed, over, kills, judge=self.judge)
            for seed in range(1, self.seeds + 1)
            for web, topic in chosen
        ]

    async def run(self, ways: Mapping[str, list[Cell]]) -> dict[str, list[Figures]]:
        # Seed by seed: a bench that is stopped early has some of every way.
        mixed = [cells[at] for at in range(max(map(len, ways.values()))) for cells in ways.values() if at < len(cells)]
        found = await run_cells(mixed, self.keep, self.jobs, self.say)
        return {name: [found[cell] for cell in cells] for name, cells in ways.items()}

    def report(self, part: str, rows: Sequence[Mapping[str, Any]], checks: Sequence[Check], **more: Any) -> Report:
        shown = {
            "part": part,
            "family": FAMILY,
            "pages": self.pages,
            "seeds": self.seeds,
            "max_per_site": CAP,
            "judge": self.judge,
        }
        return Report("focused", {**shown, **more}, rows, checks)


# ---- parts ----


async def learn(plan: Plan) -> Report:
    """The learner beside policies that learn nothing, and how harvest goes on."""
    plan = plan.of(1500, 3)
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
        ratio = _mean(every["tres"], "harvest") / max(_mean(every["random"], "harvest"), 1e-9)
        checks.append(Check.at_least("tres : random, harvest", round(ratio, 2), 1.5))
    if "tres" in every and "best-first" in every:
        points = 100 * (_mean(every["tres"], "harvest") - _mean(every["best-first"], "harvest"))
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
    lost = 100 * (_mean(found["1 slots"], "harvest") - _mean(found["32 slots"], "harvest"))
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
    apart = 100 * abs(_mean(whole, "harvest") - _mean(killed, "harvest"))
    noise = 100 * (_variance(whole) / len(whole) + _variance(killed) / len(killed)) ** 0.5
    lives = [f["lives"] for f in killed]
    checks = [
        Check.at_most("harvest apart, points (goal: two standard errors)", round(apart, 1), round(2 * noise, 1)),
        Check.at_least(
            "lives whose tree is the same when rebuilt", _share(x["same_tree"] for ls in lives for x in ls), 1
        ),
        Check.at_least("kills after which the learner went on", _share(_grew(lives, "version")), 1),
        Check.at_least("kills after which the tree went on", _share(_grew(lives, "leaves")), 1),
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
                {"target": mode, "links_to": group, "links": links, **{name: _spread_of(seen, name) for name in names}}
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
    gain = _mean(found["sites"], "relevant_sites") / max(_mean(found["pages"], "relevant_sites"), 1)
    loss = 100 * (_mean(found["pages"], "harvest") - _mean(found["sites"], "harvest"))
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
    best = max(_mean(figures, "harvest") for figures in found.values())
    behind = round(100 * (best - _mean(first, "harvest")), 1)
    return plan.report("targets", rows, [Check.at_most("best way - first way, points", behind, 1)], base=BASE)


def _changed(given: Mapping[str, str]) -> str:
    return ", ".join(f"{name}={value}" for name, value in given.items()) or "base"


PARTS: Mapping[str, Callable[[Plan], Coroutine[Any, Any, Report]]] = {
    "targets": targets,
    "learn": learn,
    "async": asynchrony,
    "hubs": hubs,
    "front": front,
    "resume": resume,
}


def chosen_parts(names: Sequence[str]) -> list[str]:
    """All when none is named."""
    for name in names:
        if name not in PARTS:
            raise ConfigError(f'There is no part "{name}" of this bench.{nearest(name, PARTS)}')
    return [name for name in PARTS if name in names or not names]


# ---- figures ----


def harvest_row(figures: Sequence[Figures]) -> dict[str, str]:
    """Truth in per cent and sites, and what the crawl itself would say."""
    return {
        "harvest": spread([100 * f["harvest"] for f in figures]),
        "relevant_sites": spread([f["relevant_sites"] for f in figures], 0),
        "own_harvest": spread([100 * f["own"]["harvest_rate"] for f in figures]),
        "judge_precision": _spread_of([f["judge"] for f in figures if f.get("judge")], "precision", 2),
        "judge_recall": _spread_of([f["judge"] for f in figures if f.get("judge")], "recall", 2),
        "pages_per_second": spread([f["own"]["pages_per_second"] for f in figures], 0),
    }


def late(figures: Sequence[Figures]) -> list[float]:
    """Mean harvest over the last 200 pages, at every hundredth page that all of them reached."""
    return [round(mean(points), 3) for points in zip(*(_late(f["curve"]) for f in figures), strict=False)]


def _late(curve: Sequence[Sequence[int]]) -> list[float]:
    # The end of a crawl lies a few pages behind a whole hundred: too few to be a point of their own.
    whole = [row for row in curve if row[0] % CURVE_EVERY == 0] or curve
    known = [(0, 0), *((pages, relevant) for pages, relevant, _ in whole)]
    pairs = [(known[max(0, at - WINDOW)], known[at]) for at in range(1, len(known))]
    return [(after[1] - before[1]) / (after[0] - before[0]) for before, after in pairs]


def spread(values: Sequence[float], digits: int = 1) -> str:
    """Mean ± standard deviation."""
    if not values:
        return "–"
    around = f" ± {stdev(values):.{digits}f}" if len(values) > 1 else ""
    return f"{mean(values):.{digits}f}{around}"


def _spread_of(seen: Sequence[Figures], name: str, digits: int = 3) -> str:
    return spread([one[name] for one in seen if one.get(name) is not None], digits)


def _mean(figures: Sequence[Figures], name: str) -> float:
    return float(mean(f[name] for f in figures))


def _variance(figures: Sequence[Figures]) -> float:
    return stdev([f["harvest"] for f in figures]) ** 2 if len(figures) > 1 else 0.0


def _share(truths: Iterable[bool]) -> float:
    return round(mean(map(float, truths)), 3)
