"""The simulated web over real HTTP/1.1 with keep-alive: one loopback port, whatever the Host header says."""

from __future__ import annotations

import asyncio
import json
import time
from collections import OrderedDict
from http import HTTPStatus
from pathlib import Path
from typing import IO, NamedTuple, cast

from tres_crawler.errors import ConfigError
from tres_crawler.simweb.model import Web
from tres_crawler.simweb.params import WebParams
from tres_crawler.simweb.render import render

MAX_REQUEST_BYTES = 65_536


class Answer(NamedTuple):
    status: int
    body: bytes
    content_type: str = "text/html; charset=utf-8"
    location: str | None = None


class PageCache:
    """The answers given last, up to a number of bytes."""

    def __init__(self, max_bytes: int = 200_000_000) -> None:
        self.max_bytes = max_bytes
        self._bytes = 0
        self._answers: OrderedDict[tuple[str, str], Answer] = OrderedDict()

    def get(self, key: tuple[str, str]) -> Answer | None:
        found = self._answers.get(key)
        if found:
            self._answers.move_to_end(key)
        return found

    def put(self, key: tuple[str, str], answer: Answer) -> None:
        self._answers[key] = answer
        self._bytes += len(answer.body)
        while self._bytes > self.max_bytes:
            self._bytes -= len(self._answers.popitem(last=False)[1].body)


def answer(web: Web, host: str, path: str) -> Answer:
    """What the web says to GET `path` on `host`."""
    if path == "/robots.txt":
        return Answer(200, web.robots(host).encode(), "text/plain; charset=utf-8")
    target = web.redirect(host, path)
    if target:
        return Answer(302, b"", location=target)
    page = web.find(host, path)
    if page is None:
        return Answer(404, b"<!DOCTYPE html><title>Not found</title><p>There is no such page here.")
    if web.is_broken(page):
        return Answer(500, b"<!DOCTYPE html><title>Error</title><p>Something went wrong.")
    return Answer(200, render(web, page))


class RequestLog:
    """One JSON object a line; the first line holds the web's parameters, so that truth can be rebuilt from it."""

    def __init__(self, path: Path, params: WebParams) -> None:
        try:
            self._file: IO[str] = path.open("w", encoding="utf-8")
        except OSError as error:
            raise ConfigError(f"The log {path} cannot be written: {error.strerror}. Give another --log.") from error
        self._write({"web": params.model_dump()})

    def add(self, arrived: float, host: str, path: str, status: int, conditional: bool) -> None:
        self._write(
            {
                "arrived": round(arrived, 6),
                "finished": round(time.time(), 6),
                "host": host,
                "path": path,
                "status": status,
                "conditional": conditional,
            }
        )

    def _write(self, row: dict[str, object]) -> None:
        # Flushed line by line: a reader sees a request no later than its sender sees the answer.
        self._file.write(json.dumps(row) + "\n")
        self._file.flush()

    def close(self) -> None:
        self._file.close()


class _Connection(asyncio.Protocol):
    """One keep-alive connection; requests on it are answered in order."""

    def __init__(self, server: SimServer) -> None:
        self._server = server
        self._buffer = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._server.connections.add(self._transport)

    def connection_lost(self, _error: Exception | None) -> None:
        self._server.connections.discard(self._transport)

    def data_received(self, data: bytes) -> None:
        arrived = time.time()
        self._buffer += data
        while (end := self._buffer.find(b"\r\n\r\n")) >= 0:
            head, self._buffer = self._buffer[:end], self._buffer[end + 4 :]
            self._respond(head, arrived)
        if len(self._buffer) > MAX_REQUEST_BYTES:
            self._transport.close()

    def _respond(self, head: bytes, arrived: float) -> None:
        request, *lines = head.decode("latin-1").split("\r\n")
        headers = {name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        method, _, rest = request.partition(" ")
        path = rest.rpartition(" ")[0]
        host = headers.get("host", "").partition(":")[0].lower()
        said = self._server.answer(host, path) if method in ("GET", "HEAD") else Answer(405, b"")
        if self._server.log:
            self._server.log.add(arrived, host, path, said.status, "if-none-match" in headers)
        closing = headers.get("connection", "").lower() == "close"
        fields = [
            f"HTTP/1.1 {said.status} {HTTPStatus(said.status).phrase}",
            f"Content-Type: {said.content_type}",
            f"Content-Length: {len(said.body)}",
        ]
        if said.location:
            fields.append(f"Location: {said.location}")
        if closing:
            fields.append("Connection: close")
        self._transport.write(
            "\r\n".join(fields).encode("latin-1") + b"\r\n\r\n" + (said.body if method == "GET" else b"")
        )
        if closing:
            self._transport.close()


class SimServer:
    """Serves one web on one port of the loopback, between `async with` and the end of it."""

    def __init__(self, web: Web, port: int = 0, log: RequestLog | None = None) -> None:
        self.web = web
        self.port = port
        self.log = log
        self.connections: set[asyncio.Transport] = set()
        self._cache = PageCache()
        self._server: asyncio.Server | None = None

    async def __aenter__(self) -> SimServer:
        try:
            self._server = await asyncio.get_running_loop().create_server(
                lambda: _Connection(self), "127.0.0.1", self.port, backlog=1024
            )
        except OSError as error:
            raise ConfigError(
                f"Port {self.port} cannot be used: {error.strerror}. Give another --port; 0 takes a free one."
            ) from error
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._server is not None
        self._server.close()
        for transport in list(self.connections):
            transport.abort()
        await self._server.wait_closed()
        if self.log:
            self.log.close()

    def answer(self, host: str, path: str) -> Answer:
        key = (host, path)
        said = self._cache.get(key)
        if said is None:
            said = answer(self.web, host, path)
            self._cache.put(key, said)
        return said
