"""One POST to an address that an operator named: guarded like every other connection, never redirected."""

from __future__ import annotations

from collections.abc import Mapping

import aiohttp

from tres_crawler.errors import Blocked, FetchError, TimedOut, Unreachable
from tres_crawler.fetch.client import user_agent
from tres_crawler.fetch.dns import Resolver
from tres_crawler.fetch.guard import guarded_socket_factory, refusal_in

TIMEOUT_SECONDS = 10.0


class Poster:
    """Connects to public addresses only, unless told otherwise; keeps nothing of what is answered."""

    def __init__(self, allow_private_addresses: bool, contact: str = "") -> None:
        self._allow = allow_private_addresses
        self._contact = contact
        self._resolver = Resolver()
        self._session: aiohttp.ClientSession | None = None

    async def __aenter__(self) -> Poster:
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(
                use_dns_cache=False,
                resolver=self._resolver,
                socket_factory=guarded_socket_factory(lambda _address, _port: self._allow),
            ),
            cookie_jar=aiohttp.DummyCookieJar(),
            headers={"User-Agent": user_agent(self._contact)},
            timeout=aiohttp.ClientTimeout(total=TIMEOUT_SECONDS),
        )
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._session:
            await self._session.close()
        await self._resolver.close()

    async def post(self, url: str, body: bytes, headers: Mapping[str, str]) -> int:
        """The status that was answered; a FetchError if none was."""
        assert self._session is not None
        try:
            async with self._session.post(url, data=body, headers=headers, allow_redirects=False) as response:
                return response.status
        except TimeoutError as error:
            raise TimedOut(url, "took too long") from error
        except (aiohttp.ClientError, OSError) as error:
            refused = refusal_in(error)
            if refused:
                raise Blocked(url, f"address not public ({refused.reason})") from error
            raise Unreachable(url, str(error) or type(error).__name__) from error
        except ValueError as error:
            raise FetchError(url, f"not a URL that can be asked for ({error})") from error
