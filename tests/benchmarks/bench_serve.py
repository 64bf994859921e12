"""What listeners and requests cost a crawl: `python -m tests.benchmarks.bench_serve [--pages N] [--policy NAME]`.

The same crawl four times on a simulated web: alone, with 200 event listeners (five of which never read), with 50
requests a second, with both. The load comes from the same cores as service and web, so ratios count, not figures.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import tempfile
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from multiprocessing import Process, Queue
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from tests.commands import running_simweb
from tests.serve.service import Service, running_service, topic

LISTENERS = 200
STALLED = 5
"""Of them never read anything."""
REQUESTS_PER_SECOND = 50
PROBES_PER_SECOND = 10
MIXTURE = ("", "/pages?relevant=true&limit=20", "", "/sites?limit=10", "", "/metrics?points=100", "/hosts", "/pages/5")


@dataclass
class Load:
    """What was asked for and heard."""

    requests: int = 0
    failures: int = 0
    events: int = 0
    bytes: int = 0
    status_seconds: list[float] = field(default_factory=list)


async def get(host: str, port: int, path: str) -> bool:
    reader, writer = await asyncio.open_connection(host, port)
    writer.write(f"GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n".encode())
    answer = await reader.read()
    writer.close()
    return answer.startswith(b"HTTP/1.1 200")


async def listen(host: str, port: int, load: Load, stalled: bool) -> None:
    reader, writer = await asyncio.open_connection(host, port, limit=2**16)
    writer.write(f"GET /api/v1/crawls/1/events HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
    if stalled:
        writer.transport.pause_reading()  # type: ignore[attr-defined]  # a transport that reads
        await asyncio.sleep(3600)
    while text := await reader.read(2**16):
        load.events += text.count(b"\nevent: ")
        load.bytes += len(text)


async def ask(host: str, port: int, load: Load, per_second: float, paths: tuple[str, ...], timed: bool) -> None:
    """Ask at a steady rate, whether or not the answers keep up."""
    tasks: set[asyncio.Task[None]] = set()

    async def one(path: str) -> None:
        started = time.monotonic()
        try:
            ok = await get(host, port, f"/api/v1/crawls/1{path}")
        except OSError:
            ok = False
        load.requests += not timed
        load.failures += not ok
        if timed and ok:
            load.status_seconds.append(time.monotonic() - started)

    begun, count = time.monotonic(), 0
    while True:
        tasks.add(task := asyncio.create_task(one(paths[count % len(paths)])))
        task.add_done_callback(tasks.discard)
        count += 1
        await asyncio.sleep(max(0.0, begun + count / per_second - time.monotonic()))


def loading(address: str, listeners: int, requests: float, stop: Queue[int], told: Queue[Load]) -> None:
    """In a process of its own, until it is told to stop."""
    host, port = urlsplit(address).hostname or "", urlsplit(address).port or 0
    load = Load()

    async def run() -> None:
        work: list[Awaitable[None]] = [ask(host, port, load, PROBES_PER_SECOND, ("",), timed=True)]
        work += [listen(host, port, load, stalled=number < STALLED) for number in range(listeners)]
        if requests:
            work.append(ask(host, port, load, requests, MIXTURE, timed=False))
        everything = asyncio.gather(*work)
        await asyncio.to_thread(stop.get)
        everything.cancel()
        with suppress(asyncio.CancelledError):
            await everything

    asyncio.run(run())
    told.put(load)


def cpu_and_memory(process: int) -> tuple[float, float]:
    """CPU seconds, and megabytes in memory."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    pages = int(Path(f"/proc/{process}/statm").read_text().split()[1])
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK"), pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def crawl_under(listeners: int, requests: float, pages: int, policy: str) -> dict[str, Any]:
    """One crawl from its first page to its last."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with (
            running_simweb(folder, "--sites", "300", "--pages", "8000", "--seed", "5") as web,
            running_service(folder, web, FETCH__SLOTS="16") as service,
        ):
            crawl = {"max_pages": pages, "policy": policy, "seed": 1, "max_per_site": "none"}
            return measured(service, {"topic": topic(web), "crawl": crawl}, listeners, requests)


def measured(service: Service, body: object, listeners: int, requests: float) -> dict[str, Any]:
    service.call("POST", "/api/v1/crawls", body)
    first = service.wait_for(1, lambda now: now["pages"] >= 100)
    stop: Queue[int] = Queue()
    told: Queue[Load] = Queue()
    helper = Process(target=loading, args=(service.address, listeners, requests, stop, told))
    helper.start()
    cpu, megabytes = cpu_and_memory(service.process.pid)
    while (last := looked(service))["state"] == "running":
        time.sleep(0.5)
    cpu_after, megabytes_after = cpu_and_memory(service.process.pid)
    stop.put(1)
    load = told.get()
    helper.join()
    waits = sorted(load.status_seconds)
    fetched = last["pages"] - first["pages"]
    seconds = last["seconds"] - first["seconds"]
    return {
        "listeners": listeners,
        "requests_per_second": requests,
        "pages_per_second": round(fetched / seconds, 1),
        "cpu_ms_per_page": round((cpu_after - cpu) * 1000 / fetched, 2),
        "cpu_seconds": round(cpu_after - cpu, 2),
        "status_p50_ms": round(waits[len(waits) // 2] * 1000, 1),
        "status_p99_ms": round(waits[int(len(waits) * 0.99)] * 1000, 1),
        "requests": load.requests,
        "failures": load.failures,
        "events": load.events,
        "megabytes_grown": round(megabytes_after - megabytes, 1),
    }


def looked(service: Service) -> dict[str, Any]:
    """The status, asked for until there is room for the question."""
    while True:
        status, body = service.call("GET", "/api/v1/crawls/1")
        if status == 200:
            found: dict[str, Any] = body
            return found
        time.sleep(0.2)


def main(say: Callable[[str], None] = print) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pages", type=int, default=1500)
    parser.add_argument("--policy", default="best-first")
    given = parser.parse_args()
    pages = given.pages
    rows = []
    for listeners, requests in ((0, 0.0), (LISTENERS, 0.0), (0, REQUESTS_PER_SECOND), (LISTENERS, REQUESTS_PER_SECOND)):
        rows.append(crawl_under(listeners, requests, pages, given.policy))
        say(json.dumps(rows[-1]))
    alone, heard, asked, both = rows
    fetched = pages - 100
    spare = alone["cpu_ms_per_page"] * fetched / 1000
    say(
        json.dumps(
            {
                "cpu_us_per_event": round((heard["cpu_seconds"] - spare) * 1e6 / max(1, heard["events"]), 1),
                "cpu_ms_per_request": round((asked["cpu_seconds"] - spare) * 1000 / max(1, asked["requests"]), 2),
                "speed_ratio": round(both["pages_per_second"] / alone["pages_per_second"], 2),
                "status_p99_ratio": round(both["status_p99_ms"] / alone["status_p99_ms"], 2),
            }
        )
    )


if __name__ == "__main__":
    main()
