"""Webhooks are told of everything once it is stored, signed, again and again until they take it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.commands import tres
from tres_crawler.config import ServeSettings
from tres_crawler.errors import Blocked
from tres_crawler.fetch.post import Poster
from tres_crawler.records import Topic
from tres_crawler.serve import webhooks
from tres_crawler.serve.webhooks import Webhooks, signature
from tres_crawler.store import crawls
from tres_crawler.store.database import Database
from tres_crawler.store.history import last_event
from tres_crawler.store.webhooks import told as told_up_to

SECRET = "between us"


@dataclass
class Listener:
    """Takes POSTs, and refuses as many as it is told to."""

    refuses: int = 0
    port: int = 0
    got: list[tuple[dict[str, str], bytes]] = field(default_factory=list)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/hook"

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                headers = dict(line.lower().split(": ", 1) for line in head.decode().split("\r\n")[1:] if line)
                self.got.append((headers, await reader.readexactly(int(headers["content-length"]))))
                status = b"503 No" if self.refuses > 0 else b"204 Thanks"
                self.refuses -= 1
                writer.write(b"HTTP/1.1 " + status + b"\r\nContent-Length: 0\r\n\r\n")
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    async def until(self, true: Callable[[], bool]) -> None:
        async with asyncio.timeout(60):
            while not true():
                await asyncio.sleep(0.005)


@pytest.fixture
async def listener() -> AsyncIterator[Listener]:
    found = Listener()
    server = await asyncio.start_server(found.serve, "127.0.0.1", 0)
    found.port = server.sockets[0].getsockname()[1]
    yield found
    server.close()
    await server.wait_closed()


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(webhooks, "LOOK_SECONDS", 0.01)
    monkeypatch.setattr(webhooks, "FIRST_WAIT_SECONDS", 0.001)


@asynccontextmanager
async def telling(database: Database, *urls: str, private: bool = True) -> AsyncIterator[None]:
    settings = ServeSettings(webhooks=urls, webhook_secret=SECRET, webhook_private_addresses=private)
    async with Poster(private) as poster, Webhooks(settings, database, poster):
        while [url for url in urls if await told_up_to(database, url) is None]:
            await asyncio.sleep(0.005)
        yield


async def a_crawl(database: Database) -> int:
    return await crawls.create(database, Topic("tennis", ("ball",), ("http://a.test/",)), {}, "random", 1)


async def test_a_new_relevant_site_is_told_signed(database: Database, listener: Listener) -> None:
    crawl = await a_crawl(database)
    await database.write(crawls.relevant_site(crawl, "old.test", 1, "http://old.test/", "Old"))
    async with telling(database, listener.url):
        await database.write(
            crawls.event(crawl, "split", number=1),
            crawls.relevant_site(crawl, "new.test", 7, "http://new.test/", "New"),
        )
        await listener.until(lambda: len(listener.got) == 1)
    headers, body = listener.got[0]  # what was before it was named is not told
    told = json.loads(body)
    assert (told["event"], told["topic"], told["site"], told["page"]) == ("relevant_site", "tennis", "new.test", 7)
    assert headers["x-tres-signature"] == signature(SECRET.encode(), headers["x-tres-timestamp"], body)
    assert headers["x-tres-delivery"] == str(told["id"])


async def test_it_is_told_again_until_it_is_taken_and_in_order(database: Database, listener: Listener) -> None:
    crawl = await a_crawl(database)
    listener.refuses = 3
    async with telling(database, listener.url):
        for number in (1, 2):
            await database.write(crawls.event(crawl, "source changed", page=number))
        await listener.until(lambda: len(listener.got) == 5)
    assert [json.loads(body)["page"] for _, body in listener.got] == [1, 1, 1, 1, 2]


async def test_what_was_not_told_before_a_restart_is_told_after_it(database: Database, listener: Listener) -> None:
    crawl = await a_crawl(database)
    async with telling(database, listener.url):
        pass
    for number in (1, 2):
        await database.write(crawls.event(crawl, "source changed", page=number))
    newest = await last_event(database)
    async with telling(database, listener.url):
        while await told_up_to(database, listener.url) != newest:
            await asyncio.sleep(0.005)
    async with telling(database, listener.url):
        await database.write(crawls.event(crawl, "source changed", page=3))
        await listener.until(lambda: len(listener.got) == 3)
    assert [json.loads(body)["page"] for _, body in listener.got] == [1, 2, 3]


async def test_one_that_never_takes_anything_is_given_up_for_that_event(
    database: Database, listener: Listener, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(webhooks, "MOST_TRIES", 3)
    crawl = await a_crawl(database)
    listener.refuses = 3
    async with telling(database, listener.url):
        for number in (1, 2):
            await database.write(crawls.event(crawl, "source changed", page=number))
        await listener.until(lambda: len(listener.got) == 4)
    assert [json.loads(body)["page"] for _, body in listener.got] == [1, 1, 1, 2]


async def test_private_addresses_are_not_asked_unless_allowed(listener: Listener) -> None:
    async with Poster(allow_private_addresses=False) as poster:
        with pytest.raises(Blocked, match="loopback"):
            await poster.post(listener.url, b"{}", {})
    assert listener.got == []


def test_webhooks_without_a_secret_are_refused_at_the_start(tmp_path: Path) -> None:
    ended = tres("serve", "--port", "0", cwd=tmp_path, SERVE__WEBHOOKS='["http://a.test/"]')
    assert ended.returncode == 2
    assert "TRES_SERVE__WEBHOOK_SECRET" in ended.stderr
