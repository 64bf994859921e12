"""Runs the real `tres` command and a real simulated web as processes of their own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

TRES = [sys.executable, "-m", "tres_crawler"]


def environment(**settings: str) -> dict[str, str]:
    """The environment without anyone's own settings, with the given ones: FETCH__SLOTS="8".

    Nothing is trained unless a test asks for it: RELEVANCE__MODEL="bilstm".
    """
    clean = {name: value for name, value in os.environ.items() if not name.startswith("TRES_")}
    return clean | {f"TRES_{name}": value for name, value in {"RELEVANCE__MODEL": "prior", **settings}.items()}


def tres(*arguments: str | Path, cwd: Path, **settings: str) -> subprocess.CompletedProcess[str]:
    """Run a command to its end."""
    command = [*TRES, *map(str, arguments)]
    return subprocess.run(
        command, cwd=cwd, env=environment(**settings), capture_output=True, text=True, timeout=300, check=False
    )


@dataclass(frozen=True)
class RunningWeb:
    address: str
    topics: Path
    log: Path


@contextmanager
def running_simweb(folder: Path, *options: str) -> Iterator[RunningWeb]:
    """`tres simweb` on a free port, with its log and topic files in `folder`."""
    topics, log = folder / "topics", folder / "requests.jsonl"
    command = [*TRES, "simweb", "--port", "0", "--log", str(log), "--write-topics", str(topics), *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment()) as process:
        try:
            assert process.stdout is not None
            yield RunningWeb(process.stdout.readline().rpartition(" ")[2].strip(), topics, log)
        finally:
            process.terminate()
