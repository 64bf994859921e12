"""The time series of a crawl, worked out from what is stored, so that it is unbroken over restarts."""

from __future__ import annotations

import random
from bisect import bisect_right
from itertools import accumulate
from typing import Annotated

from fastapi import APIRouter, Depends, Query, Request

from tres_crawler.ledger import METRIC_EVERY_PAGES
from tres_crawler.records import Summary
from tres_crawler.serve.common import CrawlNumber, Keeping, Stored, known_caller, moment
from tres_crawler.serve.models import MetricPoint, Metrics, RandomReference
from tres_crawler.serve.problems import documented
from tres_crawler.serve.reference import reference
from tres_crawler.store import crawls, history, links
from tres_crawler.store.database import Database

LAST_PAGES = 200
"""Over how many pages the newest harvest rate is taken."""
STEPS = (10, 20, 50, 100, 200)
"""Pages between two points: parts of LAST_PAGES, then its multiples."""
SAMPLE = 4000
"""Links that an estimate is made from."""
REFERENCE_GROWTH = 1.05
"""It is made anew when there are so many times the pages."""

References = dict[int, tuple[int, RandomReference | None]]
"""By crawl: with how many pages an estimate was made, and what it said."""

router = APIRouter(
    prefix="/api/v1/crawls/{number}",
    tags=["look"],
    dependencies=[Depends(known_caller)],
    responses=documented(401, 404, 422),
)


@router.get("/metrics")
async def metrics(
    number: CrawlNumber,
    request: Request,
    database: Stored,
    keeper: Keeping,
    points: Annotated[int, Query(ge=10, le=1000, description="Most points in the answer.")] = 300,
) -> Metrics:
    """Harvest rate (total and last 200), sites, pages/s, waiting links, leaves and errors over the pages."""
    await crawls.get(database, number)
    _, now = await keeper.status(number)
    every = step_for(await history.page_count(database, number), points)
    return Metrics(
        crawl_id=number,
        every=every,
        points=await _points(database, number, every, now),
        random_reference=await _reference(request.app.state.references, database, number),
    )


def step_for(pages: int, most: int) -> int:
    """The shortest distance of points at which there are at most so many, the newest included."""
    for step in STEPS:
        if pages / step <= most - 1:
            return step
    return -(-pages // ((most - 1) * LAST_PAGES)) * LAST_PAGES


async def _points(database: Database, crawl: int, every: int, now: Summary) -> list[MetricPoint]:
    length = min(every, LAST_PAGES)
    stretches = await history.stretches(database, crawl, length)
    sites, relevant_sites = await history.first_pages(database, crawl)
    noted = await history.points(database, crawl, every)
    pages = list(accumulate(row.pages for row in stretches))
    relevant = list(accumulate(row.relevant for row in stretches))
    failed = list(accumulate(row.failed for row in stretches))
    window = LAST_PAGES // length
    found: list[MetricPoint] = []
    for at, row in enumerate(stretches):
        is_last = at == len(stretches) - 1
        if pages[at] % every and not is_last:
            continue
        before = at - window
        earlier_pages, earlier_relevant = (pages[before], relevant[before]) if before >= 0 else (0, 0)
        # Where the crawl stands now is known better than from a note taken in the middle of a step.
        note = None if is_last else noted.get(pages[at])
        seconds = note.seconds if note else now.seconds if is_last else None
        found.append(
            MetricPoint(
                pages=pages[at],
                at=moment(row.at),
                seconds=seconds,
                relevant_pages=relevant[at],
                harvest_rate=relevant[at] / pages[at],
                harvest_rate_last=(relevant[at] - earlier_relevant) / (pages[at] - earlier_pages),
                sites=bisect_right(sites, pages[at]),
                relevant_sites=bisect_right(relevant_sites, pages[at]),
                failed=failed[at],
                pages_per_second=_speed(found[-1] if found else None, pages[at], seconds),
                waiting=note.waiting if note else now.waiting if is_last else None,
                leaves=note.leaves if note else now.leaves if is_last else None,
            )
        )
    return found


def _speed(before: MetricPoint | None, pages: int, seconds: float | None) -> float | None:
    earlier_pages, earlier = (before.pages, before.seconds) if before else (0, 0.0)
    if seconds is None or earlier is None or seconds <= earlier:
        return None
    return round((pages - earlier_pages) / (seconds - earlier), 3)


async def _reference(known: References, database: Database, crawl: int) -> RandomReference | None:
    pages = await history.page_count(database, crawl)
    before = known.get(crawl)
    if before and before[0] <= pages < REFERENCE_GROWTH * before[0]:
        return before[1]
    last = await links.last_number(database, crawl)
    if not pages or not last:
        return None
    # The same numbers while nothing grows: a line that trembles would look like news.
    rng = random.Random(crawl)
    some = rng.sample(range(1, last + 1), min(last, SAMPLE))
    known[crawl] = pages, reference(await history.link_looks(database, crawl, some))
    return known[crawl][1]


assert STEPS[0] == METRIC_EVERY_PAGES
