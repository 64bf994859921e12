"""The routes for looking at one crawl: its pages, why each was fetched, its sites, its tree, its hosts."""

from __future__ import annotations

import math
import time
from bisect import bisect_right
from collections.abc import Sequence
from datetime import UTC, datetime
from itertools import zip_longest
from typing import Annotated, Literal

import numpy as np
from fastapi import APIRouter, Depends, Query

from tres_crawler.config import Settings
from tres_crawler.features import Describer
from tres_crawler.frontier.tree import Node
from tres_crawler.frontier.tree import Tree as GrownTree
from tres_crawler.policies.registry import LEARNERS, settled
from tres_crawler.records import LinkState
from tres_crawler.serve.common import CrawlNumber, Keeping, PageNumber, Stored, known_caller, moment
from tres_crawler.serve.models import (
    BestPage,
    Choice,
    FeatureValue,
    FetchTimes,
    Hosts,
    Judged,
    LedTo,
    Page,
    PageItem,
    PathStep,
    QuarantinedHost,
    RestingHost,
    SiteItem,
    Tree,
    TreeNode,
    Why,
)
from tres_crawler.serve.paging import Cursor, Limit, cursor_of, numbers_in, position_in
from tres_crawler.serve.problems import documented
from tres_crawler.store import browse, crawls, history, learning
from tres_crawler.store.browse import Wanted
from tres_crawler.store.crawls import CrawlRecord
from tres_crawler.store.database import AnyRow, Database
from tres_crawler.store.exporting import share_interval

BEST_PAGES = 3
LED_TO_PAGES = 20
RESTING_HOSTS = 50
TREES = ("tres", "tres-paper", "tree-random")
"""Policies whose links wait in the leaves of a tree."""
MICROSECOND = 1e-6

router = APIRouter(
    prefix="/api/v1/crawls/{number}",
    tags=["look"],
    dependencies=[Depends(known_caller)],
    responses=documented(401, 404, 422),
)


@router.get("/pages")
async def pages(
    number: CrawlNumber,
    database: Stored,
    relevant: Annotated[bool | None, Query(description="Only relevant pages, or only others.")] = None,
    site: Annotated[str | None, Query(max_length=255, description="Only pages of this site.")] = None,
    since: Annotated[
        datetime | None, Query(description="Only pages fetched at this time or later; UTC unless it says otherwise.")
    ] = None,
    q: Annotated[str | None, Query(max_length=200, description="Only pages with this text in URL or title.")] = None,
    labelled: Annotated[bool | None, Query(description="Only pages a person has labelled, or only others.")] = None,
    order: Literal["newest", "oldest"] = "newest",
    limit: Limit = 50,
    cursor: Cursor = None,
) -> Page[PageItem]:
    """The pages of a crawl, a part at a time."""
    await crawls.get(database, number)
    # Times are answered in whole microseconds: a page must be found by the time it is said to have.
    begin = _seconds(since) - MICROSECOND if since else None
    wanted = Wanted(relevant, site, begin, q, labelled)
    after = position_in(cursor, f"pages {order}")
    found = await browse.listed(database, number, wanted, limit, after, newest=order == "newest")
    more = cursor_of(f"pages {order}", found[-1].number) if len(found) == limit else None
    return Page(items=[PageItem(**_page(row)) for row in found], next=more)


@router.get("/pages/{page}")
async def why(number: CrawlNumber, page: PageNumber, database: Stored) -> Why:
    """Why a page was fetched: the path to it, how its link was chosen, how it was judged, and what it led to."""
    record = await crawls.get(database, number)
    row = await browse.one(database, number, page)
    earlier = await browse.judged(database, number, page)
    tree = earlier[0].version if earlier else row.judge_version
    return Why(
        **_page(row),
        path=_steps(await browse.path(database, number, page)),
        choice=await _choice(database, record, row, tree),
        redirects=row.hops,
        attempts=row.attempts,
        duplicate_of=row.duplicate_of,
        outlinks=row.outlinks,
        earlier_judgements=[Judged(**judged._asdict()) for judged in earlier],
        led_to=await _led_to(database, number, row),
    )


