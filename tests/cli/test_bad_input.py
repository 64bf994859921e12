"""Whatever is wrong is told in one paragraph with the right exit code, and leaves nothing half-written."""

from __future__ import annotations

import json
import os
import resource
import shutil
import socket
import sqlite3
import subprocess
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tests.commands import TRES, RunningWeb, environment, running_simweb, tres
from tres_crawler.store import migrate
from tres_crawler.store.datadir import DataDir

GOOD_TOPIC = 'name = "tennis"\nkeywords = ["tennis"]\nseeds = ["http://a.test/"]\n'
QUICK = {"FETCH__DELAY_SECONDS": "0", "CRAWL__POLICY": "breadth-first"}
USAGE, FAILURE = 2, 1

Crawled = tuple[Path, subprocess.CompletedProcess[str]]
"""Where a crawl was run, and what it told."""


def in_one_paragraph(told: subprocess.CompletedProcess[str]) -> str:
    """What standard error says: one line, and no traceback."""
    assert told.stderr.startswith("tres: ")
    assert told.stderr.count("\n") == 1
    assert "Traceback" not in told.stderr
    return told.stderr


def refused(cwd: Path, code: int, *arguments: str | Path, **settings: str) -> str:
    """Run a command that must not even start: it explains itself on standard error and leaves no file behind."""
    before = sorted(cwd.rglob("*"))
    told = tres(*arguments, cwd=cwd, **settings)
    assert (told.returncode, told.stdout) == (code, ""), told.stderr
    assert sorted(cwd.rglob("*")) == before
    return in_one_paragraph(told)


