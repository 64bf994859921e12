"""What a crawl has left in its database: how far it came, whether its tree can be rebuilt, how it values hubs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tres_crawler.caps import parse_site_cap
from tres_crawler.config import Settings
from tres_crawler.features import Describer, Known
from tres_crawler.finds import NAME
from tres_crawler.frontier.tree import Growth, Node, Tree
from tres_crawler.policies.learning import KNOWN_SITE
from tres_crawler.policies.registry import settled
from tres_crawler.records import LinkState, Outcome
from tres_crawler.simweb.describe import resolve, split
from tres_crawler.simweb.model import Form, Page, Web
from tres_crawler.store import crawls, judging, learning, links, pages
from tres_crawler.store.database import AnyRow, Database
from tres_crawler.store.datadir import DataDir

TREES = ("tres", "tres-paper", "tree-random")
"""Policies with a Tree-Frontier."""
BANDS = (0.1, 0.3, 0.6)
"""Links are compared at like anchor probability: below, between and above these."""
FEW = 20
"""A band needs so many ordinary links to be compared with."""

Floats = npt.NDArray[np.floating[Any]]


async def life(data: Path, crawl: int) -> dict[str, Any]:
    """How far a crawl had come when it ended or was killed."""
    async with Database(DataDir(data).url, read_only=True) as database:
        record = await crawls.get(database, crawl)
        saved = [row async for row in pages.outcomes(database, crawl)]
        versions = await pages.learner_versions(database, crawl)
        grown = [list(row) for row in await learning.growth(database, crawl)]
        told = {"pages": len(saved), "version": versions[-1] if versions else None, "growth": grown}
        if record.policy not in TREES:
            return told
        return {
            **told,
            "versions": versions[::50],
            **await _trees(database, crawl, settled(Settings.kept(record.settings)), saved),
        }


async def judged(data: Path, crawl: int, web: Web, topic: str) -> dict[str, float | None]:
    """How right the crawl's own judge was on the pages it had."""
    async with Database(DataDir(data).url, read_only=True) as database:
        saved = [row async for row in pages.outcomes(database, crawl) if row.outcome == Outcome.JUDGED]
    said = np.array([bool(row.relevant) for row in saved], bool)
    true = np.array([web.topic_of(*split(row.url)) == topic for row in saved], bool)
    both = int((said & true).sum())
    return {"precision": _part(both, int(said.sum())), "recall": _part(both, int(true.sum()))}


def _part(some: int, of_all: int) -> float | None:
    return round(some / of_all, 3) if of_all else None


async def _trees(database: Database, crawl: int, settings: Settings, saved: Any) -> dict[str, Any]:
    """The tree as a restart finds it beside one grown anew from the same experiences."""
    judge = await judging.newest_version(database, crawl)
    rows = await learning.experiences(database, crawl)
    describer = Describer(settings.features, ())
    placed = describer.placed
    vectors = learning.matrix((row.features for row in rows), describer.width)[:, :placed]
    rewards: dict[int, float] = {}
    found: set[int] = set()
    for row in saved:
        again = KNOWN_SITE[settings.crawl.objective] if row.site in found else 1.0
        rewards[row.number] = again if row.relevant else 0.0
        found.update([row.site] if row.relevant else [])
    known = np.array([rewards[row.page] for row in rows], np.float32)
    growth = Growth(settings.frontier.min_experiences, settings.frontier.max_depth, settings.frontier.max_leaves)
    nodes = [Node(*row) for row in await learning.nodes(database, crawl, judge[0] if judge else 1)]
    restored, grown = Tree.restored(nodes, vectors, known, growth), Tree.grown(vectors, known, growth)
    described = [row async for part in links.waiting_columns(database, crawl) for row in part.features]
    waiting = learning.matrix(described, describer.width)[:, :placed]
    same = (
        list(restored.splits()) == list(grown.splits())
        and all(np.array_equal(*pair) for pair in zip(restored.experienced(), grown.experienced(), strict=True))
        and np.array_equal(restored.route(waiting), grown.route(waiting))
    )
    return {"leaves": restored.leaves, "same_tree": same}


# ---- links ----


@dataclass(frozen=True, slots=True, eq=False)
class KnownLinks:
    """All links of a crawl, a row in each column for every one, and what its learner holds of them at its end."""

    urls: list[str]
    waiting: npt.NDArray[np.bool_]
    """Whether each could still have been fetched: not if its site has had all the pages it may have."""
    sites: npt.NDArray[np.int64]
    promises: Floats
    columns: tuple[str, ...]
    features: npt.NDArray[np.float32]
    """By what is known at the end."""
    values: Floats


