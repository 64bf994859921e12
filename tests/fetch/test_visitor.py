"""A polite guest: many names on one machine share its pace, and robots.txt is asked for once."""

from __future__ import annotations

import asyncio
import time
from collections import defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from itertools import pairwise

import pytest

from tests.site import SmallSite
from tres_crawler.config import FetchSettings
from tres_crawler.errors import Postponed
from tres_crawler.fetch.client import Client
from tres_crawler.fetch.dns import Answer, Resolver
from tres_crawler.fetch.pace import Pace
from tres_crawler.fetch.robots import Robots
from tres_crawler.fetch.visitor import Visitor, retry_after
from tres_crawler.records import Fetched, RobotsAnswer

HOSTS = 60
ADDRESSES = [f"127.0.0.{number}" for number in range(2, 21)]
DELAY_SECONDS = 0.3


async def lookup(host: str) -> Answer:
    """Spreads the hosts h0.test, h1.test, … over the addresses."""
    number = int(host.removeprefix("h").removesuffix(".test"))
    return Answer((ADDRESSES[number % len(ADDRESSES)],), 300.0)


async def forget(_answer: RobotsAnswer) -> None:
    """Nothing is kept."""


class Machines:
    """One server at every address, all on one port; notes when each address was asked."""

    def __init__(self) -> None:
        self.asked: defaultdict[str, list[tuple[float, float]]] = defaultdict(list)
        self.port = 0

    async def open(self, stack: AsyncExitStack) -> None:
        for address in ADDRESSES:
            server = await asyncio.start_server(self._serve, address, self.port)
            self.port = server.sockets[0].getsockname()[1]
            await stack.enter_async_context(server)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        started = time.monotonic()
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 2\r\nConnection: close\r\n\r\nhi")
        await writer.drain()
        self.asked[writer.get_extra_info("sockname")[0]].append((started, time.monotonic()))
        writer.close()


@pytest.fixture
async def machines() -> AsyncIterator[Machines]:
    async with AsyncExitStack() as stack:
        running = Machines()
        await running.open(stack)
        yield running


async def patiently(visitor: Visitor, host: str, ask: Callable[[], Awaitable[Fetched]]) -> Fetched:
    """As the engine does: wait until the host is free, reserve it, ask; again if it was postponed."""
    while True:
        if visitor.is_free(host):
            visitor.reserve(host)
            try:
                return await ask()
            except Postponed:
                pass
        await asyncio.sleep(0.01)


async def test_sixty_hosts_on_nineteen_machines_share_their_machines_pace(machines: Machines) -> None:
    settings = FetchSettings(
        delay_seconds=DELAY_SECONDS, allow_private_addresses=True, ports=(machines.port,), obey_robots=False
    )
    pace, robots = Pace(DELAY_SECONDS, time.monotonic), Robots(time.time)
    async with Visitor(settings, pace, robots, forget, Resolver(lookup)) as visitor:
        hosts = [f"h{number}.test:{machines.port}" for number in range(HOSTS)]
        fetched = await asyncio.gather(
            *(patiently(visitor, host, lambda host=host: visitor.get(f"http://{host}/")) for host in hosts)  # type: ignore[misc]
        )
    assert all(one.status == 200 for one in fetched)
    assert sum(map(len, machines.asked.values())) == HOSTS
    assert set(machines.asked) == set(ADDRESSES)
    for times in machines.asked.values():
        gaps = [later[0] - earlier[1] for earlier, later in pairwise(sorted(times))]
        assert not gaps or min(gaps) >= DELAY_SECONDS - 0.02


async def test_an_address_that_stands_for_all_hosts_is_not_paced(site: SmallSite) -> None:
    settings = FetchSettings(delay_seconds=30.0, connect_to=f"127.0.0.1:{site.port}", obey_robots=False)
    for host in ("a.test", "b.test", "c.test"):
        site.page(f"{host}/")
    async with Visitor(settings, Pace(30.0, time.monotonic), Robots(time.time), forget) as visitor:
        for host in ("a.test", "b.test", "c.test"):
            visitor.reserve(host)
            assert (await visitor.get(f"http://{host}/")).status == 200
        assert not visitor.is_free("a.test")


async def test_fifty_who_want_one_robots_txt_share_one_request(site: SmallSite) -> None:
    site.robots("a.test", "User-agent: *\nDisallow: /x")
    robots = Robots(time.time)
    async with Client(FetchSettings(connect_to=f"127.0.0.1:{site.port}")) as client:
        answers = await asyncio.gather(*(robots.ask(client, f"http://a.test/{n}") for n in range(50)))
    assert len(site.asked) == 1
    assert len({answer.body for answer in answers}) == 1


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("120", 120.0),
        ("Mon, 16 Nov 2026 12:01:00 GMT", 60.0),
        ("Mon, 16 Nov 2026 11:00:00 GMT", 0.0),
        ("soon", 0.0),
        ("", 0.0),
        ("99999999999", 86_400.0),
    ],
)
def test_retry_after_is_read_as_seconds_or_as_a_date(value: str, seconds: float) -> None:
    noon = 1_794_830_400.0
    fetched = Fetched("http://a.test/", 503, "", b"", None, 0.1, (("retry-after", value),))
    assert retry_after(fetched, noon) == seconds
