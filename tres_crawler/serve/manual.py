"""The API as one plain page for people, made from its OpenAPI description; it needs no script and no network."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from html import escape
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse

HEAD = """<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>tres_crawler API</title><style>
body{font:16px/1.5 system-ui,sans-serif;max-width:56rem;margin:2rem auto;padding:0 1rem;color-scheme:light dark}
h2{font-size:1.05rem;margin:2rem 0 .3rem}code,pre{font-family:ui-monospace,monospace}pre{overflow:auto;padding:.5rem;
border:1px solid #8884}td{padding:.1rem 1rem .1rem 0;vertical-align:top}
</style><h1>tres_crawler API</h1><p>The same for programs: <a href="/openapi.json">/openapi.json</a>.</p>"""

router = APIRouter(include_in_schema=False)


@router.get("/docs")
async def docs(request: Request) -> HTMLResponse:
    return HTMLResponse(manual(request.app.openapi()))


def manual(api: Mapping[str, Any]) -> str:
    return HEAD + "".join(_routes(api)) + "</html>"


def _routes(api: Mapping[str, Any]) -> Iterator[str]:
    for path, methods in api["paths"].items():
        for method, route in methods.items():
            yield f"<h2><code>{method.upper()} {escape(path)}</code></h2><p>{_told(route)}</p>"
            yield from _parameters(route.get("parameters", ()))
            yield from _body(api, route)


def _parameters(parameters: Any) -> Iterator[str]:
    if parameters:
        yield "<table>"
        for one in parameters:
            told = _told(one) or _told(one["schema"])
            yield f"<tr><td><code>{escape(one['name'])}</code><td>{escape(one['in'])}<td>{told}"
        yield "</table>"


def _body(api: Mapping[str, Any], route: Mapping[str, Any]) -> Iterator[str]:
    for content in route.get("requestBody", {}).get("content", {}).values():
        schema = api["components"]["schemas"][content["schema"]["$ref"].rpartition("/")[2]]
        fields = schema["properties"].items()
        example = {name: field["examples"][0] for name, field in fields if "examples" in field}
        yield f"<p>{_told(schema)}</p><pre>{escape(json.dumps(example, indent=2))}</pre>"


def _told(described: Mapping[str, Any]) -> str:
    """Its description, what stands in backticks as code."""
    return re.sub("`([^`]+)`", r"<code>\1</code>", escape(described.get("description", "")))
