"""The dashboard: one page, its style sheets and modules, and the charts library out of its Python wheel."""

from __future__ import annotations

import gzip
import hashlib
from functools import lru_cache
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path

from fastapi import APIRouter, FastAPI, Request
from fastapi.responses import FileResponse, Response
from fastapi.staticfiles import StaticFiles
from starlette.types import Scope

STATIC = Path(__file__).parent / "static"
CHARTS = "/static/plotly.min.js"
PAGE_HEADERS = {
    "Cache-Control": "no-cache",
    # Stricter than for other answers: no inline style either. Plotly finds a style sheet of ours in place of its own;
    # the hash is that of the one for maps, which it adds in any case. The browser tests tell when it changes.
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; img-src 'self' data:; "
    "style-src 'self' 'sha256-ji27qzEtxXZW+7dun6UwjHXJ18e6WAin1VvNtkzIE/o='; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
}

router = APIRouter(include_in_schema=False)


class Fresh(StaticFiles):
    """Files that a browser keeps, but asks about each time: an upgrade is seen at once."""

    async def get_response(self, path: str, scope: Scope) -> Response:
        response = await super().get_response(path, scope)
        response.headers["Cache-Control"] = "no-cache"
        return response


def mount(app: FastAPI) -> None:
    """Put the dashboard at / of a service. It holds no data itself, so it asks for no token."""
    app.include_router(router)
    app.mount("/static", Fresh(directory=STATIC), name="static")


@router.api_route("/", methods=["GET", "HEAD"])
async def page() -> FileResponse:
    return FileResponse(STATIC / "index.html", headers=PAGE_HEADERS)


@router.get("/favicon.ico")
async def icon() -> FileResponse:
    return FileResponse(STATIC / "icon.svg", media_type="image/svg+xml")


@router.get(CHARTS)
def charts(request: Request) -> Response:
    """Plotly's JavaScript, compressed once: 1.5 MB instead of 4.8."""
    body, tag = _charts()
    headers = {"Cache-Control": "no-cache", "ETag": tag, "Vary": "Accept-Encoding"}
    if request.headers.get("if-none-match") == tag:
        return Response(status_code=304, headers=headers)
    if "gzip" in request.headers.get("accept-encoding", ""):
        return Response(body, media_type="text/javascript", headers={**headers, "Content-Encoding": "gzip"})
    return Response(gzip.decompress(body), media_type="text/javascript", headers=headers)


@lru_cache(1)
def _charts() -> tuple[bytes, str]:
    body = files("plotly").joinpath("package_data/plotly.min.js").read_bytes()
    tag = hashlib.sha256(version("plotly").encode()).hexdigest()[:16]
    return gzip.compress(body, 6, mtime=0), f'"{tag}"'
