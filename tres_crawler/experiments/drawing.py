"""A report of costs, speed, change rates or monitors → its pictures."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

from tres_crawler.experiments.pictures import Picture, write
from tres_crawler.experiments.report import Report

Rows = Sequence[Mapping[str, Any]]


def plot(report: Report, folder: Path) -> list[Path]:
    return write([draw(report.rows) for draw in DRAWN[report.bench]], folder)


def _choices(rows: Rows) -> Picture:
    def way(row: Mapping[str, Any]) -> str:
        return f"{row['leaves']:,} leaves, {row['draws']:,} draws, {row['hosts_held']} of the hosts held"

    lines = {name: _line(of_way, "links", "choose_ms") for name, of_way in groupby(rows, way)}
    every = [row for row in rows if way(row) == way(rows[0])]
    return Picture(
        "frontier",
        "One choice of the frontier",
        "waiting links",
        "milliseconds",
        lines | {"valuing every link": _line(every, "links", "sync_ms")},
        is_logarithmic=True,
    )


def _speeds(rows: Rows) -> Picture:
    rates = {row["way"]: {"": row["pages_per_second"]} for row in rows}
    return Picture("fetch", "Pages fetched and read", "", "pages a second", bars=rates)


def _decisions(rows: Rows) -> Picture:
    costs = [row for row in rows if row["part"] == "cost"]
    lines = {"calendar": _line(costs, "sources", "calendar_us"), "ranking all": _line(costs, "sources", "ranking_us")}
    return Picture("recrawl-cost", "One decision", "sources", "microseconds", lines, is_logarithmic=True)


def _rates(rows: Rows) -> Picture:
    bars: dict[str, dict[str, float]] = {}
    for row in rows:
        if row["part"] == "rates":
            bars.setdefault(row["estimator"], {})[str(row["rate"])] = row["bias_percent"]
    return Picture("recrawl-estimators", "Bias of change rates", "changes per mean gap", "per cent", bars=bars)


def _monitors(rows: Rows) -> Picture:
    values = {row["policy"]: {"": row["value_per_hour"]} for row in rows}
    return Picture("recrawl-live", "What monitors find", "", "value an hour", bars=values)


def _line(rows: Any, across: str, up: str) -> tuple[list[float], list[float]]:
    found = list(rows)
    return [row[across] for row in found], [row[up] for row in found]


DRAWN: Mapping[str, Sequence[Callable[[Rows], Picture]]] = {
    "frontier": (_choices,),
    "fetch": (_speeds,),
    "recrawl cost": (_decisions,),
    "recrawl estimators": (_rates,),
    "recrawl live": (_monitors,),
}
