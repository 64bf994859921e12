"""What a schedule loses by not knowing the rates, and what it gains by hoping where it knows little."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from tres_crawler.experiments.recrawl.drawn import Drawn
from tres_crawler.experiments.report import Check, Say
from tres_crawler.recrawl.calendar import CalendarScheduler
from tres_crawler.recrawl.estimate import DAY_SECONDS, Estimates, Evidence
from tres_crawler.recrawl.scheduler import Belief, Finding, Source

HOPES = (0.0, 0.5, 1.0, 1.5)
PACES = (1.0, 0.3, 0.1)
"""By what drawn rates are multiplied: the fastest page changes 30, 9 or 3 times in the time of one visit to each."""
SOURCES, WORLDS = 400, 8
PER_HOST = 7
BUDGET = 0.1
"""Share of the sources that are visited in a day."""
DAYS = 36
"""The second half counts."""
FIRST_WORLD = 500
OLDEST_DAYS = 1000.0
"""Up to so long ago pages that never change say that they did."""


def learning(quick: bool, say: Say) -> tuple[list[dict[str, Any]], list[Check]]:
    """Expected rewards on learned rates in per cent of those on known ones; what a change is worth is given."""
    paces, worlds = (PACES[-1:], range(3)) if quick else (PACES, range(WORLDS))
    rows: list[dict[str, Any]] = []
    for dated in (True, False):
        for pace in paces:
            known = [_earned(world, pace, dated, None) for world in worlds]
            for hope in HOPES:
                earned = [_earned(world, pace, dated, hope) for world in worlds]
                shares = 100 * np.array(earned) / np.array(known)
                error = float(np.std(shares, ddof=1)) / math.sqrt(len(shares))
                row = {"part": "learning", "dated": dated, "pace": pace, "hope": hope}
                rows.append({**row, "percent_of_known": round(float(shares.mean()), 1), "se": round(error, 1)})
            say(f"Learning, {'dated' if dated else 'undated'} pages, pace {pace:g}: done.")
    return rows, _checks(rows)


def _checks(rows: Sequence[dict[str, Any]]) -> list[Check]:
    def mean(hope: float) -> float:
        found = [row["percent_of_known"] for row in rows if row["dated"] and row["hope"] == hope]
        return float(np.mean(found))

    return [Check.at_least("points gained by hope where pages are dated", round(mean(1.0) - mean(0.0), 1), 0.0)]


def _earned(world: int, pace: float, dated: bool, hope: float | None) -> float:
    """What a calendar earns that learns the rates or, without a hope, knows them."""
    drawn, rng = Drawn.of(SOURCES, FIRST_WORLD + world), np.random.default_rng([world, 30])
    rates, worths = (pace * drawn.rates).tolist(), drawn.worths.tolist()
    changed_at = [-rng.exponential(1 / rate) if rate else -OLDEST_DAYS * rng.random() for rate in rates]
    visited, total = [0.0] * SOURCES, 0.0
    estimates = Estimates(first_rate=pace / DAY_SECONDS)

    def stated(number: int) -> float | None:
        return changed_at[number] * DAY_SECONDS if dated else None

    def belief(number: int) -> Belief:
        if hope is None:
            return Belief(rates[number] / DAY_SECONDS, worths[number])
        return replace(estimates.belief(number), utility=worths[number], cost=1.0)

    def shape(held: Belief) -> tuple[float, float]:
        return held.change_rate * (1 + (hope or 0.0) / math.sqrt(held.evidence)), held.utility

    scheduler = CalendarScheduler(belief, shape)
    for number in range(SOURCES):
        estimates.add(number, number // PER_HOST, Evidence(0.0, stated_at=stated(number)))
        scheduler.add(Source(number, number, 0.0))
    steps = int(DAYS * BUDGET * SOURCES)
    for step in range(steps):
        day = step / (BUDGET * SOURCES)
        for number in scheduler.choose(day * DAY_SECONDS, 1):
            chance = -math.expm1(-rates[number] * (day - visited[number]))
            total += worths[number] * chance if step > steps // 2 else 0.0
            changed = bool(rng.random() < chance)
            if changed:
                changed_at[number] = day + math.log1p(-chance * rng.random()) / rates[number]
            visited[number] = day
            finding = Finding(changed, changed_at=stated(number))
            estimates.observe(number, day * DAY_SECONDS, finding)
            scheduler.observe(number, day * DAY_SECONDS, finding)
    return total
