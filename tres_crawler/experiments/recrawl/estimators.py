"""Bias and error of our estimate of change rates beside counting changes and Cho & Garcia-Molina's correction.

And what a schedule loses by it beside one that knows the rates.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from tres_crawler.experiments.recrawl.hope import learning
from tres_crawler.experiments.report import Check, Report, Say
from tres_crawler.recrawl.estimate import DAY_SECONDS, Estimates, Evidence
from tres_crawler.recrawl.scheduler import Finding

RATES = (0.05, 0.1, 0.3, 1.0, 2.0, 5.0)
"""Changes per mean gap between visits."""
PAGES, QUICK_PAGES = 300, 60
VISITS = 20
HOSTS = 50
PRECISION = 0.6
"""From this rate on the correction for missed changes matters; below it all are dominated by chance."""

Floats = npt.NDArray[np.float64]


def estimators(quick: bool, say: Say) -> Report:
    """Pages of all rates on the same hosts; ours fits its prior to them as it goes, as it does in a crawl."""
    pages = QUICK_PAGES if quick else PAGES
    true = np.random.default_rng(0).permutation(np.repeat(RATES, pages))
    rows: list[dict[str, Any]] = []
    plain, seen, gaps = _visited(true, says_when=False)
    stated, _, _ = _visited(true, says_when=True)
    ways = {
        "changes / time": seen / gaps,
        "Cho & Garcia-Molina": -np.log((VISITS - seen + 0.5) / (VISITS + 0.5)) * VISITS / gaps,
        "ours": _rates(plain, len(true)),
        "ours, Last-Modified": _rates(stated, len(true)),
    }
    for rate in RATES:
        for way, found in ways.items():
            off = found[true == rate] / rate - 1
            figures = {"bias_percent": 100 * off.mean(), "error_percent": 100 * np.sqrt((off**2).mean())}
            rows.append(
                {
                    "part": "rates",
                    "rate": rate,
                    "estimator": way,
                    **{name: round(float(x), 1) for name, x in figures.items()},
                }
            )
    say(f"{len(true)} pages, {VISITS} visits each")
    settings = {"pages_per_rate": pages, "visits": VISITS, "hosts": HOSTS, "gaps": "exponential, mean 1"}
    learned, gained = learning(quick, say)
    return Report("recrawl estimators", settings, [*rows, *learned], [*_checks(rows), *gained])


def _visited(true: Floats, says_when: bool) -> tuple[Estimates, Floats, Floats]:
    """What was learned, how often each page was found changed, and over how many mean gaps."""
    rng = np.random.default_rng(1)
    estimates = Estimates(first_rate=0.3 / DAY_SECONDS)
    last = -rng.exponential(1 / true)
    now, seen = np.zeros(len(true)), np.zeros(len(true))
    for number in range(len(true)):
        said = last[number] * DAY_SECONDS if says_when else None
        estimates.add(number, number % HOSTS, Evidence(0.0, stated_at=said))
    for _ in range(VISITS):
        for number in range(len(true)):
            gap = rng.exponential()
            changes = rng.poisson(true[number] * gap)
            if changes:
                last[number] = now[number] + gap * rng.random(changes).max()
            now[number] += gap
            seen[number] += bool(changes)
            said = last[number] * DAY_SECONDS if says_when else None
            estimates.observe(number, now[number] * DAY_SECONDS, Finding(bool(changes), changed_at=said))
    return estimates, seen, now


def _rates(estimates: Estimates, count: int) -> Floats:
    return np.array([estimates.belief(number).change_rate * DAY_SECONDS for number in range(count)])


def _checks(rows: list[dict[str, Any]]) -> list[Check]:
    def worst(way: str, figure: str) -> float:
        return max(abs(float(row[figure])) for row in rows if row["estimator"] == way and row["rate"] >= PRECISION)

    naive, corrected = worst("changes / time", "bias_percent"), worst("Cho & Garcia-Molina", "bias_percent")
    ours, stated = worst("ours", "bias_percent"), worst("ours, Last-Modified", "bias_percent")
    return [
        Check.at_most("greatest bias at rates of 1 and more, beside counting", round(ours / naive, 2), 1.0),
        Check.at_most("the same, beside Cho & Garcia-Molina", round(ours / corrected, 2), 1.0),
        Check.at_most("the same, with Last-Modified", round(stated / corrected, 2), 1.0),
        Check.at_most(
            "greatest error at rates of 1 and more, beside Cho & Garcia-Molina",
            round(worst("ours", "error_percent") / worst("Cho & Garcia-Molina", "error_percent"), 2),
            1.0,
        ),
    ]
