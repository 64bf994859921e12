"""The event stream of a crawl, as server-sent events."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Header, HTTPException, Request
from fastapi.responses import StreamingResponse

from tres_crawler.serve.common import CrawlNumber, Stored, known_caller
from tres_crawler.serve.feed import Feeds, Place
from tres_crawler.serve.problems import documented
from tres_crawler.store import crawls

MOST_LISTENERS = 1000

router = APIRouter(prefix="/api/v1/crawls/{number}", tags=["look"], dependencies=[Depends(known_caller)])


class EventStream(StreamingResponse):
    """Server-sent events."""

    media_type = "text/event-stream"


@router.get("/events", response_class=EventStream, responses=documented(401, 404, 422, 503))
async def events(
    number: CrawlNumber,
    request: Request,
    database: Stored,
    last_event_id: Annotated[
        str | None, Header(max_length=40, description="The `id` of the last event you got: goes on from there.")
    ] = None,
) -> EventStream:
    """What happens in the crawl, as it happens.

    `progress` has the state and figures, twice a second; `page`, `relevant_page` and `error` a page each; others are
    named for what happened: `relevant_site`, `split`, `learner`, `judge`, `paused`, `finished`, … `gap` says that a
    slow or resumed listener has missed events. docs/api.md lists them all.
    """
    since = Place.parse(last_event_id) if last_event_id else None
    await crawls.get(database, number)
    feeds: Feeds = request.app.state.feeds
    if feeds.listeners >= MOST_LISTENERS:
        raise HTTPException(503, f"{MOST_LISTENERS} listeners are as many as there can be.", {"Retry-After": "10"})
    return EventStream(feeds.follow(number, since), headers={"X-Accel-Buffering": "no"})
