"""The judge of one crawl through its versions: keywords and vectors, then trained on what it meets and on feedback."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tres_crawler.classify.apprentice import Job, train_beside
from tres_crawler.classify.bootstrap import Found, enough, pseudo_labels
from tres_crawler.classify.classifier import Judge, restore_model
from tres_crawler.classify.model import Model, unpack
from tres_crawler.classify.prior import Prior
from tres_crawler.config import RelevanceSettings, Settings
from tres_crawler.errors import ControlError
from tres_crawler.keywords import Expansion, expand
from tres_crawler.records import Example, Judgement, Summary, Topic
from tres_crawler.store import crawls, judging
from tres_crawler.store.crawls import CrawlRecord
from tres_crawler.store.database import Change, Database
from tres_crawler.store.judging import JudgedPage
from tres_crawler.vectors import Vectors, load_vectors

logger = logging.getLogger(__name__)

Rejudged = tuple[JudgedPage, Judgement]
"""A page as it was judged, and what is held of it now."""

PRIOR_VERSION = 1
FEEDBACK_WEIGHT = 5.0
"""A label that a person gave on a page of this crawl counts this much more than any other example."""
LEAST_BOOTSTRAP = 20
LESSON_PAGES = 5000
"""Newest pages that a lesson looks at, besides those with labels."""
BUDGET_SHARE = 4
"""At most one page in so many of the budget is spent on bootstrapping."""


@dataclass(frozen=True)
class Version:
    """A judge that was trained, and what is known of it."""

    number: int
    body: bytes
    model: Model
    told: dict[str, Any]
    """Figures, examples and keywords, as they are kept with it."""

    @property
    def found_keywords(self) -> tuple[str, ...]:
        return tuple(self.told["found_keywords"])


Also = Callable[[Version, Sequence[Rejudged]], Awaitable[Sequence[Change]]]
"""Told what a version holds of pages that another has judged; what is to be saved together with that."""


async def nothing_else(version: Version, judged: Sequence[Rejudged]) -> Sequence[Change]:
    return ()


class Relevance:
    """Every version is saved with the judgements it changes; the newest is the one that judges."""

    def __init__(
        self, database: Database, crawl: int, topic: Topic, settings: RelevanceSettings, seed: int, vectors: Vectors
    ) -> None:
        self._database = database
        self._crawl = crawl
        self._topic = topic
        self._settings = settings
        self._seed = seed
        self._vectors = vectors
        self.prior = Prior(vectors, topic.keywords)
        self.judge = Judge(self.prior, PRIOR_VERSION)
        self.found_keywords: tuple[str, ...] = ()
        self.pages_known = 0
        """Of the crawl in which it was trained, at that time."""

    @classmethod
    async def open(
        cls, database: Database, crawl: int, topic: Topic, settings: RelevanceSettings, seed: int
    ) -> Relevance:
        """The judge as it was last saved; the prior where none was trained yet."""
        vectors = await asyncio.to_thread(load_vectors, settings.vectors)
        self = cls(database, crawl, topic, settings, seed, vectors)
        saved = await judging.newest_version(database, crawl)
        if saved:
            self._take_over(await asyncio.to_thread(self._restored, *saved))
        return self

    @classmethod
    async def of_crawl(cls, database: Database, record: CrawlRecord) -> Relevance:
        """The judge of a crawl, as it was last saved."""
        settings = Settings.kept(record.settings).relevance
        return await cls.open(database, record.id, record.topic, settings, record.random_seed)

    def bootstrap_pages(self, max_pages: int) -> int:
        """How many pages are fetched before the first training; 0 if there is to be none."""
        wanted = min(self._settings.bootstrap_pages, max_pages // BUDGET_SHARE)
        begins = self.trains and not self.is_trained
        return wanted if begins and wanted >= LEAST_BOOTSTRAP else 0

    @property
    def trains(self) -> bool:
        """Whether keywords and word vectors are to be followed by a trained judge."""
        return self._settings.model != "prior"

    @property
    def is_trained(self) -> bool:
        return self.judge.version > PRIOR_VERSION

    @property
    def relearns(self) -> bool:
        """Whether what a crawl meets later is learned from too."""
        return self.is_trained and self._settings.relearn

    def close(self) -> None:
        self.judge.close()

    async def train(self, known: int) -> Version | None:
        """A new judge from what is known after so many pages, trained beside the crawl; None if that is too little."""
        if self._settings.model == "prior":  # said so for the type checker, which does not follow `trains`
            return None
        pages = await judging.judged_pages(self._database, self._crawl, newest=LESSON_PAGES)
        given = await judging.given_examples(self._database, self._crawl)
        examples, expansion = await asyncio.to_thread(self.lesson, pages, given)
        if not enough(examples):
            return None
        job = Job(
            kind=self._settings.model,
            keywords=self._topic.keywords,
            found=expansion.found,
            vectors=self._settings.vectors,
            goal=self._settings.goal,
            words=self._settings.words,
            seed=self._seed % 2**31,
            examples=examples,
            pages=known,
        )
        # The crawl waits for its first judge.
        body = await train_beside(job, is_awaited=not self.is_trained)
        return await asyncio.to_thread(self._restored, self.judge.version + 1, body)

    def lesson(self, pages: Sequence[JudgedPage], given: Sequence[Example]) -> tuple[list[Example], Expansion]:
        """Labels, examples and what the prior is sure of, and the keywords of those that are relevant (Algorithm 1)."""
        labelled = [
            *given,
            *(
                Example(page.text, page.label, FEEDBACK_WEIGHT, page.site, anchor=page.anchor)
                for page in pages
                if page.label is not None
            ),
        ]
        others = [Found(page.text, page.site, page.anchor) for page in pages if page.label is None]
        examples = [*labelled, *pseudo_labels(others, self.prior, labelled)]
        return examples, self.expand(example for example in examples if example.relevant)

    def expand(self, relevant: Iterable[Example]) -> Expansion:
        documents = [f"{example.page.title}\n{example.page.text}" for example in relevant]
        return expand(self._topic.keywords, documents, self._vectors, self._topic.pin, self._topic.ban)

    async def switch(self, version: Version, also: Also = nothing_else) -> None:
        """Let a new version take over: it is saved as one with what it holds of every stored page, and `also`.

        It judges nothing new before it is queued to be saved, so no page is ever saved with a version that is not.
        Pages that were being judged by the old one meanwhile are judged again in further rounds. A cancelled switch
        leaves figures and database alike.
        """
        beside = Judge(version.model, version.number)
        try:
            judged = await self.rejudge(beside, await self._older_pages(version))
        finally:
            beside.close()
        saved = [
            judging.new_version(self._crawl, version.number, version.body),
            crawls.event(self._crawl, "judge", version=version.number, **version.told),
        ]
        # Nothing is awaited between `also` and the queue: whatever it changed is saved with the judge, or not at all.
        others = await also(version, judged)
        committed = self._database.queue([*saved, *judging.judged_again(self._crawl, judged), *others])
        self._take_over(version)
        await committed
        # What the old version has under way is answered, and saved, before what follows it.
        await self.judge.judge(None)
        await self._database.write()
        while judged := await self.rejudge(self.judge, await self._older_pages(version)):
            others = await also(version, judged)
            await self._database.write(*judging.judged_again(self._crawl, judged), *others)

    async def _older_pages(self, version: Version) -> list[JudgedPage]:
        return await judging.judged_pages(self._database, self._crawl, version.number)

    @staticmethod
    async def rejudge(judge: Judge, pages: Sequence[JudgedPage]) -> list[Rejudged]:
        """What a judge holds of pages; a person's word stands whatever it holds."""
        judged = await judge.judge_all([page.text for page in pages])
        return [
            (page, replace(new, relevant=new.relevant if page.label is None else page.label))
            for page, new in zip(pages, judged, strict=True)
        ]

    def _restored(self, number: int, body: bytes) -> Version:
        name = f"Judge {number} of crawl {self._crawl}"
        meta, _ = unpack(body, name)
        told = {"model": meta["kind"], **meta["figures"]}
        return Version(number, body, restore_model(body, self._vectors, self._settings.anchors, name), told)

    def _take_over(self, version: Version) -> None:
        self.judge.switch(version.model, version.number)
        self.found_keywords = version.found_keywords
        self.pages_known = version.told.get("pages", 0)
        logger.info("crawl %d is judged by version %d (%s)", self._crawl, version.number, version.told["model"])


