"""A small web on the loopback for tests: pages, redirects, errors and slow answers, with a record of who asked what."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from tres_crawler.records import Topic

WORDS = "tennis players meet on court and the coach is pleased with the match and the championship"


@dataclass
class Answer:
    status: int = 200
    body: str = ""
    headers: dict[str, str] = field(default_factory=dict)
    seconds: float = 0.0


@dataclass
class Asked:
    host: str
    path: str
    arrived: float
    headers: dict[str, str] = field(default_factory=dict)
    finished: float = 0.0


class SmallSite:
    """Answers for whatever host is asked; `host/path` names a page."""

    def __init__(self) -> None:
        self.answers: dict[str, list[Answer]] = {}
        self.asked: list[Asked] = []
        self.port = 0
        self._writers: set[asyncio.StreamWriter] = set()
        self.under_way: Counter[str] = Counter()
        self.most_under_way: Counter[str] = Counter()

    # ---- vocabulary ----

    def page(
        self,
        at: str,
        links: Iterable[str] = (),
        text: str = "",
        seconds: float = 0.0,
        headers: dict[str, str] | None = None,
    ) -> None:
        """With an ETag among its headers, whoever has it already is answered 304."""
        anchors = "".join(f'<a href="http://{link}">to {link}</a>' for link in links)
        body = f"<title>{at}</title><p>{text or f'{WORDS} at {at}'}</p>{anchors}"
        self.answers[at] = [Answer(200, body, headers or {}, seconds=seconds)]

    def redirect(self, at: str, to: str) -> None:
        self.answers[at] = [Answer(302, headers={"Location": f"http://{to}"})]

    def error(self, at: str, status: int, times: int | None = None) -> None:
        """Answer with `status`: always, or `times` times before what is there already."""
        before = [Answer(status)] * (times or 1)
        self.answers[at] = before + (self.answers.get(at, []) if times else [])

    def robots(self, host: str, text: str, status: int = 200) -> None:
        self.answers[f"{host}/robots.txt"] = [Answer(status, text, {"Content-Type": "text/plain"})]

    def paths(self, host: str | None = None) -> list[str]:
        """Pages asked for, in order, without robots.txt."""
        return [
            f"{one.host}{one.path}"
            for one in self.asked
            if one.path != "/robots.txt" and (host is None or one.host == host)
        ]

    def topic(self, *seeds: str) -> Topic:
        return Topic("tennis", ("tennis", "coach", "match", "championship"), tuple(f"http://{seed}" for seed in seeds))

    # ---- serving ----

    async def __aenter__(self) -> SmallSite:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        for writer in self._writers:
            writer.close()
        await self._server.wait_closed()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writers.add(writer)
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                request, *lines = head.decode().split("\r\n")
                headers = dict(line.lower().split(": ", 1) for line in lines if line)
                await self._answer(headers["host"].partition(":")[0], request.split(" ")[1], headers, writer)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            self._writers.discard(writer)
            writer.close()

    async def _answer(self, host: str, path: str, headers: dict[str, str], writer: asyncio.StreamWriter) -> None:
        asked = Asked(host, path, time.monotonic(), headers)
        self.asked.append(asked)
        self.under_way[host] += 1
        self.most_under_way[host] = max(self.most_under_way[host], self.under_way[host])
        queue = self.answers.get(f"{host}{path}") or [Answer(404)]
        answer = queue.pop(0) if len(queue) > 1 else queue[0]
        if "ETag" in answer.headers and headers.get("if-none-match") == answer.headers["ETag"].lower():
            answer = Answer(304, headers=answer.headers)
        await asyncio.sleep(answer.seconds)
        body = answer.body.encode()
        fields = {"Content-Type": "text/html; charset=utf-8", "Content-Length": str(len(body)), **answer.headers}
        head = "".join(f"{name}: {value}\r\n" for name, value in fields.items())
        self.under_way[host] -= 1
        asked.finished = time.monotonic()
        writer.write(f"HTTP/1.1 {answer.status} X\r\n{head}\r\n".encode(errors="surrogateescape") + body)
        await writer.drain()
