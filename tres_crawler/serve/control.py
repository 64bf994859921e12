"""The routes that steer crawls: start, list, pause, resume, stop, change, delete, seeds, feedback, rejudge."""

from __future__ import annotations

from dataclasses import asdict, replace
from hashlib import sha256
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Header, Response
from pydantic import Field

from tres_crawler.config import CrawlSettings, RecrawlMode, Settings
from tres_crawler.errors import BadRequest, TopicError
from tres_crawler.records import STOP_ADVICE, StopReason, Summary, Topic
from tres_crawler.serve.common import MOST, CrawlNumber, Keeping, Stored, WithSettings, known_caller, moment
from tres_crawler.serve.keeper import Keeper
from tres_crawler.serve.models import CrawlStatus, Page, Strict
from tres_crawler.serve.paging import Cursor, Limit, cursor_of, position_in
from tres_crawler.serve.problems import documented
from tres_crawler.serve.topics import known_topics
from tres_crawler.store import crawls
from tres_crawler.store.crawls import StartKey
from tres_crawler.topic import load_topic, parse_seed, parse_topic

router = APIRouter(
    prefix="/api/v1/crawls", tags=["steer"], dependencies=[Depends(known_caller)], responses=documented(401, 403, 422)
)
OF_ONE = documented(404)
STEERING = documented(404, 409)
WITH_BODY = documented(400)


class StartCrawl(Strict):
    """What to crawl, and any setting of crawling and recrawling that differs from the service's own."""

    topic: dict[str, Any] | str = Field(
        description="A topic with name, keywords and seeds, or the name of a shipped topic or of a file in the topics "
        "folder.",
        examples=[{"name": "databases", "keywords": ["sql"], "seeds": ["https://www.example.org/"]}],
    )
    crawl: dict[str, Any] = Field(
        default_factory=dict,
        description="Settings of the section `crawl` (docs/settings.md).",
        examples=[{"max_pages": 2000, "policy": "tres"}],
    )
    recrawl: dict[str, Any] = Field(
        default_factory=dict,
        description="Settings of the section `recrawl`: whether and how pages that were found are visited again.",
        examples=[{"mode": "monitor"}],
    )
    policy_from: Annotated[
        int | None, Field(ge=1, lt=MOST, description="A crawl whose learned policy this one begins with.")
    ] = None


class ChangeCrawl(Strict):
    """What may be changed of a crawl, also while it runs."""

    max_pages: Annotated[int | None, Field(ge=1, lt=MOST, description="New page budget.", examples=[5000])] = None
    max_per_site: Annotated[
        int | str | None, Field(description="New cap per site: `100`, `5:2` or `none`.", examples=["200"])
    ] = None
    recrawl: Annotated[
        RecrawlMode | None,
        Field(description="Whether an ended crawl visits what it found again, once it is resumed."),
    ] = None


class MoreSeeds(Strict):
    """URLs to begin from."""

    seeds: Annotated[list[str], Field(min_length=1, max_length=1000, examples=[["https://www.example.org/"]])]


class SeedsPlaced(Strict):
    """How many seeds wait now that were never seen before; others are known already or refused."""

    placed: int
    known: int


class Feedback(Strict):
    """What a person says of a page."""

    page: Annotated[int, Field(ge=1, lt=MOST, description="Number of a judged page of the crawl.", examples=[1])]
    relevant: bool


class FeedbackKept(Strict):
    """How many pages of the crawl have a label by now, and whether the judge learns from it at once."""

    labels: int
    retraining: bool


class Harvest(Strict):
    """How many pages of the crawl are relevant, and which share of them."""

    relevant_pages: int
    harvest_rate: float


class Rejudged(Strict):
    """What came of a judge that has learned from all labels and the newest pages, and judged the stored pages again."""

    version: int = Field(description="Of the judge that judges now.")
    is_new: bool = Field(description="False where too little is known to train a judge, or `relevance.model` is prior.")
    before: Harvest
    after: Harvest


@router.post(
    "",
    status_code=201,
    responses={**documented(409), **WITH_BODY, 201: {"headers": {"Location": {"schema": {"type": "string"}}}}},
)
async def start(
    body: StartCrawl,
    keeper: Keeping,
    settings: WithSettings,
    response: Response,
    idempotency_key: Annotated[
        str | None,
        Header(
            min_length=1,
            max_length=200,
            pattern=r"^[\x21-\x7e]+$",
            description="A text of your own. Asked again with it and the same body, the answer is the crawl that the "
            "first request started; with another body, 409.",
        ),
    ] = None,
) -> CrawlStatus:
    """Start a crawl."""
    topic = _topic(body.topic, settings)
    topic = replace(topic, recrawl={**topic.recrawl, **body.recrawl})
    merged = settings.replaced("crawl", {**topic.crawl, **body.crawl})
    asked = sha256(body.model_dump_json().encode()).hexdigest()
    key = StartKey(idempotency_key, asked) if idempotency_key else None
    number = await keeper.start(topic, merged, body.policy_from, key)
    response.headers["Location"] = f"/api/v1/crawls/{number}"
    return await status_of(keeper, number)