@dataclass(frozen=True)
class Lesson:
    """What a crawl that lay still has learned of its topic."""

    version: int
    """Of the judge that judges now."""
    is_new: bool
    """False where too little is known to train one, or none is wanted: the judge in place stays."""
    before: Summary
    after: Summary


async def rejudge_at_rest(database: Database, record: CrawlRecord) -> Lesson:
    """Train the judge of a crawl that does not run on what is known of it, and judge its stored pages again."""
    before = await crawls.summary(database, record)
    relevance = await Relevance.of_crawl(database, record)
    try:
        version = await relevance.train(before.pages)
        if version:
            await relevance.switch(version)
    finally:
        relevance.close()
    return Lesson(relevance.judge.version, version is not None, before, await crawls.summary(database, record))


async def judge_of(database: Database, crawl: int, topic: Topic, settings: RelevanceSettings) -> tuple[int, bytes]:
    """Version and body of a crawl's trained judge, if a crawl of this topic can begin with it."""
    record = await crawls.get(database, crawl)
    saved = await judging.newest_version(database, crawl)
    if saved is None:
        raise ControlError(f"Crawl {crawl} has trained no judge that another could begin with.")
    if record.topic.keywords != topic.keywords:
        raise ControlError(
            f'Crawl {crawl} looks for other keywords ("{record.topic.name}"), so its judge cannot judge "{topic.name}".'
        )
    version, body = saved
    vectors = await asyncio.to_thread(load_vectors, settings.vectors)
    # Refused here and not when the crawl is loaded: then there would be one that cannot start.
    await asyncio.to_thread(restore_model, body, vectors, settings.anchors, f"Judge {version} of crawl {crawl}")
    return version, body
