"""A proxy is asked in place of the hosts, whether the settings or the environment name it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from tres_crawler.config import FetchSettings
from tres_crawler.errors import Blocked
from tres_crawler.fetch.client import Client


class Listener:
    """Answers every request with "hi" and keeps its first line."""

    def __init__(self) -> None:
        self.lines: list[bytes] = []
        self.address = ""

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.lines.append((await reader.readuntil(b"\r\n\r\n")).split(b"\r\n")[0])
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 2\r\n\r\nhi")
        await writer.drain()
        writer.close()


@pytest.fixture
async def listener(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Listener]:
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "FTP_PROXY"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)
    made = Listener()
    async with await asyncio.start_server(made.serve, "127.0.0.1", 0) as server:
        made.address = f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
        yield made


@pytest.mark.parametrize("named_by", ["settings", "environment", "environment without a scheme"])
async def test_requests_go_to_the_proxy_with_the_whole_url(
    named_by: str, listener: Listener, monkeypatch: pytest.MonkeyPatch
) -> None:
    proxy = f"http://{listener.address}"
    if named_by != "settings":
        monkeypatch.setenv("HTTP_PROXY", proxy if named_by == "environment" else listener.address)
        proxy = ""
    async with Client(FetchSettings(proxy=proxy)) as client:
        assert (await client.get("http://a.test/x")).body == b"hi"
        assert not client.is_direct("http://a.test/x")
    assert listener.lines == [b"GET http://a.test/x HTTP/1.1"]


@pytest.mark.parametrize("variable", ["NO_PROXY", "HTTPS_PROXY", "FTP_PROXY"])
async def test_what_no_proxy_stands_for_is_guarded_as_ever(
    variable: str, listener: Listener, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(variable, "http://proxy.test:3128")
    port = int(listener.address.rpartition(":")[2])
    async with Client(FetchSettings(ports=(port,))) as client:
        with pytest.raises(Blocked, match="loopback"):
            await client.get(f"http://{listener.address}/")
        assert client.is_direct("http://a.test/"), "so its address is paced too"
    assert not listener.lines


async def test_hosts_that_no_proxy_names_are_asked_themselves(
    listener: Listener, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", f"http://{listener.address}")
    monkeypatch.setenv("NO_PROXY", "127.0.0.1,inside.test")
    async with Client(FetchSettings()) as client:
        with pytest.raises(Blocked, match="loopback"):
            await client.get("http://127.0.0.1/")
        assert [client.is_direct(f"http://{host}/") for host in ("www.inside.test", "b.test")] == [True, False]
    assert not listener.lines


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "169.254.169.254", "[::1]", "10.0.0.7"])
async def test_a_proxy_is_not_asked_for_what_is_private_by_its_own_name(host: str, listener: Listener) -> None:
    async with Client(FetchSettings(proxy=f"http://{listener.address}")) as client:
        with pytest.raises(Blocked, match="address not public"):
            await client.get(f"http://{host}/")
    assert not listener.lines
