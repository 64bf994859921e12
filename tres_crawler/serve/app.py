"""The application: its lifespan opens the database and takes up the crawls that were running."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

from fastapi import FastAPI, HTTPException, Request
from pydantic import BaseModel

from tres_crawler import __version__
from tres_crawler.config import Settings
from tres_crawler.serve import control, dashboard, events, exports, looking, metrics, problems, topics
from tres_crawler.serve.feed import Feeds
from tres_crawler.serve.keeper import Keeper
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
        async with Database(folder.url) as database, Keeper(settings, database, folder.path) as keeper:

            async def progress(crawl: int) -> Mapping[str, Any]:
                return (await control.status_of(keeper, crawl)).model_dump(mode="json")

            app.state.keeper = keeper
            app.state.database = database
            app.state.feeds = Feeds(database, progress)
            yield
            app.state.feeds.close()

    app = FastAPI(
        title="tres_crawler", version=__version__, description="A focused-crawler service.", lifespan=lifespan
    )
    app.state.settings = settings
    app.state.folder = folder
    for routes in (control, looking, metrics, events, exports, topics):
        app.include_router(routes.router)
    dashboard.mount(app)
    problems.install(app)

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