@router.get("")
async def every(keeper: Keeping, database: Stored, limit: Limit = 100, cursor: Cursor = None) -> Page[CrawlStatus]:
    """All crawls, oldest first."""
    after = position_in(cursor, "crawls") or 0
    numbers = [record.id for record in await crawls.every(database) if record.id > after]
    shown = numbers[:limit]
    more = cursor_of("crawls", shown[-1]) if len(numbers) > limit else None
    return Page(items=[await status_of(keeper, number) for number in shown], next=more)


@router.get("/{number}", responses=OF_ONE)
async def one(number: CrawlNumber, keeper: Keeping) -> CrawlStatus:
    """State and figures of one crawl."""
    return await status_of(keeper, number)


@router.patch("/{number}", responses={**STEERING, **WITH_BODY})
async def change(number: CrawlNumber, body: ChangeCrawl, keeper: Keeping) -> CrawlStatus:
    """Give a crawl another page budget or cap per site, also while it runs; an ended one goes on when resumed.

    `"recrawl": "monitor"` and a resume let an ended crawl watch what it found.
    """
    changed = body.model_dump(exclude_none=True, exclude={"recrawl"})
    if not changed and not body.recrawl:
        raise BadRequest("Nothing to change. Give max_pages, max_per_site or recrawl.")
    await keeper.change(number, changed, body.recrawl)
    return await status_of(keeper, number)


@router.delete("/{number}", status_code=204, responses=STEERING)
async def delete(number: CrawlNumber, keeper: Keeping) -> None:
    """Delete an ended crawl with all its pages."""
    await keeper.delete(number)


@router.post("/{number}/pause", responses=STEERING)
async def pause(number: CrawlNumber, keeper: Keeping) -> CrawlStatus:
    """Start no new fetch until it is resumed; those under way finish."""
    (await keeper.steered(number)).pause()
    return await status_of(keeper, number)


@router.post("/{number}/resume", responses=STEERING)
async def resume(number: CrawlNumber, keeper: Keeping) -> CrawlStatus:
    """Go on with a paused, stopped or failed crawl, or a finished one that was given more to do."""
    await keeper.resume(number)
    return await status_of(keeper, number)


@router.post("/{number}/stop", responses=STEERING)
async def stop(number: CrawlNumber, keeper: Keeping) -> CrawlStatus:
    """End a crawl. Steps under way are finished and saved, or their links handed back, within a second."""
    await keeper.stop(number)
    return await status_of(keeper, number)


@router.post("/{number}/seeds", responses={**STEERING, **WITH_BODY})
async def seeds(number: CrawlNumber, body: MoreSeeds, keeper: Keeping) -> SeedsPlaced:
    """Add seeds, also while the crawl runs; they come first."""
    urls = list(dict.fromkeys(parse_seed(url, "seeds") for url in body.seeds))
    placed = await keeper.add_seeds(number, urls)
    return SeedsPlaced(placed=placed, known=len(urls) - placed)


@router.post("/{number}/feedback", status_code=202, responses={**STEERING, **WITH_BODY})
async def feedback(number: CrawlNumber, body: Feedback, keeper: Keeping) -> FeedbackKept:
    """Say whether a page is relevant: that counts at once. A running crawl's judge is then retrained beside it."""
    labels, retraining = await keeper.feedback(number, body.page, body.relevant)
    return FeedbackKept(labels=labels, retraining=retraining)


@router.post("/{number}/rejudge", responses=STEERING)
async def rejudge(number: CrawlNumber, keeper: Keeping) -> Rejudged:
    """Train the judge of an ended crawl on all labels and judge its stored pages again; takes up to a minute or so."""
    lesson = await keeper.rejudge(number)
    return Rejudged(
        version=lesson.version, is_new=lesson.is_new, before=_harvest(lesson.before), after=_harvest(lesson.after)
    )


def _harvest(summary: Summary) -> Harvest:
    return Harvest(relevant_pages=summary.relevant_pages, harvest_rate=summary.harvest_rate)


async def status_of(keeper: Keeper, number: int) -> CrawlStatus:
    state, summary = await keeper.status(number)
    crawl = keeper.running.get(number)
    record = crawl.record if crawl else await keeper.record(number)
    settings = crawl.settings if crawl else CrawlSettings.model_construct(**record.settings.get("crawl", {}))
    return CrawlStatus(
        state=state,
        **asdict(summary),
        stop_detail=None if crawl else record.stop_detail,
        advice=STOP_ADVICE[StopReason(summary.stop_reason)] if summary.stop_reason else "",
        max_pages=settings.max_pages,
        max_per_site=settings.max_per_site,
        objective=settings.objective,
        created_at=moment(record.created_at),
        is_learning_topic=crawl is not None and crawl.is_learning_topic,
        latest_url=crawl.latest_url if crawl else "",
    )


def _topic(given: dict[str, Any] | str, settings: Settings) -> Topic:
    if isinstance(given, dict):
        return parse_topic(given, "topic")
    known = known_topics(settings)
    if given not in known:
        raise TopicError(f'There is no topic named "{given}" here. Known: {", ".join(sorted(known))}.')
    return load_topic(known[given])
