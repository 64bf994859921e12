"""Sites and links as rows for exports, in the order they were found."""

from __future__ import annotations

from collections.abc import AsyncIterator
from math import sqrt
from typing import Any

from sqlalchemy import Integer, Subquery, cast, func, select

from tres_crawler.store.database import AnySelect, Database
from tres_crawler.store.tables import links, pages, sites

CHUNK = 1000

SITE_COLUMNS = (
    "number",
    "site",
    "hosts",
    "pages",
    "relevant_pages",
    "relevant_share",
    "share_low",
    "share_high",
    "best_url",
    "best_title",
    "best_probability",
    "first_fetched_at",
    "last_fetched_at",
)
EDGE_COLUMNS = ("number", "source", "target", "anchor", "depth", "state", "source_page", "target_page")


async def sites_of(
    database: Database, crawl: int, after: int = 0, until: int | None = None
) -> AsyncIterator[dict[str, Any]]:
    """Every site of which a page was fetched, with its evidence."""
    counted, best = _counted_pages(crawl), _best_pages(crawl)
    query = (
        select(sites.c.number, sites.c.name.label("site"), counted, best)
        .join(counted, counted.c.site == sites.c.number)
        .join(best, (best.c.site == sites.c.number) & (best.c.rank == 1))
        .where(sites.c.crawl == crawl, *_range(sites.c.number, after, until))
        .order_by(sites.c.number)
    )
    # All at once: the figures of one moment, and grouping pages again for every thousand sites would be slow.
    for row in await database.rows(query):
        low, high = share_interval(row.relevant_pages, row.pages)
        shares = {"relevant_share": row.relevant_pages / row.pages, "share_low": low, "share_high": high}
        found = row._asdict() | {name: round(share, 4) for name, share in shares.items()}
        yield {name: found[name] for name in SITE_COLUMNS}


def _counted_pages(crawl: int) -> Subquery:
    return (
        select(
            pages.c.site,
            func.count(pages.c.host.distinct()).label("hosts"),
            func.count().label("pages"),
            func.sum(cast(pages.c.relevant, Integer)).label("relevant_pages"),
            func.min(pages.c.fetched_at).label("first_fetched_at"),
            func.max(pages.c.fetched_at).label("last_fetched_at"),
        )
        .where(pages.c.crawl == crawl)
        .group_by(pages.c.site)
        .subquery()
    )


def _best_pages(crawl: int) -> Subquery:
    """The pages of each site, the best with rank 1: SQLite and PostgreSQL share no "row of the largest"."""
    best_first = (pages.c.relevant.desc(), func.coalesce(pages.c.probability, -1).desc(), pages.c.number)
    return (
        select(
            pages.c.site,
            pages.c.url.label("best_url"),
            pages.c.title.label("best_title"),
            pages.c.probability.label("best_probability"),
            func.row_number().over(partition_by=pages.c.site, order_by=best_first).label("rank"),
        )
        .where(pages.c.crawl == crawl)
        .subquery()
    )


async def edges_of(
    database: Database, crawl: int, after: int = 0, until: int | None = None
) -> AsyncIterator[dict[str, Any]]:
    """Every link from a fetched page, seeds left out; a fetched target goes by the URL it answered under."""
    moved = {
        row.link: (row.number, row.url)
        for row in await database.rows(
            select(pages.c.link, pages.c.number, pages.c.url)
            .join(links, (links.c.crawl == pages.c.crawl) & (links.c.number == pages.c.link))
            .where(pages.c.crawl == crawl, pages.c.url_key != links.c.url_key)
        )
    }
    came_from, led_to = pages.alias(), pages.alias()
    query: AnySelect = (
        select(
            links.c.number,
            came_from.c.url.label("source"),
            links.c.url.label("target"),
            links.c.anchor,
            links.c.depth,
            links.c.state,
            links.c.source.label("source_page"),
            led_to.c.number.label("target_page"),
        )
        .join(came_from, (came_from.c.crawl == links.c.crawl) & (came_from.c.number == links.c.source))
        .outerjoin(led_to, (led_to.c.crawl == links.c.crawl) & (led_to.c.url_key == links.c.url_key))
        .where(links.c.crawl == crawl)
        .order_by(links.c.number)
        .limit(CHUNK)
    )
    while chunk := await database.rows(query.where(*_range(links.c.number, after, until))):
        for row in chunk:
            edge = row._asdict()
            if row.number in moved:
                edge["target_page"], edge["target"] = moved[row.number]
            yield edge
        after = chunk[-1].number


def share_interval(part: int, whole: int) -> tuple[float, float]:
    """Where the true share lies, with 95 % confidence (Wilson's score interval); of nothing everything is possible."""
    if not whole:
        return 0.0, 1.0
    z = 1.96
    share, scale = part / whole, 1 + z * z / whole
    middle = (share + z * z / (2 * whole)) / scale
    half = z * sqrt(share * (1 - share) / whole + z * z / (4 * whole * whole)) / scale
    return max(0.0, middle - half), min(1.0, middle + half)


def _range(number: Any, after: int, until: int | None) -> list[Any]:
    return [number > after] if until is None else [number > after, number <= until]
