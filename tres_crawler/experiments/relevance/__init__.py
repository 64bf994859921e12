"""How good the judge is: Tables 1 and 2 of TRES, from keywords to a judge, anchors, speed and calibration."""

from __future__ import annotations

import os
import time
from dataclasses import asdict

from tres_crawler.experiments.relevance.anchors import anchors
from tres_crawler.experiments.relevance.bootstrap import bootstrap
from tres_crawler.experiments.relevance.calibration import calibration
from tres_crawler.experiments.relevance.classify import classify
from tres_crawler.experiments.relevance.data import Folder
from tres_crawler.experiments.relevance.keywords import keywords
from tres_crawler.experiments.relevance.options import DATA_PARTS, Findings, Options
from tres_crawler.experiments.relevance.speed import speed
from tres_crawler.experiments.relevance.world import Worlds
from tres_crawler.experiments.report import Report, Say


async def relevance(options: Options, say: Say) -> Report:
    """Every part that was asked for; what two parts need is made once."""
    folder = Folder(options.data) if options.data else None
    if not folder:
        say(f"Without --data the parts {' and '.join(DATA_PARTS)} are left out.")
    worlds = Worlds(options.sizes)
    found: list[Findings] = []
    seconds: dict[str, float] = {}
    for part in options.parts:
        started = time.perf_counter()
        match part:
            case "classify" if folder:
                found.append(classify(options, folder, say))
            case "keywords" if folder:
                found.append(keywords(options, folder, say))
            case "bootstrap":
                found.append(await bootstrap(options, worlds, say))
            case "anchors":
                found.append(await anchors(options, worlds, say))
            case "speed":
                found.append(await speed(options, worlds, say))
            case "calibration":
                found.append(calibration(options, worlds, folder, say))
        seconds[part] = round(time.perf_counter() - started, 1)
    settings = {
        "topics": options.topics,
        "data": str(options.data) if options.data else "none given",
        "processors": os.cpu_count(),
        **asdict(options.sizes),
        "part_seconds": seconds,
    }
    rows = [row for findings in found for row in findings.rows]
    return Report("relevance", settings, rows, [check for findings in found for check in findings.checks])