def limited(cwd: Path, most_bytes: int, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a command for which the disk is full as soon as a file has `most_bytes`."""

    def set_limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (most_bytes, most_bytes))

    env = environment(**QUICK)
    return subprocess.run(
        [*TRES, *arguments], cwd=cwd, env=env, capture_output=True, text=True, timeout=30, preexec_fn=set_limit
    )


def saved_pages(cwd: Path) -> int:
    """How many pages the database holds, each with a number of its own from 1 on and a link of its own."""
    with closing(sqlite3.connect(cwd / "data" / "tres.db")) as database:
        rows = database.execute("SELECT number, link FROM pages ORDER BY number").fetchall()
    assert [number for number, _ in rows] == list(range(1, len(rows) + 1))
    assert len({link for _, link in rows}) == len(rows)
    return len(rows)


@pytest.fixture
def topic(tmp_path: Path) -> Path:
    path = tmp_path / "topic.toml"
    path.write_text(GOOD_TOPIC)
    return path


@pytest.fixture
def taken_port() -> Iterator[str]:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield str(listener.getsockname()[1])


@pytest.fixture(scope="module")
def deaf_address() -> Iterator[str]:
    """A port that is bound, so nobody else can take it, but refuses every connection."""
    with socket.socket() as deaf:
        deaf.bind(("127.0.0.1", 0))
        yield f"127.0.0.1:{deaf.getsockname()[1]}"


@pytest.fixture(scope="module")
def web(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningWeb]:
    with running_simweb(tmp_path_factory.mktemp("web"), "--sites", "60", "--pages", "3000") as running:
        yield running


# ---- topics ----


def test_a_missing_topic_file_is_named(tmp_path: Path) -> None:
    assert "There is no file nowhere.toml" in refused(tmp_path, USAGE, "crawl", "nowhere.toml")


def test_malformed_toml_is_told_with_file_and_line(topic: Path) -> None:
    topic.write_text(GOOD_TOPIC + "max_pages 5\n")
    message = refused(topic.parent, USAGE, "crawl", "topic.toml")
    assert "topic.toml is not valid TOML" in message
    assert "line 4" in message


def test_an_unknown_key_is_refused_with_the_nearest_valid_one(topic: Path) -> None:
    topic.write_text(GOOD_TOPIC + "[crawl]\nmax_page = 5\n")
    message = refused(topic.parent, USAGE, "crawl", "topic.toml")
    assert 'topic.toml: Unknown key "crawl.max_page". Did you mean "max_pages"?' in message


def test_a_topic_without_seeds_is_refused(topic: Path) -> None:
    topic.write_text('keywords = ["tennis"]\nseeds = []\n')
    assert "topic.toml: no seeds. Give at least one URL" in refused(topic.parent, USAGE, "crawl", "topic.toml")


def test_a_seed_that_is_not_http_is_refused(topic: Path) -> None:
    topic.write_text(GOOD_TOPIC.replace("http:", "ftp:"))
    message = refused(topic.parent, USAGE, "crawl", "topic.toml")
    assert 'seed "ftp://a.test/" is not an http or https URL' in message


# ---- settings ----


def test_an_unknown_variable_is_refused_with_the_nearest_valid_one(topic: Path) -> None:
    message = refused(topic.parent, USAGE, "crawl", "topic.toml", FETCH__DELAY_SECOND="0")
    assert 'TRES_FETCH__DELAY_SECOND. Did you mean "TRES_FETCH__DELAY_SECONDS"?' in message


def test_a_broken_config_file_is_told_with_its_name_and_what_is_wrong(topic: Path) -> None:
    config = topic.with_name("config.toml")
    config.write_text('[fetch]\nslots = "many"\n[crowl]\n')
    message = refused(topic.parent, USAGE, "crawl", "topic.toml", "--config", config)
    assert str(config) in message
    assert "\"fetch.slots\" is 'many'" in message
    assert 'Unknown key "crowl". Did you mean "crawl"?' in message


@pytest.mark.parametrize("url", ["nonsense", "sqlite:///not-async.db"])
def test_a_database_url_that_cannot_be_used_is_refused(topic: Path, url: str) -> None:
    assert url in refused(topic.parent, USAGE, "crawl", "topic.toml", STORE__URL=url)


def test_more_sites_than_pages_are_refused_without_a_list_of_everything_else(tmp_path: Path) -> None:
    message = refused(tmp_path, USAGE, "simweb", "--sites", "10", "--pages", "5", "--port", "0")
    assert "10 sites cannot share 5 pages" in message
    assert '""' not in message
    assert "on_topic" not in message


# ---- ports ----


def test_simweb_refuses_a_port_in_use(tmp_path: Path, taken_port: str) -> None:
    message = refused(tmp_path, USAGE, "simweb", "--sites", "5", "--pages", "9", "--port", taken_port)
    assert taken_port in message
    assert "in use" in message
    assert "--port" in message


def test_simweb_refuses_a_port_that_cannot_be(tmp_path: Path) -> None:
    command = [*TRES, "simweb", "--sites", "5", "--pages", "9", "--port", "99999"]
    with subprocess.Popen(command, cwd=tmp_path, env=environment(), stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        started = process.stdout.readline()
        if started:
            process.terminate()
    assert (started, process.returncode) == ("", USAGE)


def test_serve_refuses_a_port_in_use_and_opens_no_database(tmp_path: Path, taken_port: str) -> None:
    message = refused(tmp_path, USAGE, "serve", "--port", taken_port)
    assert f"Cannot listen on 127.0.0.1:{taken_port}" in message
    assert "in use" in message


# ---- the data directory ----


def test_a_data_directory_that_cannot_be_written_is_told(topic: Path) -> None:
    message = refused(topic.parent, FAILURE, "crawl", "topic.toml", "--data-dir", "topic.toml/data")
    assert "The data directory topic.toml/data cannot be written: Not a directory" in message


def test_a_data_directory_in_use_is_told_with_the_process_that_uses_it(topic: Path) -> None:
    with DataDir(topic.parent / "data") as folder:
        folder.tell(doing="crawl 7", crawl=7)
        message = refused(topic.parent, FAILURE, "crawl", "topic.toml")
    assert f"in use by process {os.getpid()} (crawl 7)" in message


def test_a_disk_that_is_full_from_the_start_is_told(topic: Path) -> None:
    told = limited(topic.parent, 0, "crawl", "topic.toml")
    assert told.returncode == FAILURE
    assert "data" in in_one_paragraph(told)
    assert not (topic.parent / "data" / "tres.db").exists()


def test_a_disk_that_is_full_when_a_crawl_is_written_down_is_told(topic: Path) -> None:
    with DataDir(topic.parent / "data") as folder:
        migrate.upgrade(folder.url)
    told = limited(topic.parent, 30_000, "crawl", "topic.toml")
    assert told.returncode == FAILURE
    assert "Traceback" not in told.stderr
    assert "database" in told.stderr.splitlines()[-1]


def test_a_disk_that_fills_up_stops_the_crawl_and_resume_finishes_it(web: RunningWeb, tmp_path: Path) -> None:
    start = ["crawl", str(web.topics / "sports.toml"), "--connect-to", web.address, "--max-per-site", "none"]
    full = limited(tmp_path, 400_000, *start, "--pages", "150", "--json")
    assert (full.returncode, json.loads(full.stdout)["stop_reason"]) == (FAILURE, "failed")
    assert "Traceback" not in full.stderr
    assert "The database could not be written: disk I/O error" in full.stderr
    assert "tres resume" in full.stderr
    assert 0 < saved_pages(tmp_path) < 150
    resumed = tres("resume", "1", "--json", cwd=tmp_path)
    assert resumed.returncode == 0, resumed.stderr
    summary = json.loads(resumed.stdout)
    assert (summary["pages"], summary["stop_reason"]) == (150, "budget")
    assert saved_pages(tmp_path) == 150


# ---- crawls ----


@pytest.fixture(scope="module")
def without_seed(tmp_path_factory: pytest.TempPathFactory, deaf_address: str) -> Crawled:
    """A crawl whose only seed cannot be reached."""
    folder = tmp_path_factory.mktemp("without_seed")
    (folder / "topic.toml").write_text(GOOD_TOPIC)
    return folder, tres("crawl", "topic.toml", "--connect-to", deaf_address, "--json", cwd=folder, **QUICK)


def test_a_seed_that_cannot_be_reached_is_told(without_seed: Crawled) -> None:
    _, told = without_seed
    summary = json.loads(told.stdout)
    assert (told.returncode, summary["stop_reason"], summary["pages"]) == (FAILURE, "no_seed", 0)
    assert "http://a.test/" in in_one_paragraph(told)


def test_the_status_of_a_crawl_that_does_not_exist_is_refused(without_seed: Crawled) -> None:
    folder, _ = without_seed
    assert "There is no crawl 99 here" in refused(folder, FAILURE, "status", "99")


def test_a_finished_crawl_is_not_resumed(without_seed: Crawled) -> None:
    folder, _ = without_seed
    assert "Crawl 1 never got past its seeds" in refused(folder, FAILURE, "resume", "1")


def test_a_budget_below_one_is_refused_also_when_resuming(without_seed: Crawled, tmp_path: Path) -> None:
    shutil.copytree(without_seed[0], tmp_path, dirs_exist_ok=True)
    assert '"crawl.max_pages" is -3' in refused(tmp_path, USAGE, "resume", "1", "--pages", "-3")


def test_an_option_wins_over_the_topic_file(web: RunningWeb, tmp_path: Path) -> None:
    topic = tmp_path / "topic.toml"
    topic.write_text((web.topics / "sports.toml").read_text() + "[crawl]\nmax_pages = 30\n")
    told = tres("crawl", topic, "--pages", "3", "--connect-to", web.address, "--json", cwd=tmp_path, **QUICK)
    assert json.loads(told.stdout)["pages"] == 3
