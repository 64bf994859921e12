"""A running `tres serve` and how to talk to it."""

from __future__ import annotations

import json
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.commands import TRES, RunningWeb, environment


class Service:
    """The process and its address; whatever is not 2xx must be a problem."""

    def __init__(self, process: subprocess.Popen[str], address: str, token: str = "") -> None:
        self.process = process
        self.address = address
        self.token = token

    def call(self, method: str, path: str, body: object = None, **headers: str) -> tuple[int, Any]:
        request = urllib.request.Request(self.address + path, method=method)
        if self.token:
            request.add_header("Authorization", f"Bearer {self.token}")
        for name, value in headers.items():
            request.add_header(name.replace("_", "-"), value)
        if body is not None:
            request.add_header("Content-Type", "application/json")
            request.data = body if isinstance(body, bytes) else json.dumps(body).encode()
        try:
            with urllib.request.urlopen(request, timeout=120) as answer:
                text = answer.read()
                return answer.status, json.loads(text) if text else None
        except urllib.error.HTTPError as error:
            assert error.headers["Content-Type"] == "application/problem+json"
            return error.code, json.loads(error.read())

    def get(self, path: str) -> Any:
        status, body = self.call("GET", f"/api/v1/crawls{path}")
        assert status == 200, body
        return body

    def wait_for(self, crawl: int, true_of: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        deadline = time.monotonic() + 120
        while time.monotonic() < deadline:
            status: dict[str, Any] = self.get(f"/{crawl}")
            if true_of(status):
                return status
            time.sleep(0.05)
        raise AssertionError(f"it never came true: {status}")


@contextmanager
def running_service(folder: Path, web: RunningWeb, **settings: str) -> Iterator[Service]:
    given = {"FETCH__CONNECT_TO": web.address, "FETCH__DELAY_SECONDS": "0", **settings}
    command = [*TRES, "serve", "--port", "0", "--data-dir", str(folder / "data")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment(**given)) as process:
        try:
            assert process.stdout is not None
            address = process.stdout.readline().rpartition(" ")[2].strip()
            service = Service(process, address, settings.get("SERVE__TOKEN", ""))
            deadline = time.monotonic() + 90
            while time.monotonic() < deadline:
                try:
                    urllib.request.urlopen(f"{address}/readyz", timeout=5).close()
                    break
                except OSError:
                    time.sleep(0.05)
            yield service
        finally:
            process.terminate()


def topic(web: RunningWeb) -> dict[str, object]:
    seeds = (web.topics / "sports.toml").read_text().partition("seeds = ")[2]
    return {"name": "sports", "keywords": ["match", "team"], "seeds": json.loads(seeds)}