async def known_links(data: Path, crawl: int) -> KnownLinks | None:
    """None where no policy was learned."""
    async with Database(DataDir(data).url, read_only=True) as database:
        settings = settled(Settings.kept((await crawls.get(database, crawl)).settings))
        policy = await learning.newest(database, crawl, learning.POLICY)
        saved = [row async for row in pages.outcomes(database, crawl)]
        lived = await learning.experiences(database, crawl)
        named = await learning.finds(database, crawl)
        rows = [row for row in await links.described(database, crawl) if row.features]
    if policy is None:
        return None
    # torch takes seconds to import, and every command imports this module.
    from tres_crawler.learn.ddqn import Ddqn

    describer, known = Describer(settings.features, ()), Known()
    learner = Ddqn(settings.learn, describer.name, describer.dim, prior=describer.simple_rule())
    learner.load_policy(policy)
    came_of = {row.page: row.features for row in lived}
    for row in saved:
        describer.learn(np.frombuffer(came_of[row.number], np.float32), row.site, bool(row.relevant), known)
        known.finds.add(np.frombuffer(named.get(row.number, b""), NAME), row.site, bool(row.relevant))
    placed = learning.matrix((row.features for row in rows), describer.width)
    sites = np.array([row.site for row in rows], np.int64)
    features = describer.refresh(placed, sites, known)
    return KnownLinks(
        urls=[row.url for row in rows],
        waiting=np.array([row.state == LinkState.WAITING for row in rows], bool) & ~_full(settings, saved, sites),
        sites=sites,
        promises=np.array([row.promise for row in rows]),
        columns=describer.columns,
        features=features,
        values=learner.weights().values(features),
    )


def _full(settings: Settings, saved: Sequence[AnyRow], sites: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
    """Of which links the site is at its cap, after these pages."""
    cap = parse_site_cap(settings.crawl.max_per_site)
    if cap is None:
        return np.zeros(len(sites), bool)
    fetched = np.bincount([row.site for row in saved], minlength=int(sites.max(initial=0)) + 1)
    full: npt.NDArray[np.bool_] = fetched[sites] >= cap.end
    return full


# ---- hubs ----


def hub_values(known: KnownLinks, web: Web, topic: str) -> dict[str, Any]:
    """What the learner, and best-first beside it, hold of the links to hubs and to other pages, by truth."""
    groups = np.array([group_of(web, url, topic) for url in known.urls])
    bands = np.digitize(known.features[:, known.columns.index("anchor_probability")], BANDS)
    scores = {"value": known.values, "promise": known.promises}
    return {
        name: compared(groups == name, groups == "irrelevant", bands, scores)
        for name in ("listing", "gate", "relevant", "irrelevant")
    }


def group_of(web: Web, url: str, topic: str) -> str:
    """What a link leads to: a directory's list for the topic, a tunnel to it, a relevant page, or none of these."""
    number = web.topic_names.index(topic)
    page: Page | None = resolve(web, *split(url))[1]
    if page is None:
        return "nothing"
    if page.form is Form.LISTING:
        return "listing" if page.subject == number else "other hub"
    if page.form is Form.GATE:
        return "gate" if web.gate_place(page)[0].topic == number else "other hub"
    return "relevant" if web.truth(page) == number else "irrelevant"


def compared(
    mine: npt.NDArray[np.bool_], others: npt.NDArray[np.bool_], bands: npt.NDArray[Any], scores: Mapping[str, Floats]
) -> dict[str, Any]:
    """Of each score: its mean and standard error, and how often it is above that of one of the others.

    `odds` is over all links, 0.5 means no difference; `odds_alike` compares within bands of anchor probability.
    """
    found: dict[str, Any] = {"links": int(mine.sum())}
    if not mine.any():
        return found
    alike = [band for band in np.unique(bands[mine]) if (others & (bands == band)).sum() >= FEW]
    for name, score in scores.items():
        here = score[mine]
        weights = [int((mine & (bands == band)).sum()) for band in alike]
        odds = [odds_above(score[mine & (bands == band)], score[others & (bands == band)]) for band in alike]
        found[name] = float(here.mean())
        found[f"{name}_error"] = float(here.std() / len(here) ** 0.5)
        found[f"{name}_odds"] = odds_above(here, score[others]) if others.any() else None
        found[f"{name}_odds_alike"] = float(np.average(odds, weights=weights)) if alike else None
    return found


def odds_above(mine: Floats, others: Floats) -> float:
    """The chance that one of mine is above one of the others; a tie counts half."""
    ordered = np.sort(others)
    below = np.searchsorted(ordered, mine, "left") + np.searchsorted(ordered, mine, "right")
    return float(below.mean() / 2 / len(ordered))
