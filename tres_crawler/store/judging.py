"""What judges are trained on and what they held: readings, examples, labels, versions, earlier judgements."""

from __future__ import annotations

import json
import time
import zlib
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import count

from sqlalchemy import bindparam, func, insert, select, update

from tres_crawler.errors import NotFound
from tres_crawler.records import Example, Judgement, Outcome, PageText
from tres_crawler.store.database import AnyRow, Change, Database
from tres_crawler.store.tables import examples, judgements, labels, links, pages, readings, sites, snapshots

INSERT_READING = insert(readings)
INSERT_EXAMPLE = insert(examples)
INSERT_LABEL = insert(labels)
INSERT_SNAPSHOT = insert(snapshots)
INSERT_JUDGEMENT = insert(judgements)
SET_JUDGEMENT = (
    update(pages)
    .where(pages.c.crawl == bindparam("of_crawl"), pages.c.number == bindparam("of_page"))
    .values(
        probability=bindparam("now_probability"),
        relevant=bindparam("now_relevant"),
        reward=bindparam("now_reward"),
        judge_version=bindparam("now_version"),
    )
)
SET_RELEVANT = (
    update(pages)
    .where(pages.c.crawl == bindparam("of_crawl"), pages.c.number == bindparam("of_page"))
    .values(relevant=bindparam("now_relevant"), reward=bindparam("now_reward"))
)
KIND = "judge"
_LABELS = count()
KEPT_CHARACTERS = 4000
"""Of a text: what a judge looks at."""


@dataclass(frozen=True, slots=True)
class JudgedPage:
    """A page as it can be judged again."""

    number: int
    url: str
    site: str
    site_number: int
    anchor: str
    text: PageText
    judgement: Judgement
    label: bool | None
    """What a person said of it, if anything."""


def new_reading(crawl: int, page: int, text: PageText) -> Change:
    return Change(INSERT_READING, [{"crawl": crawl, "page": page, "body": _packed(text)}])


def new_examples(crawl: int, given: Sequence[Example]) -> Change:
    return Change(
        INSERT_EXAMPLE,
        [
            {
                "crawl": crawl,
                "number": number,
                "relevant": example.relevant,
                "source": example.group,
                "body": _packed(example.page),
            }
            for number, example in enumerate(given, 1)
        ],
    )


def new_label(crawl: int, page: int, relevant: bool) -> Change:
    # Given twice within a tick of the clock, the second must still be the newer one.
    at = time.time() + next(_LABELS) % 1000 * 1e-6
    return Change(INSERT_LABEL, [{"crawl": crawl, "page": page, "at": at, "relevant": relevant}])


def new_word(crawl: int, page: int, relevant: bool) -> list[Change]:
    """A label that counts at once, whatever the judge holds of the page."""
    now = {"of_crawl": crawl, "of_page": page, "now_relevant": relevant, "now_reward": float(relevant)}
    return [new_label(crawl, page, relevant), Change(SET_RELEVANT, [now])]


def new_version(crawl: int, version: int, body: bytes) -> Change:
    row = {"crawl": crawl, "kind": KIND, "version": version, "at": time.time(), "body": body}
    return Change(INSERT_SNAPSHOT, [row])


def judged_again(crawl: int, judged: Sequence[tuple[JudgedPage, Judgement]]) -> list[Change]:
    """The new judgements take the place of the old ones, which are kept beside."""
    before = [
        {
            "crawl": crawl,
            "page": page.number,
            "version": page.judgement.version,
            "probability": page.judgement.probability,
            "relevant": page.judgement.relevant,
        }
        for page, _ in judged
    ]
    now = [
        {
            "of_crawl": crawl,
            "of_page": page.number,
            "now_probability": new.probability,
            "now_relevant": new.relevant,
            "now_reward": float(new.relevant),
            "now_version": new.version,
        }
        for page, new in judged
    ]
    return [Change(INSERT_JUDGEMENT, before), Change(SET_JUDGEMENT, now)]


async def newest_version(database: Database, crawl: int) -> tuple[int, bytes] | None:
    found = await database.rows(
        select(snapshots.c.version, snapshots.c.body)
        .where(snapshots.c.crawl == crawl, snapshots.c.kind == KIND)
        .order_by(snapshots.c.version.desc())
        .limit(1)
    )
    return (found[0].version, found[0].body) if found else None


async def given_examples(database: Database, crawl: int) -> list[Example]:
    found = await database.rows(select(examples).where(examples.c.crawl == crawl).order_by(examples.c.number))
    return [Example(_unpacked(row.body), row.relevant, group=row.source) for row in found]


async def judged_pages(
    database: Database, crawl: int, before_version: int | None = None, newest: int | None = None
) -> list[JudgedPage]:
    """Every judged page that was kept for judging again; with `before_version`, those an older judge judged.

    With `newest`, those among so many of the newest pages, and all that have a label.
    """
    said = await database.rows(
        select(labels.c.page, labels.c.relevant).where(labels.c.crawl == crawl).order_by(labels.c.at)
    )
    label_of = {row.page: row.relevant for row in said}
    query = (
        select(
            pages.c.number,
            pages.c.url,
            sites.c.name.label("site"),
            pages.c.site.label("site_number"),
            links.c.anchor,
            readings.c.body,
            pages.c.probability,
            pages.c.relevant,
            pages.c.judge_version,
        )
        .join(readings, (readings.c.crawl == pages.c.crawl) & (readings.c.page == pages.c.number))
        .join(sites, (sites.c.crawl == pages.c.crawl) & (sites.c.number == pages.c.site))
        .join(links, (links.c.crawl == pages.c.crawl) & (links.c.number == pages.c.link))
        .where(pages.c.crawl == crawl, pages.c.outcome == Outcome.JUDGED)
        .order_by(pages.c.number)
    )
    if before_version is not None:
        query = query.where(pages.c.judge_version < before_version)
    if newest is not None:
        last = select(func.max(pages.c.number)).where(pages.c.crawl == crawl).scalar_subquery()
        query = query.where((pages.c.number > last - newest) | pages.c.number.in_(label_of))
    return [
        JudgedPage(
            row.number,
            row.url,
            row.site,
            row.site_number,
            row.anchor,
            _unpacked(row.body),
            Judgement(row.probability, row.relevant, row.judge_version),
            label_of.get(row.number),
        )
        for row in await database.rows(query)
    ]


async def judged_page(database: Database, crawl: int, page: int) -> AnyRow:
    """A page that can be labelled; one that is not there or was never judged is refused."""
    columns = (pages.c.outcome, pages.c.relevant, pages.c.url, pages.c.title, pages.c.site, sites.c.name)
    same_site = (sites.c.crawl == pages.c.crawl) & (sites.c.number == pages.c.site)
    this = (pages.c.crawl == crawl, pages.c.number == page)
    found = await database.rows(select(*columns).join(sites, same_site).where(*this))
    if not found:
        raise NotFound(f"Crawl {crawl} has no page {page}.")
    if found[0].outcome != Outcome.JUDGED:
        raise NotFound(f"Page {page} of crawl {crawl} was not judged ({found[0].outcome}), so it cannot be labelled.")
    return found[0]


async def label_count(database: Database, crawl: int) -> int:
    found = await database.rows(select(func.count(labels.c.page.distinct())).where(labels.c.crawl == crawl))
    return int(found[0][0])


def _packed(text: PageText) -> bytes:
    kept = {name: part[:KEPT_CHARACTERS] for name, part in asdict(text).items()}
    return zlib.compress(json.dumps(kept).encode())


def _unpacked(body: bytes) -> PageText:
    return PageText(**json.loads(zlib.decompress(body)))
