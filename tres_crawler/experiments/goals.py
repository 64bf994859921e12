"""What the matrix is to show, as checks: goals are stated for 10,000 pages, so every check says how many there were."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from statistics import mean, stdev

from tres_crawler.experiments.cells import CURVE_EVERY, Figures
from tres_crawler.experiments.harvests import late
from tres_crawler.experiments.oracles import ORACLE, ORACLES, TOPIC_ORACLE
from tres_crawler.experiments.report import Check

RIVALS = ("ache", "async", "anchor-first")
EARLY_PAGES = 500
EARLY = EARLY_PAGES // CURVE_EVERY - 1
"""The point of a curve that has so many pages."""
MOST_BEHIND = 3.0
MUCH = 0.8
"""Share of the final rate that counts as having learned."""
NEAR = 1.0
"""Points of harvest within which two policies are taken for equal."""

Rows = Mapping[tuple[str, str], Sequence[Figures]]
"""Crawls by the name of their row and its MAX."""


def checks_of(rows: Rows, pages: int) -> list[Check]:
    """One for each goal whose rows were measured; a few pages are no test of any, and are told as they are."""
    checks = [
        *(check for cap in ("50", "100") for check in _ratios(rows, cap)),
        *(check for cap in ("none", "5:2") for check in _against_all(rows, cap)),
        *_never_behind(rows),
        *_starts(rows),
    ]
    if pages < EARLY_PAGES:
        checks = [Check.reported(check.name, check.value) for check in checks if check.value is not None]
    return [check.named(f"{pages:,} pages, {check.name}") for check in checks]


def _ratios(rows: Rows, cap: str) -> Iterable[Check]:
    mine = rows.get(("tres", cap))
    if not mine:
        return
    others = (*RIVALS, "best-first", *ORACLES)
    ratios = {name: _ratio(mine, rows[name, cap]) for name in others if (name, cap) in rows}
    rivals = [name for name in RIVALS if name in ratios]
    if rivals:
        best = min(rivals, key=lambda name: math.inf if (ratio := ratios[name]) is None else ratio)
        named = f"MAX {cap}: tres : {best}, the best of {', '.join(rivals)}"
        yield Check.at_least(named, ratios[best], 1.5, digits=2)
    for name, goal in (("best-first", 1.25), (ORACLE, 0.9)):
        if name in ratios:
            yield Check.at_least(f"MAX {cap}: tres : {name}", ratios[name], goal, digits=2)
    if (reached := ratios.get(TOPIC_ORACLE)) is not None:
        yield Check.reported(f"MAX {cap}: tres : {TOPIC_ORACLE}", round(reached, 2))


def _ratio(mine: Sequence[Figures], other: Sequence[Figures]) -> float | None:
    """None if there is nothing to compare."""
    ours, theirs = _on_shared_webs(mine, other)
    return harvest(ours) / max(harvest(theirs), 1e-9) if ours else None


def _against_all(rows: Rows, cap: str) -> Iterable[Check]:
    """Not worse than any other, and more sites than those that have as many pages."""
    policies = {name: figures for (name, other), figures in rows.items() if other == cap}
    mine = policies.get("tres")
    # What knows the truth is no rival, and a variant has a comma in its name.
    others = {name: f for name, f in policies.items() if name not in ("tres", *ORACLES) and "," not in name}
    pairs = {name: pair for name, other in others.items() if mine and all(pair := _on_shared_webs(mine, other))}
    if not pairs:
        return
    ahead = {name: 100 * (harvest(ours) - harvest(theirs)) for name, (ours, theirs) in pairs.items()}
    wider = {name: sites(ours) / max(sites(theirs), 1) for name, (ours, theirs) in pairs.items()}
    best = min(ahead, key=lambda name: ahead[name])
    yield Check.at_least(f"MAX {cap}: tres - {best}, the best other, points", ahead[best], 0, digits=1)
    rivals = [name for name in pairs if cap != "none" or ahead[name] <= NEAR]
    if rivals:
        widest = min(rivals, key=lambda name: wider[name])
        which = "of those not behind in harvest" if cap == "none" else "of all others"
        yield Check.more_than(
            f"MAX {cap}: relevant sites, tres : {widest}, the most {which}", wider[widest], 1, digits=3
        )
        more, error = _more_sites(*pairs[widest])
        told = f" (standard error {error:.1f})" if error is not None else ""
        yield Check.reported(f"MAX {cap}: relevant sites, tres - {widest}{told}", round(more, 1))


def _more_sites(ours: Sequence[Figures], theirs: Sequence[Figures]) -> tuple[float, float | None]:
    """Web by web: the mean difference, and its standard error where there are several webs."""
    other = {place(f): f["relevant_sites"] for f in theirs}
    apart = [f["relevant_sites"] - other[place(f)] for f in ours]
    return mean(apart), stdev(apart) / len(apart) ** 0.5 if len(apart) > 1 else None


def _never_behind(rows: Rows) -> Iterable[Check]:
    """By how many points harvest so far is behind best-first's, at the worst page of the worst topic and cap."""
    behind: dict[str, float] = {}
    for (name, cap), mine in rows.items():
        if name == "tres" and ("best-first", cap) in rows:
            ours, theirs = _on_shared_webs(mine, rows["best-first", cap])
            for topic in dict.fromkeys(f["topic"] for f in ours):
                pairs = zip(_so_far(ours, topic), _so_far(theirs, topic), strict=False)
                late_pairs = list(pairs)[EARLY:]
                if late_pairs:
                    behind[f"MAX {cap}, {topic}"] = max(100 * (their - our) for our, their in late_pairs)
    if behind:
        worst = max(behind, key=lambda where: behind[where])
        name = f"most points behind best-first from page {EARLY_PAGES} on, anywhere ({worst})"
        yield Check.at_most(name, behind[worst], MOST_BEHIND, digits=1)


