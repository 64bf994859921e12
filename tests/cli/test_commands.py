"""The commands as a person uses them: real processes on a simulated web."""

from __future__ import annotations

import csv
import json
import os
import pty
import re
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing, suppress
from dataclasses import fields
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tests.commands import TRES, RunningWeb, environment, running_simweb, tres
from tres_crawler.cli import app
from tres_crawler.experiments.focused import PARTS
from tres_crawler.records import Summary
from tres_crawler.simweb import truth
from tres_crawler.simweb.model import Web

QUICK = {"FETCH__DELAY_SECONDS": "0", "CRAWL__POLICY": "breadth-first"}


@pytest.fixture(scope="module")
def web(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningWeb]:
    with running_simweb(tmp_path_factory.mktemp("web"), "--sites", "300", "--pages", "6000") as running:
        yield running


def crawl(web: RunningWeb, cwd: Path, *options: str, **settings: str) -> subprocess.CompletedProcess[str]:
    command = ["crawl", str(web.topics / "sports.toml"), "--connect-to", web.address, *options]
    return tres(*command, cwd=cwd, **{**QUICK, **settings})


def test_json_prints_the_summary_and_nothing_else(web: RunningWeb, tmp_path: Path) -> None:
    told = crawl(web, tmp_path, "--pages", "60", "--policy", "tres", "--json")
    assert (told.returncode, told.stderr) == (0, "")
    summary = json.loads(told.stdout)
    assert list(summary) == [field.name for field in fields(Summary)]
    assert (summary["pages"], summary["stop_reason"]) == (60, "budget")


@pytest.mark.parametrize(
    ("command", "told"),
    [
        (["serve"], "[default: 8000]"),
        (["simweb"], "[default: 100000]"),
        (["export"], "[default: pages.jsonl"),
        (["bench", "focused"], "[default: matrix]"),
    ],
)
def test_help_tells_defaults(command: list[str], told: str) -> None:
    shown = CliRunner().invoke(app, [*command, "--help"], env={"COLUMNS": "200"})
    assert told in shown.stdout


def test_a_topic_may_have_any_name(web: RunningWeb, tmp_path: Path) -> None:
    text = (web.topics / "sports.toml").read_text().replace('name = "sports"', 'name = "x [/y] z"')
    (tmp_path / "odd.toml").write_text(text)
    told = tres("crawl", "odd.toml", "--connect-to", web.address, "--pages", "5", cwd=tmp_path, **QUICK)
    assert (told.returncode, "x [/y] z" in told.stdout) == (0, True)
    assert "x [/y] z" in tres("crawls", cwd=tmp_path).stdout
    assert "x [/y] z" in tres("status", "1", cwd=tmp_path).stdout


def test_a_pipe_gets_plain_lines_and_a_closing_table(web: RunningWeb, tmp_path: Path) -> None:
    told = crawl(web, tmp_path, "--pages", "40")
    assert "\x1b" not in told.stdout
    assert "harvest rate" in told.stdout
    assert "Stopped: budget." in told.stdout


def test_a_terminal_gets_a_live_display(web: RunningWeb, tmp_path: Path) -> None:
    command = [*TRES, "crawl", str(web.topics / "sports.toml"), "--connect-to", web.address, "--pages", "200"]
    master, slave = pty.openpty()
    env = environment(**QUICK) | {"TERM": "xterm", "COLUMNS": "100", "LINES": "30"}
    process = subprocess.Popen(command, cwd=tmp_path, env=env, stdin=slave, stdout=slave, stderr=slave)
    os.close(slave)
    shown = b""
    while True:
        try:
            shown += os.read(master, 65536)
        except OSError:
            break
    os.close(master)
    assert process.wait() == 0
    text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", shown.decode())
    assert re.search(r"━.*\d+%", text), "a bar"
    for word in ("harvest rate", "pages/s", "waiting", "http://"):
        assert word in text


def test_ctrl_c_saves_and_resume_goes_on(web: RunningWeb, tmp_path: Path) -> None:
    command = [*TRES, "crawl", str(web.topics / "sports.toml"), "--connect-to", web.address, "--json"]
    process = subprocess.Popen(command, cwd=tmp_path, env=environment(**QUICK), stdout=subprocess.PIPE, text=True)
    wait_for_pages(tmp_path, 30)
    process.send_signal(signal.SIGINT)
    stopped = json.loads(process.communicate(timeout=30)[0])
    assert (process.returncode, stopped["stop_reason"]) == (0, "stopped")
    more = stopped["pages"] + 50
    resumed = json.loads(tres("resume", "1", "--pages", str(more), "--json", cwd=tmp_path).stdout)
    assert (resumed["pages"], resumed["stop_reason"]) == (more, "budget")


