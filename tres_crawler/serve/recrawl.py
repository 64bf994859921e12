"""The route that tells how fresh the known pages of a crawl are."""

from __future__ import annotations

import time
from dataclasses import asdict
from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Depends, Query
from pydantic import BaseModel, Field

from tres_crawler import freshness
from tres_crawler.serve.common import MOST, CrawlNumber, Stored, known_caller, moment
from tres_crawler.serve.problems import documented
from tres_crawler.store import crawls


class NextVisit(BaseModel):
    """A source that is due soon, and why it is its turn."""

    page: int
    url: str
    title: str
    due_at: datetime | None = Field(description="None where the policy does not say.")
    index: float | None = Field(description="What a visit now must be worth; none under a policy without an index.")
    change_rate: float = Field(description="Estimated changes a day.")
    fresh: float = Field(description="Chance that it is still as it was last seen.")
    utility: float = Field(description="Share of new relevant text that a change brings.")
    visited_at: datetime
    why: str


class Segment(BaseModel):
    """A piece of a page's text."""

    new: bool
    text: str


class NewsItem(BaseModel):
    """What was new on a source when a visit found it changed."""

    id: int
    page: int
    url: str
    title: str
    at: datetime
    share: float = Field(description="Of the page's text that is new.")
    value: float = Field(description="That share times its relevance.")
    segments: list[Segment]


class Recrawl(BaseModel):
    """The known pages of a crawl: how fresh they are, which come next, and what was new."""

    crawl_id: int
    mode: str
    policy: str
    sources: int
    due: int
    fresh: float | None = Field(description="Mean chance of a source to be as it was last seen.")
    visits: int
    changes: int
    troubles: int
    changes_per_100_visits: float | None
    price: float | None = Field(description="What a visit must be worth at present.")
    retired: dict[str, int] = Field(description="Sources that are visited no more, by reason.")
    next: list[NextVisit]
    news: list[NewsItem] = Field(description="Newest first; `before` with the last id gives older ones.")


router = APIRouter(
    prefix="/api/v1/crawls/{number}",
    tags=["look"],
    dependencies=[Depends(known_caller)],
    responses=documented(401, 404, 422),
)


@router.get("/recrawl")
async def recrawl(
    number: CrawlNumber,
    database: Stored,
    count: Annotated[int, Query(ge=1, le=200, description="Next visits, and news, in the answer.")] = 20,
    before: Annotated[int | None, Query(ge=1, lt=MOST, description="Only news older than this one.")] = None,
) -> Recrawl:
    """Sources, freshness, next visits with their index and why, and what was new."""
    record = await crawls.get(database, number)
    told = asdict(await freshness.freshness(database, record, time.time(), count, before))
    for visit in told["next"]:
        visit["due_at"], visit["visited_at"] = _moment(visit["due_at"]), _moment(visit["visited_at"])
    for item in told["news"]:
        item["at"] = _moment(item["at"])
        item["segments"] = [{"new": is_new, "text": words} for is_new, words in item["segments"]]
    return Recrawl(crawl_id=number, **told)


def _moment(seconds: float | None) -> datetime | None:
    return None if seconds is None else moment(seconds)
