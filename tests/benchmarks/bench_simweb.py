"""How fast the simulated web starts, makes pages and serves them, at three sizes: `make bench`.

Absolute figures belong to the machine; the ratios between sizes are what to look at.
"""

from __future__ import annotations

import asyncio
import json
import random
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.commands import environment
from tres_crawler.simweb.model import Web
from tres_crawler.simweb.params import WebParams
from tres_crawler.simweb.render import render

SIZES = ((40, 1_000), (8_000, 200_000), (40_000, 1_000_000))
PREPARED = 1_000
REQUESTS = 12_000
CONNECTIONS = 32

START = """
import json, resource, sys, time
from tres_crawler.simweb.model import Web
from tres_crawler.simweb.params import WebParams
started = time.perf_counter()
Web(WebParams(sites=int(sys.argv[1]), pages=int(sys.argv[2])))
print(json.dumps([time.perf_counter() - started, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024]))
"""


@pytest.mark.parametrize(("sites", "pages"), SIZES)
def test_starting_making_and_serving(sites: int, pages: int, tmp_path: Path) -> None:
    told = subprocess.run(
        [sys.executable, "-c", START, str(sites), str(pages)], capture_output=True, text=True, check=True
    )
    start_seconds, megabytes = json.loads(told.stdout)
    making = making_milliseconds(Web(WebParams(sites=sites, pages=pages)))
    serving = serving_per_second(sites, pages)
    print(
        f"\n{pages:>9,} pages: start {start_seconds:.2f} s, {megabytes:.0f} MB, making {making:.2f} ms a page, "
        f"serving {serving:,.0f} pages/s"
    )
    assert start_seconds < 5
    assert megabytes < 500
    assert serving >= 3000
    assert making <= 2, "1 ms on an idle machine; twice that where others work too"


def making_milliseconds(web: Web, count: int = 1500) -> float:
    """Median over pages drawn evenly over all pages."""
    rng = random.Random(1)
    sizes = [site.size for site in web.sites]
    taken = []
    for site in rng.choices(web.sites, sizes, k=count):
        started = time.perf_counter()
        render(web, web.page(site, rng.randrange(site.size)))
        taken.append(time.perf_counter() - started)
    return sorted(taken)[count // 2] * 1000


def serving_per_second(sites: int, pages: int) -> float:
    """Pages already made, asked for by this process over keep-alive connections; the server has the other core."""
    command = [sys.executable, "-m", "tres_crawler", "simweb", "--preset", "clean", "--port", "0"]
    command += ["--sites", str(sites), "--pages", str(pages), "--prepare", str(PREPARED)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment()) as server:
        try:
            assert server.stdout is not None
            port = int(server.stdout.readline().rpartition(":")[2])
            web = Web(WebParams.of("clean", sites=sites, pages=pages))
            hosts = [site.host for site in web.sites][: min(PREPARED, sites)]
            return asyncio.run(ask(port, hosts))
        finally:
            server.terminate()


async def ask(port: int, hosts: list[str]) -> float:
    started = time.perf_counter()
    await asyncio.gather(*(one_connection(port, hosts, at) for at in range(CONNECTIONS)))
    return REQUESTS / (time.perf_counter() - started)


async def one_connection(port: int, hosts: list[str], at: int) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    for number in range(REQUESTS // CONNECTIONS):
        host = hosts[(at + number * CONNECTIONS) % len(hosts)]
        writer.write(f"GET / HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
        head = await reader.readuntil(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 200 ")
        await reader.readexactly(int(head.partition(b"Content-Length: ")[2].partition(b"\r\n")[0]))
    writer.close()
    await writer.wait_closed()
