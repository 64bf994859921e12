"""The application: its lifespan opens the database and takes up the crawls that were running."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

from fastapi import FastAPI
from pydantic import TypeAdapter

from tres_crawler import __version__
from tres_crawler.config import Settings
from tres_crawler.fetch.post import Poster
from tres_crawler.records import CrawlState, Summary
from tres_crawler.serve import (
    control,
    dashboard,
    events,
    exports,
    health,
    looking,
    manual,
    metrics,
    problems,
    prometheus,
    recrawl,
    topics,
)
from tres_crawler.serve.feed import Feeds
from tres_crawler.serve.keeper import Keeper
from tres_crawler.serve.models import CrawlStatus
from tres_crawler.serve.prometheus import Crawls, Requests, create_registry
from tres_crawler.serve.shield import Shield
from tres_crawler.serve.webhooks import Webhooks
from tres_crawler.store.database import Database
from tres_crawler.store.datadir import DataDir

STATUS = TypeAdapter(CrawlStatus)


def create_app(settings: Settings, folder: DataDir) -> FastAPI:
    """The service over one data directory."""
    # No docs_url: those pages need scripts from elsewhere, which our rules for browsers forbid.
    app = FastAPI(
        title="tres_crawler",
        version=__version__,
        description="A focused-crawler service. Errors are problem+json (RFC 9457); lists are paged by a cursor.",
        lifespan=_lifespan,
        responses=problems.documented(413, 421, 503),
        docs_url=None,
        redoc_url=None,
    )
    app.state.settings = settings
    app.state.folder = folder
    app.state.references = {}
    app.state.registry = create_registry()
    app.add_middleware(Shield, settings=settings.serve, requests=Requests(app.state.registry))
    for routes in (control, looking, metrics, recrawl, events, exports, topics, prometheus, health, manual):
        app.include_router(routes.router)
    dashboard.mount(app)
    problems.install(app)
    return app


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    settings: Settings = app.state.settings
    folder: DataDir = app.state.folder
    async with (
        Database(folder.url) as database,
        Poster(settings.serve.webhook_private_addresses, settings.fetch.contact) as poster,
        Keeper(settings, database, folder.path) as keeper,
        Webhooks(settings.serve, database, poster),
    ):

        async def progress(crawl: int) -> Mapping[str, Any]:
            told: Mapping[str, Any] = STATUS.dump_python(await control.status_of(keeper, crawl), mode="json")
            return told

        def figures() -> list[tuple[CrawlState, Summary]]:
            return [(crawl.state, crawl.summary()) for crawl in keeper.running.values()]

        def leave() -> None:
            feeds.close()
            keeper.leave()

        feeds = Feeds(database, progress)
        app.state.keeper, app.state.database, app.state.feeds = keeper, database, feeds
        app.state.registry.register(Crawls(figures, lambda: keeper.fetches))
        app.state.leave = leave
        yield
        leave()
