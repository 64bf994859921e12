"""docs/api.md is true: its examples are run, its tables are those of the code."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.commands import running_simweb
from tests.serve.service import running_service
from tres_crawler.serve.problems import KINDS

PAGE = (Path(__file__).parents[2] / "docs/api.md").read_text()


def examples() -> list[str]:
    """Every command of the page, those over several lines joined."""
    blocks = "\n".join(re.findall(r"```sh\n(.*?)```", PAGE, re.DOTALL))
    return [line for line in re.split(r"\n(?=curl|API=)", blocks) if line.startswith("curl")]


@pytest.mark.skipif(shutil.which("curl") is None, reason="the examples are for curl")
def test_the_examples_work(tmp_path: Path) -> None:
    assert len(examples()) > 20
    with (
        running_simweb(tmp_path, "--sites", "200", "--pages", "4000") as web,
        running_service(tmp_path, web, CRAWL__POLICY="best-first") as service,
    ):
        for example in examples():
            command = example.replace("http://127.0.0.1:8000", service.address).replace("curl -s", "curl -s -S -i")
            ran = subprocess.run(
                ["sh", "-c", command],
                env={"API": f"{service.address}/api/v1"},
                capture_output=True,
                text=True,
                check=False,
            )
            head, _, body = ran.stdout.partition("\r\n\r\n" if "\r\n\r\n" in ran.stdout else "\n\n")
            assert re.match(r"HTTP/1.1 20[0-9] ", head), f"{example}\n{ran.stdout[:500]}{ran.stderr}"
            if "application/json" in head:
                json.loads(body)
            if "Idempotency-Key" in example:
                service.wait_for(1, lambda now: now["pages"] > 8)


def test_every_problem_is_listed() -> None:
    for status, (name, told) in KINDS.items():
        assert f"| {status} | `/problems/{name}` | {told} |" in PAGE