def _so_far(figures: Sequence[Figures], topic: str) -> list[float]:
    """Mean harvest of all pages so far, at every hundredth page that all of them reached."""
    curves = [
        [relevant / pages for pages, relevant, _ in f["curve"] if pages % CURVE_EVERY == 0]
        for f in figures
        if f["topic"] == topic
    ]
    return [mean(points) for points in zip(*curves, strict=False)]


def _starts(rows: Rows) -> Iterable[Check]:
    for name, how in (("tres, untaught", "cold"), ("tres", "warm")):
        figures = rows.get((name, "50"), ())
        topics = dict.fromkeys(f["topic"] for f in figures)
        if reached := [points[EARLY] for topic in topics if len(points := _so_far(figures, topic)) > EARLY]:
            until = f"MAX 50: pages until {MUCH:.0%} of its own final rate, {how}"
            yield Check.reported(until, pages_to_learn(figures))
            yield Check.reported(f"MAX 50: harvest of the first {EARLY_PAGES} pages, {how}", 100 * mean(reached), 1)


def pages_to_learn(figures: Sequence[Figures]) -> int | None:
    """Pages until harvest over the last 200 pages first is 80 % of what it is at the end."""
    curve = late(figures)
    if not curve:
        return None
    return CURVE_EVERY * (1 + next(at for at, rate in enumerate(curve) if rate >= MUCH * curve[-1]))


def _on_shared_webs(mine: Sequence[Figures], other: Sequence[Figures]) -> tuple[list[Figures], list[Figures]]:
    """The crawls of webs that both have by now."""
    both = {place(f) for f in mine} & {place(f) for f in other}
    return [f for f in mine if place(f) in both], [f for f in other if place(f) in both]


def place(figures: Figures) -> tuple[str, int]:
    """What two crawls must share to be compared."""
    return figures["topic"], figures["web"]


def harvest(figures: Sequence[Figures]) -> float:
    return over_topics(figures, lambda f: f["harvest"])


def sites(figures: Sequence[Figures]) -> float:
    return over_topics(figures, lambda f: f["relevant_sites"])


def over_topics(figures: Sequence[Figures], of: Callable[[Figures], float]) -> float:
    """Every topic counts alike, however many seeds of it are there."""
    topics = dict.fromkeys(f["topic"] for f in figures)
    return float(mean(mean(of(f) for f in figures if f["topic"] == topic) for topic in topics))
