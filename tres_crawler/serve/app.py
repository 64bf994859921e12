"""The application: its lifespan opens the database and takes up the crawls that were running."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from http import HTTPStatus

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from tres_crawler import __version__
from tres_crawler.config import Settings
from tres_crawler.errors import ConfigError, ControlError, NotFound, StoreError, TopicError, TresError
from tres_crawler.serve import control, recrawl
from tres_crawler.serve.keeper import Keeper
from tres_crawler.store.database import Database
from tres_crawler.store.datadir import DataDir

STATUS_OF: dict[type[TresError], int] = {
    ConfigError: 422,
    TopicError: 422,
    ControlError: 409,
    NotFound: 404,
    StoreError: 503,
}


def create_app(settings: Settings, folder: DataDir) -> FastAPI:
    """The service over one data directory."""

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        async with Database(folder.url) as database, Keeper(settings, database, folder.path) as keeper:
            app.state.keeper = keeper
            app.state.database = database
            yield

    app = FastAPI(
        title="tres_crawler", version=__version__, description="A focused-crawler service.", lifespan=lifespan
    )
    app.state.settings = settings
    app.include_router(control.router)
    app.include_router(recrawl.router)

    @app.get("/healthz")
    async def healthz(request: Request) -> dict[str, str]:
        """Alive, and able to write."""
        if refusal := request.app.state.database.refusal:
            raise refusal
        return {"status": "ok", "version": __version__}

    @app.exception_handler(TresError)
    async def expected(_request: Request, error: TresError) -> JSONResponse:
        return problem(STATUS_OF.get(type(error), 500), str(error))

    @app.exception_handler(HTTPException)
    async def http(_request: Request, error: HTTPException) -> JSONResponse:
        return problem(error.status_code, str(error.detail), error.headers)

    @app.exception_handler(Exception)
    async def unexpected(_request: Request, _error: Exception) -> JSONResponse:
        return problem(500, "A fault of the program; its log has the details.")

    @app.exception_handler(RequestValidationError)
    async def invalid(_request: Request, error: RequestValidationError) -> JSONResponse:
        told = "; ".join(f"{'.'.join(str(part) for part in item['loc'])}: {item['msg']}" for item in error.errors())
        return problem(422, told)

    return app


def problem(status: int, detail: str, headers: object = None) -> JSONResponse:
    """An error as RFC 9457 wants it."""
    body = {"type": "about:blank", "title": HTTPStatus(status).phrase, "status": status, "detail": detail}
    extra = dict(headers) if isinstance(headers, dict) else None
    return JSONResponse(body, status, extra, media_type="application/problem+json")
