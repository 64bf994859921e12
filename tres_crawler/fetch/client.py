"""One GET with limits on time and size; redirects are reported, not followed."""

from __future__ import annotations

import time
from typing import TypedDict

import aiohttp
from yarl import URL

from tres_crawler import __version__
from tres_crawler.config import FetchSettings
from tres_crawler.errors import FetchError, NotText, TimedOut, TooLarge, Unreachable
from tres_crawler.records import Fetched
from tres_crawler.urls import canonical, host_of

PRODUCT = "tres_crawler"
READABLE = ("text/html", "application/xhtml+xml", "text/plain")
REDIRECTS = (301, 302, 303, 307, 308)


class _Request(TypedDict, total=False):
    headers: dict[str, str]
    server_hostname: str | None


class Client:
    """Holds the connections of one crawl; sends no cookies, keeps none."""

    def __init__(self, settings: FetchSettings) -> None:
        self.settings = settings
        self._session: aiohttp.ClientSession | None = None

    async def __aenter__(self) -> Client:
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0),
            cookie_jar=aiohttp.DummyCookieJar(),
            headers={"User-Agent": user_agent(self.settings.contact), "Accept": ", ".join(READABLE)},
            timeout=aiohttp.ClientTimeout(total=self.settings.timeout_seconds),
        )
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._session:
            await self._session.close()

    async def get(self, url: str, readable_only: bool = True, first_bytes: int | None = None) -> Fetched:
        """Whatever status the host answers with; raises a FetchError when no usable answer comes.

        With `first_bytes` a longer body is cut there instead of refused.
        """
        assert self._session is not None
        started = time.monotonic()
        try:
            where, how = self._address(url)
            async with self._session.get(where, allow_redirects=False, **how) as response:
                status = response.status
                target = response.headers.get("Location") if status in REDIRECTS else None
                if readable_only and status == 200 and response.content_type not in READABLE:
                    raise NotText(url, f"type {response.content_type}")
                body = await self._body(url, response, first_bytes) if status == 200 else b""
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

    def _address(self, url: str) -> tuple[URL, _Request]:
        """Where to connect: the URL's host, or the one address that stands for all (as curl's --connect-to)."""
        asked = URL(url, encoded=True)
        if not self.settings.connect_to:
            return asked, {}
        host, _, port = self.settings.connect_to.rpartition(":")
        how: _Request = {"headers": {"Host": host_of(url)}}
        if asked.scheme == "https":
            how["server_hostname"] = asked.raw_host
        return asked.with_host(host.strip("[]")).with_port(int(port)), how

    async def _body(self, url: str, response: aiohttp.ClientResponse, first_bytes: int | None) -> bytes:
        limit = first_bytes or self.settings.max_body_bytes
        parts = bytearray()
        async for chunk in response.content.iter_any():
            parts += chunk
            if len(parts) > limit:
                response.close()
                if first_bytes:
                    break
                raise TooLarge(url, f"more than {limit} bytes")
        return bytes(parts[:limit])


def user_agent(contact: str) -> str:
    return f"{PRODUCT}/{__version__}" + (f" (+{contact})" if contact else "")


def _told(error: Exception) -> str:
    return (str(error) or type(error).__name__).splitlines()[0]
