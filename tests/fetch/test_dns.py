"""Names are looked up once, kept for a while and shared; every name server here is the test's own."""

from __future__ import annotations

import asyncio
import socket
import struct
from collections import Counter
from collections.abc import AsyncIterator
from typing import cast

import pytest

from tres_crawler.fetch.dns import MOST_ADDRESSES, Answer, Resolver, SystemLookup, by_c_library


class Clock:
    """Time that passes only when told to."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


class Names:
    """What the names of a test lead to, and how often each was asked for."""

    def __init__(self, **names: Answer | OSError) -> None:
        self.names = {name.replace("_", "."): answer for name, answer in names.items()}
        self.asked: Counter[str] = Counter()
        self.open = asyncio.Event()
        self.open.set()

    async def __call__(self, host: str) -> Answer:
        self.asked[host] += 1
        await self.open.wait()
        answer = self.names.get(host, socket.gaierror(socket.EAI_NONAME, "no such name"))
        if isinstance(answer, OSError):
            raise answer
        return answer


@pytest.fixture
def clock() -> Clock:
    return Clock()


# ---- what is answered ----


async def test_a_name_has_the_addresses_that_are_found_for_it(clock: Clock) -> None:
    resolver = Resolver(Names(a_test=Answer(("1.1.1.1", "2606:4700::1"), 300)), clock)
    assert await resolver.addresses("a.test") == ("1.1.1.1", "2606:4700::1")


@pytest.mark.parametrize(
    ("host", "address"), [("127.0.0.1", "127.0.0.1"), ("[2606:4700::1]", "2606:4700::1"), ("::1", "::1")]
)
async def test_an_address_is_its_own_answer_and_nobody_is_asked(clock: Clock, host: str, address: str) -> None:
    names = Names()
    assert await Resolver(names, clock).addresses(host) == (address,)
    assert not names.asked


@pytest.mark.parametrize(
    ("family", "hosts"),
    [
        (socket.AF_UNSPEC, ["1.1.1.1", "2606:4700::1"]),
        (socket.AF_INET, ["1.1.1.1"]),
        (socket.AF_INET6, ["2606:4700::1"]),
    ],
)
async def test_aiohttp_is_told_the_addresses_of_the_family_it_wants(
    clock: Clock, family: socket.AddressFamily, hosts: list[str]
) -> None:
    resolver = Resolver(Names(a_test=Answer(("1.1.1.1", "2606:4700::1"), 300)), clock)
    told = await resolver.resolve("a.test", 80, family)
    assert [each["host"] for each in told] == hosts
    assert {(each["hostname"], each["port"]) for each in told} == {("a.test", 80)}


async def test_a_name_without_an_address_of_the_wanted_family_fails(clock: Clock) -> None:
    resolver = Resolver(Names(a_test=Answer(("1.1.1.1",), 300)), clock)
    with pytest.raises(socket.gaierror):
        await resolver.resolve("a.test", 80, socket.AF_INET6)


async def test_of_a_mixed_answer_the_public_addresses_count(clock: Clock) -> None:
    mixed = Answer(("10.0.0.1", "1.1.1.1", "fd00::1", "::ffff:127.0.0.1", "8.8.8.8", "1.1.1.1"), 300)
    resolver = Resolver(Names(a_test=mixed, b_test=Answer(("10.0.0.1", "fd00::1"), 300)), clock)
    assert await resolver.addresses("a.test") == ("1.1.1.1", "8.8.8.8")
    assert await resolver.addresses("b.test") == ("10.0.0.1", "fd00::1")  # for the guard to judge


async def test_of_very_many_addresses_the_first_are_kept(clock: Clock) -> None:
    many = tuple(f"8.8.{third}.8" for third in range(200))
    resolver = Resolver(Names(a_test=Answer(many, 300)), clock)
    assert await resolver.addresses("a.test") == many[:MOST_ADDRESSES]


async def test_the_address_that_was_first_stays_first_since_connections_to_it_may_be_kept(clock: Clock) -> None:
    many = tuple(f"8.8.{third}.8" for third in range(200))
    names = Names(a_test=Answer(many, 300), b_test=Answer(("1.1.1.1", "8.8.8.8"), 300))
    resolver = Resolver(names, clock)
    for name in ("a.test", "b.test"):
        await resolver.addresses(name)
    clock.now += 300
    names.names |= {"a.test": Answer(many[9:] + many[:9], 300), "b.test": Answer(("8.8.8.8", "9.9.9.9"), 300)}
    assert await resolver.addresses("a.test") == (many[0], *many[9 : 9 + MOST_ADDRESSES - 1])
    assert await resolver.addresses("b.test") == ("8.8.8.8", "9.9.9.9"), "it has gone"


# ---- how long, how often ----


@pytest.mark.parametrize(("ttl_seconds", "kept_seconds"), [(0, 60), (59, 60), (300, 300), (3601, 3600), (2**31, 3600)])
async def test_an_answer_is_kept_as_long_as_it_says_but_a_minute_at_least_and_an_hour_at_most(
    clock: Clock, ttl_seconds: float, kept_seconds: float
) -> None:
    names = Names(a_test=Answer(("1.1.1.1",), ttl_seconds))
    resolver = Resolver(names, clock)
    for passed, asked in ((0, 1), (kept_seconds - 1, 1), (1, 2)):
        clock.now += passed
        await resolver.addresses("a.test")
        assert names.asked["a.test"] == asked


async def test_fifty_who_want_a_name_at_once_share_one_lookup(clock: Clock) -> None:
    names = Names(a_test=Answer(("1.1.1.1",), 300))
    names.open.clear()
    resolver = Resolver(names, clock)
    waiting = [asyncio.create_task(resolver.addresses("a.test")) for _ in range(50)]
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    names.open.set()
    assert await asyncio.gather(*waiting) == [("1.1.1.1",)] * 50
    assert names.asked == {"a.test": 1}


async def test_one_who_stops_waiting_does_not_stop_the_others(clock: Clock) -> None:
    names = Names(a_test=Answer(("1.1.1.1",), 300))
    names.open.clear()
    resolver = Resolver(names, clock)
    first, second = (asyncio.create_task(resolver.addresses("a.test")) for _ in range(2))
    await asyncio.sleep(0)
    first.cancel()
    await asyncio.sleep(0)
    names.open.set()
    assert await second == ("1.1.1.1",)
    assert first.cancelled()
    assert names.asked == {"a.test": 1}


@pytest.mark.parametrize("code", [socket.EAI_NONAME, socket.EAI_AGAIN])
async def test_a_failure_is_remembered_for_a_minute_and_told_to_all_with_its_kind(clock: Clock, code: int) -> None:
    names = Names(a_test=socket.gaierror(code, "trouble"))
    resolver = Resolver(names, clock)
    for _ in range(3):
        told = await asyncio.gather(*(resolver.addresses("a.test") for _ in range(10)), return_exceptions=True)
        assert {(type(error), str(error)) for error in told} == {(socket.gaierror, f"[Errno {code}] trouble")}
    assert names.asked["a.test"] == 1
    clock.now += 60
    names.names["a.test"] = Answer(("1.1.1.1",), 300)
    assert await resolver.addresses("a.test") == ("1.1.1.1",)


async def test_the_names_longest_known_make_room_for_new_ones(clock: Clock) -> None:
    names = Names(**{f"{letter}_test": Answer(("1.1.1.1",), 300) for letter in "abcd"})
    resolver = Resolver(names, clock, most_names=3)
    for letter in "abcdbcd":
        await resolver.addresses(f"{letter}.test")
    assert names.asked == {"a.test": 1, "b.test": 1, "c.test": 1, "d.test": 1}
    await resolver.addresses("a.test")
    assert names.asked["a.test"] == 2


async def test_a_name_that_was_asked_for_again_counts_as_new(clock: Clock) -> None:
    names = Names(**{f"{letter}_test": Answer(("1.1.1.1",), 300) for letter in "abc"})
    resolver = Resolver(names, clock, most_names=2)
    for letter, passed in (("a", 200), ("b", 100), ("a", 0), ("c", 0), ("a", 0)):
        await resolver.addresses(f"{letter}.test")
        clock.now += passed
    assert names.asked == {"a.test": 2, "b.test": 1, "c.test": 1}


async def test_closing_ends_the_lookups_under_way(clock: Clock) -> None:
    names = Names()
    names.open.clear()
    resolver = Resolver(names, clock)
    waiting = asyncio.create_task(resolver.addresses("a.test"))
    await asyncio.sleep(0)
    await resolver.close()
    with pytest.raises(asyncio.CancelledError):
        await waiting


# ---- asking a name server ----


class NameServer(asyncio.DatagramProtocol):
    """A name server on the loopback: records by name and type, and a code for names it will not answer."""

    A, CNAME, AAAA = 1, 5, 28
    SERVFAIL, NXDOMAIN = 2, 3

    def __init__(self) -> None:
        self.records: dict[tuple[str, int], list[bytes]] = {}
        self.codes: dict[str, int] = {}
        self.asked: Counter[str] = Counter()

    def knows(self, name: str, address: str, ttl_seconds: int) -> None:
        family, kind = (socket.AF_INET6, self.AAAA) if ":" in address else (socket.AF_INET, self.A)
        self._add(name, kind, name, kind, ttl_seconds, socket.inet_pton(family, address))

    def alias(self, name: str, target: str, address: str, ttl_seconds: int) -> None:
        self._add(name, self.A, name, self.CNAME, ttl_seconds, _packed(target))
        self._add(name, self.A, target, self.A, 3000, socket.inet_pton(socket.AF_INET, address))

    def _add(self, asked: str, asked_kind: int, name: str, kind: int, ttl_seconds: int, data: bytes) -> None:
        record = _packed(name) + struct.pack("!HHIH", kind, 1, ttl_seconds, len(data)) + data
        self.records.setdefault((asked, asked_kind), []).append(record)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.DatagramTransport, transport)

    def datagram_received(self, data: bytes, addr: tuple[str, int]) -> None:
        end = data.index(b"\0", 12) + 5
        labels, at = [], 12
        while data[at]:
            labels.append(data[at + 1 : at + 1 + data[at]].decode())
            at += 1 + data[at]
        name, kind = ".".join(labels), struct.unpack("!H", data[at + 1 : at + 3])[0]
        self.asked[name] += 1
        found = self.records.get((name, kind), [])
        code = self.codes.get(name, 0 if any(known == name for known, _ in self.records) else self.NXDOMAIN)
        head = data[:2] + struct.pack("!HHHHH", 0x8180 | code, 1, len(found), 0, 0)
        self.transport.sendto(head + data[12:end] + b"".join(found), addr)


def _packed(name: str) -> bytes:
    return b"".join(bytes([len(label)]) + label.encode() for label in name.split(".")) + b"\0"


@pytest.fixture
async def server() -> AsyncIterator[NameServer]:
    transport, made = await asyncio.get_running_loop().create_datagram_endpoint(NameServer, local_addr=("127.0.0.1", 0))
    yield made
    transport.close()


async def nowhere(host: str) -> Answer:
    raise AssertionError("asked the C library")


@pytest.fixture
async def lookup(server: NameServer) -> AsyncIterator[SystemLookup]:
    port = server.transport.get_extra_info("sockname")[1]
    made = SystemLookup([f"127.0.0.1:{port}"], otherwise=nowhere)
    yield made
    await made.close()


async def test_a_name_server_is_asked_for_both_kinds_of_address_and_the_shortest_time_to_live_counts(
    server: NameServer, lookup: SystemLookup
) -> None:
    server.knows("a.example", "1.1.1.1", 300)
    server.knows("a.example", "8.8.8.8", 200)
    server.knows("a.example", "2606:4700::1", 250)
    answer = await lookup("a.example")
    assert {"1.1.1.1", "8.8.8.8"} <= set(answer.addresses) <= {"1.1.1.1", "8.8.8.8", "2606:4700::1"}
    assert answer.ttl_seconds == 200


async def test_an_alias_is_followed_and_its_time_to_live_counts_too(server: NameServer, lookup: SystemLookup) -> None:
    server.alias("www.example", "a.example", "1.1.1.1", 120)
    assert await lookup("www.example") == Answer(("1.1.1.1",), 120)


async def test_a_name_that_does_not_exist_is_told_apart_from_one_that_cannot_be_had_now(
    server: NameServer, lookup: SystemLookup
) -> None:
    server.codes = {"broken.example": NameServer.SERVFAIL}
    codes = {"none.example": socket.EAI_NONAME, "broken.example": socket.EAI_AGAIN}
    for name, code in codes.items():
        with pytest.raises(socket.gaierror) as caught:
            await lookup(name)
        assert caught.value.errno == code
        assert server.asked[name]


@pytest.mark.parametrize("name", ["a..example", "x" * 64 + ".example", "a b.example"])
async def test_a_name_that_cannot_exist_is_not_asked_for(server: NameServer, lookup: SystemLookup, name: str) -> None:
    with pytest.raises(socket.gaierror) as caught:
        await lookup(name)
    assert caught.value.errno == socket.EAI_NONAME
    assert not server.asked


async def test_where_no_name_server_is_there_the_c_library_is_asked() -> None:
    async def other(host: str) -> Answer:
        return Answer(("1.1.1.1",), 0)

    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as taken:
        taken.bind(("127.0.0.1", 0))
        taken.connect(("127.0.0.2", 9))  # from others it takes nothing: they are told that nobody is there
        lookup = SystemLookup([f"127.0.0.1:{taken.getsockname()[1]}"], otherwise=other)
        assert (await lookup("a.example")).addresses == ("1.1.1.1",)
        await lookup.close()


async def test_the_c_library_knows_this_machine_and_refuses_names_that_cannot_exist() -> None:
    assert "127.0.0.1" in (await by_c_library("localhost")).addresses
    with pytest.raises(socket.gaierror):
        await by_c_library("a..example")


async def test_a_resolver_of_the_machine_itself_finds_it_and_closes_cleanly() -> None:
    """c-ares answers this name itself (RFC 6761, sec. 6.3)."""
    resolver = Resolver()
    assert "127.0.0.1" in await resolver.addresses("localhost")
    await resolver.close()
