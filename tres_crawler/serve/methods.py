"""Which methods a path answers to: HEAD is among them wherever GET answers at once."""

from __future__ import annotations

from starlette.routing import BaseRoute, Match
from starlette.types import Scope

METHODS = ("GET", "POST", "PATCH", "DELETE")
STREAMS = ("/events", "/export")
"""How paths end whose answers are long: what comes before the body says little of them, and is no cheaper."""


def has_head(path: str) -> bool:
    """Whether HEAD is answered there if GET is."""
    return not path.endswith(STREAMS)


def allowed(routes: list[BaseRoute], scope: Scope) -> str:
    """All methods of the routes of the path that was asked for; a router by itself names those of one of them."""
    found = [
        method
        for method in METHODS
        if any(route.matches({**scope, "method": method})[0] is Match.FULL for route in routes)
    ]
    return ", ".join([*found, "HEAD"] if "GET" in found and has_head(scope["path"]) else found)
