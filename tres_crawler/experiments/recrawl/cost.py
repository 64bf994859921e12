"""What a decision costs by the number of sources, and what the calendar gives up beside exact ranking."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tres_crawler.experiments.recrawl.drawn import Drawn
from tres_crawler.experiments.report import Check, Report, Say
from tres_crawler.recrawl.baselines import ExactWhittle
from tres_crawler.recrawl.calendar import CalendarScheduler
from tres_crawler.recrawl.scheduler import Finding, Scheduler, Source
from tres_crawler.recrawl.whittle import clearing_price

SIZES = (10_000, 100_000, 1_000_000)
QUICK_SIZES = (3000, 30_000)
DECISIONS, QUICK_DECISIONS = 4000, 1000
EXACT_DECISIONS = 40
PARITY_SOURCES = 2000
BUDGET = 0.1
"""Share of the sources that are visited in a unit of time."""
FOUND = Finding(changed=True)


def cost(quick: bool, say: Say) -> Report:
    sizes, decisions = (QUICK_SIZES, QUICK_DECISIONS) if quick else (SIZES, DECISIONS)
    rows = [_timed(size, decisions, say) for size in sizes]
    parity = _parity(2 if quick else 5, say)
    calendar = [row["calendar_us"] for row in rows]
    checks = [
        Check.at_most("decision in milliseconds at the largest", round(calendar[-1] / 1000, 3), 1.0),
        Check.at_most("cost at the largest beside the smallest", round(calendar[-1] / calendar[0], 2), 3.0),
        Check.at_least("reward beside exact ranking, the least of all webs", round(min(parity), 4), 0.99),
    ]
    settings = {"sizes": sizes, "decisions": decisions, "budget": BUDGET, "parity_sources": PARITY_SOURCES}
    told = [{"part": "parity", "seed": seed, "reward_beside_exact": round(x, 4)} for seed, x in enumerate(parity)]
    return Report("recrawl cost", settings, [*rows, *told], checks)


def _timed(size: int, decisions: int, say: Say) -> dict[str, Any]:
    drawn = Drawn.of(size, seed=1)
    price = clearing_price(drawn.rates, drawn.worths, BUDGET * size)
    started = time.process_time()
    calendar = _filled(CalendarScheduler(drawn.belief, price=price), drawn)
    built = time.process_time() - started
    _run(calendar, size, size // 100, drawn, 0)
    spent = _run(calendar, size, decisions, drawn, size // 100)
    exact = _filled(ExactWhittle(drawn.belief), drawn)
    ranked = _run(exact, size, EXACT_DECISIONS, drawn, 0)
    say(f"{size:,} sources: {spent * 1e6:.0f} µs by calendar, {ranked * 1e6:.0f} µs by ranking all")
    return {
        "part": "cost",
        "sources": size,
        "calendar_us": round(spent * 1e6, 1),
        "ranking_us": round(ranked * 1e6, 1),
        "ratio": round(ranked / spent, 1),
        "build_seconds": round(built, 2),
    }


def _parity(seeds: int, say: Say) -> list[float]:
    """What the calendar earns beside exact ranking, by expected rewards once both have settled."""
    found = []
    for seed in range(seeds):
        drawn = Drawn.of(PARITY_SOURCES, seed)
        earned = []
        for make in _makers(drawn):
            scheduler = _filled(make(), drawn)
            earned.append(_earned(scheduler, drawn, steps=40 * int(BUDGET * PARITY_SOURCES)))
        found.append(earned[1] / earned[0])
        say(f"seed {seed}: the calendar earns {found[-1]:.2%} of what ranking all earns")
    return found


def _makers(drawn: Drawn) -> Sequence[Callable[[], Scheduler]]:
    return lambda: ExactWhittle(drawn.belief), lambda: CalendarScheduler(drawn.belief)


def _filled(scheduler: Any, drawn: Drawn) -> Any:
    for number, visited in enumerate(drawn.visited.tolist()):
        scheduler.add(Source(number, number, visited))
    return scheduler


def _run(scheduler: Scheduler, size: int, decisions: int, drawn: Drawn, begun: int) -> float:
    """Seconds of processor time that one choice and its observation take."""
    started = time.process_time()
    for step in range(begun, begun + decisions):
        now = step / (BUDGET * size)
        for number in scheduler.choose(now, 1):
            scheduler.observe(number, now, FOUND)
    return (time.process_time() - started) / decisions


def _earned(scheduler: Scheduler, drawn: Drawn, steps: int) -> float:
    visited, total = drawn.visited.copy(), 0.0
    for step in range(steps):
        now = step / (BUDGET * len(visited))
        for number in scheduler.choose(now, 1):
            if step > steps // 3:
                total += float(drawn.worths[number] * -np.expm1(-drawn.rates[number] * (now - visited[number])))
            visited[number] = now
            scheduler.observe(number, now, FOUND)
    return total
