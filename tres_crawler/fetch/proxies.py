"""A URL → the proxy that is asked for it, by the settings or by the environment."""

from __future__ import annotations

from urllib import request

from yarl import URL

from tres_crawler.config import FetchSettings


class Proxies:
    """The proxy of the settings stands for all hosts; those of the environment leave out what NO_PROXY names."""

    def __init__(self, settings: FetchSettings) -> None:
        if settings.connect_to:
            self._named = {}
        elif settings.proxy:
            self._named = dict.fromkeys(("http", "https"), settings.proxy)
        else:
            self._named = request.getproxies_environment()

    def of(self, url: URL) -> str | None:
        """None where the host itself is asked."""
        found = self._named.get(url.scheme)
        # Missing in typeshed.
        if not found or request.proxy_bypass_environment(url.host or "", self._named):  # type: ignore[attr-defined]
            return None
        return found if "://" in found else f"http://{found}"
