"""One GET over real HTTP: what is sent, what comes back, and which limits hold."""

from __future__ import annotations

import asyncio
import gzip
import socket
import time
from collections.abc import AsyncIterator

import pytest

import tres_crawler.fetch.client as client_module
from tres_crawler.config import FetchSettings
from tres_crawler.errors import FetchError, NotText, TimedOut, TooLarge, Unreachable
from tres_crawler.fetch.client import Client


class Loopback:
    """Gives every request the same raw answer, and keeps what was sent."""

    def __init__(self) -> None:
        self.answer = b""
        self.silent = False
        self.requests: list[tuple[str, dict[str, str]]] = []
        self.port = 0

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    def says(self, body: bytes, *fields: str, status: str = "200 OK", kind: str = "text/html") -> None:
        head = [f"HTTP/1.1 {status}", f"Content-Type: {kind}", f"Content-Length: {len(body)}", *fields]
        self.answer = "\r\n".join([*head, "", ""]).encode() + body

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
            self.requests.append((head[0], dict(line.split(": ", 1) for line in head[1:] if line)))
            if self.silent:
                await reader.read()  # until the other side gives up
            writer.write(self.answer)
            await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()


@pytest.fixture
async def loopback() -> AsyncIterator[Loopback]:
    made = Loopback()
    server = await asyncio.start_server(made.serve, "127.0.0.1", 0)
    made.port = server.sockets[0].getsockname()[1]
    async with server:
        yield made


def client_to(loopback: Loopback, **settings: object) -> Client:
    return Client(FetchSettings.model_validate({"connect_to": loopback.address, **settings}))


# ---- what is sent ----


@pytest.mark.parametrize("host", ["www.example.org", "example.org:8080", "127.0.0.9"])
async def test_every_connection_goes_to_the_one_address_and_the_host_header_is_kept(
    loopback: Loopback, host: str
) -> None:
    loopback.says(b"<p>here")
    async with client_to(loopback) as client:
        fetched = await client.get(f"http://{host}/%7Ea%2Fb?q=%C3%A9")
    assert fetched.body == b"<p>here"
    ((request, headers),) = loopback.requests
    assert request == "GET /%7Ea%2Fb?q=%C3%A9 HTTP/1.1"
    assert headers["Host"] == host


async def test_the_user_agent_names_the_product_and_whom_to_write_to(loopback: Loopback) -> None:
    loopback.says(b"<p>here")
    async with client_to(loopback, contact="https://me.example/crawler") as client:
        await client.get("http://a.test/")
    assert loopback.requests[0][1]["User-Agent"].startswith("tres_crawler/")
    assert loopback.requests[0][1]["User-Agent"].endswith(" (+https://me.example/crawler)")


async def test_no_cookie_is_ever_sent_back(loopback: Loopback) -> None:
    loopback.says(b"<p>here", "Set-Cookie: track=1; Path=/")
    # By name: from a bare address no cookie would be kept anyway.
    async with client_to(loopback, connect_to=f"localhost:{loopback.port}") as client:
        await client.get("http://a.test/")
        await client.get("http://a.test/2")
    assert ["Cookie" in headers for _, headers in loopback.requests] == [False, False]


# ---- what comes back ----


async def test_a_page_comes_back_unpacked_with_its_type_and_time(loopback: Loopback) -> None:
    loopback.says(gzip.compress(b"<p>text"), "Content-Encoding: gzip", kind="text/html; charset=latin-1")
    async with client_to(loopback) as client:
        fetched = await client.get("http://a.test/")
    assert (fetched.url, fetched.status, fetched.body) == ("http://a.test/", 200, b"<p>text")
    assert (fetched.content_type, fetched.location) == ("text/html; charset=latin-1", None)
    assert 0 < fetched.seconds < 5


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_a_redirect_is_reported_with_its_target_resolved_and_not_followed(
    loopback: Loopback, status: int
) -> None:
    loopback.says(b"moved", "Location: ../other?x=1#part", status=f"{status} Elsewhere")
    async with client_to(loopback) as client:
        fetched = await client.get("http://a.test/b/c")
    assert (fetched.status, fetched.location) == (status, "http://a.test/other?x=1")
    assert len(loopback.requests) == 1


async def test_a_redirect_to_something_that_is_not_the_web_has_no_target(loopback: Loopback) -> None:
    loopback.says(b"", "Location: ftp://a.test/file", status="302 Found")
    async with client_to(loopback) as client:
        assert (await client.get("http://a.test/")).location is None


async def test_an_error_status_is_an_answer_like_any_other_without_its_body(loopback: Loopback) -> None:
    loopback.says(b"gone", status="410 Gone", kind="image/png")
    async with client_to(loopback) as client:
        fetched = await client.get("http://a.test/")
    assert (fetched.status, fetched.body) == (410, b"")


# ---- limits ----


async def test_a_host_that_takes_too_long_is_given_up_and_may_be_tried_again(loopback: Loopback) -> None:
    loopback.silent = True
    async with client_to(loopback, timeout_seconds=0.05) as client:
        with pytest.raises(TimedOut, match=r"took too long: http://a\.test/") as caught:
            await client.get("http://a.test/")
    assert caught.value.retry


