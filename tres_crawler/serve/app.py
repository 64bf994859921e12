"""The application: its lifespan opens the database and takes up the crawls that were running."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

from fastapi import FastAPI, HTTPException, Request
from fastapi.responses import HTMLResponse
from pydantic import BaseModel

from tres_crawler import __version__
from tres_crawler.config import Settings
from tres_crawler.fetch.post import Poster
from tres_crawler.serve import (
    control,
    dashboard,
    events,
    exports,
    looking,
    metrics,
    problems,
    prometheus,
    recrawl,
    topics,
)
from tres_crawler.serve.feed import Feeds
from tres_crawler.serve.keeper import Keeper
from tres_crawler.serve.manual import manual
from tres_crawler.serve.prometheus import Crawls, Requests, create_registry
from tres_crawler.serve.shield import Shield
from tres_crawler.serve.webhooks import Webhooks
from tres_crawler.store.database import Database
from tres_crawler.store.datadir import DataDir


class Health(BaseModel):
    """The service is alive."""

    status: str
    version: str


def create_app(settings: Settings, folder: DataDir) -> FastAPI:
    """The service over one data directory."""

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        serve = settings.serve
        async with (
            Database(folder.url) as database,
            Poster(serve.webhook_private_addresses, settings.fetch.contact) as poster,
            Keeper(settings, database, folder.path) as keeper,
            Webhooks(serve, database, poster),
        ):

            async def progress(crawl: int) -> Mapping[str, Any]:
                return (await control.status_of(keeper, crawl)).model_dump(mode="json")

            app.state.keeper = keeper
            app.state.database = database
            app.state.feeds = feeds = Feeds(database, progress)
            registry.register(
                Crawls(lambda: [(one.state, one.summary()) for one in keeper.running.values()], lambda: keeper.fetches)
            )

            def leave() -> None:
                feeds.close()
                keeper.leave()

            app.state.leave = leave
            yield
            leave()

    # No docs_url: those pages need scripts from elsewhere, which our rules for browsers forbid.
    app = FastAPI(
        title="tres_crawler",
        version=__version__,
        description="A focused-crawler service. Errors are problem+json (RFC 9457); lists are paged by a cursor.",
        lifespan=lifespan,
        responses=problems.documented(413, 421, 503),
        docs_url=None,
        redoc_url=None,
    )
    app.state.settings = settings
    app.state.folder = folder
    app.state.references = {}
    app.state.registry = registry = create_registry()
    app.add_middleware(Shield, settings=settings.serve, requests=Requests(registry))
    for routes in (control, looking, metrics, recrawl, events, exports, topics, prometheus):
        app.include_router(routes.router)
    dashboard.mount(app)
    problems.install(app)

    @app.get("/docs", include_in_schema=False)
    async def docs() -> HTMLResponse:
        return HTMLResponse(manual(app.openapi()))

    @app.get("/healthz", tags=["service"], responses=problems.documented(503))
    async def healthz(request: Request) -> Health:
        """Alive, and able to write."""
        if refusal := request.app.state.database.refusal:
            raise refusal
        return Health(status="ok", version=__version__)

    @app.get("/readyz", tags=["service"], responses=problems.documented(503))
    async def readyz(request: Request) -> Health:
        """All crawls that were running have been taken up."""
        if not request.app.state.keeper.is_ready:
            raise HTTPException(503, "Crawls are being taken up, or the service is leaving.", {"Retry-After": "1"})
        return await healthz(request)

    return app