@router.get("/sites")
async def sites(number: CrawlNumber, database: Stored, limit: Limit = 50, cursor: Cursor = None) -> Page[SiteItem]:
    """Relevant sites, those with the most evidence first: by the lower end of their share's interval.

    By cursor they come as they were when the list was begun: pages that arrive meanwhile would change their order.
    """
    await crawls.get(database, number)
    last, *left_at = numbers_in(cursor, "sites", 4) or [await history.page_count(database, number)]
    counted = await browse.site_counts(database, number, last)
    ranked = sorted(counted, key=lambda row: _place(*_counted(row)))
    after = bisect_right(ranked, _place(*left_at), key=lambda row: _place(*_counted(row))) if left_at else 0
    shown = ranked[after : after + limit]
    names = await browse.site_names(database, number, [row.site for row in shown])
    best = await browse.best_of_sites(database, number, [row.site for row in shown], last, BEST_PAGES)
    items = []
    for rank, row in enumerate(shown, after + 1):
        low, high = share_interval(row.relevant_pages, row.pages)
        items.append(
            SiteItem(
                rank=rank,
                site=names[row.site],
                pages=row.pages,
                relevant_pages=row.relevant_pages,
                relevant_share=row.relevant_pages / row.pages,
                share_low=low,
                share_high=high,
                best_pages=[_best(one) for one in best if one.site == row.site],
            )
        )
    more = cursor_of("sites", last, *_counted(shown[-1])) if len(ranked) > after + limit else None
    return Page(items=items, next=more)


@router.get("/frontier")
async def frontier(
    number: CrawlNumber,
    database: Stored,
    keeper: Keeping,
    depth: Annotated[int, Query(ge=0, le=64, description="Nodes below this depth are summed up.")] = 10,
) -> Tree:
    """The Tree-Frontier: what parts its links, how many wait in each leaf, and what leaves have earned."""
    record = await crawls.get(database, number)
    nodes = await keeper.tree(number)
    names, kept = _columns(record)
    names = names[:kept]
    return Tree(
        crawl_id=number,
        policy=record.policy,
        features=list(names) if nodes else [],
        leaves=nodes[0].leaves if nodes else 1,
        links=nodes[0].links if nodes else (await keeper.status(number))[1].waiting,
        nodes=[
            TreeNode(
                id=node.number,
                parent=node.parent,
                depth=node.depth,
                feature=None if node.feature is None else names[node.feature],
                threshold=node.threshold,
                left=node.left if node.depth < depth else None,
                right=node.right if node.depth < depth else None,
                collapsed=node.left is not None and node.depth == depth,
                leaves=node.leaves,
                links=node.links,
                experiences=node.experiences,
                mean_reward=node.mean_reward,
                value=node.value,
            )
            for node in nodes
            if node.depth <= depth
        ],
    )


@router.get("/hosts")
async def hosts(number: CrawlNumber, database: Stored, keeper: Keeping) -> Hosts:
    """How politely the crawl goes about: hosts that rest or are left alone and why, refusals, answers."""
    await crawls.get(database, number)
    now, polite = time.monotonic(), await keeper.politeness(number)
    resting = sorted(((name, free_at - now) for name, free_at in polite.resting), key=lambda one: -one[1])
    seconds = await browse.fetch_seconds(database, number)
    return Hosts(
        crawl_id=number,
        in_flight=polite.in_flight,
        resting_total=len(resting),
        resting=[
            RestingHost(host=name, seconds=None if math.isinf(left) else max(0.0, left))
            for name, left in resting[:RESTING_HOSTS]
        ],
        quarantined=[
            QuarantinedHost(host=one.host, seconds=max(0.0, one.until - now), troubles=one.troubles, reason=one.reason)
            for one in polite.quarantined
        ],
        given_up=await crawls.troubled_hosts(database, number, "host given up"),
        sites_full=polite.sites_full,
        refused=polite.refused,
        statuses=await browse.statuses(database, number),
        fetch_times=_fetch_times(seconds) if seconds else None,
    )


# ---- rows → answers ----


def _page(row: AnyRow) -> dict[str, object]:
    known = {name: getattr(row, name) for name in browse.LISTED}
    return {**known, "id": known.pop("number"), "fetched_at": moment(known.pop("fetched_at"))}


