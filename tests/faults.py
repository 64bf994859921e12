"""A web of faults on the loopback: one host for each thing that strangers' servers do to a crawler."""

from __future__ import annotations

import asyncio
import gzip
import random
import socket
import struct
import time
from collections.abc import AsyncIterator, Callable
from functools import cache
from itertools import count

import brotli
import zstandard

from tres_crawler.fetch.dns import Answer, Lookup

WORDS = "tennis players meet on court and the coach is pleased with the match and the championship"
BOMB_BYTES = 100_000_000
MANY_LINKS = 200_000
LONG_PATH = "long-" * 2000
RETRY_AFTER_SECONDS = 1
ELSEWHERE = {"inside.test": "10.0.0.7", "metadata.test": "169.254.169.254"}
"""Names that lead off the fault web, to where no crawler may go."""

Said = AsyncIterator[bytes]
Fault = Callable[["FaultWeb", str], Said]
"""What a host says to one request for a path, piece by piece; then the connection is closed."""

FAULTS: dict[str, Fault] = {}


class Cut(Exception):
    """The connection is to be reset."""


class FaultWeb:
    """Every fault has a host of its own, at an address of its own, all on one port."""

    def __init__(self) -> None:
        self.port = 0
        self.asked: list[tuple[str, str, float]] = []
        """(host, path, time) of every request."""
        self.addresses = {f"{name}.test": f"127.0.1.{number}" for number, name in enumerate(FAULTS, 1)}
        self._servers: list[asyncio.Server] = []
        self._serving: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> FaultWeb:
        _made_ahead()
        for address in self.addresses.values():
            server = await asyncio.start_server(self._serve, address, self.port)
            self._servers.append(server)
            self.port = server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        for server in self._servers:
            server.close()
        for task in self._serving:
            task.cancel()
        await asyncio.gather(*self._serving, return_exceptions=True)

    def url(self, name: str, path: str = "/") -> str:
        return f"http://{name}.test:{self.port}{path}"

    def times(self, name: str, path: str = "/") -> list[float]:
        """When a page was asked for."""
        return [at for host, asked, at in self.asked if (host, asked) == (f"{name}.test", path)]

    def lookup(self) -> Lookup:
        """A name server that knows the hosts of this web."""

        async def look_up(host: str) -> Answer:
            found = self.addresses.get(host) or ELSEWHERE.get(host)
            if not found:
                raise socket.gaierror(socket.EAI_NONAME, "no such name")
            return Answer((found,), 3600.0)

        return look_up

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task
        self._serving.add(task)
        task.add_done_callback(self._serving.discard)
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
            path = head[0].split(" ")[1]
            host = next(line[6:] for line in head if line.lower().startswith("host: ")).partition(":")[0]
            self.asked.append((host, path, time.monotonic()))
            await self._answer(host.removesuffix(".test"), path, writer)
        except Cut:
            # SO_LINGER 0: the connection ends with a reset, as it does where a server was killed.
            writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        except (asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            pass
        finally:
            writer.close()

    async def _answer(self, name: str, path: str, writer: asyncio.StreamWriter) -> None:
        if path == "/robots.txt" and name not in ("robots-503", "walled"):
            writer.write(answer(b"", status="404 Not Found"))
            return
        async for piece in FAULTS[name](self, path):
            writer.write(piece)
            await writer.drain()


def answer(body: bytes, *fields: str, status: str = "200 OK", kind: str = "text/html; charset=utf-8") -> bytes:
    head = [f"HTTP/1.1 {status}", f"Content-Type: {kind}", f"Content-Length: {len(body)}", "Connection: close", *fields]
    return "\r\n".join([*head, "", ""]).encode() + body


def page(title: str, rest: str = "") -> bytes:
    return f"<title>{title}</title><p>{WORDS}, says {title}</p>{rest}".encode()


def redirect(to: str) -> bytes:
    return answer(b"", f"Location: {to}", status="302 Found")


def fault(name: str) -> Callable[[Fault], Fault]:
    def add(function: Fault) -> Fault:
        FAULTS[name] = function
        return function

    return add


# ---- time ----


@fault("slow-headers")
async def slow_headers(_web: FaultWeb, _path: str) -> Said:
    yield b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n"
    await asyncio.sleep(3600)


@fault("dripping-headers")
async def dripping_headers(_web: FaultWeb, _path: str) -> Said:
    yield b"HTTP/1.1 200 OK\r\n"
    for number in count():
        yield f"X-{number}: y\r\n".encode()
        await asyncio.sleep(0.05)


@fault("slow-body")
async def slow_body(_web: FaultWeb, _path: str) -> Said:
    yield b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 1000000\r\n\r\n<p>"
    while True:
        yield b"x"
        await asyncio.sleep(0.05)


# ---- size ----


@fault("endless-body")
async def endless_body(_web: FaultWeb, _path: str) -> Said:
    yield b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n"
    while True:
        yield b"<p>and so on</p>" * 4096


@fault("gzip-bomb")
async def gzip_bomb(_web: FaultWeb, _path: str) -> Said:
    yield answer(bomb("gzip"), "Content-Encoding: gzip")


@fault("gzip-gzip-bomb")
async def layered_bomb(_web: FaultWeb, _path: str) -> Said:
    yield answer(gzip.compress(bomb("gzip")), "Content-Encoding: gzip, gzip")


@fault("br-bomb")
async def brotli_bomb(_web: FaultWeb, _path: str) -> Said:
    yield answer(bomb("br"), "Content-Encoding: br")


@fault("zstd-bomb")
async def zstd_bomb(_web: FaultWeb, _path: str) -> Said:
    yield answer(bomb("zstd"), "Content-Encoding: zstd")


@fault("huge-header")
async def huge_header(_web: FaultWeb, _path: str) -> Said:
    yield answer(page("huge header"), "X-Long: " + "y" * 1_000_000)


@fault("many-headers")
async def many_headers(_web: FaultWeb, _path: str) -> Said:
    yield answer(page("many headers"), *(f"X-{number}: {'y' * 100}" for number in range(10_000)))


@fault("many-links")
async def many_links(_web: FaultWeb, path: str) -> Said:
    yield answer(links_body(), "Content-Encoding: gzip") if path == "/" else answer(b"", status="404 Not Found")


@cache
def bomb(encoding: str) -> bytes:
    """A few KB that become 100 MB."""
    if encoding == "gzip":
        return gzip.compress(bytes(BOMB_BYTES))
    if encoding == "br":
        return bytes(brotli.compress(bytes(BOMB_BYTES), quality=1))
    return zstandard.ZstdCompressor(write_content_size=False).compress(bytes(BOMB_BYTES))


@cache
def links_body() -> bytes:
    anchors = "".join(f'<a href="/{number}">go</a>\n' for number in range(MANY_LINKS))
    return gzip.compress(page("many links", anchors))


def _made_ahead() -> None:
    """Made before anyone measures what the crawler's memory does."""
    for encoding in ("gzip", "br", "zstd"):
        bomb(encoding)
    links_body()


# ---- redirects ----


@fault("redirect-loop")
async def redirect_loop(_web: FaultWeb, path: str) -> Said:
    yield redirect("/" if path == "/again" else "/again")


@fault("redirect-chain")
async def redirect_chain(_web: FaultWeb, path: str) -> Said:
    yield redirect(f"{path}x")


@fault("to-disallowed")
async def to_disallowed(web: FaultWeb, _path: str) -> Said:
    yield redirect(web.url("walled", "/secret"))


@fault("walled")
async def walled(_web: FaultWeb, path: str) -> Said:
    yield answer(b"User-agent: *\nDisallow: /secret") if path == "/robots.txt" else answer(page(f"walled {path}"))


@fault("to-loopback")
async def to_loopback(_web: FaultWeb, _path: str) -> Said:
    yield redirect("http://127.0.0.9/admin")


@fault("to-private-name")
async def to_private_name(_web: FaultWeb, _path: str) -> Said:
    yield redirect("http://inside.test/")


@fault("to-metadata")
async def to_metadata(_web: FaultWeb, _path: str) -> Said:
    yield redirect("http://metadata.test/latest/meta-data/")


@fault("to-odd-port")
async def to_odd_port(_web: FaultWeb, _path: str) -> Said:
    yield redirect("http://walled.test:22/")


@fault("to-long-url")
async def to_long_url(_web: FaultWeb, _path: str) -> Said:
    yield redirect(f"/{LONG_PATH}")


@fault("to-file")
async def to_file(_web: FaultWeb, _path: str) -> Said:
    yield redirect("file:///etc/passwd")


# ---- broken connections and answers ----


@fault("reset")
async def reset(_web: FaultWeb, _path: str) -> Said:
    raise Cut
    yield b""


@fault("no-answer")
async def no_answer(_web: FaultWeb, _path: str) -> Said:
    yield b""


@fault("not-http")
async def not_http(_web: FaultWeb, _path: str) -> Said:
    yield b"220 mail.example.org ready\r\n\r\n"


@fault("cut-chunked")
async def cut_chunked(_web: FaultWeb, _path: str) -> Said:
    yield b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nTransfer-Encoding: chunked\r\n\r\n100\r\n<p>half a"


@fault("cut-length")
async def cut_length(_web: FaultWeb, _path: str) -> Said:
    yield b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 5000\r\n\r\n<p>half a"


@fault("not-gzip")
async def not_gzip(_web: FaultWeb, _path: str) -> Said:
    yield answer(page("not gzip"), "Content-Encoding: gzip")


@fault("odd-encoding")
async def odd_encoding(_web: FaultWeb, _path: str) -> Said:
    """Bytes of no alphabet, in a header whose value is told as the reason."""
    yield answer(page("odd"), "Content-Encoding: ODD").replace(b"ODD", b"\xff\xfe")


@fault("odd-type")
async def odd_type(_web: FaultWeb, _path: str) -> Said:
    """The name of a parameter that readers of mail stumble over."""
    yield answer(page("odd type"), kind="text/html;charset*")


# ---- refusals ----


@fault("busy-429")
async def busy(web: FaultWeb, path: str) -> Said:
    first = len(web.times("busy-429", path)) == 1
    later = answer(b"", f"Retry-After: {RETRY_AFTER_SECONDS}", status="429 Too Many Requests")
    yield later if first else answer(page("at last"))


@fault("busy-for-ever")
async def busy_for_ever(_web: FaultWeb, _path: str) -> Said:
    """Until a date that no computer can hold."""
    yield answer(b"", "Retry-After: Mon, 1 Jan 99999999999999999999 00:00:00 GMT", status="503 Later")


@fault("robots-503")
async def robots_503(_web: FaultWeb, path: str) -> Said:
    yield answer(b"", status="503 No") if path == "/robots.txt" else answer(page("never to be asked"))


# ---- bodies ----


@fault("wrong-charset")
async def wrong_charset(_web: FaultWeb, _path: str) -> Said:
    yield answer(f"<title>Чемпионат</title><p>{WORDS}: теннис</p>".encode("windows-1251"))


@fault("binary")
async def binary(_web: FaultWeb, _path: str) -> Said:
    yield answer(random.Random(1).randbytes(300_000), kind="text/html")


@fault("image")
async def image(_web: FaultWeb, _path: str) -> Said:
    yield answer(b"\x89PNG" + bytes(3_000_000), kind="image/png")


@fault("null-bytes")
async def null_bytes(_web: FaultWeb, _path: str) -> Said:
    yield answer(b"<title>n\0ull\0</title><p>\0" + WORDS.encode() + b'\0</p><a href="/a\0b">to\0</a>' + bytes(1000))


@fault("calendar")
async def calendar(_web: FaultWeb, path: str) -> Said:
    month = int(path.rpartition("/")[2] or 0)
    links = f'<a href="/month/{month + 1}">next</a><a href="/month/{month + 500}">later</a>'
    yield answer(f"<title>Month {month}</title><p>No events in month {month}</p>{links}".encode())


@fault("labyrinth")
async def labyrinth(_web: FaultWeb, path: str) -> Said:
    """Every page is new and long, and leads to two more like it."""
    words = random.Random(path).choices(WORDS.split(), k=200)
    text = " ".join(f"{word}{number}" if number % 3 else word for number, word in enumerate(words))
    yield answer(f'<title>{path}</title><p>{text}</p><a href="{path}a">left</a><a href="{path}b">right</a>'.encode())


@fault("long-links")
async def long_links(_web: FaultWeb, path: str) -> Said:
    links = f'<a href="/{LONG_PATH}">long</a><a href="{"/deep" * 40}">deep</a><a href="/ok">ok</a>'
    yield answer(page(f"long links {path}", links))
