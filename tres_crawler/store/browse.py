"""What people look at: lists of pages and sites, why a page was fetched, and what it led to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import ColumnElement, Integer, cast, func, or_, select

from tres_crawler.errors import NotFound
from tres_crawler.records import LinkState
from tres_crawler.store.database import AnyRow, Database
from tres_crawler.store.pages import SHOWN, of_crawl
from tres_crawler.store.tables import judgements, labels, links, pages, sites, visits

RECENT_VISITS = 1000
"""How many of the newest visits say how long fetches take."""
_LABEL = (
    select(labels.c.relevant)
    .where(labels.c.crawl == pages.c.crawl, labels.c.page == pages.c.number)
    .order_by(labels.c.at.desc())
    .limit(1)
    .scalar_subquery()
)
LISTED = (
    "number",
    "url",
    "title",
    "site",
    "host",
    "depth",
    "source",
    "anchor",
    "outcome",
    "reason",
    "status",
    "relevant",
    "probability",
    "judge_version",
    "fetched_at",
    "label",
)
_LISTED = (*(SHOWN[name] for name in LISTED if name in SHOWN), _LABEL.label("label"))
_CHOSEN = (
    links.c.promise,
    links.c.hops,
    links.c.attempts,
    links.c.features.label("placed_features"),
    pages.c.features,
    pages.c.value,
    pages.c.leaf,
    pages.c.explored,
    pages.c.learner_version,
    pages.c.duplicate_of,
    pages.c.outlinks,
    pages.c.first_link,
    pages.c.new_links,
)


@dataclass(frozen=True)
class Wanted:
    """Which pages to list."""

    relevant: bool | None = None
    site: str | None = None
    since: float | None = None
    text: str | None = None
    """In URL or title."""
    labelled: bool | None = None
    """Whether a person has said anything of them."""

    def conditions(self) -> list[ColumnElement[bool]]:
        found: list[ColumnElement[bool]] = []
        if self.relevant is not None:
            found.append(pages.c.relevant == self.relevant)
        if self.site is not None:
            found.append(sites.c.name == self.site)
        if self.since is not None:
            found.append(pages.c.fetched_at >= self.since)
        if self.text:
            found.append(
                or_(*(column.icontains(self.text, autoescape=True) for column in (pages.c.url, pages.c.title)))
            )
        if self.labelled is not None:
            found.append(_LABEL.is_not(None) if self.labelled else _LABEL.is_(None))
        return found


async def listed(
    database: Database, crawl: int, wanted: Wanted, limit: int, after: int | None = None, newest: bool = True
) -> Sequence[AnyRow]:
    """Pages in order of their number; `after` is the last one already had."""
    query = of_crawl(crawl, *_LISTED).where(*wanted.conditions()).limit(limit)
    number = pages.c.number
    if after is not None:
        query = query.where(number < after if newest else number > after)
    return await database.rows(query.order_by(number.desc() if newest else number))


async def one(database: Database, crawl: int, number: int) -> AnyRow:
    """A page with all that is known of how its link was chosen."""
    found = await database.rows(of_crawl(crawl, *_LISTED, *_CHOSEN).where(pages.c.number == number))
    if not found:
        raise NotFound(f"Crawl {crawl} has no page {number}.")
    return found[0]


async def path(database: Database, crawl: int, number: int | None) -> list[AnyRow]:
    """The pages that led from a seed to page `number`, and that page, the seed first."""
    columns = (pages.c.number, pages.c.url, pages.c.title, pages.c.relevant, links.c.anchor, links.c.source)
    found: list[AnyRow] = []
    while number is not None:
        found += await database.rows(of_crawl(crawl, *columns).where(pages.c.number == number))
        number = found[-1].source
    return found[::-1]


async def judged(database: Database, crawl: int, number: int) -> Sequence[AnyRow]:
    """What earlier judges held of a page, oldest first."""
    columns = (judgements.c.version, judgements.c.probability, judgements.c.relevant)
    this = (judgements.c.crawl == crawl, judgements.c.page == number)
    return await database.rows(select(*columns).where(*this).order_by(judgements.c.version))


async def link_states(database: Database, crawl: int, first: int, count: int) -> dict[LinkState, int]:
    """What has become of the links that were first seen on one page."""
    these = (links.c.crawl == crawl, links.c.number.between(first, first + count - 1))
    found = await database.rows(
        select(links.c.state, func.count().label("total")).where(*these).group_by(links.c.state)
    )
    return {LinkState(row.state): row.total for row in found}


async def led_to(database: Database, crawl: int, first: int, count: int) -> Sequence[AnyRow]:
    """The pages that came of them, most relevant first."""
    columns = (pages.c.number, pages.c.url, pages.c.title, pages.c.relevant, pages.c.probability, links.c.anchor)
    return await database.rows(
        of_crawl(crawl, *columns)
        .where(pages.c.link.between(first, first + count - 1))
        .order_by(pages.c.relevant.desc(), pages.c.probability.desc(), pages.c.number)
    )


async def site_counts(database: Database, crawl: int, last: int) -> Sequence[AnyRow]:
    """Of the pages up to the `last`, how many of every site that has a relevant one, and how many are relevant."""
    relevant = func.sum(cast(pages.c.relevant, Integer))
    columns = (pages.c.site, func.count().label("pages"), relevant.label("relevant_pages"))
    return await database.rows(
        select(*columns)
        .where(pages.c.crawl == crawl, pages.c.number <= last)
        .group_by(pages.c.site)
        .having(relevant > 0)
    )


async def site_names(database: Database, crawl: int, numbers: Sequence[int]) -> dict[int, str]:
    found = await database.rows(
        select(sites.c.number, sites.c.name).where(sites.c.crawl == crawl, sites.c.number.in_(numbers))
    )
    return {row.number: row.name for row in found}


async def best_of_sites(
    database: Database, crawl: int, numbers: Sequence[int], last: int, limit: int
) -> Sequence[AnyRow]:
    """Of each site, and the pages up to the `last`, the relevant ones that the judge is surest of."""
    surest = (pages.c.probability.desc(), pages.c.number)
    rank = func.row_number().over(partition_by=pages.c.site, order_by=surest).label("rank")
    columns = (pages.c.number, pages.c.site, pages.c.url, pages.c.title, pages.c.probability, pages.c.fetched_at)
    these = (pages.c.crawl == crawl, pages.c.number <= last, pages.c.site.in_(numbers), pages.c.relevant)
    ranked = select(*columns, rank).where(*these).subquery()
    return await database.rows(select(ranked).where(ranked.c.rank <= limit).order_by(ranked.c.site, ranked.c.rank))


async def statuses(database: Database, crawl: int) -> dict[str, int]:
    """How many pages ended with each HTTP status, and how many without an answer."""
    found = await database.rows(
        select(pages.c.status, func.count().label("total")).where(pages.c.crawl == crawl).group_by(pages.c.status)
    )
    return {"none" if row.status is None else str(row.status): row.total for row in found}


async def fetch_seconds(database: Database, crawl: int) -> list[float]:
    """How long the newest answers took, shortest first."""
    newest = select(func.max(pages.c.number)).where(pages.c.crawl == crawl).scalar_subquery()
    found = await database.rows(
        select(visits.c.seconds).where(
            visits.c.crawl == crawl, visits.c.page > newest - RECENT_VISITS, visits.c.status.is_not(None)
        )
    )
    return sorted(row.seconds for row in found)
