"""What stands before every route: who may call by which name, how long a body may be, what a browser may do."""

from __future__ import annotations

import logging
import time

from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tres_crawler.config import ServeSettings
from tres_crawler.serve.methods import has_head
from tres_crawler.serve.problems import KINDS, problem
from tres_crawler.serve.prometheus import Requests

logger = logging.getLogger("tres_crawler.access")

LOOPBACK = ("localhost", "127.0.0.1", "[::1]")
SAFE_METHODS = ("GET", "HEAD", "OPTIONS")
OWN_PAGES = ("same-origin", "none")
"""What a browser says in Sec-Fetch-Site of our pages and of people; another port of our host is `same-site`."""
USUAL_PORTS = {"http": ":80", "https": ":443"}
MOST_AT_ONCE = 50
"""Requests under way, event streams aside; more are told to come back, so that none wait without bound."""
BROWSER_RULES = {
    # Charts set styles on their elements; no script but our own files, and none inline, ever runs.
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data:; font-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; "
    "frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}


class Shield:
    """Refuses what no route should see, adds what every answer should have, and notes each request."""

    def __init__(self, app: ASGIApp, settings: ServeSettings, requests: Requests) -> None:
        self._app = app
        self._names = {_name(host) for host in (*LOOPBACK, settings.host, *settings.hosts)}
        self._max_body_bytes = settings.max_body_bytes
        self._requests = requests
        self._under_way = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        started, status, headers = time.monotonic(), 500, Headers(scope=scope)
        method = scope["method"]
        if method == "HEAD" and has_head(scope["path"]):
            # In a copy: the server leaves the body out of answers to what it still knows as HEAD.
            scope = {**scope, "method": "GET"}

        async def answer(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                added = MutableHeaders(scope=message)
                for name, value in BROWSER_RULES.items():
                    added.setdefault(name, value)
                added.setdefault("Cache-Control", "no-store")
            await send(message)

        counts = not scope["path"].endswith("/events")
        self._under_way += counts
        try:
            refusal = self._refusal(method, headers)
            if refusal:
                await problem(*refusal)(scope, receive, answer)
            else:
                await self._limited(scope, receive, answer)
        finally:
            self._under_way -= counts
            self._note(method, scope, status, time.monotonic() - started)

    def _refusal(self, method: str, headers: Headers) -> tuple[int, str] | tuple[int, str, dict[str, str]] | None:
        if self._under_way > MOST_AT_ONCE:
            return 503, f"{MOST_AT_ONCE} requests are being answered; ask again in a moment.", {"Retry-After": "1"}
        hosts = headers.getlist("host")
        if len(hosts) != 1 or _name(hosts[0]) not in self._names:
            return 421, "This service does not answer to that name. Its operator can add it: TRES_SERVE__HOSTS."
        origin = headers.get("origin")
        foreign = origin is not None and not _is_own(origin, hosts[0])
        if method not in SAFE_METHODS and (foreign or headers.get("sec-fetch-site", "none") not in OWN_PAGES):
            return 403, "A page of another site may not change anything here."
        announced = headers.get("content-length", "0")
        if not announced.isdecimal() or int(announced) > self._max_body_bytes:
            return 413, f"A body may have {self._max_body_bytes} bytes at most."
        return None

    async def _limited(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Hand on a request whose body is counted, also if its length was not announced."""
        received, begun = 0, False

        async def counted() -> Message:
            nonlocal received
            message = await receive()
            received += len(message.get("body", b""))
            if received > self._max_body_bytes:
                # Of this kind, because FastAPI takes any other for a body that cannot be parsed.
                raise HTTPException(413, f"A body may have {self._max_body_bytes} bytes at most.")
            return message

        async def watched(message: Message) -> None:
            nonlocal begun
            begun = True
            await send(message)

        try:
            await self._app(scope, counted, watched)
        except Exception:
            logger.exception("a fault of the program at %s", scope["path"])
            if begun:
                raise
            await problem(500, KINDS[500][1])(scope, receive, send)

    def _note(self, method: str, scope: Scope, status: int, seconds: float) -> None:
        # The route's pattern, not the path: a figure for every path anybody tries would have no bound.
        route = getattr(scope.get("route"), "path", None) or "none"
        self._requests.note(method, route, status, seconds)
        client = scope.get("client")
        fields = {
            "method": method,
            "path": scope["path"],
            "status": status,
            "milliseconds": round(seconds * 1000, 1),
            "client": client[0] if client else "",
        }
        told = " ".join(f"{name}={value!r}" for name, value in fields.items())
        logger.info("request %s", told, extra={"fields": fields})


def _is_own(origin: str, host: str) -> bool:
    """Whether an origin is the host, with its port, that is asked; a proxy may have its scheme for itself."""
    scheme, _, asking = origin.strip().lower().partition("://")
    usual = USUAL_PORTS.get(scheme, "")
    return asking.removesuffix(usual) == host.strip().lower().removesuffix(usual)


def _name(host: str) -> str:
    """A host without its port, in small letters; IPv6 addresses keep or get their brackets."""
    plain = host.strip().lower()
    if plain.count(":") > 1 and not plain.startswith("["):
        return f"[{plain}]"
    name, colon, port = plain.rpartition(":")
    return name if colon and port.isdecimal() and not plain.endswith("]") else plain