def test_stop_ends_a_crawl_that_another_process_runs(web: RunningWeb, tmp_path: Path) -> None:
    command = [*TRES, "crawl", str(web.topics / "sports.toml"), "--connect-to", web.address, "--json"]
    process = subprocess.Popen(command, cwd=tmp_path, env=environment(**QUICK), stdout=subprocess.PIPE, text=True)
    wait_for_pages(tmp_path, 10)
    beside = tres("status", "1", "--json", cwd=tmp_path)
    assert json.loads(beside.stdout)["state"] == "running"
    told = tres("stop", "1", cwd=tmp_path)
    assert told.returncode == 0, told.stderr
    assert "tres resume 1" in told.stdout
    assert json.loads(process.communicate(timeout=30)[0])["stop_reason"] == "stopped"
    again = tres("stop", "1", cwd=tmp_path)
    assert again.returncode == 1
    assert "nothing to stop" in again.stderr


def test_an_interrupted_crawl_is_shown_as_such_and_can_be_stopped(web: RunningWeb, tmp_path: Path) -> None:
    command = [*TRES, "crawl", str(web.topics / "sports.toml"), "--connect-to", web.address, "--json"]
    process = subprocess.Popen(command, cwd=tmp_path, env=environment(**QUICK), stdout=subprocess.PIPE, text=True)
    wait_for_pages(tmp_path, 10)
    process.kill()
    process.communicate()
    assert "interrupted" in tres("crawls", cwd=tmp_path).stdout
    assert tres("stop", "1", cwd=tmp_path).returncode == 0
    assert json.loads(tres("status", "1", "--json", cwd=tmp_path).stdout)["state"] == "stopped"


def test_an_export_holds_every_page_and_no_formula(web: RunningWeb, tmp_path: Path) -> None:
    crawl(web, tmp_path, "--pages", "50", "--json")
    assert tres("export", "1", "--format", "csv", "-o", "pages.csv", cwd=tmp_path).returncode == 0
    assert tres("export", "1", "--format", "jsonl", "-o", "pages.jsonl", cwd=tmp_path).returncode == 0
    with (tmp_path / "pages.csv").open(newline="") as file:
        table = list(csv.DictReader(file))
    rows = [json.loads(line) for line in (tmp_path / "pages.jsonl").read_text().splitlines()]
    assert [row["url"] for row in table] == [row["url"] for row in rows]
    assert len(rows) == 50
    assert not any(cell.startswith(("=", "+", "-", "@")) for row in table for cell in row.values())
    assert not list(tmp_path.glob(".*part"))


def test_a_default_crawl_is_polite_by_the_servers_own_log(tmp_path: Path) -> None:
    with running_simweb(tmp_path, "--sites", "120", "--pages", "2000", "--seed", "4") as web:
        told = crawl(web, tmp_path, "--pages", "120", "--json", FETCH__DELAY_SECONDS="0.2", CRAWL__POLICY="tres")
        params, requests = truth.read_log(web.log)
    judged = truth.judge(Web(params), requests, "sports")
    assert json.loads(told.stdout)["pages"] == 120
    assert (judged.disallowed_requests, judged.hosts_without_robots_first, judged.largest_concurrency) == (0, 0, 1)
    assert judged.smallest_gap_seconds is not None
    assert judged.smallest_gap_seconds >= 0.2
    assert judged.repeats == 0


def wait_for_pages(cwd: Path, count: int) -> None:
    """Look at the database beside the running crawl until it has `count` pages."""
    file = cwd / "data" / "tres.db"
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        with suppress(sqlite3.OperationalError), closing(sqlite3.connect(f"file:{file}?mode=ro", uri=True)) as database:
            if database.execute("SELECT count(*) FROM pages").fetchone()[0] >= count:
                return
        time.sleep(0.05)
    raise AssertionError("the crawl did not get going")


def test_no_command_waits_for_what_only_a_learner_needs() -> None:
    look = "import sys, tres_crawler.cli; print({'torch', 'sklearn', 'scipy', 'gensim'} & set(sys.modules))"
    assert subprocess.run([sys.executable, "-c", look], capture_output=True, check=True, text=True).stdout == "set()\n"


def test_help_names_every_part_of_the_bench() -> None:
    told = " ".join(CliRunner().invoke(app, ["bench", "focused", "--help"], env={"COLUMNS": "300"}).output.split())
    assert f"{', '.join(list(PARTS)[:-1])} or {list(PARTS)[-1]}" in told
