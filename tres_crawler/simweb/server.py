"""The simulated web over real HTTP/1.1 with keep-alive: one loopback port, whatever the Host header says."""

from __future__ import annotations

import asyncio
import json
import time
from collections import OrderedDict
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from itertools import islice
from pathlib import Path
from typing import IO, Self, cast

from tres_crawler.errors import ConfigError
from tres_crawler.simweb.answers import LIMIT_SECONDS, Answer, answer, is_limited, is_print, too_many, version, web_date
from tres_crawler.simweb.model import Web
from tres_crawler.simweb.params import WebParams
from tres_crawler.simweb.sites import LARGEST_SITE

MAX_REQUEST_BYTES = 65_536
CACHE_BYTES = 200_000_000
ROW_BYTES = 1000
"""What an answer costs to keep beside its body, roughly."""


class RequestLog:
    """One JSON object a line; the first line holds what truth must know of the web."""

    def __init__(self, path: Path, params: WebParams, time_scale: float = 0.0) -> None:
        try:
            self._file: IO[str] = path.open("w", encoding="utf-8")
        except OSError as error:
            raise ConfigError(f"The log {path} cannot be written: {error.strerror}. Give another --log.") from error
        self._write({"web": params.model_dump(), "time_scale": time_scale, "started": time.time()})

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


class PageCache:
    """The answers given last, up to a number of bytes."""

    def __init__(self, max_bytes: int = CACHE_BYTES) -> None:
        self.max_bytes = max_bytes
        self._bytes = 0
        self._answers: OrderedDict[tuple[str, str, str], Answer] = OrderedDict()

    def get(self, key: tuple[str, str, str]) -> Answer | None:
        found = self._answers.get(key)
        if found:
            self._answers.move_to_end(key)
        return found

    def put(self, key: tuple[str, str, str], said: Answer) -> None:
        self._answers[key] = said
        self._bytes += len(said.body) + ROW_BYTES
        while self._bytes > self.max_bytes:
            self._bytes -= len(self._answers.popitem(last=False)[1].body) + ROW_BYTES


class SimServer:
    """Serves one web on one port of the loopback, between `async with` and the end of it.

    `time_scale` is how many times faster than ours the web's time runs; 0: it stands still.
    """

    def __init__(self, web: Web, port: int = 0, log: RequestLog | None = None, time_scale: float = 0.0) -> None:
        self.web = web
        self.port = port
        self.log = log
        self.time_scale = time_scale
        self.connections: set[asyncio.Transport] = set()
        self._cache = PageCache()
        self._last_asked: dict[str, float] = {}
        self._server: asyncio.Server | None = None
        self._started = time.time()
        self._date = 0, web_date(0.0)

    async def __aenter__(self) -> Self:
        loop = asyncio.get_running_loop()
        try:
            self._server = await loop.create_server(
                lambda: _Connection(self, loop), "127.0.0.1", self.port, backlog=1024
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

    @property
    def hours(self) -> float:
        """The web's time now."""
        return (time.time() - self._started) * self.time_scale / 3600

    @property
    def date(self) -> str:
        """The web's time now, for the Date header."""
        second = int(self.hours * 3600)
        if second != self._date[0]:
            self._date = second, web_date(second / 3600)
        return self._date[1]

    def prepare(self, count: int) -> None:
        """Make `count` pages ahead, homes first, so that serving them costs no more than sending."""
        numbered = ((site, number) for number in range(LARGEST_SITE) for site in self.web.sites if number < site.size)
        for site, number in islice(numbered, count):
            self._made(site.host, self.web.path(self.web.page(site, number)))

    def answer(self, host: str, path: str, headers: dict[str, str]) -> Answer:
        if is_limited(self.web, host):
            before, now = self._last_asked.get(host, 0.0), time.monotonic()
            self._last_asked[host] = now
            if now - before < LIMIT_SECONDS:
                return too_many()
        said = self._made(host, path)
        return not_modified(said) if is_current(said, headers) else said

    def _made(self, host: str, path: str) -> Answer:
        hours = self.hours
        key = (host, path, self._version(host, path, hours))
        said = self._cache.get(key)
        if said is None:
            said = answer(self.web, host, path, hours)
            self._cache.put(key, said)
        return said

    def _version(self, host: str, path: str, hours: float) -> str:
        if not self.time_scale:
            return ""
        page = self.web.find(host, path)
        return version(self.web, page, hours, is_print(path))[0] if page else ""


def is_current(said: Answer, headers: dict[str, str]) -> bool:
    """Whether what a caller has already is still what it would get (If-None-Match counts before If-Modified-Since)."""
    own = dict(said.headers)
    if said.status != 200 or "ETag" not in own:
        return False
    if "if-none-match" in headers:
        return own["ETag"] in {tag.strip().removeprefix("W/") for tag in headers["if-none-match"].split(",")}
    if "if-modified-since" in headers:
        try:
            since = parsedate_to_datetime(headers["if-modified-since"])
            return parsedate_to_datetime(own["Last-Modified"]) <= since
        except (ValueError, TypeError, OverflowError):
            return False
    return False


def not_modified(said: Answer) -> Answer:
    return Answer(304, b"", said.content_type, said.headers, said.wait_seconds)


class _Connection(asyncio.Protocol):
    """One keep-alive connection; requests on it are answered in order, one after the other."""

    def __init__(self, server: SimServer, loop: asyncio.AbstractEventLoop) -> None:
        self._server = server
        self._loop = loop
        self._buffer = b""
        self._waiting = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._server.connections.add(self._transport)

    def connection_lost(self, _error: Exception | None) -> None:
        self._server.connections.discard(self._transport)

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        if len(self._buffer) > MAX_REQUEST_BYTES:
            self._transport.abort()
            return
        self._next()

    def _next(self) -> None:
        """Answer the oldest request in the buffer; each answer calls for the next."""
        end = -1 if self._waiting else self._buffer.find(b"\r\n\r\n")
        if end >= 0:
            head, self._buffer = self._buffer[:end], self._buffer[end + 4 :]
            self._respond(head)

    def _respond(self, head: bytes) -> None:
        arrived = time.time()
        request, *lines = head.decode("latin-1").split("\r\n")
        headers = {name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        method, _, rest = request.partition(" ")
        path = rest.rpartition(" ")[0]
        host = headers.get("host", "").partition(":")[0].lower()
        said = self._server.answer(host, path, headers) if method in ("GET", "HEAD") else Answer(405)

        def send() -> None:
            self._waiting = False
            if self._server.log:
                conditional = "if-none-match" in headers or "if-modified-since" in headers
                self._server.log.add(arrived, host, path, said.status, conditional)
            if self._transport.is_closing():
                return  # whoever asked has been killed while the answer was slow
            self._send(said, with_body=method != "HEAD", closing=headers.get("connection", "").lower() == "close")
            self._next()

        if said.wait_seconds:
            self._waiting = True
            self._loop.call_later(said.wait_seconds, send)
        else:
            send()

    def _send(self, said: Answer, with_body: bool, closing: bool) -> None:
        fields = [f"HTTP/1.1 {said.status} {HTTPStatus(said.status).phrase}", f"Date: {self._server.date}"]
        if said.status != 304:
            fields += [f"Content-Type: {said.content_type}", f"Content-Length: {len(said.body)}"]
        fields += [f"{name}: {value}" for name, value in said.headers]
        if closing:
            fields.append("Connection: close")
        body = said.body if with_body else b""
        self._transport.write("\r\n".join(fields).encode("latin-1") + b"\r\n\r\n" + body)
        if closing:
            self._transport.close()
