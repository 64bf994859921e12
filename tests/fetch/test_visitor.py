"""A polite guest: many names on one machine share its pace, and robots.txt is asked for once."""

from __future__ import annotations

import asyncio
import time
from collections import defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from itertools import pairwise

import pytest

from tests.fetch.test_robots import at_once
from tests.site import Answer as SiteAnswer
from tests.site import SmallSite
from tres_crawler.config import FetchSettings
from tres_crawler.errors import BadStatus, Disallowed, FetchError, Postponed, TimedOut
from tres_crawler.fetch.client import Client
from tres_crawler.fetch.dns import Answer, Resolver
from tres_crawler.fetch.pace import Pace, retry_after
from tres_crawler.fetch.robots import Robots
from tres_crawler.fetch.visitor import Visitor
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
    """As the engine does: wait until the host is free, reserve it, ask; again if that may help."""
    while True:
        if visitor.is_free(host):
            visitor.reserve(host)
            try:
                return await ask()
            except FetchError as trouble:
                if not (trouble.retry or isinstance(trouble, Postponed)):
                    raise
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


async def test_of_several_addresses_the_one_that_is_connected_to_rests(machines: Machines) -> None:
    names = {"both.test": ("127.0.0.5", "127.0.0.3"), "five.test": ("127.0.0.5",), "three.test": ("127.0.0.3",)}

    async def look_up(host: str) -> Answer:
        return Answer(names[host], 300.0)

    settings = FetchSettings(allow_private_addresses=True, ports=(machines.port,), obey_robots=False)
    async with Visitor(settings, Pace(30.0, time.monotonic), Robots(time.time), forget, Resolver(look_up)) as visitor:

        async def ask(host: str) -> Fetched:
            visitor.reserve(f"{host}:{machines.port}")
            return await visitor.get(f"http://{host}:{machines.port}/")

        assert (await ask("both.test")).status == 200
        assert list(machines.asked) == ["127.0.0.5"]
        with pytest.raises(Postponed):
            await ask("five.test")
        assert (await ask("three.test")).status == 200


async def test_an_address_that_stands_for_all_hosts_is_not_paced(site: SmallSite) -> None:
    settings = FetchSettings(delay_seconds=30.0, connect_to=f"127.0.0.1:{site.port}", obey_robots=False)
    for host in ("a.test", "b.test", "c.test"):
        site.page(f"{host}/")
    async with Visitor(settings, Pace(30.0, time.monotonic), Robots(time.time), forget) as visitor:
        for host in ("a.test", "b.test", "c.test"):
            visitor.reserve(host)
            assert (await visitor.get(f"http://{host}/")).status == 200
        assert not visitor.is_free("a.test")


class HandClock:
    """Time that passes only when told to."""

    now = 1000.0

    def __call__(self) -> float:
        return self.now


class OneMachine:
    """A visitor to whom all names lead to one machine; the pause is a second by a clock of the test's own."""

    def __init__(self, site: SmallSite, **settings: object) -> None:
        self.clock = HandClock()
        self.port = site.port
        self.visitor = Visitor(
            FetchSettings.model_validate({"allow_private_addresses": True, "ports": (site.port,), **settings}),
            Pace(1.0, self.clock),
            Robots(time.time),
            forget,
            Resolver(self._look_up),
        )

    async def ask(self, host: str) -> Fetched:
        self.visitor.reserve(f"{host}:{self.port}")
        return await self.visitor.get(f"http://{host}:{self.port}/")

    async def _look_up(self, _host: str) -> Answer:
        return Answer(("127.0.0.1",), 300.0)


async def test_a_host_that_asks_for_a_day_of_rest_asks_it_for_itself_not_for_others_at_its_address(
    site: SmallSite,
) -> None:
    site.answers["bad.test/"] = [SiteAnswer(503, headers={"Retry-After": "86400"})]
    site.page("good.test/")
    machine = OneMachine(site, obey_robots=False)
    async with machine.visitor:
        with pytest.raises(BadStatus):
            await machine.ask("bad.test")
        machine.clock.now += 0.9
        with pytest.raises(Postponed):
            await machine.ask("good.test")
        machine.clock.now += 0.2
        assert (await machine.ask("good.test")).status == 200
        assert machine.visitor.free_at(f"bad.test:{site.port}") > machine.clock.now + 86_000


@pytest.mark.parametrize("status", [429, 503])
async def test_a_host_that_asks_for_an_hour_of_rest_in_place_of_its_robots_txt_gets_it(
    site: SmallSite, status: int
) -> None:
    site.answers["a.test/robots.txt"] = [SiteAnswer(status, headers={"Retry-After": "3600"})]
    machine = OneMachine(site)
    async with machine.visitor:
        with pytest.raises(Disallowed, match=f"could not be had .status {status}") as trouble:
            await machine.ask("a.test")
        assert trouble.value.retry
        assert machine.visitor.free_at(f"a.test:{site.port}") == machine.clock.now + 3600


