"""Sources: pages that are visited again, what visits have told of them, and what was new."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import Update, bindparam, case, func, insert, select, update

from tres_crawler.records import Outcome
from tres_crawler.store.database import AnyRow, AnySelect, Change, Database
from tres_crawler.store.tables import links, news, pages, prints, recrawls, sources, visits

INSERT_SOURCE = insert(sources)
INSERT_PRINTS = insert(prints)
INSERT_NEWS = insert(news)
INSERT_VISIT = insert(visits)
INSERT_RECRAWL = insert(recrawls)
_KEYS = ("crawl", "page", "added_at")
COLUMNS = tuple(column.name for column in sources.columns if column.name not in _KEYS)
"""All that a visit may change."""


def _set(table: Any, columns: Sequence[str], *keys: str) -> Update:
    this = (table.c[key] == bindparam(f"of_{key}") for key in keys)
    return update(table).where(*this).values({name: bindparam(f"now_{name}") for name in columns})


SET_SOURCE = _set(sources, COLUMNS, "crawl", "page")
RETIRE = _set(sources, ("retired_at", "retired_reason"), "crawl", "page")
SET_PRINTS = _set(prints, ("body", "added"), "crawl", "page")
PROGRESS = ("price", "faded", "faded_exposure", "visits", "changes", "troubles")
SET_RECRAWL = _set(recrawls, PROGRESS, "crawl")


def _given(values: Mapping[str, Any]) -> dict[str, Any]:
    return {f"now_{name}": value for name, value in values.items()}


def new_source(crawl: int, page: int, at: float, state: Mapping[str, Any]) -> Change:
    return Change(INSERT_SOURCE, [{"crawl": crawl, "page": page, "added_at": at, **state}])


def source_change(crawl: int, page: int, state: Mapping[str, Any]) -> Change:
    """What is held of a source by now; `state` has all of COLUMNS."""
    return Change(SET_SOURCE, [{"of_crawl": crawl, "of_page": page, **_given(state)}])


def retirement(crawl: int, page: int, at: float | None, reason: str | None) -> Change:
    """A source is given up without a visit; None: it is one again."""
    return Change(RETIRE, [{"of_crawl": crawl, "of_page": page, "now_retired_at": at, "now_retired_reason": reason}])


def new_prints(crawl: int, page: int, body: bytes, added: bytes) -> Change:
    return Change(INSERT_PRINTS, [{"crawl": crawl, "page": page, "body": body, "added": added}])


def prints_change(crawl: int, page: int, body: bytes, added: bytes) -> Change:
    return Change(SET_PRINTS, [{"of_crawl": crawl, "of_page": page, "now_body": body, "now_added": added}])


def new_news(
    crawl: int, page: int, at: float, share: float, value: float, segments: Sequence[tuple[bool, str]]
) -> Change:
    told = {"share": share, "value": value, "segments": [list(segment) for segment in segments]}
    return Change(INSERT_NEWS, [{"crawl": crawl, "page": page, "at": at, **told}])


def new_visit(crawl: int, page: int, at: float, told: Mapping[str, Any]) -> Change:
    """`told` are its status, seconds, bytes, and whether the page had changed."""
    return Change(INSERT_VISIT, [{"crawl": crawl, "page": page, "at": at, **told}])


def begun(crawl: int, progress: Mapping[str, float]) -> Change:
    return Change(INSERT_RECRAWL, [{"crawl": crawl, **progress}])


def progress_change(crawl: int, progress: Mapping[str, float]) -> Change:
    """Of the schedule as a whole; `progress` has all of PROGRESS."""
    return Change(SET_RECRAWL, [{"of_crawl": crawl, **_given(progress)}])


async def progress(database: Database, crawl: int) -> dict[str, float] | None:
    found = await database.rows(select(*(recrawls.c[name] for name in PROGRESS)).where(recrawls.c.crawl == crawl))
    return dict(found[0]._mapping) if found else None


def _of_page(table: Any) -> Any:
    return (table.c.crawl == pages.c.crawl) & (table.c.page == pages.c.number)


_WITH_HOST = select(sources, pages.c.host).join(pages, _of_page(sources)).order_by(sources.c.page)


async def live(database: Database, crawl: int) -> Sequence[AnyRow]:
    """Every source that is not retired, with its host, oldest first."""
    return await database.rows(_WITH_HOST.where(sources.c.crawl == crawl, sources.c.retired_at.is_(None)))


async def relevant_again(database: Database, crawl: int, reason: str) -> Sequence[AnyRow]:
    """Sources that were retired for a reason, whose pages are held to be relevant by now."""
    return await database.rows(
        _WITH_HOST.where(sources.c.crawl == crawl, sources.c.retired_reason == reason, pages.c.relevant)
    )


READ_SOURCE: AnySelect = (
    select(sources, pages.c.url, pages.c.host, links.c.depth, prints.c.body, prints.c.added)
    .join(pages, _of_page(sources))
    .join(links, (links.c.crawl == pages.c.crawl) & (links.c.number == pages.c.link))
    .join(prints, _of_page(prints), isouter=True)
    .where(sources.c.crawl == bindparam("of_crawl"), sources.c.page == bindparam("of_page"))
)


async def read(database: Database, crawl: int, page: int) -> AnyRow:
    """A source, its URL, host and depth, and its prints where it has any."""
    return (await database.rows(READ_SOURCE, {"of_crawl": crawl, "of_page": page}))[0]


async def unknown(database: Database, crawl: int) -> Sequence[AnyRow]:
    """Relevant pages that are no sources yet."""
    return await database.rows(
        select(pages.c.number, pages.c.host, pages.c.fetched_at)
        .join(sources, _of_page(sources), isouter=True)
        .where(pages.c.crawl == crawl, pages.c.relevant, pages.c.outcome == Outcome.JUDGED, sources.c.page.is_(None))
        .order_by(pages.c.number)
    )


async def irrelevant(database: Database, crawl: int) -> list[int]:
    """Sources whose pages are held to be irrelevant by now."""
    found = await database.rows(
        select(sources.c.page)
        .join(pages, _of_page(sources))
        .where(sources.c.crawl == crawl, sources.c.retired_at.is_(None), ~pages.c.relevant)
    )
    return [row.page for row in found]


# ---- to be shown ----


async def counted(database: Database, crawl: int, now: float) -> tuple[int, int]:
    """How many sources are not retired, and how many of them are due."""
    found = await database.rows(
        select(func.count(), func.count(case((sources.c.due_at <= now, 1)))).where(
            sources.c.crawl == crawl, sources.c.retired_at.is_(None)
        )
    )
    return found[0][0], found[0][1]


async def sampled(database: Database, crawl: int, every: int) -> Sequence[AnyRow]:
    """Rate and last visit of one source in so many that are not retired."""
    of_crawl = (sources.c.crawl == crawl, sources.c.retired_at.is_(None), sources.c.page % every == 0)
    return await database.rows(select(sources.c.rate, sources.c.visited_at).where(*of_crawl))


async def retired(database: Database, crawl: int) -> dict[str, int]:
    """How many sources were retired, by reason."""
    found = await database.rows(
        select(sources.c.retired_reason, func.count().label("total"))
        .where(sources.c.crawl == crawl, sources.c.retired_at.is_not(None))
        .group_by(sources.c.retired_reason)
        .order_by(func.count().desc())
    )
    return {row.retired_reason or "": row.total for row in found}


async def upcoming(database: Database, crawl: int, count: int) -> Sequence[AnyRow]:
    """The sources that are due next, with what is held of them."""
    return await database.rows(
        select(sources, pages.c.url, pages.c.title)
        .join(pages, _of_page(sources))
        .where(sources.c.crawl == crawl, sources.c.retired_at.is_(None))
        .order_by(func.coalesce(sources.c.due_at, sources.c.tried_at), sources.c.page)
        .limit(count)
    )


async def latest_news(database: Database, crawl: int, count: int, before: int | None = None) -> Sequence[AnyRow]:
    """What was new, newest first; `before` is the last id already had."""
    query = (
        select(news, pages.c.url, pages.c.title)
        .join(pages, _of_page(news))
        .where(news.c.crawl == crawl)
        .order_by(news.c.id.desc())
        .limit(count)
    )
    return await database.rows(query if before is None else query.where(news.c.id < before))
