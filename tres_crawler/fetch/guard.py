"""An address → why it may not be asked; kept at connect time, so that what is checked is what is connected to."""

from __future__ import annotations

import errno
import socket
from collections.abc import Callable
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address, ip_network

from aiohttp import AddrInfoType, SocketFactoryType

# Our own list: what Python calls private or global differs between its releases. From the IANA registries of
# special-purpose addresses; the first match names the reason.
_SPECIAL = tuple(
    (ip_network(text), reason)
    for reason, texts in {
        # Services of cloud providers that hand out credentials; one is on a public address (Azure).
        "metadata": "169.254.169.254 100.100.100.200 168.63.129.16 192.0.0.192 fd00:ec2::254 fd20:ce::254",
        "unspecified": "0.0.0.0/8 ::",
        "loopback": "127.0.0.0/8 ::1",
        "private": "10.0.0.0/8 172.16.0.0/12 192.168.0.0/16 fc00::/7 fec0::/10",
        "carrier-grade NAT": "100.64.0.0/10",
        "link-local": "169.254.0.0/16 fe80::/10",
        "multicast": "224.0.0.0/4 ff00::/8",
        "broadcast": "255.255.255.255",
        "documentation": "192.0.2.0/24 198.51.100.0/24 203.0.113.0/24 2001:db8::/32 3fff::/20",
        "Teredo": "2001::/32",
        "IPv4-compatible": "::/96",
        "local NAT64": "64:ff9b:1::/48",
        "reserved": "192.0.0.0/24 192.88.99.0/24 198.18.0.0/15 240.0.0.0/4 2001::/23",
    }.items()
    for text in texts.split()
)
_GLOBAL_UNICAST = IPv6Network("2000::/3")
# RFC 8215 leaves open where in 64:ff9b:1::/48 the IPv4 address stands; only this reading has no second one.
_NAT64 = (IPv6Network("64:ff9b::/96"), IPv6Network("64:ff9b:1::/96"))


class AddressRefused(OSError):
    """The guard forbade a connection to `address`."""

    def __init__(self, address: str, reason: str) -> None:
        # One text for all: where every address of a host fails, aiohttp keeps an error only if all texts are the same.
        super().__init__(errno.EACCES, "not a public address")
        self.address = address
        self.reason = reason


def forbidden(address: str) -> str | None:
    """Why `address` is not one of the public internet; None if it is."""
    plain, scoped, _ = address.partition("%")
    try:
        reason = _reason(ip_address(plain))
    except ValueError:
        return "not an address"
    return reason or ("scoped" if scoped else None)


def forbidden_name(host: str) -> str | None:
    """Why the host of a URL is not one of the public internet as it stands there, before anyone looks it up."""
    if host == "localhost" or host.endswith(".localhost"):
        return "loopback"
    try:
        ip_address(host)
    except ValueError:
        return None
    return forbidden(host)


def guarded_socket_factory(allow: Callable[[str, int], bool]) -> SocketFactoryType:
    """Opens sockets for aiohttp, to public addresses and to those (address, port) that `allow` exempts."""

    def open_socket(info: AddrInfoType) -> socket.socket:
        family, kind, protocol, _, (address, port, *_) = info
        reason = forbidden(address)
        if reason and not allow(address, port):
            raise AddressRefused(address, reason)
        return socket.socket(family, kind, protocol)

    return open_socket


def refusal_in(error: BaseException) -> AddressRefused | None:
    """The refusal that caused `error`, however deep it lies."""
    waiting, seen = [error], set[int]()
    while waiting:
        found = waiting.pop(0)
        if isinstance(found, AddressRefused):
            return found
        if id(found) in seen:
            continue
        seen.add(id(found))
        inner = [getattr(found, "os_error", None), found.__cause__, found.__context__]
        if isinstance(found, BaseExceptionGroup):
            inner += found.exceptions
        waiting += [each for each in inner if each is not None]
    return None


def _reason(address: IPv4Address | IPv6Address) -> str | None:
    if isinstance(address, IPv6Address):
        carried = address.ipv4_mapped or _behind_nat64(address)
        if carried:
            return _reason(carried)
        if address.sixtofour and (reason := _reason(address.sixtofour)):
            return reason
    for network, reason in _SPECIAL:
        if address in network:
            return reason
    # Of IPv6, nothing but this has been given to anyone.
    return "reserved" if address.version == 6 and address not in _GLOBAL_UNICAST else None


def _behind_nat64(address: IPv6Address) -> IPv4Address | None:
    return IPv4Address(int(address) & 0xFFFFFFFF) if any(address in prefix for prefix in _NAT64) else None
