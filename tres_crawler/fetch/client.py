"""One GET with limits on time and size; redirects are reported, not followed."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import TypedDict

import aiohttp
from yarl import URL

from tres_crawler import __version__
from tres_crawler.config import FetchSettings
from tres_crawler.errors import Blocked, FetchError, NotText, TimedOut, TooLarge, Unreachable
from tres_crawler.fetch.decode import ENCODINGS, Overflow, Undecodable, decoded
from tres_crawler.fetch.dns import Resolver
from tres_crawler.fetch.guard import forbidden_name, guarded_socket_factory, refusal_in
from tres_crawler.fetch.proxies import Proxies
from tres_crawler.records import Fetched
from tres_crawler.urls import canonical, host_of

logger = logging.getLogger(__name__)

PRODUCT = "tres_crawler"
READABLE = ("text/html", "application/xhtml+xml", "text/plain")
REDIRECTS = (301, 302, 303, 307, 308)
MOST_STALE = 3
"""Kept connections that may turn out closed before a new one is made."""
DECODE_BESIDE_BYTES = 200_000
"""Larger bodies are decompressed in a thread, so that the event loop does not wait for it."""


class _Request(TypedDict, total=False):
    headers: dict[str, str]
    server_hostname: str | None
    proxy: str


class Client:
    """Holds the connections of one crawl; sends no cookies, keeps none; connects to public addresses only."""

    def __init__(self, settings: FetchSettings, resolver: Resolver | None = None) -> None:
        self.settings = settings
        self.resolver = resolver or Resolver()
        self._proxies = Proxies(settings)
        self._direct: aiohttp.ClientSession | None = None
        self._by_proxy: aiohttp.ClientSession | None = None

    async def __aenter__(self) -> Client:
        self._direct = self._session(self._permitted())
        # It connects to nothing but a proxy, which may well stand on a private address.
        self._by_proxy = self._session(lambda _address, _port: True)
        return self

    def _session(self, permitted: Callable[[str, int], bool]) -> aiohttp.ClientSession:
        settings = self.settings
        session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(
                limit=0,
                use_dns_cache=False,
                resolver=self.resolver,
                socket_factory=guarded_socket_factory(permitted),
            ),
            cookie_jar=aiohttp.DummyCookieJar(),
            headers=dict(request_headers(settings)),
            timeout=aiohttp.ClientTimeout(
                total=settings.timeout_seconds,
                sock_connect=settings.connect_seconds,
                sock_read=settings.first_byte_seconds,
            ),
            auto_decompress=False,
            max_line_size=settings.max_header_bytes,
            max_field_size=settings.max_header_bytes,
            trace_configs=[_notes_reuse()],
        )
        # Otherwise aiohttp asks again by itself after any broken connection, past our pace.
        session._retry_connection = False
        return session

    async def __aexit__(self, *_: object) -> None:
        for session in (self._direct, self._by_proxy):
            if session:
                await session.close()
        await self.resolver.close()

    @property
    def is_open(self) -> bool:
        return self._direct is not None and not self._direct.closed

    def is_direct(self, url: str) -> bool:
        """Whether the URL's own host is connected to: no proxy and no one address stands for it."""
        return not self.settings.connect_to and self._proxies.of(URL(url, encoded=True)) is None

    async def get(
        self,
        url: str,
        readable_only: bool = True,
        first_bytes: int | None = None,
        conditions: Mapping[str, str] | None = None,
    ) -> Fetched:
        """Whatever status the host answers with; raises a FetchError when no usable answer comes.

        With `first_bytes` a longer body is cut there instead of refused; `conditions` are sent as headers.
        """
        only_if = conditions or {}
        for _ in range(MOST_STALE):
            reused: list[bool] = []
            try:
                return await self._get(url, readable_only, first_bytes, reused, only_if)
            except Unreachable as trouble:
                # A kept connection that its host has closed meanwhile: the request was never seen.
                if not (reused and isinstance(trouble.__cause__, aiohttp.ServerDisconnectedError | ConnectionError)):
                    raise
        return await self._get(url, readable_only, first_bytes, [], only_if)

    async def _get(
        self,
        url: str,
        readable_only: bool,
        first_bytes: int | None,
        reused: list[bool],
        conditions: Mapping[str, str],
    ) -> Fetched:
        assert self._direct and self._by_proxy
        if not self.is_open:
            raise Unreachable(url, "the crawl that asks has ended")
        started = time.monotonic()
        try:
            where, how = self._address(url)
        except ValueError as error:
            raise FetchError(url, f"not a URL that can be asked for ({error})") from error
        how["headers"] = {**how.get("headers", {}), **conditions}
        session = self._by_proxy if "proxy" in how else self._direct
        try:
            async with session.get(where, allow_redirects=False, trace_request_ctx=reused, **how) as response:
                status = response.status
                target = response.headers.get("Location") if status in REDIRECTS else None
                if readable_only and status == 200 and not _is_readable(response):
                    response.close()
                    raise NotText(url, f"type {_kind(response)}")
                body = await self._body(url, response, first_bytes) if status == 200 else b""
                return Fetched(
                    url=url,
                    status=status,
                    content_type=response.headers.get("Content-Type", ""),
                    body=body,
                    location=canonical(target, url) if target else None,
                    seconds=time.monotonic() - started,
                    headers=tuple(response.headers.items()),
                )
        except TimeoutError as error:
            raise TimedOut(url, "took too long") from error
        except (aiohttp.ClientError, OSError) as error:
            refused = refusal_in(error)
            if refused:
                raise Blocked(url, f"address not public ({refused.reason})") from error
            raise Unreachable(url, _told(error)) from error
        except FetchError:
            raise
        except Exception as error:
            # The last resort: whatever a host sends, no crawl ends by it.
            logger.exception("what is answered at %s could not be read", url)
            raise FetchError(url, f"answer could not be read ({type(error).__name__})") from error

    async def _body(self, url: str, response: aiohttp.ClientResponse, first_bytes: int | None) -> bytes:
        """Read until a limit is passed, then undo the encoding within another."""
        settings, received = self.settings, bytearray()
        wire_limit = first_bytes or settings.max_received_bytes
        async for chunk in response.content.iter_any():
            received += chunk
            if len(received) > wire_limit:
                response.close()
                if first_bytes:
                    break
                raise TooLarge(url, f"more than {wire_limit} bytes received")
        encodings, limit = response.headers.get("Content-Encoding", ""), first_bytes or settings.max_body_bytes
        try:
            if encodings and len(received) > DECODE_BESIDE_BYTES:
                return await asyncio.to_thread(decoded, bytes(received), encodings, limit)
            return decoded(bytes(received[:wire_limit]), encodings, limit)
        except Overflow as error:
            if first_bytes:
                return error.first
            raise TooLarge(url, f"more than {limit} bytes after decompression") from error
        except Undecodable as error:
            raise Unreachable(url, str(error)) from error

    def _address(self, url: str) -> tuple[URL, _Request]:
        """Where to connect: the URL's host, or the one address that stands for all (as curl's --connect-to)."""
        asked = URL(url, encoded=True)
        if not self.settings.connect_to:
            if asked.port not in self.settings.ports:
                raise Blocked(url, f"port {asked.port} is not one that is asked")
            proxy = self._proxies.of(asked)
            if not proxy:
                return asked, {}
            # Names are looked up by the proxy; what stands in the URL itself can be refused here.
            reason = forbidden_name(asked.host or "")
            if reason and not self.settings.allow_private_addresses:
                raise Blocked(url, f"address not public ({reason})")
            return asked, {"proxy": proxy}
        host, port = _split(self.settings.connect_to)
        how: _Request = {"headers": {"Host": host_of(url)}}
        if asked.scheme == "https":
            how["server_hostname"] = asked.raw_host
        return asked.with_host(host).with_port(port), how

    def _permitted(self) -> Callable[[str, int], bool]:
        """Addresses that the guard lets pass: where one address stands for all, nothing else is reached."""
        everything = bool(self.settings.allow_private_addresses or self.settings.connect_to)
        return lambda _address, _port: everything


