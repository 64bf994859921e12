"""The crawls of a database: their description, state, figures and events."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from sqlalchemy import JSON, Integer, bindparam, case, cast, func, insert, select, update

from tres_crawler.errors import ControlError, NotFound
from tres_crawler.records import CrawlState, LinkState, Outcome, StopReason, Summary, Topic
from tres_crawler.store.database import AnyRow, Change, Database
from tres_crawler.store.tables import crawls, events, links, metric_points, nodes, pages

SET_STATE = (
    update(crawls)
    .where(crawls.c.id == bindparam("key"))
    .values(
        state=bindparam("state"),
        stop_reason=bindparam("stop_reason"),
        stop_detail=bindparam("stop_detail"),
        ended_at=bindparam("ended_at"),
    )
)
SET_SECONDS = update(crawls).where(crawls.c.id == bindparam("key")).values(seconds=bindparam("seconds"))
SET_SETTINGS = update(crawls).where(crawls.c.id == bindparam("key")).values(settings=bindparam("settings", type_=JSON))
INSERT_EVENT = insert(events)
INSERT_METRIC = insert(metric_points)
METRICS = (
    "pages",
    "seconds",
    "relevant_pages",
    "sites",
    "relevant_sites",
    "failed",
    "duplicates",
    "waiting",
    "leaves",
)


DELETED = "deleted"
"""State of a crawl that is shown to nobody; what is left of it is being removed."""


@dataclass(frozen=True)
class CrawlRecord:
    """What a crawl was asked to do and where it stands."""

    id: int
    topic: Topic
    settings: Mapping[str, Any]
    policy: str
    random_seed: int
    state: CrawlState
    stop_reason: StopReason | None
    stop_detail: str | None
    created_at: float
    seconds: float


@dataclass(frozen=True)
class StartKey:
    """What a caller names a start by, so that asking twice starts once."""

    key: str
    body: str
    """Fingerprint of what was asked for."""


async def create(
    database: Database,
    topic: Topic,
    settings: Mapping[str, Any],
    policy: str,
    random_seed: int,
    start: StartKey | None = None,
    then: Callable[[int], Sequence[Change]] = lambda _crawl: (),
) -> int:
    """A new crawl, and with it what `then` says of its number."""
    return await database.insert(
        insert(crawls).values(
            topic=topic.name,
            topic_body=asdict(topic),
            settings=dict(settings),
            policy=policy,
            random_seed=random_seed,
            state=CrawlState.RUNNING,
            created_at=time.time(),
            start_key=start.key if start else None,
            start_body=start.body if start else None,
        ),
        then,
    )


async def started_by(database: Database, start: StartKey) -> int | None:
    """The crawl that was started under this key; a key that was used for something else is refused."""
    found = await database.rows(select(crawls.c.id, crawls.c.start_body).where(crawls.c.start_key == start.key))
    if not found:
        return None
    if found[0].start_body != start.body:
        raise ControlError(f"This Idempotency-Key started crawl {found[0].id}, which was asked for otherwise.")
    return int(found[0].id)


async def get(database: Database, crawl: int) -> CrawlRecord:
    found = await database.rows(select(crawls).where(crawls.c.id == crawl, crawls.c.state != DELETED))
    if not found:
        raise NotFound(f"There is no crawl {crawl} here. `tres crawls` lists those in the data directory.")
    return _record(found[0])


async def every(database: Database) -> list[CrawlRecord]:
    shown = select(crawls).where(crawls.c.state != DELETED)
    return [_record(row) for row in await database.rows(shown.order_by(crawls.c.id))]


def state_change(crawl: int, state: CrawlState, reason: StopReason | None = None, detail: str | None = None) -> Change:
    ended = state not in (CrawlState.RUNNING, CrawlState.PAUSED)
    return Change(
        SET_STATE,
        [
            {
                "key": crawl,
                "state": state,
                "stop_reason": reason,
                "stop_detail": detail,
                "ended_at": time.time() if ended else None,
            }
        ],
    )


def event(crawl: int, kind: str, **detail: Any) -> Change:
    return Change(INSERT_EVENT, [{"crawl": crawl, "at": time.time(), "kind": kind, "detail": detail}])


def relevant_site(crawl: int, site: str, page: int, url: str, title: str) -> Change:
    """The first relevant page of a site was found."""
    return event(crawl, "relevant site", site=site, page=page, url=url, title=title)


def settings_change(crawl: int, settings: Mapping[str, Any]) -> Change:
    return Change(SET_SETTINGS, [{"key": crawl, "settings": dict(settings)}])


def seconds_change(crawl: int, seconds: float) -> Change:
    return Change(SET_SECONDS, [{"key": crawl, "seconds": seconds}])


def metric_point(now: Summary) -> Change:
    point = {name: getattr(now, name) for name in METRICS}
    return Change(INSERT_METRIC, [{"crawl": now.crawl_id, "at": time.time(), **point}])


async def newest_event(database: Database, crawl: int, kind: str) -> dict[str, Any] | None:
    found = await database.rows(
        select(events.c.detail)
        .where(events.c.crawl == crawl, events.c.kind == kind)
        .order_by(events.c.id.desc())
        .limit(1)
    )
    return dict(found[0].detail) if found else None


async def troubled_hosts(database: Database, crawl: int, kind: str) -> dict[str, str]:
    """Hosts that were put in "quarantine" or "host given up", and why."""
    found = await database.rows(
        select(events.c.detail).where(events.c.crawl == crawl, events.c.kind == kind).order_by(events.c.id)
    )
    return {row.detail["host"]: row.detail["reason"] for row in found}


async def summary(database: Database, record: CrawlRecord) -> Summary:
    """The figures of a crawl, counted from its pages: nothing that could drift from them."""
    of_crawl = pages.c.crawl == record.id
    counted = await database.rows(
        select(
            func.count(),
            func.coalesce(func.sum(cast(pages.c.relevant, Integer)), 0),
            func.count(pages.c.site.distinct()),
            func.count(case((pages.c.relevant, pages.c.site)).distinct()),
            func.count(case((pages.c.outcome == Outcome.FAILED, 1))),
            func.count(case((pages.c.outcome == Outcome.DUPLICATE, 1))),
        ).where(of_crawl)
    )
    fetched, relevant, sites, relevant_sites, failed, duplicates = counted[0]
    waiting = await database.rows(
        select(func.count()).where(links.c.crawl == record.id, links.c.state == LinkState.WAITING)
    )
    # Every split makes one leaf more; the newest judge's tree is the one in use.
    newest = select(func.max(nodes.c.tree)).where(nodes.c.crawl == record.id).scalar_subquery()
    splits = await database.rows(select(func.count()).where(nodes.c.crawl == record.id, nodes.c.tree == newest))
    return Summary.of(
        crawl_id=record.id,
        topic=record.topic.name,
        policy=record.policy,
        pages=fetched,
        relevant_pages=relevant,
        sites=sites,
        relevant_sites=relevant_sites,
        failed=failed,
        duplicates=duplicates,
        waiting=waiting[0][0],
        leaves=splits[0][0] + 1,
        seconds=record.seconds,
        stop_reason=record.stop_reason,
    )


def _record(row: AnyRow) -> CrawlRecord:
    body: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value for name, value in row.topic_body.items()
    }
    return CrawlRecord(
        id=row.id,
        topic=Topic(**body),
        settings=row.settings,
        policy=row.policy,
        random_seed=row.random_seed,
        state=CrawlState(row.state),
        stop_reason=StopReason(row.stop_reason) if row.stop_reason else None,
        stop_detail=row.stop_detail,
        created_at=row.created_at,
        seconds=row.seconds,
    )
