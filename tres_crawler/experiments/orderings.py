"""What TRES prints in its Tables 3 and 4, and how the order of policies there compares with ours."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

Key = tuple[str, str]
"""Name of a row and its MAX."""

TOPICS = ("sports", "food", "hardware")
PRINTED: Mapping[Key, Sequence[tuple[float, int]]] = {
    ("random", "none"): ((3.55, 17), (8.97, 59), (1.66, 28)),
    ("tree-random", "none"): ((60.01, 204), (36.60, 523), (40.63, 354)),
    ("ache", "none"): ((54.43, 2081), (60.45, 2153), (49.25, 940)),
    ("ache", "100"): ((47.57, 4574), (50.85, 3820), (42.18, 1923)),
    ("async", "none"): ((47.23, 27), (53.12, 36), (30.64, 12)),
    ("async", "100"): ((40.88, 84), (45.83, 98), (18.23, 52)),
    ("async", "10"): ((25.72, 573), (33.19, 654), (5.42, 112)),
    ("async", "5"): ((8.98, 315), (13.53, 581), (0.0, 0)),
    ("async", "5:2"): ((2.77, 214), (6.77, 508), (0.0, 0)),
    ("tres", "none"): ((97.43, 83), (95.59, 78), (93.64, 55)),
    ("tres", "100"): ((94.19, 286), (97.55, 301), (88.40, 420)),
    ("tres", "10"): ((84.52, 2335), (94.56, 2604), (63.14, 1977)),
    ("tres", "5"): ((78.56, 4053), (90.98, 4324), (46.57, 2956)),
    ("tres", "5:2"): ((72.43, 7011), (87.65, 7304), (42.87, 3243)),
    ("tres, SVM judge", "10"): ((79.88, 1692), (87.65, 2094), (34.64, 1189)),
    ("tres, SVM judge", "5:2"): ((60.23, 5783), (70.39, 5342), (4.4, 318)),
    ("tres, NH", "10"): ((82.17, 2393), (94.22, 3189), (58.89, 2080)),
    ("tres-async", "5"): ((74.17, 3788), (87.26, 3719), (42.34, 2550)),
    ("tres-async", "5:2"): ((65.55, 6595), (83.43, 7012), (34.34, 2649)),
}
"""Harvest rate in per cent and relevant domains, by topic, after 20,000 pages; SeedFinder is left out, and ACHE at 10,
which the paper has for Sports only."""

Measured = Mapping[Key, tuple[float, float]]
"""Ours: harvest and relevant sites, means over all topics."""


def orderings(measured: Measured) -> list[dict[str, Any]]:
    """By MAX and figure: the order of the rows that both have, best first, in the paper and here.

    Once with ours in the place of TRES, and once with the paper's own settings, beside which variants of ours are
    left out.
    """
    paper = {(name, cap): figures for (name, cap), figures in measured.items() if not name.startswith("tres")}
    paper |= {("tres", cap): figures for (name, cap), figures in measured.items() if name == "tres-paper"}
    return [*_orders("tres", measured), *_orders("tres-paper", paper)]


def _orders(ours_is: str, measured: Measured) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    for cap in dict.fromkeys(cap for _, cap in PRINTED):
        names = [name for name, other in PRINTED if other == cap and (name, other) in measured]
        if len(names) < 2 or "tres" not in names:
            continue
        for at, figure in enumerate(("harvest", "sites")):
            printed = {name: sum(topic[at] for topic in PRINTED[name, cap]) / len(TOPICS) for name in names}
            ours = {name: measured[name, cap][at] for name in names}
            rows.append(
                {
                    "part": "orderings",
                    "max": cap,
                    "in_the_place_of_tres": ours_is,
                    "figure": figure,
                    "in_the_paper": _order(printed),
                    "here": _order(ours),
                    "pairs_alike": _alike(printed, ours),
                }
            )
    return rows


def _order(figures: Mapping[str, float]) -> str:
    return " > ".join(f"{name} {figures[name]:.0f}" for name in sorted(figures, key=lambda name: -figures[name]))


def _alike(printed: Mapping[str, float], ours: Mapping[str, float]) -> str:
    pairs = list(combinations(printed, 2))
    same = sum((printed[a] > printed[b]) == (ours[a] > ours[b]) for a, b in pairs)
    return f"{same} of {len(pairs)}"
