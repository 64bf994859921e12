"""The simulated web speaks HTTP/1.1 as a real server does, for any number of hosts on one port."""

from __future__ import annotations

import asyncio
import json
import re
import time
from collections.abc import AsyncIterator
from contextlib import closing
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

import pytest
from protego import Protego

from tres_crawler.errors import ConfigError
from tres_crawler.simweb.model import Web
from tres_crawler.simweb.params import WebParams
from tres_crawler.simweb.server import RequestLog, SimServer
from tres_crawler.simweb.truth import read_log, read_start

PARAMS = WebParams(sites=400, pages=8000, seed=5, slow_sites=0.0)


class Answer(NamedTuple):
    status: int
    headers: dict[str, str]
    body: bytes


class Caller:
    """One connection to the server."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer

    async def ask(self, url: str, *fields: str, method: str = "GET") -> Answer:
        self.writer.write(request(url, *fields, method=method))
        return await self.answer(with_body=method != "HEAD")

    async def answer(self, with_body: bool = True) -> Answer:
        async with asyncio.timeout(30):
            head = (await self.reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
            headers = dict(line.split(": ", 1) for line in head[1:] if line)
            body = await self.reader.readexactly(int(headers["Content-Length"])) if with_body else b""
        return Answer(int(head[0].split(" ")[1]), headers, body)

    async def is_left_alone(self) -> bool:
        """Whether the other side has closed and said nothing more."""
        async with asyncio.timeout(30):
            return await self.reader.read() == b""


def request(url: str, *fields: str, method: str = "GET") -> bytes:
    parts = urlsplit(url)
    return "\r\n".join([f"{method} {parts.path} HTTP/1.1", f"Host: {parts.netloc}", *fields, "", ""]).encode()


@pytest.fixture(scope="module")
def web() -> Web:
    return Web(PARAMS)


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "requests.jsonl"


@pytest.fixture
async def server(web: Web, log: Path) -> AsyncIterator[SimServer]:
    async with SimServer(web, log=RequestLog(log, web.params)) as running:
        yield running


@pytest.fixture
async def caller(server: SimServer) -> AsyncIterator[Caller]:
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
    with closing(writer):
        yield Caller(reader, writer)


@pytest.fixture
def home(web: Web) -> str:
    return web.seeds("sports")[0]


async def linked_from(caller: Caller, url: str, pages: int = 40) -> list[str]:
    """URLs in the order in which somebody who follows links from `url` meets them."""
    found = [url]
    for at in range(pages):
        body = (await caller.ask(found[at])).body.decode(errors="replace")
        found += [link for link in re.findall(r'<a href="([^"]+)"', body) if link not in found]
    return found


async def test_a_connection_serves_many_requests_and_the_same_page_every_time(
    server: SimServer, caller: Caller
) -> None:
    urls = (await linked_from(caller, server.web.seeds("sports")[0], pages=10))[:60]
    assert len({urlsplit(url).netloc for url in urls}) > 3, "one connection, many hosts"
    first = [await caller.ask(url) for url in urls]
    assert first[0].status == 200
    assert first[0].headers["Content-Type"] == "text/html; charset=utf-8"
    async with SimServer(Web(PARAMS)) as twin:
        reader, writer = await asyncio.open_connection("127.0.0.1", twin.port)
        with closing(writer):
            assert [await Caller(reader, writer).ask(url) for url in reversed(urls)] == first[::-1]


async def test_pipelined_requests_are_answered_in_order_however_the_bytes_arrive(caller: Caller, home: str) -> None:
    urls = (await linked_from(caller, home, pages=1))[:4]
    one_by_one = [await caller.ask(url) for url in urls]
    together = b"".join(request(url) for url in urls)
    for size in (len(together), 17):
        for at in range(0, len(together), size):
            caller.writer.write(together[at : at + size])
            await caller.writer.drain()
            await asyncio.sleep(0)
        assert [await caller.answer() for _ in urls] == one_by_one


async def test_a_connection_is_closed_when_its_caller_asks_for_that(caller: Caller, home: str) -> None:
    assert (await caller.ask(home)).status == 200
    said = await caller.ask(home, "Connection: close")
    assert (said.status, said.headers["Connection"]) == (200, "close")
    assert await caller.is_left_alone()


async def test_an_endless_request_is_cut_off(caller: Caller) -> None:
    caller.writer.write(b"GET /" + b"x" * 100_000)
    assert await caller.is_left_alone()


async def test_a_host_or_page_that_does_not_exist_is_answered_404_and_the_connection_goes_on(
    caller: Caller, home: str
) -> None:
    for url in ("http://no-such-host.test/", f"{home}no/such/page", f"{home}999999"):
        assert (await caller.ask(url)).status == 404
    assert (await caller.ask(home)).status == 200


async def test_the_port_and_the_case_of_the_host_header_do_not_matter(caller: Caller, home: str) -> None:
    plain = await caller.ask(home)
    assert await caller.ask(home.replace(urlsplit(home).netloc, f"{urlsplit(home).netloc.upper()}:8099")) == plain


async def test_some_hosts_have_a_robots_txt_and_some_forbid_pages_that_are_linked_to(caller: Caller, home: str) -> None:
    urls = await linked_from(caller, home, pages=60)
    rules: dict[str, Protego] = {}
    for host in {urlsplit(url).netloc for url in urls}:
        said = await caller.ask(f"http://{host}/robots.txt")
        assert said.status in (200, 404, 503)
        assert said.status != 200 or said.headers["Content-Type"] == "text/plain; charset=utf-8"
        rules[host] = Protego.parse(said.body.decode())
    allowed = [rules[urlsplit(url).netloc].can_fetch(url, "tres_crawler") for url in urls]
    assert allowed[0], "a seed may be fetched"
    assert 0 < allowed.count(False) < len(urls) / 4


async def test_some_links_redirect_to_pages_that_are_there(caller: Caller, home: str) -> None:
    said = {url: await caller.ask(url) for url in await linked_from(caller, home)}
    targets = {url: answer.headers["Location"] for url, answer in said.items() if answer.status == 302}
    assert targets
    reached = []
    for target in targets.values():
        answer = await caller.ask(target)
        while answer.status == 302:
            answer = await caller.ask(answer.headers["Location"])
        reached.append(answer.status)
    assert reached.count(200) > len(reached) / 2
    assert set(reached) <= {200, 500}


async def test_head_says_what_get_would_without_the_body(caller: Caller, home: str) -> None:
    whole = await caller.ask(home)
    assert await caller.ask(home, method="HEAD") == whole._replace(body=b"")
    assert await caller.ask(home) == whole
    assert (await caller.ask(home, method="DELETE")).status == 405


async def test_the_log_has_the_web_and_then_a_line_for_each_request_before_it_is_answered(
    caller: Caller, home: str, log: Path
) -> None:
    host = urlsplit(home).netloc
    asked = [(home, ()), (f"{home}robots.txt", ()), (f"{home}gone", ()), (home, ('If-None-Match: "1"',))]
    for number, (url, fields) in enumerate(asked, 1):
        await caller.ask(url, *fields)
        assert len(log.read_text().splitlines()) == 1 + number
    params, requests = read_log(log)
    assert params == PARAMS
    start = read_start(log)
    assert (start.web, start.time_scale) == (PARAMS, 0.0)
    assert 0 <= requests[0].arrived - start.started < 60
    assert [(one.host, one.path, one.status, one.conditional) for one in requests] == [
        (host, "/", 200, False),
        (host, "/robots.txt", 200, False),
        (host, "/gone", 404, False),
        (host, "/", 200, True),
    ]
    moments = [moment for one in requests for moment in (one.arrived, one.finished)]
    assert moments == sorted(moments)
    assert set(json.loads(log.read_text().splitlines()[1])) == set(requests[0]._fields)


async def test_a_port_that_is_taken_and_a_log_that_cannot_be_written_are_told_with_what_to_do(
    server: SimServer, tmp_path: Path
) -> None:
    with pytest.raises(ConfigError, match=f"Port {server.port} cannot be used.*--port"):
        async with SimServer(server.web, server.port):
            pass
    with pytest.raises(ConfigError, match=r"cannot be written.*--log"):
        RequestLog(tmp_path / "no" / "folder" / "log", PARAMS)


async def test_the_date_is_the_webs_own(caller: Caller, server: SimServer, home: str) -> None:
    assert (await caller.ask(home)).headers["Date"] == "Thu, 01 Jan 2026 00:00:00 GMT"
    server.time_scale = 3600.0
    server._started -= 48
    assert (await caller.ask(home)).headers["Date"].startswith("Sat, 03 Jan 2026 00:")


async def test_a_slow_host_takes_its_time(home: str) -> None:
    async with SimServer(Web(PARAMS.model_copy(update={"slow_sites": 1.0}))) as slow, SimServer(Web(PARAMS)) as quick:
        begun = time.monotonic()
        for server, is_late in ((slow, True), (quick, False)):
            reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
            with closing(writer):
                assert (await Caller(reader, writer).ask(home)).status == 200
            assert (time.monotonic() - begun >= 0.5) == is_late
            begun = time.monotonic()


def test_pages_made_ahead_do_not_count_as_requests() -> None:
    web = Web(WebParams.of(sites=20, pages=100, limited_sites=1.0))
    server = SimServer(web)
    server.prepare(100)
    assert server.answer(web.sites[0].host, "/", {}).status == 200
    assert server.answer(web.sites[0].host, "/", {}).status == 429
