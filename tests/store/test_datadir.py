"""A data directory has one writer; whoever comes second is told who it is."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tres_crawler.errors import StoreError
from tres_crawler.store import migrate
from tres_crawler.store.datadir import DataDir

HOLD = """
import sys
from pathlib import Path
from tres_crawler.store.datadir import DataDir
with DataDir(Path(sys.argv[1])) as folder:
    folder.tell(doing="crawl 7", crawl=7)
    print("ready", flush=True)
    sys.stdin.read()
"""
LOOK = """
import sys
from pathlib import Path
from tres_crawler.store.datadir import DataDir
print("ready", flush=True)
while True:
    DataDir(Path(sys.argv[1])).holder()
"""
TRY = """
import sys
from pathlib import Path
from tres_crawler.errors import StoreError
from tres_crawler.store.datadir import DataDir
try:
    with DataDir(Path(sys.argv[1])):
        print("mine")
except StoreError as error:
    print(error)
"""


@contextmanager
def running(program: str, folder: Path) -> Iterator[subprocess.Popen[str]]:
    """Another process at work on `folder`, killed at the end."""
    command = [sys.executable, "-c", program, str(folder)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
            yield process
        finally:
            process.kill()


def test_a_second_process_is_refused_and_told_the_first_ones_pid_and_what_it_does(tmp_path: Path) -> None:
    with running(HOLD, tmp_path) as first:
        with pytest.raises(StoreError, match=rf"in use by process {first.pid} \(crawl 7\)"), DataDir(tmp_path):
            pass
        second = subprocess.run(
            [sys.executable, "-c", TRY, str(tmp_path)], capture_output=True, text=True, timeout=60, check=True
        )
        assert f"process {first.pid}" in second.stdout
        assert DataDir(tmp_path).holder() == {"pid": first.pid, "doing": "crawl 7", "crawl": 7}


def test_the_directory_is_free_once_its_holder_was_killed(tmp_path: Path) -> None:
    with running(HOLD, tmp_path) as holder:
        holder.kill()
        holder.wait()
    assert DataDir(tmp_path).holder() is None
    with DataDir(tmp_path) as folder:
        told = folder.holder()
        assert told is not None
        assert told["doing"] == "starting"
        folder.tell(doing="x")
        assert json.loads((tmp_path / "tres.lock").read_text())["doing"] == "x"


def test_the_directory_is_free_once_its_holder_has_left(tmp_path: Path) -> None:
    with running(HOLD, tmp_path) as holder:
        holder.communicate("", timeout=60)
        assert holder.returncode == 0
    assert DataDir(tmp_path).holder() is None
    for _ in range(2):
        with DataDir(tmp_path):
            pass


def test_a_directory_is_made_where_there_is_none_and_looking_makes_nothing(tmp_path: Path) -> None:
    folder = DataDir(tmp_path / "new" / "data")
    assert folder.holder() is None
    assert not folder.exists()
    assert list(tmp_path.iterdir()) == []
    with folder:
        assert (tmp_path / "new" / "data").is_dir()
        assert not folder.exists()


def test_somebody_who_only_looks_never_keeps_a_writer_out(tmp_path: Path) -> None:
    with running(LOOK, tmp_path):
        until = time.monotonic() + 0.5  # thousands of times, were it not for the looks
        while time.monotonic() < until:
            with DataDir(tmp_path):
                pass


@pytest.mark.parametrize("name", ["plain", "two words", "what?", "100%25", "no#1", "é"])
def test_the_database_lies_inside_the_directory_whatever_its_name(tmp_path: Path, name: str) -> None:
    with DataDir(tmp_path / name) as folder:
        migrate.upgrade(folder.url)
        assert folder.exists()
    assert (tmp_path / name / "tres.db").is_file()


def test_a_directory_that_cannot_be_made_is_told_with_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with (
        pytest.raises(StoreError, match=r"cannot be written: Not a directory.*--data-dir"),
        DataDir(tmp_path / "file" / "data"),
    ):
        pass
