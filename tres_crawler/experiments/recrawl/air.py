"""Beijing's air as the paper crawls it: hits under each definition of an update, and delay against distance."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tres_crawler.experiments.pictures import Picture
from tres_crawler.experiments.recrawl.beijing import (
    THRESHOLDS,
    Definition,
    Readings,
    delays,
    distances,
    read_places,
    read_readings,
)
from tres_crawler.experiments.recrawl.beliefs import Learned
from tres_crawler.experiments.recrawl.findings import Findings, Options
from tres_crawler.experiments.recrawl.world import Updates, Visits, play
from tres_crawler.recrawl.baselines import ExactWhittle, RoundRobin, Uniform
from tres_crawler.recrawl.covering import ActiveCovering
from tres_crawler.recrawl.deep import GraphDeep
from tres_crawler.recrawl.exp3 import Exp3
from tres_crawler.recrawl.neighbours import NeighbourWhittle

Distances = NDArray[np.float64]

NAMES = {"pm25": "PM2.5", "pm10": "PM10", "co": "CO"}
TABLE_1 = {
    ("pm10", "double DQN"): 63.634,
    ("pm10", "Exp3"): 48.63,
    ("pm10", "active covering"): 17.528,
    ("co", "double DQN"): 40.079,
    ("co", "Exp3"): 22.426,
    ("co", "active covering"): 8.96,
    ("pm25", "double DQN"): 52.847,
    ("pm25", "Exp3"): 52.426,
    ("pm25", "active covering"): 15.762,
}
"""Hitting rates as published, %; of what definition is not said."""
WAYS = ("round robin", "active covering", "Exp3", "uniform", "Whittle learned", "neighbours learned", "double DQN")
COSTLY = ("uniform", "neighbours learned", "double DQN")
"""Left out where crossings are a handful a month."""
REFERENCES = {
    ("pm25", Definition.ABOVE): (46.42, 46.48, 44.58, 44.06, 46.98, None, 45.49),
    ("pm25", Definition.UPWARD): (24.29, 23.88, 21.59, 21.52, 24.34, None, None),
    ("pm25", Definition.CROSSING): (33.90, 33.26, 29.35, 29.33, 33.92, None, 31.10),
    ("co", Definition.ABOVE): (0.77, 0.76, 0.72, 0.71, 0.76, None, None),
    ("pm10", Definition.ABOVE): (0.25, 0.26, 0.26, 0.26, 0.25, None, None),
}


@dataclass(frozen=True, eq=False)
class Measured:
    readings: Readings
    apart: Distances


def read(folder: Path) -> Measured:
    """The readings in a folder, and how far apart their stations are."""
    readings = read_readings(folder)
    return Measured(readings, distances(read_places(folder, readings.stations)))


def add(found: Findings, options: Options, measured: Measured) -> None:
    """The tables and pictures of what was measured."""
    readings, apart = measured.readings, measured.apart
    for pollutant in THRESHOLDS:
        for definition in Definition:
            updates = readings.updates(pollutant, definition)
            if options.quick:
                updates = updates[:3000]
            part = f"Beijing, {NAMES[pollutant]}, {definition}: hits, %"
            found.row(part, "hours with an update somewhere", float(updates.any(1).sum()), digits=0)
            references = dict(zip(WAYS, REFERENCES.get((pollutant, definition), (None,) * len(WAYS)), strict=True))
            bars: dict[str, float] = {}
            for way in WAYS:
                if way in COSTLY and definition is not Definition.ABOVE and pollutant != "pm25":
                    continue
                paper = TABLE_1.get((pollutant, way))
                hits = 100 * _visits(way, updates, apart).hit_rate
                bars[way] = found.row(part, way, hits, paper=paper, reference=references[way], within=0.02)
            if definition is Definition.ABOVE:
                found.bars[NAMES[pollutant]] = bars
            options.say(f"{part}: learned Whittle {bars['Whittle learned']:.2f}, round robin {bars['round robin']:.2f}")
    for pollutant in ("co", "pm25"):
        _distance(found, pollutant, readings.updates(pollutant, Definition.ABOVE), apart)


def _visits(way: str, updates: Updates, apart: Distances) -> Visits:
    rng, beliefs = np.random.default_rng(1), Learned(updates.shape[1])
    match way:
        case "round robin":
            return play(updates, RoundRobin())
        case "active covering":
            return play(updates, ActiveCovering(rng, np.exp(-apart / 10)))
        case "Exp3":
            return play(updates, Exp3(rng, 0.05))
        case "uniform":
            return play(updates, Uniform(rng))
        case "Whittle learned":
            return play(updates, ExactWhittle(beliefs), tell=beliefs.tell)
        case "neighbours learned":
            return play(updates, NeighbourWhittle(beliefs), tell=beliefs.tell)
        case _:
            return play(updates, GraphDeep(1, settled_after=len(updates) // 4, exploration=(1.0, 0.02)))


def _distance(found: Findings, pollutant: str, updates: Updates, apart: Distances) -> None:
    """Figure 4: does an update come later the farther away a station is?"""
    late = delays(updates)
    pairs = ~np.eye(len(apart), dtype=bool) & ~np.isnan(late)
    x, y = apart[pairs], late[pairs]
    if len(x) < 3:
        return
    slope, base = np.polyfit(x, y, 1)
    part = f"delay against distance, {NAMES[pollutant]} (Figure 4)"
    found.row(part, "hours of delay for each km", float(slope), digits=4)
    found.row(part, "correlation", float(np.corrcoef(x, y)[0, 1]), digits=3)
    ends = [float(x.min()), float(x.max())]
    found.pictures.append(
        Picture(
            f"001-figure-4-{pollutant}",
            f"Mean delay of an update, {NAMES[pollutant]}",
            "distance between stations, km",
            "delay, hours",
            dots={"pairs of stations": (x.tolist(), y.tolist())},
            lines={"regression": (ends, [base + slope * end for end in ends])},
        )
    )
