"""Policies that score a link where it is found, and learn nothing: by its anchor alone (`anchor-first`)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from tres_crawler.frontier.scored import ScoredFrontier
from tres_crawler.policies.policy import Floats, Numbers, PageFact, PlainPolicy
from tres_crawler.records import Offer, Outlink
from tres_crawler.store import links
from tres_crawler.store.database import Change, Database
from tres_crawler.store.pages import PageRecord

SEED_SCORE = 1e6
"""More than any link can have: what a person names comes first."""

ScoreLinks = Callable[[PageRecord, Sequence[Outlink], Floats], Floats]
"""The scores of a page's new outlinks, by the page, the links and what the judge holds of their anchors."""


class ScoredPolicy(PlainPolicy):
    """A link's score is its only feature, so that it is saved and found again with it."""

    def __init__(self, crawl: int, score: ScoreLinks) -> None:
        super().__init__(crawl, ScoredFrontier(_scores))
        self._score = score

    async def restore(self, database: Database, pages: Sequence[PageFact], judge_version: int) -> None:
        self.frontier.place(await links.waiting_with_features(database, self._crawl))

    def describe_seeds(self, seeds: Sequence[Outlink], sites: Numbers) -> Floats:
        return np.full((len(seeds), 1), SEED_SCORE, np.float32)

    def arrive(
        self, page: PageRecord, outlinks: Sequence[Outlink], looks: Floats, sites: Numbers
    ) -> tuple[Floats, list[Change]]:
        return self.describe_more(page, outlinks, looks, sites), []

    def describe_more(self, page: PageRecord, outlinks: Sequence[Outlink], looks: Floats, sites: Numbers) -> Floats:
        return self._score(page, outlinks, looks).astype(np.float32).reshape(-1, 1)


def by_anchor(page: PageRecord, outlinks: Sequence[Outlink], looks: Floats) -> Floats:
    """What the judge holds of the anchor text, wherever it stands."""
    return looks


def _scores(placed: Sequence[Offer]) -> list[float]:
    return [float(link.features[0]) for link in placed if link.features is not None]
