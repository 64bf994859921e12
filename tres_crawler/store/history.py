"""A crawl over its pages: figures by stretch, and samples for an estimate of what a random crawl would find."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import Integer, and_, case, cast, func, select

from tres_crawler.records import Outcome
from tres_crawler.store.database import AnyRow, Database
from tres_crawler.store.tables import events, links, metric_points, pages


async def stretches(database: Database, crawl: int, length: int) -> Sequence[AnyRow]:
    """Pages, relevant pages and failed pages of each stretch of `length` pages, in order; by today's judgement."""
    stretch = ((pages.c.number - 1) // length).label("stretch")
    return await database.rows(
        select(
            stretch,
            func.count().label("pages"),
            func.sum(cast(pages.c.relevant, Integer)).label("relevant"),
            func.count(case((pages.c.outcome == Outcome.FAILED, 1))).label("failed"),
            func.max(pages.c.fetched_at).label("at"),
        )
        .where(pages.c.crawl == crawl)
        .group_by(stretch)
        .order_by(stretch)
    )


async def first_pages(database: Database, crawl: int) -> tuple[list[int], list[int]]:
    """Number of the first page of every site, and of the first relevant one where there is any, in order."""
    relevant = case((pages.c.relevant, pages.c.number))
    found = await database.rows(
        select(func.min(pages.c.number).label("first"), func.min(relevant).label("relevant"))
        .where(pages.c.crawl == crawl)
        .group_by(pages.c.site)
    )
    return sorted(row.first for row in found), sorted(row.relevant for row in found if row.relevant is not None)


async def points(database: Database, crawl: int, every: int) -> dict[int, AnyRow]:
    """What was noted while it ran, after every so many pages."""
    columns = (metric_points.c[name] for name in ("pages", "at", "seconds", "waiting", "leaves"))
    found = await database.rows(
        select(*columns).where(metric_points.c.crawl == crawl, metric_points.c.pages % every == 0)
    )
    return {row.pages: row for row in found}


async def page_count(database: Database, crawl: int) -> int:
    found = await database.rows(select(func.max(pages.c.number)).where(pages.c.crawl == crawl))
    return int(found[0][0] or 0)


async def link_looks(database: Database, crawl: int, numbers: Sequence[int]) -> list[float]:
    """How relevant the texts of links looked to the judge that met them; seeds are left out."""
    found = await database.rows(
        select(links.c.promise, pages.c.relevant)
        .join(pages, and_(pages.c.crawl == links.c.crawl, pages.c.number == links.c.source))
        .where(links.c.crawl == crawl, links.c.number.in_(numbers))
    )
    # A promise is the look and half the parent's reward; a parent that was judged anew may leave a bit over.
    return [min(max(row.promise - row.relevant / 2, 0.0), 1.0) for row in found]


async def events_after(database: Database, crawl: int, after: int, limit: int) -> Sequence[AnyRow]:
    """Events of a crawl, oldest first."""
    of_crawl = (events.c.crawl == crawl, events.c.id > after)
    return await database.rows(select(events).where(*of_crawl).order_by(events.c.id).limit(limit))


async def events_between(database: Database, crawl: int, after: int, last: int, limit: int) -> Sequence[AnyRow]:
    """The newest of the events from `after`, which is known, to `last`; oldest first."""
    these = (events.c.crawl == crawl, events.c.id > after, events.c.id <= last)
    found = await database.rows(select(events).where(*these).order_by(events.c.id.desc()).limit(limit))
    return found[::-1]


async def event_count(database: Database, crawl: int, after: int, last: int) -> int:
    these = (events.c.crawl == crawl, events.c.id > after, events.c.id <= last)
    return int((await database.rows(select(func.count()).select_from(events).where(*these)))[0][0])


async def last_event(database: Database, crawl: int | None = None) -> int:
    """Id of the newest event, of one crawl or of all; 0 without any."""
    of_crawl = () if crawl is None else (events.c.crawl == crawl,)
    found = await database.rows(select(func.max(events.c.id)).where(*of_crawl))
    return int(found[0][0] or 0)
