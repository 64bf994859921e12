"""What the Tree-Frontier and the learner keep: experiences, nodes, snapshots."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import numpy.typing as npt
from sqlalchemy import bindparam, delete, insert, select, update

from tres_crawler.errors import StoreError
from tres_crawler.store.database import AnyRow, Change, Database
from tres_crawler.store.tables import experiences as experience_table
from tres_crawler.store.tables import finds as find_table
from tres_crawler.store.tables import metric_points, snapshots
from tres_crawler.store.tables import nodes as node_table

Floats = npt.NDArray[np.float32]

INSERT_EXPERIENCE = insert(experience_table)
INSERT_FINDS = insert(find_table)
INSERT_NODE = insert(node_table)
INSERT_SNAPSHOT = insert(snapshots).prefix_with("OR REPLACE")
"""A learner that has taken no step since it was saved, as after a restart, is saved under the same version again."""
DELETE_OLDER = delete(snapshots).where(
    snapshots.c.crawl == bindparam("of_crawl"),
    snapshots.c.kind == bindparam("of_kind"),
    snapshots.c.version < bindparam("below"),
)
SET_REWARD = (
    update(experience_table)
    .where(experience_table.c.crawl == bindparam("of_crawl"), experience_table.c.page == bindparam("of_page"))
    .values(reward=bindparam("now"))
)
LEARNER, POLICY = "learner", "policy"
"""A learner with its experiences, to go on; what it has learned alone, for another crawl."""


def new_experience(crawl: int, page: int, features: Floats, reward: float) -> Change:
    row = {"crawl": crawl, "page": page, "features": features.tobytes(), "reward": reward}
    return Change(INSERT_EXPERIENCE, [row])


def new_finds(crawl: int, page: int, names: bytes) -> Change:
    return Change(INSERT_FINDS, [{"crawl": crawl, "page": page, "names": names}])


def new_nodes(crawl: int, tree: int, split: Iterable[Mapping[str, float]]) -> Change:
    """Splits of the tree that grew from the rewards of judge `tree`: number, feature, threshold, left, right."""
    return Change(INSERT_NODE, [{"crawl": crawl, "tree": tree, **node} for node in split])


def relabelled(crawl: int, rewards: Mapping[int, float]) -> Change:
    return Change(SET_REWARD, [{"of_crawl": crawl, "of_page": page, "now": now} for page, now in rewards.items()])


def new_snapshot(crawl: int, version: int, learner: bytes, policy: bytes) -> list[Change]:
    """Both forms at one version; what they replace is removed."""
    now = time.time()
    kinds = ((LEARNER, learner), (POLICY, policy))
    return [
        Change(
            INSERT_SNAPSHOT,
            [{"crawl": crawl, "kind": kind, "version": version, "at": now, "body": body} for kind, body in kinds],
        ),
        Change(DELETE_OLDER, [{"of_crawl": crawl, "of_kind": kind, "below": version} for kind, _ in kinds]),
    ]


def copied_policy(crawl: int, policy: bytes) -> Change:
    """What a new crawl begins with."""
    row = {"crawl": crawl, "kind": POLICY, "version": 0, "at": time.time(), "body": policy}
    return Change(INSERT_SNAPSHOT, [row])


async def experiences(database: Database, crawl: int) -> Sequence[AnyRow]:
    """Page and features of every experience, in order."""
    page = experience_table.c.page
    lived = select(page, experience_table.c.features).where(experience_table.c.crawl == crawl)
    return [row async for part in database.parts(lived, page) for row in part]


async def finds(database: Database, crawl: int) -> dict[int, bytes]:
    """What each page names, in order."""
    found = select(find_table.c.page, find_table.c.names).where(find_table.c.crawl == crawl)
    return {row.page: row.names async for part in database.parts(found, find_table.c.page) for row in part}


async def nodes(database: Database, crawl: int, tree: int) -> Sequence[AnyRow]:
    """The splits in the order they were made: every one gave its leaves the next two numbers."""
    columns = (node_table.c[name] for name in ("number", "feature", "threshold", "left", "right"))
    of_tree = (node_table.c.crawl == crawl, node_table.c.tree == tree)
    return await database.rows(select(*columns).where(*of_tree).order_by(node_table.c.left))


async def growth(database: Database, crawl: int) -> Sequence[AnyRow]:
    """Pages, leaves and waiting links as the crawl went on."""
    columns = (metric_points.c.pages, metric_points.c.leaves, metric_points.c.waiting)
    return await database.rows(select(*columns).where(metric_points.c.crawl == crawl).order_by(metric_points.c.pages))


async def newest(database: Database, crawl: int, kind: str) -> bytes | None:
    found = await database.rows(
        select(snapshots.c.body)
        .where(snapshots.c.crawl == crawl, snapshots.c.kind == kind)
        .order_by(snapshots.c.version.desc())
        .limit(1)
    )
    return bytes(found[0].body) if found else None


def matrix(features: Iterable[bytes], width: int) -> Floats:
    """Rows of saved features."""
    rows = list(features)
    if rows and len(rows[0]) != width * np.dtype(np.float32).itemsize:
        raise StoreError(
            "The links of this crawl are described as another version of tres describes them. Begin a new crawl; "
            "what this one has found can be looked at and exported."
        )
    return np.frombuffer(b"".join(rows), np.float32).reshape(-1, width)
