"""The JSON routes: start, list, status, pause, resume, stop."""

from __future__ import annotations

import secrets
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

from fastapi import APIRouter, Depends, HTTPException, Request
from fastapi import Path as PathParameter
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
from pydantic import BaseModel, ConfigDict, Field

from tres_crawler.config import Settings
from tres_crawler.errors import TopicError
from tres_crawler.records import CrawlState, Summary, Topic
from tres_crawler.serve.keeper import Keeper
from tres_crawler.topic import load_topic, parse_topic, shipped_topics


class StartCrawl(BaseModel):
    """What to crawl, and any crawl setting that differs from the service's own."""

    model_config = ConfigDict(extra="forbid")

    topic: dict[str, Any] | str = Field(
        description="A topic with name, keywords and seeds, or the name of a file in the topics folder.",
        examples=[{"name": "databases", "keywords": ["sql"], "seeds": ["https://www.example.org/"]}],
    )
    crawl: dict[str, Any] = Field(default_factory=dict, examples=[{"max_pages": 2000, "policy": "tres"}])
    policy_from: Annotated[
        int | None, Field(ge=1, lt=2**31, description="A crawl whose learned policy this one begins with.")
    ] = None


class CrawlStatus(BaseModel):
    """A crawl's state and figures."""

    state: CrawlState
    crawl_id: int
    topic: str
    policy: str
    pages: int
    relevant_pages: int
    harvest_rate: float
    sites: int
    relevant_sites: int
    failed: int
    duplicates: int
    waiting: int
    leaves: int
    seconds: float
    pages_per_second: float
    stop_reason: str | None


def keeper_of(request: Request) -> Keeper:
    keeper: Keeper = request.app.state.keeper
    return keeper


def settings_of(request: Request) -> Settings:
    settings: Settings = request.app.state.settings
    return settings


CrawlNumber = Annotated[int, PathParameter(ge=1, lt=2**31)]
Keeping = Annotated[Keeper, Depends(keeper_of)]
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


router = APIRouter(prefix="/api/v1", dependencies=[Depends(known_caller)])


@router.post("/crawls", status_code=201)
async def start(body: StartCrawl, keeper: Keeping, settings: WithSettings) -> CrawlStatus:
    """Start a crawl."""
    topic = _topic(body.topic, settings)
    merged = settings.replaced("crawl", {**topic.crawl, **body.crawl})
    return _status(*await keeper.status(await keeper.start(topic, merged, body.policy_from)))


@router.get("/crawls")
async def every(keeper: Keeping) -> list[CrawlStatus]:
    """All crawls, oldest first."""
    return [_status(state, summary) for state, summary in await keeper.every()]


@router.get("/crawls/{number}")
async def one(number: CrawlNumber, keeper: Keeping) -> CrawlStatus:
    """State and figures of one crawl."""
    return _status(*await keeper.status(number))


@router.post("/crawls/{number}/pause")
async def pause(number: CrawlNumber, keeper: Keeping) -> CrawlStatus:
    """Start no new fetch until it is resumed."""
    (await keeper.running(number)).pause()
    return _status(*await keeper.status(number))


@router.post("/crawls/{number}/resume")
async def resume(number: CrawlNumber, keeper: Keeping) -> CrawlStatus:
    """Go on with a paused or stopped crawl."""
    await keeper.resume(number)
    return _status(*await keeper.status(number))


@router.post("/crawls/{number}/stop")
async def stop(number: CrawlNumber, keeper: Keeping) -> CrawlStatus:
    """End a crawl; fetches under way are finished and saved first."""
    await keeper.stop(number)
    return _status(*await keeper.status(number))


class Feedback(BaseModel):
    """What a person says of a page."""

    model_config = ConfigDict(extra="forbid")

    page: Annotated[int, Field(ge=1, lt=2**31, description="Number of a judged page of the crawl.")]
    relevant: bool


class FeedbackKept(BaseModel):
    """How many pages of the crawl have a label by now, and whether the judge learns from it at once."""

    labels: int
    retraining: bool


@router.post("/crawls/{number}/feedback", status_code=202)
async def feedback(number: CrawlNumber, body: Feedback, keeper: Keeping) -> FeedbackKept:
    """Say whether a page is relevant. A running crawl's judge is retrained; an ended one's by `tres topic rejudge`."""
    labels, retraining = await keeper.feedback(number, body.page, body.relevant)
    return FeedbackKept(labels=labels, retraining=retraining)


def _status(state: CrawlState, summary: Summary) -> CrawlStatus:
    return CrawlStatus(state=state, **asdict(summary))


def _topic(given: dict[str, Any] | str, settings: Settings) -> Topic:
    if isinstance(given, dict):
        return parse_topic(given, "topic")
    folder = settings.serve.topics_dir
    own = {path.stem: path for path in sorted(Path(folder).glob("*.toml"))} if folder else {}
    known = {**shipped_topics(), **own}
    if given not in known:
        raise TopicError(f'There is no topic named "{given}" here. Known: {", ".join(sorted(known))}.')
    return load_topic(known[given])
