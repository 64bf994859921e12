"""What a benchmark found: rows of figures, and a check for every goal."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import groupby
from typing import Any

from rich.table import Table

Say = Callable[[str], None]
"""Tells a person how far a benchmark has come."""


REPORT = "report"


@dataclass(frozen=True)
class Check:
    """A figure beside its goal."""

    name: str
    value: float | None
    """None if there was nothing to measure."""
    goal: str
    holds: bool

    @classmethod
    def at_least(cls, name: str, value: float | None, goal: float, digits: int | None = None) -> Check:
        """Compared as it is and shown with so many digits, as all others."""
        return cls(name, _shown(value, digits), f"at least {goal:g}", value is not None and value >= goal)

    @classmethod
    def more_than(cls, name: str, value: float | None, goal: float, digits: int | None = None) -> Check:
        return cls(name, _shown(value, digits), f"more than {goal:g}", value is not None and value > goal)

    @classmethod
    def at_most(cls, name: str, value: float | None, goal: float, digits: int | None = None) -> Check:
        return cls(name, _shown(value, digits), f"at most {goal:g}", value is not None and value <= goal)

    @classmethod
    def near(cls, name: str, value: float | None, goal: float, within: float) -> Check:
        return cls(name, value, f"{goal:g} ± {within:g}", value is not None and abs(value - goal) <= within)

    @classmethod
    def reported(cls, name: str, value: float | None, digits: int | None = None) -> Check:
        """There is no goal: what counts is that it was measured."""
        return cls(name, _shown(value, digits), REPORT, value is not None)

    def named(self, name: str) -> Check:
        return replace(self, name=name)


def _shown(value: float | None, digits: int | None) -> float | None:
    return value if value is None or digits is None else round(value, digits)


@dataclass(frozen=True)
class Report:
    """All that a benchmark has to say; every row has the same columns, or every row of one `part`."""

    bench: str
    settings: Mapping[str, Any]
    rows: Sequence[Mapping[str, Any]]
    checks: Sequence[Check]

    def json(self) -> str:
        return json.dumps(asdict(self), indent=2)

    def sections(self) -> Iterable[tuple[str, list[Mapping[str, Any]]]]:
        """The rows under their titles, then the checks, for a person to read."""
        for part, rows in groupby(self.rows, lambda row: row.get("part")):
            title = f"bench {self.bench}: {part}" if part else f"bench {self.bench}"
            yield title, [{name: row[name] for name in row if name != "part"} for row in rows]
        yield "checks", [{**asdict(check), "holds": _verdict(check)} for check in self.checks]

    def tables(self) -> Iterable[Table]:
        return (_table(title, rows) for title, rows in self.sections())


def joined(reports: Sequence[Report]) -> Report:
    """Reports on parts of one bench as one, settings by part; a single one stays as it is."""
    if len(reports) == 1:
        return reports[0]
    by_part = {report.settings["part"]: report for report in reports}
    return Report(
        reports[0].bench,
        {part: report.settings for part, report in by_part.items()},
        [{"part": part, **row} for part, report in by_part.items() for row in report.rows],
        [check.named(f"{part}: {check.name}") for part, report in by_part.items() for check in report.checks],
    )


def _verdict(check: Check) -> str:
    if check.goal == REPORT:
        return ""
    return "yes" if check.holds else "NO"


def _table(title: str, rows: Sequence[Mapping[str, Any]]) -> Table:
    table = Table(title=title, title_justify="left")
    for name in rows[0] if rows else ():
        table.add_column(name.replace("_", " "), justify="right" if isinstance(rows[0][name], int | float) else "left")
    for row in rows:
        table.add_row(*(shown(value) for value in row.values()))
    return table


def shown(value: object) -> str:
    if value is None:
        return "–"
    return f"{value:,}" if isinstance(value, int | float) else str(value)
