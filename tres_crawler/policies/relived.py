"""Policies whose knowledge follows from their pages in order: after a restart it is learned anew from them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence

import numpy as np

from tres_crawler.frontier.scored import ScoredFrontier
from tres_crawler.policies.policy import Floats, Numbers, PageFact, PlainPolicy
from tres_crawler.records import Outlink
from tres_crawler.store import learning, links
from tres_crawler.store.database import Change, Database
from tres_crawler.store.pages import PageRecord


class RelivedPolicy(PlainPolicy, ABC):
    """Keeps a lesson of every page, by default the features of the link that led to it; nothing else is saved."""

    def __init__(self, crawl: int, frontier: ScoredFrontier) -> None:
        super().__init__(crawl, frontier)
        self._pages: list[PageFact] = []
        self._lessons: list[Floats] = []

    @abstractmethod
    def _forget(self) -> None:
        """Know nothing, as at the start."""

    @abstractmethod
    def _live(self, page: PageFact, lesson: Floats) -> None:
        """Learn from a page."""

    def _enter(self, page: PageFact) -> None:
        """A page is there, and its outlinks are to be described."""

    def _lesson(self, features: Floats, outlinks: Floats) -> Floats:
        """What is to be learned of a page, by the features of the link that led to it and of its outlinks."""
        return features

    def _settle(self) -> None:
        """What was learned may take effect on links that wait already."""

    @abstractmethod
    def _describe(self, page: PageFact | None, outlinks: Sequence[Outlink]) -> Floats:
        """Features of a page's outlinks; None: they are seeds."""

    async def restore(self, database: Database, pages: Sequence[PageFact], judge_version: int) -> None:
        saved = await learning.experiences(database, self._crawl)
        self._pages = list(pages)
        self._lessons = [np.frombuffer(row.features, np.float32) for row in saved]
        self._relive()
        self.frontier.place(await links.waiting_with_features(database, self._crawl))

    def describe_seeds(self, seeds: Sequence[Outlink], sites: Numbers) -> Floats:
        return self._describe(None, seeds)

    def arrive(
        self, page: PageRecord, outlinks: Sequence[Outlink], looks: Floats, sites: Numbers
    ) -> tuple[Floats, list[Change]]:
        features = page.link.features
        assert features is not None
        fact = PageFact.of(page)
        self._enter(fact)
        described = self._describe(fact, outlinks)
        lesson = self._lesson(features, described)
        self._pages.append(fact)
        self._lessons.append(lesson)
        self._live(fact, lesson)
        self._settle()
        return described, [learning.new_experience(self._crawl, page.number, lesson, float(fact.relevant))]

    def describe_more(self, page: PageRecord, outlinks: Sequence[Outlink], looks: Floats, sites: Numbers) -> Floats:
        return self._describe(PageFact.of(page), outlinks)

    async def judged_again(
        self, relevant: Mapping[int, bool], keywords: Sequence[str], judge_version: int
    ) -> list[Change]:
        self._pages = [page._replace(relevant=relevant.get(page.number, page.relevant)) for page in self._pages]
        self._relive()
        return [learning.relabelled(self._crawl, {page.number: float(page.relevant) for page in self._pages})]

    def _relive(self) -> None:
        self._forget()
        for page, lesson in zip(self._pages, self._lessons, strict=True):
            self._enter(page)
            self._live(page, lesson)
        self._settle()
