"""Every policy under every cap on webs that no setting was chosen on, by their truth (TRES, Tables 3 and 4)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import mean
from typing import Any

import numpy as np
import numpy.typing as npt

from tres_crawler.errors import ConfigError
from tres_crawler.experiments.afterwards import TREES
from tres_crawler.experiments.cells import Cell, Figures, Judge, kept_cells, run_cells
from tres_crawler.experiments.goals import checks_of, harvest, over_topics, place, sites
from tres_crawler.experiments.harvests import late, spread, spread_of
from tres_crawler.experiments.oracles import ORACLE, TOPIC_ORACLE
from tres_crawler.experiments.orderings import orderings
from tres_crawler.experiments.plan import Plan
from tres_crawler.experiments.report import Report
from tres_crawler.experiments.spending import KINDS
from tres_crawler.policies.registry import POLICIES
from tres_crawler.simweb.params import FAMILIES

TOPICS: Mapping[str, Sequence[str]] = {
    "report": ("sports", "food", "hardware"),
    "tune": ("games", "health", "computers"),
}
FIRST_WEB = {"report": 3, "tune": 0}
"""Webs 0 to 2 of the family `report` were reported on before, and what was seen there led to changes
(docs/decisions/0017, 0021)."""
CAPS = ("50", "none", "100", "10", "5", "5:2")
KEY = ("tres", "tres-paper", "best-first", "ache", "async", "anchor-first", ORACLE)
REST = ("tres-async", "tree-random", "breadth-first", "random")
SYNC_PAGES = 1000
"""Brute force is slow: no more are worth waiting for."""
TENTHS = 10

Doubles = npt.NDArray[np.float64]
Curve = Sequence[Sequence[int]]
"""Pages, and how many of them are relevant, again and again."""


@dataclass(frozen=True)
class Row:
    """One way to crawl under one cap."""

    name: str
    cap: str
    policy: str
    settings: tuple[tuple[str, str], ...] = ()
    judge: Judge = "shared"

    def cells(self, plan: Plan) -> list[Cell]:
        assert plan.pages and plan.seeds
        pages = min(plan.pages, SYNC_PAGES) if self.policy == "sync" else plan.pages
        judge = plan.judge if self.judge == "shared" else self.judge
        settings = (("crawl.max_per_site", self.cap), *self.settings)
        return [
            Cell(web, topic, self.policy, pages, seed, settings, family=plan.family, judge=judge, scale=plan.scale)
            for seed in range(1, plan.seeds + 1)
            for web, topic in places(plan.family, seed)[: 1 if plan.quick else None]
        ]


def places(family: str, seed: int) -> list[tuple[int, str]]:
    """A web for each topic; with every seed others, and a topic meets another kind of web (docs/decisions/0024)."""
    topics = TOPICS[family]
    first = FIRST_WEB[family] + len(topics) * (seed - 1)
    return [(first + (at + seed - 1) % len(topics), topic) for at, topic in enumerate(topics)]


VARIANTS = (
    *(Row("tres, untaught", cap, "tres", (("learn.start", "untaught"),)) for cap in ("50", "10")),
    Row("tres, no lessons", "50", "tres", (("learn.steps_per_page", "0"),)),
    *(Row("tres, true judge", cap, "tres", judge="true") for cap in ("50", "none")),
    *(Row(f"{name}, judge goes on learning", "50", name, judge="learning") for name in ("tres", "ache")),
    *(Row("best-first, true judge", cap, "best-first", judge="true") for cap in ("50", "none")),
    *(Row(f"{name}, own judge", "50", name, judge="own") for name in ("tres", "best-first")),
    *(Row("tres, SVM judge", cap, "tres", (("relevance.model", "svm"),)) for cap in ("10", "5:2")),
    *(Row("tres, BiLSTM alone", cap, "tres", (("relevance.words", "false"),)) for cap in ("10", "5:2")),
    *(Row("ache, SVM judge", cap, "ache", (("relevance.model", "svm"),)) for cap in ("50", "10")),
    *(Row("tres, balanced", cap, "tres", (("crawl.objective", "balanced"),)) for cap in ("50", "none", "5:2")),
    Row("tres, NH", "10", "tres", (("features.site", "false"),)),
    *(
        Row(f"{name}, one slot", "50", name, (("fetch.slots", "1"),))
        for name in ("tres", "ache", "best-first", "tres-async")
    ),
    Row("sync", "50", "sync"),
    *(Row(TOPIC_ORACLE, cap, TOPIC_ORACLE) for cap in ("50", "100")),
)
"""What a learned start and lessons are worth and the judge costs, the paper's ablations, more sites for fewer pages,
what many fetches at once cost, brute force, and how far one comes who knows topics but no dead ends."""


def chosen_rows(plan: Plan) -> list[Row]:
    """The key policies under every cap first, then the others, then the variants, unless policies are named."""
    if plan.quick:
        return [
            Row(name, cap, name) for cap in plan.caps or ("50",) for name in plan.policies or ("tres", "best-first")
        ]
    caps = plan.caps or CAPS
    rows = [Row(name, cap, name) for group in (KEY, REST) for cap in caps for name in group]
    wanted = [*rows, *(row for row in VARIANTS if row.cap in caps)]
    return [row for row in wanted if not plan.policies or row.name in plan.policies]


async def matrix(plan: Plan) -> Report:
    """All rows on all places with all seeds."""
    plan = plan.of(2000, 3)
    rows = chosen_rows(plan)
    if not rows:
        caps = " and ".join(row.cap for row in VARIANTS if row.name in plan.policies)
        raise ConfigError(
            f"The matrix has no row of {', '.join(plan.policies)} under MAX {', '.join(plan.caps)}, but under {caps}."
        )
    cells = {row: row.cells(plan) for row in rows}
    # Seed by seed within a cap: a bench that is stopped early has whole caps, then some of every row.
    wanted = [cell for cap in dict.fromkeys(row.cap for row in rows) for cell in _mixed(cells, cap)]
    plan.say(f"webs of the family {plan.family}: {_purpose(plan.family)}; {len(wanted)} crawls")
    if plan.only_kept:
        done = kept_cells(wanted, plan.keep)
        if not done:
            raise ConfigError(f"{plan.keep} has none of these {len(wanted)} crawls. Run them: leave out --only-kept.")
    else:
        done = await run_cells(wanted, plan.keep, plan.jobs, plan.say)
    found = {row: [{**done[cell], "web": cell.web} for cell in cells[row] if cell in done] for row in rows}
    return report_of(plan, {row: figures for row, figures in found.items() if figures})


def _mixed(cells: Mapping[Row, Sequence[Cell]], cap: str) -> Iterable[Cell]:
    mine = [of_row for row, of_row in cells.items() if row.cap == cap]
    return (of_row[at] for at in range(max(map(len, mine))) for of_row in mine if at < len(of_row))


def report_of(plan: Plan, found: Mapping[Row, Sequence[Figures]]) -> Report:
    topics = TOPICS[plan.family][: 1 if plan.quick else None]
    tres = {row.cap: figures for row, figures in found.items() if row.name == "tres"}
    rows = [
        *(_row(row, figures, topics, tres.get(row.cap, ())) for row, figures in found.items()),
        *_webs(plan.family),
    ]
    means = {(row.name, row.cap): (100 * harvest(f), sites(f)) for row, f in found.items()}
    at_fifty = {row.name: figures for row, figures in found.items() if row.cap == "50"}
    went_into = [
        _spent(row, told)
        for row, f in found.items()
        if (told := [one for one in f if one.get("spent") and one["pages"]])
    ]
    over_time = [row for key, f in found.items() if key.name in KEY for row in _over_time(key, f, topics)]
    by_name = {(row.name, row.cap): figures for row, figures in found.items()}
    return plan.report(
        "matrix",
        [*rows, *went_into, *over_time, *orderings(means)],
        checks_of(by_name, plan.pages or 0),
        family=plan.family,
        scale=plan.scale,
        purpose=_purpose(plan.family),
        max_per_site=", ".join(dict.fromkeys(row.cap for row in found)),
        curves={name: late(figures) for name, figures in at_fifty.items() if "," not in name},
        variants={name: late(figures) for name, figures in at_fifty.items() if "," in name},
        pareto={
            topic: {
                name: [
                    (row.cap, harvest(of), sites(of))
                    for row, fs in found.items()
                    if row.name == name and (of := [f for f in fs if f["topic"] == topic])
                ]
                for name in dict.fromkeys(row.name for row in found if row.name in POLICIES)
            }
            for topic in topics
        },
        **_growth({name: figures for name, figures in at_fifty.items() if name in TREES}),
    )


def _growth(trees: Mapping[str, Sequence[Figures]]) -> dict[str, Any]:
    """Leaves and waiting links, page by page, of crawls of one web that all policies with a tree have."""
    by_place = [{place(f): f["lives"][-1]["growth"] for f in figures} for figures in trees.values()]
    shared = [where for where in by_place[0] if all(where in known for known in by_place)] if by_place else []
    if not shared:
        return {}
    topic, web = shared[0]
    grown = {name: known[topic, web] for name, known in zip(trees, by_place, strict=True)}
    return {"growth": grown, "growth_of": f"{topic} of web {web}, MAX 50, one crawl each"}


def _row(row: Row, figures: Sequence[Figures], topics: Sequence[str], tres: Sequence[Figures]) -> dict[str, Any]:
    told: dict[str, Any] = {"part": "matrix", "policy": row.name, "max": row.cap, "crawls": len(figures)}
    for topic in topics:
        mine = [f for f in figures if f["topic"] == topic]
        told[topic] = spread([100 * f["harvest"] for f in mine])
        told[f"{topic}_sites"] = spread([f["relevant_sites"] for f in mine], 0)
    told["all"] = round(100 * harvest(figures), 1)
    told["all_sites"] = round(sites(figures))
    told["tres_ahead"] = _ahead(tres, figures)
    told["pages"] = round(mean(f["pages"] for f in figures))
    told["judge_precision"] = " ".join(
        spread_of([f["judge"] for f in figures if f["topic"] == topic and f.get("judge")], "precision", 2)
        for topic in topics
    )
    return told


def _ahead(tres: Sequence[Figures], others: Sequence[Figures]) -> str:
    """Points of harvest by which tres is ahead on the same webs after as many pages; mean ± standard deviation."""
    ours = {place(f): f for f in tres}
    pairs = [(ours[place(f)]["curve"], f["curve"]) for f in others if place(f) in ours]
    return spread([100 * _lead(mine, their) for mine, their in pairs if mine and their])


def _lead(mine: Curve, their: Curve) -> float:
    pages = min(mine[-1][0], their[-1][0])
    by_then = np.array([pages], float)
    return float(_relevant_by(by_then, mine)[0] - _relevant_by(by_then, their)[0]) / pages


def _relevant_by(pages: Doubles, curve: Curve) -> Doubles:
    """How many of the first so many pages are relevant."""
    known: Doubles = np.interp(pages, [0, *(row[0] for row in curve)], [0, *(row[1] for row in curve)])
    return known


def _over_time(row: Row, figures: Sequence[Figures], topics: Sequence[str]) -> Iterable[dict[str, Any]]:
    """Harvest within each tenth of the pages."""
    for topic in topics:
        if mine := [f for f in figures if f["topic"] == topic]:
            tenths = [mean(points) for points in zip(*(_tenths(f["curve"]) for f in mine), strict=True)]
            shown = " ".join(f"{100 * tenth:.0f}" for tenth in tenths)
            yield {
                "part": "over time",
                "policy": row.name,
                "max": row.cap,
                "topic": topic,
                "harvest_in_each_tenth_of_the_pages": shown,
            }


def _spent(row: Row, figures: Sequence[Figures]) -> dict[str, Any]:
    """What the pages were, in per cent; a crawl that was kept by an older program does not tell."""

    def share(kind: str) -> float:
        return round(100 * over_topics(figures, lambda f: f["spent"][kind] / f["pages"]), 1)

    shares = {kind: share(kind) for kind in KINDS}
    return {"part": "what pages were, in %", "policy": row.name, "max": row.cap, "crawls": len(figures), **shares}


def _tenths(curve: Curve) -> list[float]:
    ends = np.linspace(0, curve[-1][0], TENTHS + 1)
    found: list[float] = (np.diff(_relevant_by(ends, curve)) / np.diff(ends)).tolist()
    return found


def _webs(used: str) -> list[dict[str, Any]]:
    return [
        {
            "part": "webs",
            "family": name,
            "used": "here" if name == used else "no",
            "for": _purpose(name),
            "seeds": f"{chosen['seeds'].start} to {chosen['seeds'].stop - 1}",
            "topics": ", ".join(chosen["topics"]),
            "differ_from_the_default_in": "; ".join(
                ", ".join(f"{key} {value}" for key, value in web.items()) or "nothing" for web in chosen["webs"]
            ),
        }
        for name, chosen in FAMILIES.items()
    ]


def _purpose(name: str) -> str:
    return "reporting; no setting was chosen on them" if name == "report" else "choosing settings; not to be reported"
