"""Hourly air quality of twelve sites as a stream of updates: what counts as one is a matter of definition."""

from __future__ import annotations

import csv
import lzma
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tres_crawler.errors import ConfigError

READINGS = "beijing_pm_co.csv.xz"
STATIONS = "stations.csv"
COLUMNS = ("station", "time", "pm25", "pm10", "co")
PLACES = ("station", "lat", "lon")
THRESHOLDS = {"pm25": 100.0, "pm10": 800.0, "co": 8000.0}
"""Of graph-structured crawling, sec. 7.1."""
EARTH_KM = 6371.0
WHENCE = "docs/results.md says where the data can be had and how it must look"


class Definition(StrEnum):
    """When a reading is an update; the paper says only that values exceed thresholds."""

    ABOVE = "every hour above"
    UPWARD = "upward crossing"
    CROSSING = "any crossing"


@dataclass(frozen=True, eq=False)
class Readings:
    stations: tuple[str, ...]
    values: dict[str, NDArray[np.float64]]
    """Pollutant → (hours, stations); gaps filled forward, and with 0 before the first value."""

    def updates(self, pollutant: str, definition: Definition) -> NDArray[np.bool_]:
        """(hours, stations)."""
        above = self.values[pollutant] > THRESHOLDS[pollutant]
        before = np.vstack([np.zeros(above.shape[1], bool), above[:-1]])
        if definition is Definition.UPWARD:
            return np.asarray(above & ~before)
        return np.asarray(above != before if definition is Definition.CROSSING else above)


def read_readings(folder: Path) -> Readings:
    """The readings in `folder`, packed or not."""
    path = next((folder / name for name in (READINGS, READINGS.removesuffix(".xz")) if (folder / name).is_file()), None)
    if path is None:
        raise ConfigError(f"There is no {READINGS} in {folder}: {WHENCE}.")
    series: dict[str, list[list[str]]] = {}
    for row in _rows(path, COLUMNS):
        series.setdefault(row[0], []).append(row[2:])
    hours = {len(rows) for rows in series.values()}
    if len(hours) != 1:
        raise ConfigError(f"{path}: every station must have the same hours; found {sorted(hours)} rows: {WHENCE}.")
    try:
        table = np.array([[[float(cell or "nan") for cell in row] for row in rows] for rows in series.values()])
    except ValueError as error:
        raise ConfigError(f"{path}: a value is no number ({error}): {WHENCE}.") from error
    values = {name: _filled(table[:, :, at].T) for at, name in enumerate(COLUMNS[2:])}
    return Readings(tuple(series), values)


def read_places(folder: Path, stations: Sequence[str]) -> NDArray[np.float64]:
    """Latitude and longitude of each station, in degrees."""
    path = folder / STATIONS
    if not path.is_file():
        raise ConfigError(f"There is no {STATIONS} in {folder}: {WHENCE}.")
    try:
        places = {row[0]: (float(row[1]), float(row[2])) for row in _rows(path, PLACES)}
    except ValueError as error:
        raise ConfigError(f"{path}: a coordinate is no number ({error}): {WHENCE}.") from error
    missing = [station for station in stations if station not in places]
    if missing:
        raise ConfigError(f"{path} does not say where {', '.join(missing)} is; it must name every station.")
    return np.array([places[station] for station in stations])


def distances(places: NDArray[np.float64]) -> NDArray[np.float64]:
    """Kilometres between all pairs, along great circles."""
    lat, lon = np.radians(places).T
    half = (
        np.sin((lat[:, None] - lat) / 2) ** 2
        + np.cos(lat[:, None]) * np.cos(lat) * np.sin((lon[:, None] - lon) / 2) ** 2
    )
    return np.asarray(2 * EARTH_KM * np.arcsin(np.sqrt(half)))


def delays(updates: NDArray[np.bool_]) -> NDArray[np.float64]:
    """(from, to): mean hours from an update at one station to the next at another, the same hour counting 0."""
    count = updates.shape[1]
    found = np.full((count, count), math.nan)
    times = [np.flatnonzero(updates[:, station]) for station in range(count)]
    for at in range(count):
        for to in range(count):
            after = np.searchsorted(times[to], times[at])
            met = after < len(times[to])
            if met.any():
                found[at, to] = float((times[to][after[met]] - times[at][met]).mean())
    return found


def _filled(values: NDArray[np.float64]) -> NDArray[np.float64]:
    hours = np.where(np.isnan(values), 0, np.arange(len(values))[:, None])
    filled = np.take_along_axis(values, np.maximum.accumulate(hours, axis=0), axis=0)
    return np.nan_to_num(filled)


def _rows(path: Path, columns: Sequence[str]) -> Iterator[list[str]]:
    """The rows of a CSV file that has these columns."""
    opened = lzma.open if path.suffix == ".xz" else open
    try:
        with opened(path, "rt", encoding="utf-8", newline="") as file:
            rows = csv.reader(file)
            head = next(rows, [])
            if head != list(columns):
                raise ConfigError(
                    f"{path} has the columns {', '.join(head) or 'of an empty file'}; "
                    f"expected {', '.join(columns)}: {WHENCE}."
                )
            for row in rows:
                if len(row) != len(columns):
                    raise ConfigError(f"{path}, line {rows.line_num}: {len(row)} values in place of {len(columns)}.")
                yield row
    except (OSError, EOFError, lzma.LZMAError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path} cannot be read: {error}.") from error
