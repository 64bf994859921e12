"""`tres demo`: everything at once, without the internet."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import urllib.request
from pathlib import Path

import pytest

from tests.commands import TRES, environment, tres


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
    return port


def test_the_demo_shows_crawls_of_a_simulated_web_until_it_is_stopped(tmp_path: Path) -> None:
    web_port = free_port()
    command = [*TRES, "demo", "--port", "0", "--web-port", str(web_port)]
    with subprocess.Popen(command, cwd=tmp_path, env=environment(), stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            told = [process.stdout.readline() for _ in range(4)]
            assert [line.partition(" ")[0] for line in told] == ["Starting", "Dashboard:", "Crawls", "Ctrl-C"]
            address = told[1].split()[1]
            with urllib.request.urlopen(address, timeout=30) as page:
                assert b"<title>tres_crawler</title>" in page.read()
            with urllib.request.urlopen(f"{address}api/v1/topics", timeout=30) as answer:
                seeds = [seed for topic in json.load(answer) for seed in topic["seeds"]]
            assert len(seeds) == 3
            assert not any("bbc" in seed for seed in seeds), "they are on the simulated web, not on the real one"
        finally:
            process.send_signal(signal.SIGINT)
        assert process.wait(30) == 0
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", web_port), timeout=5)


def test_with_a_number_of_pages_the_demo_crawls_and_ends(tmp_path: Path) -> None:
    told = tres("demo", "--pages", "80", cwd=tmp_path)
    assert told.returncode == 0, told.stderr
    assert "Stopped: budget." in told.stdout
    assert "0 requests against robots.txt" in told.stdout
