"""One GET with limits on time and size; redirects are reported, not followed."""

from __future__ import annotations

import socket
import time

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult
from yarl import URL

from tres_crawler import __version__
from tres_crawler.config import FetchSettings
from tres_crawler.errors import FetchError, NotText, TimedOut, TooLarge, Unreachable
from tres_crawler.records import Fetched
from tres_crawler.urls import canonical

PRODUCT = "tres_crawler"
READABLE = ("text/html", "application/xhtml+xml", "text/plain")
REDIRECTS = (301, 302, 303, 307, 308)


class Client:
    """Holds the connections of one crawl; sends no cookies, keeps none."""

    def __init__(self, settings: FetchSettings) -> None:
        self.settings = settings
        self._session: aiohttp.ClientSession | None = None

    async def __aenter__(self) -> Client:
        resolver = _OneAddress(self.settings.connect_to) if self.settings.connect_to else None
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0, resolver=resolver),
            cookie_jar=aiohttp.DummyCookieJar(),
            headers={"User-Agent": user_agent(self.settings.contact), "Accept": ", ".join(READABLE)},
            timeout=aiohttp.ClientTimeout(total=self.settings.timeout_seconds),
        )
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._session:
            await self._session.close()

    async def get(self, url: str, readable_only: bool = True) -> Fetched:
        """Whatever status the host answers with; raises a FetchError when no usable answer comes."""
        assert self._session is not None
        started = time.monotonic()
        try:
            async with self._session.get(URL(url, encoded=True), allow_redirects=False) as response:
                status = response.status
                target = response.headers.get("Location") if status in REDIRECTS else None
                if readable_only and status == 200 and response.content_type not in READABLE:
                    raise NotText(url, f"type {response.content_type}")
                body = await self._body(url, response) if status == 200 else b""
                return Fetched(
                    url=url,
                    status=status,
                    content_type=response.headers.get("Content-Type", ""),
                    body=body,
                    location=canonical(target, url) if target else None,
                    seconds=time.monotonic() - started,
                )
        except TimeoutError as error:
            raise TimedOut(url, f"no answer within {self.settings.timeout_seconds:g} s") from error
        except (aiohttp.ClientError, OSError) as error:
            raise Unreachable(url, _told(error)) from error
        except ValueError as error:
            raise FetchError(url, f"not a URL that can be asked for ({error})") from error

    async def _body(self, url: str, response: aiohttp.ClientResponse) -> bytes:
        limit = self.settings.max_body_bytes
        parts = bytearray()
        async for chunk in response.content.iter_any():
            parts += chunk
            if len(parts) > limit:
                response.close()
                raise TooLarge(url, f"more than {limit} bytes")
        return bytes(parts)


class _OneAddress(AbstractResolver):
    """Sends every connection to one address, as curl's --connect-to does."""

    def __init__(self, address: str) -> None:
        host, _, port = address.rpartition(":")
        self.host, self.port = host.strip("[]"), int(port)

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        kind = socket.AF_INET6 if ":" in self.host else socket.AF_INET
        return [
            ResolveResult(
                hostname=host,
                host=self.host,
                port=self.port,
                family=kind,
                proto=0,
                flags=socket.AI_NUMERICHOST,
            )
        ]

    async def close(self) -> None:
        """Nothing is held."""


def user_agent(contact: str) -> str:
    return f"{PRODUCT}/{__version__}" + (f" (+{contact})" if contact else "")


def _told(error: Exception) -> str:
    return (str(error) or type(error).__name__).splitlines()[0]
