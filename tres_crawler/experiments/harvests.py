"""Figures of many crawls in a few words: harvest, how it went on, mean and spread."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from statistics import mean, stdev

from tres_crawler.experiments.cells import CURVE_EVERY, Figures

WINDOW = 2
"""Points of a curve, 100 pages each, that harvest of late is taken over."""


def harvest_row(figures: Sequence[Figures]) -> dict[str, str]:
    """Truth in per cent and sites, and what the crawl itself would say."""
    return {
        "harvest": spread([100 * f["harvest"] for f in figures]),
        "relevant_sites": spread([f["relevant_sites"] for f in figures], 0),
        "own_harvest": spread([100 * f["own"]["harvest_rate"] for f in figures]),
        "judge_precision": spread_of([f["judge"] for f in figures if f.get("judge")], "precision", 2),
        "judge_recall": spread_of([f["judge"] for f in figures if f.get("judge")], "recall", 2),
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


def spread_of(seen: Sequence[Figures], name: str, digits: int = 3) -> str:
    return spread([one[name] for one in seen if one.get(name) is not None], digits)


def mean_of(figures: Sequence[Figures], name: str) -> float:
    return float(mean(f[name] for f in figures))


def variance_of(figures: Sequence[Figures]) -> float:
    return stdev([f["harvest"] for f in figures]) ** 2 if len(figures) > 1 else 0.0


def share_of(truths: Iterable[bool]) -> float:
    return round(mean(map(float, truths)), 3)
