"""`kill -9` at any moment loses nothing: a real crawl is killed again and again and resumed to its end."""

from __future__ import annotations

import json
import math
import random
import sqlite3
import subprocess
import time
from collections import Counter
from pathlib import Path

from tests.commands import TRES, RunningWeb, environment, running_simweb, tres
from tres_crawler.simweb.truth import pages_of, read_log
from tres_crawler.urls import host_of, site_of

KILLS = 10
PAGES = 600
SLOTS = 8
CAP = 6


def recorded(data: Path) -> set[str]:
    """URLs of every saved page."""
    with sqlite3.connect(f"file:{data / 'tres.db'}?mode=ro", uri=True) as database:
        return {url for (url,) in database.execute("SELECT url FROM pages")}


def spared_urls(data: Path) -> set[str]:
    """URLs that were answered with trouble and wait for their next try, or were redirects."""
    with sqlite3.connect(f"file:{data / 'tres.db'}?mode=ro", uri=True) as database:
        return {url for (url,) in database.execute("SELECT url FROM links WHERE attempts > 0")}


def requested(web: RunningWeb, since: float = 0.0, until: float = math.inf) -> list[str]:
    """Pages asked for between two moments; a slow host logs what a killed process asked for when the next one runs."""
    log = pages_of(read_log(web.log)[1])
    return [f"http://{request.host}{request.path}" for request in log if since <= request.arrived < until]


def test_a_crawl_killed_many_times_loses_and_repeats_nothing(tmp_path: Path) -> None:
    rng = random.Random(20261116)
    data = tmp_path / "data"
    settings = {"FETCH__DELAY_SECONDS": "0", "FETCH__SLOTS": str(SLOTS)}
    lives: list[tuple[float, float, set[str]]] = []
    with running_simweb(tmp_path, "--sites", "400", "--pages", "8000", "--seed", "3") as web:
        command = ["crawl", str(web.topics / "sports.toml"), "--pages", str(PAGES), "--max-per-site", str(CAP)]
        command += ["--connect-to", web.address, "--seed", "5"]
        for _ in range(KILLS):
            earlier, started = len(requested(web)), time.time()
            process = subprocess.Popen(
                [*TRES, *command, "--data-dir", str(data), "--json"],
                env=environment(**settings),
                stdout=subprocess.DEVNULL,
            )
            deadline = time.monotonic() + 60
            goal = earlier + rng.randint(5, PAGES // KILLS - 10)
            while len(requested(web)) < goal and time.monotonic() < deadline:
                time.sleep(0.05)
            time.sleep(rng.random() * 0.1)
            process.kill()
            process.wait()
            lives.append((started, time.time(), recorded(data) | spared_urls(data)))
            command = ["resume", "1"]
        ended = tres("resume", "1", "--data-dir", data, "--json", cwd=tmp_path, **settings)
        assert ended.returncode == 0, ended.stderr
        summary = json.loads(ended.stdout)

    lost_each_time = [len(set(requested(web, begun, ended)) - known) for begun, ended, known in lives]
    assert max(lost_each_time) <= SLOTS, "only what was in flight may be missing"
    urls = recorded(data)
    asked = Counter(requested(web))
    assert (summary["pages"], summary["stop_reason"], len(urls)) == (PAGES, "budget", PAGES)
    assert urls <= set(asked), "every saved page was really asked for"
    again = sum(count - 1 for url, count in asked.items() if count > 1 and url not in spared_urls(data))
    assert again <= sum(lost_each_time), "nothing is fetched twice but what a kill cut off"
    assert max(Counter(site_of(host_of(url)) for url in urls).values()) <= CAP

    exported = tres("export", "1", "--data-dir", data, "-o", tmp_path / "pages.jsonl", cwd=tmp_path)
    assert exported.returncode == 0, exported.stderr
    rows = [json.loads(line) for line in (tmp_path / "pages.jsonl").read_text().splitlines()]
    assert {row["url"] for row in rows} == urls
    assert [row["number"] for row in rows] == list(range(1, PAGES + 1))
    print(
        f"\n{KILLS} kills, {PAGES} pages, {SLOTS} slots: {lost_each_time} in flight at each kill, "
        f"{again} fetched again, none lost, none recorded twice"
    )
