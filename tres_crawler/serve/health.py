"""The routes by which others see whether the service is alive, and whether it is ready."""

from __future__ import annotations

from fastapi import APIRouter, HTTPException
from pydantic import BaseModel

from tres_crawler import __version__
from tres_crawler.serve.common import Keeping, Stored
from tres_crawler.serve.problems import documented

router = APIRouter(tags=["service"], responses=documented(503))


class Health(BaseModel):
    """The service is alive."""

    status: str
    version: str


@router.get("/healthz")
async def healthz(database: Stored) -> Health:
    """Alive, and able to write."""
    if refusal := database.refusal:
        raise refusal
    return Health(status="ok", version=__version__)


@router.get("/readyz")
async def readyz(database: Stored, keeper: Keeping) -> Health:
    """All crawls that were running have been taken up, and a new one starts without delay."""
    if not keeper.is_ready:
        raise HTTPException(503, "Crawls are being taken up, or the service is leaving.", {"Retry-After": "1"})
    return await healthz(database)
