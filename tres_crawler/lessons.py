"""The judge learns beside the crawl: from its first pages, what it meets later, what people say; figures follow."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from math import inf

from tres_crawler.errors import ModelError
from tres_crawler.ledger import Tally
from tres_crawler.policies.policy import Policy
from tres_crawler.records import Topic
from tres_crawler.relevance import Rejudged, Relevance, Version
from tres_crawler.store import crawls, judging
from tres_crawler.store.database import Change, Database

logger = logging.getLogger(__name__)

RETRY_GROWTH = 4 / 3
"""A lesson that came to nothing is tried again when the pages have grown by this."""
FIRST_REVIEW = 1500
"""Pages after which a judge that was trained on the first ones learns again."""
REVIEW_GROWTH = 3
"""So many times the pages of the last lesson make the next one worth while."""
LAST_REVIEW = 20_000
"""By then a judge has seen what lies around its topic, and every lesson judges all pages again."""


class Lessons:
    """One lesson at a time; a label counts at once, and nothing is judged again while a label is worked in."""

    def __init__(
        self,
        crawl: int,
        topic: Topic,
        database: Database,
        relevance: Relevance,
        policy: Policy,
        tally: Tally,
        bootstrap_pages: int,
        over: Callable[[], None],
    ) -> None:
        self.bootstrap_pages = bootstrap_pages
        """After so many pages the first judge is trained; 0 once that is done."""
        self._crawl = crawl
        self._topic = topic
        self._database = database
        self._relevance = relevance
        self._policy = policy
        self._tally = tally
        self._over = over
        self.under_way: asyncio.Task[None] | None = None
        self._wanted = False
        self._due = inf
        """How many pages make the next lesson worth while, once there was one."""
        self._one_word = asyncio.Lock()

    @property
    def is_first(self) -> bool:
        """Whether the first judge is being trained, which the crawl waits for."""
        return self.bootstrap_pages > 0 and self.under_way is not None

    def take_up(self) -> None:
        """Go on with the judge that a crawl has, which may be that of another crawl, with other pages."""
        if self._relevance.is_trained:
            self._due = _next_review(min(self._relevance.pages_known, self._tally.pages))

    def begin_if_due(self, in_flight: int, tasks: asyncio.TaskGroup) -> None:
        if self._is_due(in_flight):
            self.under_way = tasks.create_task(self._learn())

    def cancel(self) -> None:
        if self.under_way:
            self.under_way.cancel()

    async def feedback(self, page: int, relevant: bool) -> None:
        """Keep what a person says of a page and let it count; the judge learns from it while the crawl goes on."""
        async with self._one_word:
            before = await judging.judged_page(self._database, self._crawl, page)
            told = crawls.event(self._crawl, "label", page=page, relevant=relevant, url=before.url)
            changes = [*judging.new_word(self._crawl, page, relevant), told]
            if before.relevant != relevant:
                if self._tally.judge_again(before.site, before.relevant, relevant):
                    changes.append(crawls.relevant_site(self._crawl, before.name, page, before.url, before.title))
                keywords = (*self._topic.keywords, *self._relevance.found_keywords)
                version = self._relevance.judge.version
                changes += await self._policy.judged_again({page: relevant}, keywords, version)
            await self._database.write(*changes)
        self._wanted = True

    def _is_due(self, in_flight: int) -> bool:
        if self.under_way:
            return False
        if self.bootstrap_pages:
            return not in_flight and self._tally.pages >= self.bootstrap_pages
        return self._wanted or self._has_met_enough()

    def _has_met_enough(self) -> bool:
        """Whether so much has been met since the last lesson that another is worth while."""
        known = self._tally.pages
        if not self._relevance.is_trained:
            return self._relevance.trains and known >= self._due
        return self._relevance.relearns and self._due <= known <= LAST_REVIEW

    async def _learn(self) -> None:
        """Train a judge on what is known and let it take over; with too little the one in place stays."""
        known, self._wanted = self._tally.pages, False
        self._due = RETRY_GROWTH * known
        try:
            version = await self._relevance.train(known)
            if version is None:
                self._database.queue([crawls.event(self._crawl, "judge kept", relevant_pages=self._tally.relevant)])
            else:
                async with self._one_word:
                    await self._relevance.switch(version, self._relearn)
                self._due = _next_review(known)
        except ModelError as trouble:
            # The crawl has a judge; that a better one could not be had is no reason to end it.
            logger.warning("crawl %d keeps its judge: %s", self._crawl, trouble)
            self._database.queue([crawls.event(self._crawl, "judge kept", reason=str(trouble))])
        self.bootstrap_pages, self.under_way = 0, None
        self._over()

    async def _relearn(self, version: Version, judged: Sequence[Rejudged]) -> Sequence[Change]:
        """All that rests on rewards follows a new judge's word: what the policy has learned, and the figures."""
        keywords = (*self._topic.keywords, *version.found_keywords)
        relevant = {page.number: new.relevant for page, new in judged}
        changes = await self._policy.judged_again(relevant, keywords, version.number)
        for page, new in judged:
            if self._tally.judge_again(page.site_number, page.judgement.relevant, new.relevant):
                told = (page.site, page.number, page.url, page.text.title)
                changes.append(crawls.relevant_site(self._crawl, *told))
        return changes


def _next_review(learned_at: int) -> float:
    return max(FIRST_REVIEW, REVIEW_GROWTH * learned_at)