def _counted(row: AnyRow) -> tuple[int, int, int]:
    """What a site's place in the ranking follows from."""
    return row.relevant_pages, row.pages - row.relevant_pages, row.site


def _place(relevant_pages: int, others: int, site: int) -> tuple[float, int, int]:
    """What sites are sorted by."""
    return -share_interval(relevant_pages, relevant_pages + others)[0], -relevant_pages, site


def _seconds(time: datetime) -> float:
    """As times are stored."""
    return (time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp()


def _steps(rows: Sequence[AnyRow]) -> list[PathStep]:
    return [
        PathStep(id=row.number, url=row.url, title=row.title, relevant=row.relevant, anchor=row.anchor) for row in rows
    ]


def _best(row: AnyRow) -> BestPage:
    known = {"id": row.number, "url": row.url, "title": row.title, "probability": row.probability}
    return BestPage(**known, fetched_at=moment(row.fetched_at))


async def _choice(database: Database, record: CrawlRecord, row: AnyRow, tree: int | None) -> Choice:
    valued = row.value is not None
    otherwise = "order" if record.policy in ("breadth-first", "random") else "promise"
    by = "chance" if row.explored else "value" if valued else otherwise
    names, kept = _columns(record)
    grown = valued and bool(names) and record.policy in TREES
    placed = _vector(row.placed_features, row.features)
    if not names and len(placed) == 1:
        names, kept = ("score",), 1
    # Behind its features a row has numbers that are none.
    placed = placed[:kept]
    chosen = _vector(row.features)
    chosen = chosen if len(chosen) == len(names) else placed
    return Choice(
        how="seed" if row.source is None else by,
        value=row.value,
        leaf=row.leaf if grown else None,
        rules=await _rules(database, record.id, tree or 1, row.leaf, names[:kept]) if grown else [],
        explored=row.explored,
        promise=row.promise,
        learner_version=row.learner_version if valued else None,
        features=[
            FeatureValue(name=name, value=now, placed=then)
            for name, now, then in zip_longest(names[: len(chosen)], chosen, placed)
        ],
    )


async def _rules(database: Database, crawl: int, tree: int, leaf: int, names: Sequence[str]) -> list[str]:
    """What is true of all links of a leaf of the tree that judge `tree` grew; it may have split since."""
    nodes = [Node(*row) for row in await learning.nodes(database, crawl, tree)]
    bare = GrownTree.restored(nodes, np.zeros((0, len(names)), np.float32), np.zeros(0, np.float32))
    return list(bare.rules(leaf, names)) if leaf < bare.nodes else []


async def _led_to(database: Database, number: int, row: AnyRow) -> LedTo:
    if row.first_link is None:
        return LedTo(links=0, waiting=0, refused=0, fetched=0, relevant=0, pages=[])
    states = await browse.link_states(database, number, row.first_link, row.new_links)
    fetched = await browse.led_to(database, number, row.first_link, row.new_links)
    return LedTo(
        links=row.new_links,
        waiting=states.get(LinkState.WAITING, 0),
        refused=states.get(LinkState.REFUSED, 0),
        fetched=len(fetched),
        relevant=sum(one.relevant for one in fetched),
        pages=_steps(fetched[:LED_TO_PAGES]),
    )


def _vector(first: bytes | None, otherwise: bytes | None = None) -> list[float]:
    found: list[float] = np.frombuffer(first or otherwise or b"", np.float32).tolist()
    return found


def _columns(record: CrawlRecord) -> tuple[tuple[str, ...], int]:
    """Names of a link's features, and how many it is kept with; policies without a learner have none with a name."""
    if record.policy not in LEARNERS:
        return (), 0
    describer = Describer(settled(Settings.kept(record.settings)).features, ())
    return describer.columns, describer.placed


def _fetch_times(seconds: Sequence[float]) -> FetchTimes:
    return FetchTimes(
        mean_seconds=sum(seconds) / len(seconds),
        median_seconds=seconds[len(seconds) // 2],
        p75_seconds=seconds[int(len(seconds) * 0.75)],
        p95_seconds=seconds[int(len(seconds) * 0.95)],
    )
