"""Errors as RFC 9457 wants them: every kind has an address of its own that stays."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import BaseModel, Field
from starlette.exceptions import HTTPException

from tres_crawler.errors import (
    BadRequest,
    ConfigError,
    ControlError,
    ModelError,
    NotFound,
    StoreError,
    TopicError,
    TresError,
)
from tres_crawler.serve.methods import allowed

MEDIA_TYPE = "application/problem+json"
KINDS: Mapping[int, tuple[str, str]] = {
    400: ("bad-request", "The request cannot be read."),
    401: ("token-needed", "The service asks for its token and none, or a wrong one, was given."),
    403: ("foreign-origin", "A page of another site tried to change something."),
    404: ("not-found", "There is no such crawl, page or route."),
    405: ("wrong-method", "The route does not answer to this method."),
    409: ("wrong-state", "The crawl is not in a state that allows this."),
    413: ("body-too-large", "The body is larger than `serve.max_body_bytes`."),
    421: ("unknown-host", "The Host header names a host that this service does not answer for."),
    422: ("invalid", "The request names something unknown or gives a value that makes no sense."),
    500: ("fault", "A fault of the program; its log has the details."),
    503: ("unavailable", "The service is starting, leaving, has too much to do, or cannot write its database."),
}
STATUS_OF: dict[type[TresError], int] = {
    BadRequest: 422,
    ConfigError: 422,
    TopicError: 422,
    ModelError: 422,
    ControlError: 409,
    NotFound: 404,
    StoreError: 503,
}


class Problem(BaseModel):
    """What went wrong, for programs (`type`) and for people (`detail`)."""

    type: str = Field(description="Stays the same for one kind of problem.", examples=["/problems/wrong-state"])
    title: str
    status: int
    detail: str = Field(examples=["Crawl 1 is finished (budget); there is nothing to stop."])


def problem(status: int, detail: str, headers: Mapping[str, str] | None = None) -> JSONResponse:
    name, _ = KINDS.get(status, KINDS[400])
    body = Problem(type=f"/problems/{name}", title=HTTPStatus(status).phrase, status=status, detail=detail)
    return JSONResponse(body.model_dump(), status, headers, media_type=MEDIA_TYPE)


def documented(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """The problems that a route may answer with, for OpenAPI."""
    content = {MEDIA_TYPE: {"schema": Problem.model_json_schema()}}
    return {status: {"description": KINDS[status][1], "content": content} for status in statuses}


def install(app: FastAPI) -> None:
    """Answer every error of `app` as a problem."""

    @app.exception_handler(TresError)
    async def expected(_request: Request, error: TresError) -> JSONResponse:
        return problem(STATUS_OF.get(type(error), 500), str(error))

    @app.exception_handler(HTTPException)
    async def http(request: Request, error: HTTPException) -> JSONResponse:
        plain = error.detail == HTTPStatus(error.status_code).phrase
        detail = f"{request.method} {request.url.path} is no route of this service; /docs lists them."
        headers = dict(error.headers or {})
        if error.status_code == 405 and (methods := allowed(app.routes, request.scope)):
            headers["Allow"] = methods
        return problem(error.status_code, detail if plain else str(error.detail), headers)

    @app.exception_handler(RequestValidationError)
    async def invalid(_request: Request, error: RequestValidationError) -> JSONResponse:
        told = "; ".join(map(_told, error.errors()))
        unreadable = any(item["type"] == "json_invalid" for item in error.errors())
        return problem(400 if unreadable else 422, told)


def _told(item: Mapping[str, Any]) -> str:
    """What is wrong, and with what."""
    if item["type"] in ("model_attributes_type", "missing") and item["loc"] == ("body",):
        return "The body must be a JSON object, sent with Content-Type: application/json."
    return f"{'.'.join(str(part) for part in item['loc'])}: {item['msg'].removeprefix('Value error, ')}"
