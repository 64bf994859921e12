"""`kill -9` of a monitor: its schedule goes on as if nothing had happened, and nobody is visited twice early."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import time
from collections import defaultdict
from itertools import pairwise
from pathlib import Path
from typing import Any

from tests.commands import TRES, RunningWeb, environment, running_simweb, tres
from tres_crawler.simweb.truth import pages_of, read_log

PAGES = 60
SLOTS = 4
LEAST_GAP = 1.0
SETTINGS = {
    "FETCH__DELAY_SECONDS": "0.02",
    "FETCH__SLOTS": str(SLOTS),
    "CRAWL__POLICY": "breadth-first",
    "RECRAWL__VISITS_PER_MINUTE": "6000",
    "RECRAWL__LEAST_GAP_SECONDS": str(LEAST_GAP),
    "RECRAWL__FIRST_GAP_SECONDS": "10",
}


def rows(data: Path, query: str) -> list[Any]:
    with sqlite3.connect(f"file:{data / 'tres.db'}?mode=ro", uri=True) as database:
        return database.execute(query).fetchall()


def requested(web: RunningWeb) -> dict[str, list[float]]:
    """When each page was asked for."""
    found: defaultdict[str, list[float]] = defaultdict(list)
    for request in pages_of(read_log(web.log)[1]):
        found[f"http://{request.host}{request.path}"].append(request.arrived)
    return found


def revisits(web: RunningWeb) -> int:
    return sum(len(times) - 1 for times in requested(web).values())


def started(*command: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen([*TRES, *command], env=environment(**SETTINGS), stdout=subprocess.DEVNULL)


def until_revisits(web: RunningWeb, goal: int) -> None:
    deadline = time.monotonic() + 60
    while revisits(web) < goal and time.monotonic() < deadline:
        time.sleep(0.05)
    assert revisits(web) >= goal


def test_a_monitor_that_is_killed_goes_on_where_it_stopped(tmp_path: Path) -> None:
    data = tmp_path / "data"
    options = ("--sites", "60", "--pages", "1500", "--seed", "4", "--preset", "clean", "--time-scale", "3600")
    with running_simweb(tmp_path, *options) as web:
        topic = str(web.topics / "sports.toml")
        given = ["--pages", str(PAGES), "--connect-to", web.address, "--seed", "5", "--recrawl", "monitor"]
        process = started("crawl", topic, *given, "--data-dir", str(data), "--json")
        until_revisits(web, 60)
        process.kill()
        process.wait()
        before = dict(rows(data, "SELECT page, visits FROM sources"))
        price = rows(data, "SELECT price, visits FROM recrawls")[0]
        dues = dict(rows(data, "SELECT page, due_at FROM sources WHERE retired_at IS NULL"))
        asked = revisits(web)
        assert asked - SLOTS <= price[1] <= asked, "only what was in flight may be missing"
        # Whole visits only: what a source knows, the visits kept of it and the totals agree.
        kept = dict(rows(data, "SELECT page, count(*) - 1 FROM visits GROUP BY page"))
        assert sum(kept[page] for page in before) == price[1]
        (found,) = rows(data, "SELECT count(*) FROM news")
        (changes,) = rows(data, "SELECT changes FROM recrawls")
        assert found == changes

        looked = json.loads(tres("status", "1", "--data-dir", data, "--json", cwd=tmp_path).stdout)
        assert looked["recrawl"]["sources"] == len(dues) > 10
        assert looked["recrawl"]["visits"] == price[1]
        assert looked["recrawl"]["next"][0]["why"]
        assert looked["recrawl"]["news"][0]["segments"]

        process = started("resume", "1", "--data-dir", str(data), "--json")
        until_revisits(web, asked + 60)
        stopped = tres("stop", "1", "--data-dir", data, cwd=tmp_path)
        process.wait(30)
        assert stopped.returncode == 0, stopped.stderr

        after = dict(rows(data, "SELECT page, visits FROM sources"))
        assert all(after[page] >= before[page] for page in before)
        pages = rows(data, "SELECT count(*) FROM pages")
        assert pages == [(PAGES,)], "visits are paid for from no budget"
        early = sum(
            later - earlier < LEAST_GAP - 0.1 for times in requested(web).values() for earlier, later in pairwise(times)
        )
        assert early <= SLOTS, "nobody is visited early but what was in flight when it was killed"
