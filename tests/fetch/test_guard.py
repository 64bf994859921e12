"""Only public addresses are connected to, whatever a name server says; over real HTTP on the loopback.

The loopback's own addresses are not public: those that stand for public ones in a test are exempted by name.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter
from collections.abc import AsyncIterator

import aiohttp
import pytest

from tests.fetch.test_dns import Clock
from tres_crawler.fetch.dns import Answer, Resolver
from tres_crawler.fetch.guard import AddressRefused, forbidden, guarded_socket_factory, refusal_in

ADDRESSES = ("127.0.0.2", "127.0.0.3", "127.0.0.4")

# ---- which addresses ----


@pytest.mark.parametrize(
    "address",
    [
        *("1.1.1.1", "8.8.8.8", "9.255.255.255", "11.0.0.0", "100.63.255.255", "100.128.0.0", "126.255.255.255"),
        *("128.0.0.0", "169.253.255.255", "169.255.0.0", "172.15.255.255", "172.32.0.0", "192.0.1.0", "192.0.3.0"),
        *("192.167.255.255", "192.169.0.0", "198.17.255.255", "198.20.0.0", "203.0.112.255", "223.255.255.255"),
        *("2001:200::1", "2606:4700:4700::1111", "2a00:1450::1", "3ffe::1"),
        *("::ffff:8.8.8.8", "::ffff:808:808", "64:ff9b::8.8.8.8", "64:ff9b:1::808:808", "2002:808:808::1"),
    ],
)
def test_public_addresses_may_be_asked(address: str) -> None:
    assert forbidden(address) is None


@pytest.mark.parametrize(
    ("reason", "addresses"),
    [
        ("unspecified", "0.0.0.0 0.1.2.3 0.255.255.255 ::"),
        ("loopback", "127.0.0.0 127.0.0.1 127.255.255.255 ::1"),
        ("private", "10.0.0.0 10.255.255.255 172.16.0.0 172.31.255.255 192.168.0.0 192.168.255.255"),
        ("private", "fc00:: fd12:3456::1 fdff:ffff::1 fec0::1 feff::1"),
        ("carrier-grade NAT", "100.64.0.0 100.127.255.255"),
        ("link-local", "169.254.0.0 169.254.255.255 fe80:: fe80::1 febf::1"),
        ("link-local", "fe80::1%eth0 fe80::1%1"),
        ("metadata", "169.254.169.254 100.100.100.200 168.63.129.16 192.0.0.192 fd00:ec2::254 fd20:ce::254"),
        ("metadata", "fd00:ec2:0:0:0:0:0:254 FD00:EC2::254"),
        ("multicast", "224.0.0.0 224.0.0.251 239.255.255.255 ff00:: ff02::1 ff0e::1"),
        ("broadcast", "255.255.255.255"),
        ("documentation", "192.0.2.0 192.0.2.255 198.51.100.7 203.0.113.255 2001:db8::1 3fff::1 3fff:fff::1"),
        ("reserved", "192.0.0.0 192.0.0.255 192.88.99.1 198.18.0.0 198.19.255.255 240.0.0.0 255.255.255.254"),
        ("reserved", "100::1 200::1 1000::1 4000::1 5f00::1 8000::1 e000::1 fe00::1 2001:2::1 2001:10::1 2001:1ff::1"),
        ("scoped", "2606:4700::1111%eth0"),
    ],
)
def test_addresses_that_are_not_public_are_forbidden_with_the_reason(reason: str, addresses: str) -> None:
    assert {address: forbidden(address) for address in addresses.split()} == dict.fromkeys(addresses.split(), reason)


@pytest.mark.parametrize("form", ["::ffff:{}", "64:ff9b::{}", "64:ff9b:1::{}"], ids=["mapped", "NAT64", "local NAT64"])
def test_an_address_inside_another_is_judged_as_it_stands(form: str) -> None:
    inside = ("127.0.0.1", "10.0.0.1", "169.254.1.1", "169.254.169.254", "100.64.0.1", "0.0.0.0", "224.0.0.1")
    assert [forbidden(form.format(address)) for address in inside] == [forbidden(address) for address in inside]
    assert None not in [forbidden(address) for address in inside]


def test_a_6to4_address_is_judged_by_the_router_it_names() -> None:
    assert forbidden("2002:7f00:1::1") == "loopback"
    assert forbidden("2002:a00:1::1") == "private"
    assert forbidden("2002:a9fe:a9fe::1") == "metadata"


def test_old_and_local_ways_of_carrying_an_address_are_forbidden_whatever_is_carried() -> None:
    assert [forbidden(address) for address in ("::8.8.8.8", "::127.0.0.1")] == ["IPv4-compatible"] * 2
    assert forbidden("2001:0:4136:e378:8000:63bf:3fff:fdd2") == "Teredo"
    assert forbidden("::ffff:0:8.8.8.8") == "reserved"
    # Read one way these carry 8.8.8.8, read the other way 169.254.169.254 (RFC 6052, sec. 2.2).
    assert forbidden("64:ff9b:1:a9fe:a9:fe00:808:808") == "local NAT64"


@pytest.mark.parametrize("text", ["", "localhost", "127.1", "0x7f000001", "127.0.0.01", "1.2.3.4 ", "[::1]", "%eth0"])
def test_what_is_no_address_is_forbidden(text: str) -> None:
    assert forbidden(text) == "not an address"


# ---- connections ----


class Web:
    """Names with the answers that a name server gives in turn, and servers that count who comes."""

    def __init__(self) -> None:
        self.answers: dict[str, list[tuple[str, ...]]] = {}
        self.accepted: Counter[str] = Counter()
        self.exempt: set[str] = set()
        self.port = 0
        self.clock = Clock()

    async def lookup(self, host: str) -> Answer:
        answers = self.answers[host]
        return Answer(answers.pop(0) if len(answers) > 1 else answers[0], 0.0)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.accepted[writer.get_extra_info("sockname")[0]] += 1
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
            await reader.readuntil(b"\r\n\r\n")
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nhi")
            await writer.drain()
        writer.close()

    @contextlib.asynccontextmanager
    async def session(self) -> AsyncIterator[aiohttp.ClientSession]:
        resolver = Resolver(self.lookup, self.clock)
        connector = aiohttp.TCPConnector(
            resolver=resolver,
            use_dns_cache=False,
            socket_factory=guarded_socket_factory(lambda address, port: address in self.exempt and port == self.port),
        )
        async with aiohttp.ClientSession(connector=connector) as session:
            yield session
        await resolver.close()

    async def get(self, session: aiohttp.ClientSession, host: str) -> str:
        async with session.get(f"http://{host}:{self.port}/") as response:
            return await response.text()


@pytest.fixture
async def web() -> AsyncIterator[Web]:
    made = Web()
    async with contextlib.AsyncExitStack() as servers:
        for address in ADDRESSES:
            server = await servers.enter_async_context(await asyncio.start_server(made.serve, address, made.port))
            made.port = server.sockets[0].getsockname()[1]
        yield made


async def refused(web: Web, host: str) -> AddressRefused:
    async with web.session() as session:
        with pytest.raises(aiohttp.ClientConnectorError, match="not a public address") as caught:
            await web.get(session, host)
    refusal = refusal_in(caught.value)
    assert refusal is not None and refusal is caught.value.os_error
    assert not web.accepted
    return refusal


@pytest.mark.parametrize(
    ("address", "reason"),
    [
        ("10.0.0.5", "private"),
        ("127.0.0.2", "loopback"),
        ("::ffff:127.0.0.2", "loopback"),
        ("64:ff9b::7f00:2", "loopback"),
        ("fe80::1", "link-local"),
        ("fe80::1%lo", "link-local"),
        ("169.254.169.254", "metadata"),
        ("fd00:ec2::254", "metadata"),
    ],
)
async def test_a_name_that_leads_to_no_public_address_is_refused(web: Web, address: str, reason: str) -> None:
    web.answers["a.test"] = [(address,)]
    refusal = await refused(web, "a.test")
    assert (refusal.address, refusal.reason) == (address, reason)


@pytest.mark.parametrize("host", ["127.0.0.2", "[::ffff:127.0.0.2]", "[::1]", "169.254.169.254"])
async def test_an_address_in_the_url_is_refused_though_no_name_is_looked_up(web: Web, host: str) -> None:
    await refused(web, host)


@pytest.mark.parametrize(
    "answer",
    [
        ("127.0.0.2", "127.0.0.3"),
        ("127.0.0.2", "::1"),
        ("fe80::1", "10.0.0.1", "127.0.0.2", "fd00:ec2::254", "169.254.169.254", "::ffff:127.0.0.3", "192.168.0.1"),
        tuple(f"127.0.0.{last}" for last in range(2, 250)),
    ],
    ids=["one family", "one of each", "many kinds", "very many"],
)
async def test_a_refusal_of_many_addresses_is_told_as_one(web: Web, answer: tuple[str, ...]) -> None:
    """aiohttp tries them side by side and in rounds, and folds errors whose texts differ."""
    web.answers["a.test"] = [answer]
    assert (await refused(web, "a.test")).address in answer


async def test_an_exempt_address_is_asked_also_when_it_is_carried_in_another(web: Web) -> None:
    """So the tests above would have seen a connection."""
    web.exempt = {"127.0.0.2", "::ffff:127.0.0.3"}
    web.answers = {"a.test": [("127.0.0.2",)], "b.test": [("::ffff:127.0.0.3",)]}
    async with web.session() as session:
        assert [await web.get(session, host) for host in ("a.test", "b.test", "127.0.0.2")] == ["hi"] * 3
    assert web.accepted == {"127.0.0.2": 2, "127.0.0.3": 1}


async def test_an_address_is_exempt_on_its_port_only(web: Web) -> None:
    web.exempt = {"127.0.0.2"}
    async with web.session() as session:
        with pytest.raises(aiohttp.ClientConnectorError) as caught:
            await session.get(f"http://127.0.0.2:{web.port - 1}/")
    assert refusal_in(caught.value) is not None


@pytest.mark.parametrize(
    "answer",
    [
        ("127.0.0.3", "127.0.0.2", "127.0.0.4"),
        ("::ffff:127.0.0.3", "127.0.0.2"),
        ("fe80::1", "::ffff:127.0.0.4", "127.0.0.3", "127.0.0.2"),
    ],
)
async def test_of_a_mixed_answer_only_the_permitted_addresses_are_asked(web: Web, answer: tuple[str, ...]) -> None:
    web.exempt = {"127.0.0.2"}
    web.answers["a.test"] = [answer]
    async with web.session() as session:
        assert [await web.get(session, "a.test") for _ in range(5)] == ["hi"] * 5
    assert web.accepted == {"127.0.0.2": 5}


async def test_a_name_that_is_bound_anew_to_a_forbidden_address_is_refused(web: Web) -> None:
    web.exempt = {"127.0.0.2"}
    web.answers["a.test"] = [("127.0.0.2",), ("127.0.0.3",)]
    async with web.session() as session:
        assert await web.get(session, "a.test") == "hi"
        # The name server gave a TTL of 0; for a minute we keep to what it said first all the same.
        web.clock.now += 59
        assert await web.get(session, "a.test") == "hi"
        web.clock.now += 1
        with pytest.raises(aiohttp.ClientConnectorError) as caught:
            await web.get(session, "a.test")
    refusal = refusal_in(caught.value)
    assert refusal and (refusal.address, refusal.reason) == ("127.0.0.3", "loopback")
    assert web.accepted == {"127.0.0.2": 2}


async def test_a_connection_that_fails_otherwise_is_no_refusal() -> None:
    web = Web()
    web.exempt = {"127.0.0.9"}
    web.answers["a.test"] = [("127.0.0.9",)]
    idle = await asyncio.start_server(web.serve, "127.0.0.8", 0)
    async with idle, web.session() as session:
        web.port = idle.sockets[0].getsockname()[1]  # ours, and nobody listens there on 127.0.0.9
        with pytest.raises(aiohttp.ClientConnectorError) as caught:
            await web.get(session, "a.test")
    assert refusal_in(caught.value) is None


def test_a_refusal_is_found_among_causes_contexts_and_groups() -> None:
    refusal = AddressRefused("10.0.0.1", "private")
    cause, context = ValueError(), ValueError()
    cause.__cause__ = BaseExceptionGroup("many", [KeyError(), refusal])
    context.__context__ = cause
    refusal.__context__ = context  # a ring must not be walked for ever
    assert refusal_in(context) is refusal
    ring = ValueError()
    ring.__cause__ = KeyError()
    ring.__cause__.__context__ = ring
    assert refusal_in(ring) is None
