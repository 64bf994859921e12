"""What the reproduction of a paper found: rows beside published and reference figures, checks, pictures."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tres_crawler.experiments.pictures import Picture
from tres_crawler.experiments.report import Check, Report, Say


@dataclass(frozen=True)
class Options:
    """How a paper is to be reproduced."""

    say: Say
    quick: bool = False
    data: Path | None = None


@dataclass
class Findings:
    """Filled part by part; `reference` figures were measured independently of this program."""

    paper: str
    settings: dict[str, Any] = field(default_factory=dict)
    rows: list[dict[str, Any]] = field(default_factory=list)
    checks: list[Check] = field(default_factory=list)
    pictures: list[Picture] = field(default_factory=list)
    bars: dict[str, dict[str, float]] = field(default_factory=dict)
    """Of each task, what each policy reached: for a picture of bars."""

    def row(
        self,
        part: str,
        what: str,
        ours: float | Iterable[float] | NDArray[np.float64],
        *,
        paper: float | None = None,
        reference: float | None = None,
        digits: int = 2,
        within: float = 0.005,
        verdict: str | None = None,
    ) -> float:
        """Note a figure, or the mean and deviation of several, and return it.

        It agrees with the paper's if it misses that by no more than two deviations, or by the part `within` of it.
        """
        values = np.atleast_1d(np.asarray(ours if isinstance(ours, float | int) else list(ours), float))
        mean = float(values.mean())
        deviation = float(values.std(ddof=1)) if len(values) > 1 else None
        same = paper is not None and abs(mean - paper) <= max(within * abs(paper), 2 * (deviation or 0.0))
        self.rows.append(
            {
                "part": part,
                "what": what,
                "paper": paper,
                "reference": reference,
                "ours": round(mean, digits),
                "deviation": None if deviation is None else round(deviation, digits),
                "runs": len(values),
                "verdict": verdict or ("not published" if paper is None else "agrees" if same else "differs"),
            }
        )
        return mean

    def report(self) -> Report:
        return Report("recrawl", {"paper": self.paper, **self.settings}, self.rows, self.checks)


def seeds(options: Options, full: int, quick: int) -> range:
    return range(quick if options.quick else full)


def window_mean(values: Sequence[float] | NDArray[np.float64], width: int) -> NDArray[np.float64]:
    """The mean of the last `width` values at each place, of fewer at the beginning."""
    sums = np.concatenate([[0.0], np.cumsum(values)])
    ends = np.arange(1, len(sums))
    starts = np.maximum(0, ends - width)
    return np.asarray((sums[ends] - sums[starts]) / (ends - starts))