def _notes_reuse() -> aiohttp.TraceConfig:
    """Tells a request, by the list it brings along, that it went over a kept connection."""
    trace = aiohttp.TraceConfig()

    async def note(_session: object, context: SimpleNamespace, _params: object) -> None:
        context.trace_request_ctx.append(True)

    trace.on_connection_reuseconn.append(note)
    return trace


def request_headers(settings: FetchSettings) -> list[tuple[str, str]]:
    """What is sent with every request, beside Host."""
    return [
        ("User-Agent", user_agent(settings.contact)),
        ("Accept", ", ".join(READABLE)),
        ("Accept-Encoding", ENCODINGS),
    ]


def user_agent(contact: str) -> str:
    return f"{PRODUCT}/{__version__}" + (f" (+{contact})" if contact else "")


def _is_readable(response: aiohttp.ClientResponse) -> bool:
    return "Content-Type" not in response.headers or _kind(response) in READABLE


def _kind(response: aiohttp.ClientResponse) -> str:
    """The type of an answer, without what is said beside it."""
    # Not response.content_type: it is parsed as mail is, which some headers make fail and others take seconds.
    return response.headers.get("Content-Type", "").partition(";")[0].strip().lower()


def _split(address: str) -> tuple[str, int]:
    host, _, port = address.rpartition(":")
    return host.strip("[]"), int(port)


def _told(error: Exception) -> str:
    return (str(error) or type(error).__name__).splitlines()[0]