async def test_a_host_to_which_many_are_sent_for_their_robots_txt_is_asked_at_its_own_pace(site: SmallSite) -> None:
    hosts = [f"h{number}.test" for number in range(4)]
    for host in hosts:
        site.redirect(f"{host}/robots.txt", f"files.test/{host}")
        site.page(f"files.test/{host}", text="\nUser-agent: *\nDisallow: /x\n", seconds=0.02)
        site.page(f"{host}/")
    settings = FetchSettings(delay_seconds=0.1, connect_to=f"127.0.0.1:{site.port}")
    async with Visitor(settings, Pace(0.1, time.monotonic), Robots(time.time), forget) as visitor:
        fetched = await asyncio.gather(
            *(patiently(visitor, host, lambda host=host: visitor.get(f"http://{host}/")) for host in hosts)  # type: ignore[misc]
        )
    assert all(one.status == 200 for one in fetched), "none was refused"
    asked = [one for one in site.asked if one.host == "files.test"]
    assert len(asked) == len(hosts)
    assert min(later.arrived - earlier.finished for earlier, later in pairwise(asked)) >= 0.1


async def test_one_who_is_sent_to_a_busy_host_for_robots_txt_comes_again_later(site: SmallSite) -> None:
    site.redirect("a.test/robots.txt", f"files.test:{site.port}/robots.txt")
    site.redirect("a.test/", "nowhere.test/")
    machine = OneMachine(site)
    async with machine.visitor:
        machine.visitor.reserve(f"files.test:{site.port}")
        with pytest.raises(Disallowed, match="a host that must rest first") as trouble:
            await machine.ask("a.test")
        assert trouble.value.retry
        assert [one.host for one in site.asked] == ["a.test"]
        machine.visitor.cancel(f"files.test:{site.port}")
        machine.clock.now += 4.0
        with pytest.raises(Postponed):
            await machine.ask("a.test")
        machine.clock.now += 1.0
        assert (await machine.ask("a.test")).location


async def test_robots_txt_may_lead_through_hosts_of_one_address_and_they_all_rest_afterwards(site: SmallSite) -> None:
    way = ["a.test/robots.txt", "www.b.test/robots.txt", "www.b.test/again", "b.test/robots.txt"]
    for here, there in pairwise(way):
        host, _, path = there.partition("/")
        site.redirect(here, f"{host}:{site.port}/{path}")
    machine = OneMachine(site)
    async with machine.visitor:
        with pytest.raises(Postponed, match=r"robots\.txt was asked for"):
            await machine.ask("a.test")
        assert [f"{one.host}{one.path}" for one in site.asked] == way
        for host in ("a.test", "www.b.test", "b.test"):
            assert machine.visitor.free_at(f"{host}:{site.port}") == machine.clock.now + 1.0


async def test_trouble_behind_a_redirect_of_robots_txt_is_the_last_hosts_and_makes_the_first_wait(
    site: SmallSite,
) -> None:
    site.redirect("a.test/robots.txt", f"b.test:{site.port}/robots.txt")
    site.redirect("b.test/robots.txt", f"c.test:{site.port}/robots.txt")
    site.answers["c.test/robots.txt"] = [SiteAnswer(503, headers={"Retry-After": "3600"})]
    machine = OneMachine(site)
    async with machine.visitor:
        with pytest.raises(Disallowed, match="status 503"):
            await machine.ask("a.test")
        pauses = [machine.visitor.free_at(f"{name}.test:{site.port}") - machine.clock.now for name in "abc"]
        assert pauses == [3600, 1, 3600]


async def test_dead_names_slow_their_address_down_but_never_for_long(site: SmallSite) -> None:
    site.page("good.test/")
    machine = OneMachine(site, obey_robots=False, timeout_seconds=0.05)
    async with machine.visitor:
        for number in range(12):
            site.page(f"dead{number}.test/", seconds=0.2)
            with pytest.raises(TimedOut):
                await machine.ask(f"dead{number}.test")
            machine.clock.now += 32.0
        machine.clock.now -= 1.0
        with pytest.raises(Postponed):
            await machine.ask("good.test")
        machine.clock.now += 1.0
        assert (await machine.ask("good.test")).status == 200
        assert machine.visitor.quarantined() == []


async def test_fifty_who_want_one_robots_txt_share_one_request(site: SmallSite) -> None:
    site.robots("a.test", "User-agent: *\nDisallow: /x")
    robots = Robots(time.time)
    async with Client(FetchSettings(connect_to=f"127.0.0.1:{site.port}")) as client:
        found = await asyncio.gather(*(robots.ask(client, f"http://a.test/{n}", at_once) for n in range(50)))
    assert len(site.asked) == 1
    assert len({rules.answer.body for rules in found}) == 1


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("120", 120.0),
        ("Mon, 16 Nov 2026 12:01:00 GMT", 60.0),
        ("Mon, 16 Nov 2026 11:00:00 GMT", 0.0),
        ("soon", 0.0),
        ("", 0.0),
        ("99999999999", 86_400.0),
        ("Mon, 1 Jan 99999999999999999999 00:00:00 GMT", 0.0),
        ("Mon, 16 Nov 2026 12:01:00 +99999999999999", 0.0),
    ],
)
def test_retry_after_is_read_as_seconds_or_as_a_date(value: str, seconds: float) -> None:
    noon = 1_794_830_400.0
    fetched = Fetched("http://a.test/", 503, "", b"", None, 0.1, (("retry-after", value),))
    assert retry_after(fetched, noon) == seconds
