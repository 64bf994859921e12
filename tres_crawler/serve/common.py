"""What all routes share: who is asking, and what they ask about."""

from __future__ import annotations

import secrets
from datetime import UTC, datetime
from typing import Annotated

from fastapi import Depends, HTTPException, Request
from fastapi import Path as PathParameter
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer

from tres_crawler.config import Settings
from tres_crawler.serve.keeper import Keeper
from tres_crawler.store.database import Database

MOST = 2**31


def keeper_of(request: Request) -> Keeper:
    keeper: Keeper = request.app.state.keeper
    return keeper


def database_of(request: Request) -> Database:
    database: Database = request.app.state.database
    return database


def settings_of(request: Request) -> Settings:
    settings: Settings = request.app.state.settings
    return settings


CrawlNumber = Annotated[int, PathParameter(ge=1, lt=MOST, description="Number of the crawl.", examples=[1])]
PageNumber = Annotated[int, PathParameter(ge=1, lt=MOST, description="Number of the page.", examples=[1])]
Keeping = Annotated[Keeper, Depends(keeper_of)]
Stored = Annotated[Database, Depends(database_of)]
WithSettings = Annotated[Settings, Depends(settings_of)]


def known_caller(
    settings: WithSettings,
    given: Annotated[HTTPAuthorizationCredentials | None, Depends(HTTPBearer(auto_error=False))],
) -> None:
    """Refuse a caller without the token, where one is set."""
    token = settings.serve.token
    if token and not (given and secrets.compare_digest(given.credentials.encode(), token.encode())):
        raise HTTPException(
            401, "This service asks for a token: Authorization: Bearer …", {"WWW-Authenticate": "Bearer"}
        )


def moment(seconds: float) -> datetime:
    """A stored time as it is answered."""
    return datetime.fromtimestamp(seconds, UTC)
