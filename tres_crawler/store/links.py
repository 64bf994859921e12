"""Links, hosts and sites: what has been seen and what waits."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import AsyncIterator, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from sqlalchemy import ColumnElement, bindparam, func, insert, select, update

from tres_crawler.records import Link, LinkState, Offer
from tres_crawler.store.database import AnyRow, AnySelect, Change, Database
from tres_crawler.store.tables import hosts, links, pages, sites
from tres_crawler.text import fingerprint

_THIS = (links.c.crawl == bindparam("of_crawl"), links.c.number == bindparam("of_link"))

INSERT_SITE = insert(sites)
INSERT_HOST = insert(hosts)
INSERT_LINK = insert(links)
END_LINK = update(links).where(*_THIS).values(state=bindparam("new_state"), reason=bindparam("why"))
REFUSE_HOST = (
    update(links)
    .where(
        links.c.crawl == bindparam("of_crawl"),
        links.c.host == bindparam("of_host"),
        links.c.number <= bindparam("up_to"),
        links.c.state == LinkState.WAITING,
    )
    .values(state=LinkState.REFUSED, reason=bindparam("why"))
)
COUNT_ATTEMPT = update(links).where(*_THIS).values(attempts=bindparam("tries"), reason=bindparam("why"))
READ_LINK = select(links).where(*_THIS)


def new_sites(crawl: int, named: Iterable[tuple[int, str]]) -> Change:
    return Change(INSERT_SITE, [{"crawl": crawl, "number": number, "name": name} for number, name in named])


def new_hosts(crawl: int, named: Iterable[tuple[int, str, int]]) -> Change:
    return Change(
        INSERT_HOST,
        [{"crawl": crawl, "number": number, "name": name, "site": site} for number, name, site in named],
    )


def new_links(
    crawl: int, placed: Iterable[Link], state: LinkState = LinkState.WAITING, reason: str | None = None
) -> Change:
    return Change(
        INSERT_LINK,
        [
            {
                "crawl": crawl,
                "number": link.number,
                "url": link.url,
                "url_key": fingerprint(link.url),
                "host": link.host,
                "source": link.source,
                "depth": link.depth,
                "anchor": link.anchor,
                "features": None if link.features is None else link.features.tobytes(),
                "state": state,
                "reason": reason,
                "attempts": link.attempts,
                "hops": link.hops,
                "promise": link.promise,
            }
            for link in placed
        ],
    )


def end_link(crawl: int, link: int, state: LinkState, reason: str | None = None) -> Change:
    return Change(END_LINK, [{"of_crawl": crawl, "of_link": link, "new_state": state, "why": reason}])


def refuse_host(crawl: int, host: int, last: int, reason: str) -> Change:
    """All links up to the `last` that wait for a host; later ones may be in the same batch, which inserts first."""
    return Change(REFUSE_HOST, [{"of_crawl": crawl, "of_host": host, "up_to": last, "why": reason}])


def count_attempt(crawl: int, link: Link, reason: str) -> Change:
    return Change(
        COUNT_ATTEMPT,
        [{"of_crawl": crawl, "of_link": link.number, "tries": link.attempts + 1, "why": reason}],
    )


async def read(database: Database, crawl: int, number: int) -> Link:
    row = (await database.rows(READ_LINK, {"of_crawl": crawl, "of_link": number}))[0]
    names = ("number", "url", "host", "source", "depth", "anchor", "attempts", "hops", "promise")
    features = None if row.features is None else np.frombuffer(row.features, np.float32)
    return Link(**{name: getattr(row, name) for name in names}, features=features)


async def waiting(database: Database, crawl: int) -> list[Offer]:
    """What the frontier must know of every waiting link, oldest first."""
    found = database.parts(_waiting(crawl, links.c.promise), links.c.number)
    return [Offer(row.number, row.host, promise=row.promise) async for part in found for row in part]


async def waiting_with_features(database: Database, crawl: int) -> list[Offer]:
    """The same, with the features each was placed with."""
    found = database.parts(_waiting(crawl, links.c.promise, links.c.features), links.c.number)
    return [
        Offer(row.number, row.host, promise=row.promise, features=np.frombuffer(row.features, np.float32))
        async for part in found
        for row in part
    ]


class WaitingColumns(NamedTuple):
    """Waiting links of a crawl without an object for each."""

    numbers: npt.NDArray[np.int32]
    hosts: npt.NDArray[np.int32]
    features: list[bytes]


async def waiting_columns(database: Database, crawl: int) -> AsyncIterator[WaitingColumns]:
    """All of them, oldest first, in parts: a million at once would take half a gigabyte."""
    async for part in database.parts(_waiting(crawl, links.c.features), links.c.number):
        numbers, hosts, features = zip(*part, strict=True)
        yield WaitingColumns(np.array(numbers, np.int32), np.array(hosts, np.int32), list(features))


def _waiting(crawl: int, *columns: ColumnElement[Any]) -> AnySelect:
    """Number, host and other columns of links that wait."""
    of_crawl = (links.c.crawl == crawl, links.c.state == LinkState.WAITING)
    return select(links.c.number, links.c.host, *columns).where(*of_crawl)


FEATURES_BY_SOURCE = (
    select(pages.c.number, links.c.features, links.c.host)
    .join(
        links,
        (links.c.crawl == pages.c.crawl)
        # Its links have numbers of their own in a row; by their source they could be found in a scan of all only.
        & links.c.number.between(pages.c.first_link, pages.c.first_link + pages.c.new_links - 1),
    )
    .where(pages.c.crawl == bindparam("of_crawl"), pages.c.number > bindparam("after"), links.c.features.is_not(None))
)


async def features_by_source(database: Database, crawl: int, after: int) -> dict[int, tuple[list[bytes], list[int]]]:
    """Features and hosts of the links that were new on pages, by page number; only of pages later than `after`."""
    found: dict[int, tuple[list[bytes], list[int]]] = defaultdict(lambda: ([], []))
    for number, features, host in await database.rows(FEATURES_BY_SOURCE, {"of_crawl": crawl, "after": after}):
        found[number][0].append(features)
        found[number][1].append(host)
    return found


async def features_of_seeds(database: Database, crawl: int) -> list[bytes]:
    """Of the links that stand on no page, but for those that they were redirected to."""
    found = await database.rows(
        select(links.c.features)
        .where(links.c.crawl == crawl, links.c.source.is_(None), links.c.hops == 0, links.c.features.is_not(None))
        .order_by(links.c.number)
    )
    return [row.features for row in found]


async def described(database: Database, crawl: int) -> Sequence[AnyRow]:
    """URL, site, features, promise and state of every link, whatever has become of it."""
    same_host = (hosts.c.crawl == links.c.crawl) & (hosts.c.number == links.c.host)
    columns = (links.c.url, hosts.c.site, links.c.features, links.c.promise, links.c.state)
    return await database.rows(select(*columns).join(hosts, same_host).where(links.c.crawl == crawl))


async def placed(database: Database, crawl: int) -> AsyncIterator[list[int]]:
    """Fingerprints of every URL that was ever placed, in parts."""
    async for part in database.parts(select(links.c.url_key).where(links.c.crawl == crawl), links.c.url_key):
        yield [row.url_key for row in part]


async def refusals(database: Database, crawl: int) -> dict[str, int]:
    """How many links were refused, by reason."""
    found = await database.rows(
        select(links.c.reason, func.count().label("total"))
        .where(links.c.crawl == crawl, links.c.state == LinkState.REFUSED)
        .group_by(links.c.reason)
        .order_by(func.count().desc())
    )
    return {row.reason or "": row.total for row in found}


async def last_number(database: Database, crawl: int) -> int:
    found = await database.rows(
        select(links.c.number).where(links.c.crawl == crawl).order_by(links.c.number.desc()).limit(1)
    )
    return found[0][0] if found else 0


async def known_sites(database: Database, crawl: int) -> list[tuple[int, str]]:
    found = database.parts(select(sites.c.number, sites.c.name).where(sites.c.crawl == crawl), sites.c.number)
    return [(row.number, row.name) async for part in found for row in part]


async def known_hosts(database: Database, crawl: int) -> list[tuple[int, str, int]]:
    named = select(hosts.c.number, hosts.c.name, hosts.c.site).where(hosts.c.crawl == crawl)
    found = database.parts(named, hosts.c.number)
    return [(row.number, row.name, row.site) async for part in found for row in part]
