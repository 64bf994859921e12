"""A proxy is asked in place of the hosts, whether the settings or the environment name it."""

from __future__ import annotations

import asyncio

import pytest

from tres_crawler.config import FetchSettings
from tres_crawler.fetch.client import Client


@pytest.mark.parametrize("named_by", ["settings", "environment"])
async def test_requests_go_to_the_proxy_with_the_whole_url(named_by: str, monkeypatch: pytest.MonkeyPatch) -> None:
    lines: list[bytes] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        lines.append((await reader.readuntil(b"\r\n\r\n")).split(b"\r\n")[0])
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 2\r\n\r\nhi")
        await writer.drain()
        writer.close()

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
        proxy = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        if named_by == "environment":
            monkeypatch.setenv("HTTP_PROXY", proxy)
            proxy = ""
        async with Client(FetchSettings(proxy=proxy)) as client:
            assert (await client.get("http://a.test/x")).body == b"hi"
    assert lines == [b"GET http://a.test/x HTTP/1.1"]
