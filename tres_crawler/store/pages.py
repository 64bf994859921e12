"""Pages and visits: what was fetched, when, and how it ended."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
from sqlalchemy import ColumnElement, insert, select

from tres_crawler.records import Judgement, Link, Outcome
from tres_crawler.store.database import AnyRow, AnySelect, Change, Database
from tres_crawler.store.tables import hosts, links, pages, sites, visits
from tres_crawler.text import fingerprint

INSERT_PAGE = insert(pages)
INSERT_VISIT = insert(visits)
EXPORT_CHUNK = 1000


@dataclass(frozen=True, slots=True)
class PageRecord:
    """A page paid for from the budget, and the visit that made it."""

    number: int
    link: Link
    url: str
    host: int
    site: int
    outcome: Outcome
    fetched_at: float
    seconds: float = 0.0
    bytes: int = 0
    reason: str | None = None
    status: int | None = None
    title: str = ""
    text_key: int | None = None
    simhash: int | None = None
    duplicate_of: int | None = None
    outlinks: int = 0
    judgement: Judgement | None = None
    reward: float = 0.0
    value: float | None = None
    """What the learner held of its link when it was chosen."""
    leaf: int = 0
    explored: bool = False
    """Chosen at random and not for its value."""
    learner_version: int | None = None
    features: npt.NDArray[np.float32] | None = field(default=None, compare=False)
    """As they were known when its link was chosen."""
    first_link: int | None = None
    new_links: int = 0
    """Links that were first seen on it: so many numbers from `first_link` on."""


def new_page(crawl: int, page: PageRecord) -> tuple[Change, Change]:
    judged = page.judgement
    return (
        Change(
            INSERT_PAGE,
            [
                {
                    "crawl": crawl,
                    "number": page.number,
                    "link": page.link.number,
                    "url": page.url,
                    "url_key": fingerprint(page.url),
                    "host": page.host,
                    "site": page.site,
                    "outcome": page.outcome,
                    "reason": page.reason,
                    "status": page.status,
                    "title": page.title,
                    "text_key": page.text_key,
                    "simhash": page.simhash,
                    "duplicate_of": page.duplicate_of,
                    "outlinks": page.outlinks,
                    "probability": judged.probability if judged else None,
                    "relevant": page.reward > 0,
                    "judge_version": judged.version if judged else None,
                    "reward": page.reward,
                    "value": page.value,
                    "leaf": page.leaf,
                    "explored": page.explored,
                    "learner_version": page.learner_version,
                    "features": None if page.features is None else page.features.tobytes(),
                    "first_link": page.first_link,
                    "new_links": page.new_links,
                    "fetched_at": page.fetched_at,
                }
            ],
        ),
        Change(
            INSERT_VISIT,
            [
                {
                    "crawl": crawl,
                    "page": page.number,
                    "at": page.fetched_at,
                    "status": page.status,
                    "seconds": page.seconds,
                    "bytes": page.bytes,
                }
            ],
        ),
    )


async def read(database: Database, crawl: int, number: int) -> AnyRow:
    """What is kept of one page."""
    return (await database.rows(select(pages).where(pages.c.crawl == crawl, pages.c.number == number)))[0]


async def outcomes(database: Database, crawl: int) -> AsyncIterator[AnyRow]:
    """What a resumed crawl must know of each page, in order."""
    columns = ("number", "url", "site", "outcome", "relevant", "text_key", "simhash")
    query = (
        select(*(pages.c[name] for name in columns), links.c.source, links.c.host.label("link_host"))
        .join(links, (links.c.crawl == pages.c.crawl) & (links.c.number == pages.c.link))
        .where(pages.c.crawl == crawl)
    )
    async for part in database.parts(query, pages.c.number):
        for row in part:
            yield row


async def learner_versions(database: Database, crawl: int) -> list[int]:
    """Of the learner that chose each page, in order; pages that no learner chose are left out."""
    of_crawl = (pages.c.crawl == crawl, pages.c.learner_version.is_not(None))
    found = await database.rows(select(pages.c.learner_version).where(*of_crawl).order_by(pages.c.number))
    return [row.learner_version for row in found]


SHOWN: dict[str, ColumnElement[Any]] = {
    **{name: pages.c[name] for name in ("number", "url", "outcome", "reason", "status", "title", "relevant")},
    **{name: pages.c[name] for name in ("probability", "judge_version", "outlinks", "fetched_at", "duplicate_of")},
    **{name: links.c[name] for name in ("depth", "source", "anchor")},
    "value": pages.c.value,
    "site": sites.c.name.label("site"),
    "host": hosts.c.name.label("host"),
}
"""What is told of a page in lists and exports, with the names of its places in place of their numbers."""
EXPORT_COLUMNS = (
    "number",
    "url",
    "site",
    "host",
    "depth",
    "source",
    "anchor",
    "outcome",
    "reason",
    "status",
    "title",
    "relevant",
    "probability",
    "outlinks",
    "fetched_at",
    "judge_version",
    "duplicate_of",
    "value",
)


def of_crawl(crawl: int, *columns: ColumnElement[Any]) -> AnySelect:
    """Columns of the pages of a crawl, of their links, and of the sites and hosts they answered from."""
    joined = (
        pages.join(links, (links.c.crawl == pages.c.crawl) & (links.c.number == pages.c.link))
        .join(sites, (sites.c.crawl == pages.c.crawl) & (sites.c.number == pages.c.site))
        .join(hosts, (hosts.c.crawl == pages.c.crawl) & (hosts.c.number == pages.c.host))
    )
    return select(*columns).select_from(joined).where(pages.c.crawl == crawl)


async def export(
    database: Database, crawl: int, after: int = 0, until: int | None = None
) -> AsyncIterator[dict[str, Any]]:
    """Every page in order, as the columns of EXPORT_COLUMNS; `after` is the last number already had."""
    query = of_crawl(crawl, *(SHOWN[name] for name in EXPORT_COLUMNS)).order_by(pages.c.number).limit(EXPORT_CHUNK)
    if until is not None:
        query = query.where(pages.c.number <= until)
    while chunk := await database.rows(query.where(pages.c.number > after)):
        for row in chunk:
            yield row._asdict()
        after = chunk[-1].number
