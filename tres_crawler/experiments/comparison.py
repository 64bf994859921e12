"""What the crawls of the matrix say: tables, goals, orders beside the paper's, and what can be drawn of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from statistics import mean
from typing import Any

import numpy as np
import numpy.typing as npt

from tres_crawler.experiments.afterwards import TREES
from tres_crawler.experiments.cells import CURVE_EVERY, Figures
from tres_crawler.experiments.goals import checks_of, harvest, over_topics, place, sites
from tres_crawler.experiments.harvests import late, spread
from tres_crawler.experiments.orderings import PRINTED, orderings
from tres_crawler.experiments.plan import Plan
from tres_crawler.experiments.report import Report
from tres_crawler.experiments.rows import CAPS, KEY, TOPICS, Row
from tres_crawler.experiments.spending import KINDS
from tres_crawler.policies.registry import POLICIES
from tres_crawler.simweb.params import FAMILIES

TENTHS = 10
ORDERED = {*(name for name, _ in PRINTED), "tres-paper"}
WIDEST_FIRST = ("none", "100", "50", "10", "5", "5:2")

Doubles = npt.NDArray[np.float64]
Curve = Sequence[Sequence[int]]
"""Pages, and how many of them are relevant, again and again."""
Found = Mapping[Row, Sequence[Figures]]


def report_of(plan: Plan, found: Found) -> Report:
    topics = TOPICS[plan.family][: 1 if plan.quick else None]
    rows = [
        *_matrix(found, topics),
        *_webs(plan.family, {f["web"] for figures in found.values() for f in figures}),
        *_what_pages_were(found),
        *(row for key, f in found.items() if key.name in KEY for row in _over_time(key, f, topics)),
        *orderings(_ordered(found)),
    ]
    by_name = {(row.name, row.cap): figures for row, figures in found.items()}
    return plan.report(
        "matrix",
        rows,
        checks_of(by_name, plan.pages or 0),
        family=plan.family,
        scale=plan.scale,
        purpose=purpose(plan.family),
        max_per_site=", ".join(dict.fromkeys(row.cap for row in found)),
        **_drawn(plan, found, topics),
    )


# ---- rows ----


def _matrix(found: Found, topics: Sequence[str]) -> list[dict[str, Any]]:
    """By cap, the best first."""
    tres = {row.cap: figures for row, figures in found.items() if row.name == "tres"}
    told = [_row(row, figures, topics, tres.get(row.cap, ())) for row, figures in found.items()]
    caps = list(dict.fromkeys(row.cap for row in found))
    return sorted(told, key=lambda row: (caps.index(row["max"]), -row["all"]))


def _row(row: Row, figures: Sequence[Figures], topics: Sequence[str], tres: Sequence[Figures]) -> dict[str, Any]:
    told: dict[str, Any] = {"part": "matrix", "policy": row.name, "max": row.cap, "crawls": len(figures)}
    for topic in topics:
        mine = [f for f in figures if f["topic"] == topic]
        told[topic] = spread([100 * f["harvest"] for f in mine])
        told[f"{topic}_sites"] = spread([f["relevant_sites"] for f in mine], 0)
    told["all"] = round(100 * harvest(figures), 1)
    told["all_sites"] = round(sites(figures))
    told["tres_ahead"] = "–" if row.name == "tres" else _ahead(tres, figures)
    told["pages"] = round(mean(f["pages"] for f in figures))
    told["judge_precision"] = ", ".join(
        f"{topic} {mean(right):.2f}" for topic in topics if (right := _precisions(figures, topic))
    )
    return told


def _precisions(figures: Sequence[Figures], topic: str) -> list[float]:
    judges = [f["judge"] for f in figures if f["topic"] == topic and f.get("judge")]
    return [judge["precision"] for judge in judges if judge.get("precision") is not None]


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


def _webs(used: str, numbers: set[int]) -> list[dict[str, Any]]:
    return [
        {
            "part": "webs",
            "family": name,
            "used_here": ", ".join(map(str, sorted(numbers))) if name == used else "none",
            "for": purpose(name),
            "seeds": f"{chosen['seeds'].start} to {chosen['seeds'].stop - 1}",
            "topics": ", ".join(chosen["topics"]),
            "differ_from_the_default_in": "; ".join(
                ", ".join(f"{key} {value}" for key, value in web.items()) or "nothing" for web in chosen["webs"]
            ),
        }
        for name, chosen in FAMILIES.items()
    ]


def purpose(family: str) -> str:
    if family != "report":
        return "choosing settings; not to be reported"
    return "reporting; no setting was chosen on them, but what was seen on webs 3 to 5 led to docs/decisions/0023"


def _what_pages_were(found: Found) -> Iterable[dict[str, Any]]:
    """In per cent; a crawl that was kept by an older program does not tell."""
    for row, figures in found.items():
        if told := [f for f in figures if f.get("spent") and f["pages"]]:
            shares = {kind: _share(told, kind) for kind in KINDS}
            part = "what pages were, in %"
            yield {"part": part, "policy": row.name, "max": row.cap, "crawls": len(told), **shares}


def _share(figures: Sequence[Figures], kind: str) -> float:
    return round(100 * over_topics(figures, lambda f: f["spent"][kind] / f["pages"]), 1)


def _over_time(row: Row, figures: Sequence[Figures], topics: Sequence[str]) -> Iterable[dict[str, Any]]:
    """Harvest within each tenth of the pages, where a curve has as many points."""
    for topic in topics:
        curves = [f["curve"] for f in figures if f["topic"] == topic]
        if curves and all(curve and curve[-1][0] >= TENTHS * CURVE_EVERY for curve in curves):
            tenths = [mean(points) for points in zip(*map(_tenths, curves), strict=True)]
            shown = " ".join(f"{100 * tenth:.0f}" for tenth in tenths)
            yield {
                "part": "over time",
                "policy": row.name,
                "max": row.cap,
                "topic": topic,
                "harvest_in_each_tenth_of_the_pages": shown,
            }


def _tenths(curve: Curve) -> list[float]:
    ends = np.linspace(0, curve[-1][0], TENTHS + 1)
    found: list[float] = (np.diff(_relevant_by(ends, curve)) / np.diff(ends)).tolist()
    return found


def _ordered(found: Found) -> dict[tuple[str, str], tuple[float, float]]:
    """Harvest and sites of the rows that the paper has too, under each cap on the webs that all of them have."""
    means = {}
    for cap in dict.fromkeys(row.cap for row in found):
        mine = {row: figures for row, figures in found.items() if row.cap == cap and row.name in ORDERED}
        shared = _shared(mine.values())
        for row, figures in mine.items() if shared else ():
            there = [f for f in figures if place(f) in shared]
            means[row.name, cap] = (100 * harvest(there), sites(there))
    return means


def _shared(rows: Iterable[Sequence[Figures]]) -> set[tuple[str, int]]:
    """Where all of these rows have been crawled by now."""
    known = [{place(f) for f in figures} for figures in rows]
    return set.intersection(*known) if known else set()


# ---- pictures ----


def _drawn(plan: Plan, found: Found, topics: Sequence[str]) -> dict[str, Any]:
    """Curves and growth under one cap, pages against sites under all; each with a line that says what it is of."""
    caps = {row.cap for row in found}
    cap = next((known for known in CAPS if known in caps), min(caps))
    here = {row: figures for row, figures in found.items() if row.cap == cap}
    under = f"{_cap(cap)}, {plan.pages:,} pages"
    return {
        "curves": {row.name: late(figures) for row, figures in here.items() if not row.is_variant},
        "curves_of": f"True harvest over the last 200 pages; {under}",
        "variants": _variants(here),
        "variants_of": f"True harvest over the last 200 pages, variants; {under}",
        **_pareto(plan, found, topics),
        **_growth({row.name: figures for row, figures in here.items() if row.name in TREES}, under),
    }


def _cap(cap: str) -> str:
    return f"MAX {'∞' if cap == 'none' else cap}"


def _variants(here: Found) -> dict[str, dict[str, list[float]]]:
    """Those of tres beside it; those of others beside each other."""
    drawn: dict[str, dict[str, list[float]]] = {}
    for row, figures in here.items():
        if row.is_variant:
            drawn.setdefault("tres" if row.policy == "tres" else "others", {})[row.name] = late(figures)
    tres = {row.name: late(figures) for row, figures in here.items() if row.name == "tres"}
    return {name: (tres if name == "tres" else {}) | lines for name, lines in drawn.items()}


def _pareto(plan: Plan, found: Found, topics: Sequence[str]) -> dict[str, Any]:
    """By topic and policy: MAX, harvest and sites on webs that all have; not brute force, which has fewer pages."""
    rivals = {row: figures for row, figures in found.items() if row.name in POLICIES and row.name != "sync"}
    shared = _shared(rivals.values())
    if not shared:
        return {}
    ordered = sorted(rivals, key=lambda row: WIDEST_FIRST.index(row.cap) if row.cap in WIDEST_FIRST else -1)
    drawn: dict[str, dict[str, list[tuple[str, float, float]]]] = {}
    for topic in topics:
        for row in ordered:
            if there := [f for f in rivals[row] if f["topic"] == topic and place(f) in shared]:
                points = drawn.setdefault(topic, {}).setdefault(row.name, [])
                points.append((_cap(row.cap).removeprefix("MAX "), harvest(there), sites(there)))
    return {"pareto": drawn, "pareto_of": f"Pages against sites; {plan.pages:,} pages, {len(shared)} webs"}


def _growth(trees: Mapping[str, Sequence[Figures]], under: str) -> dict[str, Any]:
    """Leaves and waiting links, page by page, of crawls of one web that all policies with a tree have."""
    shared = sorted(_shared(trees.values()), key=lambda where: where[1])
    if not shared:
        return {}
    grown = {name: next(f for f in figures if place(f) == shared[0]) for name, figures in trees.items()}
    topic, web = shared[0]
    return {
        "growth": {name: f["lives"][-1]["growth"] for name, f in grown.items()},
        "growth_of": f"{topic} of web {web}, one crawl each; {under}",
    }