async def test_a_body_that_never_ends_is_given_up_in_time(loopback: Loopback) -> None:
    async def drip(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n")
        try:
            while not writer.is_closing():
                writer.write(b".")
                await writer.drain()
                await asyncio.sleep(0.01)
        except ConnectionError:
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(drip, "127.0.0.1", 0)
    address = f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
    async with server, client_to(loopback, connect_to=address, timeout_seconds=0.1) as client:
        async with asyncio.timeout(20):
            with pytest.raises(TimedOut):
                await client.get("http://a.test/")


@pytest.mark.parametrize("packed", [False, True])
async def test_a_body_of_the_limit_is_read_and_one_byte_more_is_too_large_even_when_it_travels_packed(
    loopback: Loopback, packed: bool
) -> None:
    for size in (2000, 2001):
        body = b"x" * size
        if packed:
            loopback.says(gzip.compress(body), "Content-Encoding: gzip")
        else:
            loopback.says(body)
        async with client_to(loopback, max_body_bytes=2000) as client:
            if size == 2000:
                assert len((await client.get("http://a.test/")).body) == 2000
                continue
            with pytest.raises(TooLarge, match="more than 2000 bytes") as caught:
                await client.get("http://a.test/")
            assert not caught.value.retry


@pytest.mark.parametrize("kind", ["image/png", "application/pdf", "text/css", "application/json", "html"])
async def test_a_type_that_is_not_read_is_refused_for_pages_and_taken_for_robots(loopback: Loopback, kind: str) -> None:
    loopback.says(b"...", kind=kind)
    async with client_to(loopback) as client:
        with pytest.raises(NotText, match=kind) as caught:
            await client.get("http://a.test/")
        assert not caught.value.retry
        assert (await client.get("http://a.test/", readable_only=False)).body == b"..."


@pytest.mark.parametrize(
    "kind",
    [
        *("text/html; charset=utf-8", "TEXT/HTML", "application/xhtml+xml", "text/plain"),
        *("text/html;charset*", "text/html ;a*", "text/html" + ";" * 32_000),
    ],
    ids=lambda kind: kind[:30],
)
async def test_types_that_hold_text_are_read_at_once_whatever_is_said_beside_them(
    loopback: Loopback, kind: str
) -> None:
    loopback.says(b"words", kind=kind)
    async with client_to(loopback) as client:
        started = time.process_time()
        assert (await client.get("http://a.test/")).body == b"words"
    assert time.process_time() - started < 1.0


# ---- trouble ----


async def test_a_refused_connection_is_unreachable_and_may_be_tried_again(loopback: Loopback) -> None:
    with socket.socket() as closed:  # bound but not listening: refuses, and nobody else can take the port
        closed.bind(("127.0.0.1", 0))
        async with client_to(loopback, connect_to=f"127.0.0.1:{closed.getsockname()[1]}") as client:
            with pytest.raises(Unreachable, match=r"http://a\.test/") as caught:
                await client.get("http://a.test/")
    assert caught.value.retry


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"SSH-2.0-OpenSSH_9.6\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 1000\r\n\r\nhalf a pa",
        b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Encoding: gzip\r\nContent-Length: 4\r\n\r\nnope",
        b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nX: " + b"x" * 100_000 + b"\r\n\r\n",
    ],
    ids=["nothing", "another protocol", "cut off", "wrongly packed", "endless header"],
)
async def test_an_answer_that_breaks_the_rules_is_trouble_with_the_host_and_nothing_worse(
    loopback: Loopback, answer: bytes
) -> None:
    loopback.answer = answer
    async with client_to(loopback) as client:
        with pytest.raises(Unreachable):
            await client.get("http://a.test/")
        loopback.says(b"<p>well again")
        assert (await client.get("http://a.test/")).status == 200


async def test_an_answer_that_cannot_be_read_for_a_reason_nobody_thought_of_is_told_and_logged(
    loopback: Loopback, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    loopback.says(b"<p>here")
    monkeypatch.setattr(client_module, "decoded", broken)
    async with client_to(loopback) as client:
        with pytest.raises(FetchError, match=r"could not be read \(IndexError\)") as caught:
            await client.get("http://a.test/")
        assert not caught.value.retry
    assert "in broken" in caplog.text, "with where it happened"


async def test_a_mistake_before_anyone_is_asked_stays_one(loopback: Loopback, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Client, "_address", broken)
    async with client_to(loopback) as client:
        with pytest.raises(IndexError):
            await client.get("http://a.test/")


async def test_a_fetch_that_is_called_off_while_its_answer_comes_is_called_off(loopback: Loopback) -> None:
    loopback.silent = True
    async with client_to(loopback) as client:
        asking = asyncio.create_task(client.get("http://a.test/"))
        while not loopback.requests:
            await asyncio.sleep(0.001)
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking


def broken(*_: object) -> bytes:
    raise IndexError("nobody thought of this")


@pytest.mark.parametrize("url", ["http://", "http://a.test:99999/", "http://[::1/"])
async def test_a_url_that_cannot_be_asked_for_is_told_as_a_fetch_error(loopback: Loopback, url: str) -> None:
    async with client_to(loopback) as client:
        with pytest.raises(FetchError):
            await client.get(url)
