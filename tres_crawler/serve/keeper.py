"""What can be seen of the crawls of one data directory, and how they are steered; takes up those that were running."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any
from weakref import WeakValueDictionary

from tres_crawler.config import RecrawlMode, Settings
from tres_crawler.crawl import Crawl
from tres_crawler.errors import ControlError
from tres_crawler.examples import read_examples
from tres_crawler.founding import create_crawl
from tres_crawler.frontier.look import NodeLook
from tres_crawler.manners import Politeness
from tres_crawler.records import CrawlState, Summary, Topic
from tres_crawler.relevance import Lesson, rejudge_at_rest
from tres_crawler.serve.beside import Beside, own_topics
from tres_crawler.serve.running import Running
from tres_crawler.store import crawls, judging, links, removal
from tres_crawler.store.crawls import CrawlRecord, StartKey
from tres_crawler.store.database import Database

logger = logging.getLogger(__name__)

STOP_PATIENCE_SECONDS = 0.3
"""A fetch still under way so long after a stop is called off, so that a stop takes less than a second."""
ACTIVE = (CrawlState.RUNNING, CrawlState.PAUSED)


class Keeper:
    """Whatever is asked of a crawl is asked of the one that runs, or of what is stored of one that does not."""

    def __init__(self, settings: Settings, database: Database, folder: Path) -> None:
        self._settings = settings
        self._database = database
        self._folder = folder
        self._running = Running(settings, database, folder)
        self._ended: dict[int, tuple[CrawlState, Summary]] = {}
        """Figures of crawls that do not run: counting them anew takes long."""
        self._beside = Beside()
        self._one_start = asyncio.Lock()
        self._turns: WeakValueDictionary[int, asyncio.Lock] = WeakValueDictionary()
        """By crawl, for as long as anybody has its turn or waits for it."""
        self._rejudging: set[int] = set()
        self._trees: dict[int, list[NodeLook]] = {}
        self.is_ready = False
        """Whether all crawls that were running have been taken up, and a new one starts without delay."""

    async def __aenter__(self) -> Keeper:
        await self._running.open()
        self._beside.do(self._running.load_models())
        self._beside.do(self._take_up())
        return self

    async def _take_up(self) -> None:
        """Go on with what ran before, then start what has no crawl yet; the service answers meanwhile."""
        for number in await removal.unfinished(self._database):
            self._beside.do(removal.finish(self._database, number, self._folder))
        records = await crawls.every(self._database)
        for record in records:
            if record.state in ACTIVE:
                # One that cannot be had must not keep the others from going on; why is logged and saved.
                with suppress(Exception):
                    async with self._turn(record.id):
                        await self._begin(record.id, paused=record.state is CrawlState.PAUSED)
        known = {record.topic.name for record in records}
        for topic in await asyncio.to_thread(own_topics, self._settings.serve.topics_dir):
            if topic.name not in known:
                known.add(topic.name)
                try:
                    await self.start(topic, self._settings.replaced("crawl", topic.crawl))
                except Exception as error:
                    logger.error("topic %s not started: %s", topic.name, error)
        await self._running.models_loaded()
        self.is_ready = True

    async def __aexit__(self, *_: object) -> None:
        self.leave()
        await self._running.close(self._beside.cancelled())

    def leave(self) -> None:
        """Let every crawl save itself and end, to go on at the next start."""
        self.is_ready = False
        self._running.leave()

    # ---- looking ----

    @property
    def fetches(self) -> int:
        """How many are under way."""
        return self._running.fetches

    @property
    def running(self) -> Mapping[int, Crawl]:
        """The crawls that run or are paused."""
        return self._running.crawls

    async def record(self, number: int) -> CrawlRecord:
        return await crawls.get(self._database, number)

    async def status(self, number: int) -> tuple[CrawlState, Summary]:
        crawl = self.running.get(number)
        if crawl:
            return crawl.state, crawl.summary()
        if failed := self._running.failed.get(number):
            return CrawlState.FAILED, failed
        known = self._ended.get(number)
        if known is None:
            record = await self.record(number)
            known = record.state, await crawls.summary(self._database, record)
            if record.state not in ACTIVE:
                self._ended[number] = known
        return known

    async def tree(self, number: int) -> list[NodeLook]:
        """The nodes of a crawl's Tree-Frontier; one that does not run is loaded to be looked at."""
        async with self._turn(number):
            crawl = self.running.get(number)
            if crawl:
                return crawl.tree()
            if number not in self._trees:
                loaded = await self._running.loaded(number)
                # One tree is remembered: that of the crawl somebody looks at.
                self._trees = {number: loaded.tree()}
                await loaded.close()
            return self._trees[number]

    async def politeness(self, number: int) -> Politeness:
        crawl = self.running.get(number)
        if crawl:
            return crawl.politeness()
        return Politeness(0, [], [], 0, await links.refusals(self._database, number))

    # ---- steering ----

    async def start(
        self, topic: Topic, settings: Settings, policy_from: int | None = None, key: StartKey | None = None
    ) -> int:
        """Start a crawl; the same `key` again leads to the crawl it has started."""
        async with self._one_start:
            if key and (known := await crawls.started_by(self._database, key)):
                return known
            self._running.refuse_one_too_many()
            examples = await asyncio.to_thread(read_examples, topic)
            number = await create_crawl(self._database, topic, settings, examples, policy_from, start=key)
            async with self._turn(number):
                await self._begin(number)
        return number

    async def steered(self, number: int) -> Crawl:
        """The crawl, if it can be steered; otherwise why not."""
        crawl = self.running.get(number)
        if crawl is None:
            record = await self.record(number)
            if record.state in ACTIVE:
                raise ControlError(f"Crawl {number} is being taken up; try again in a moment.")
            raise ControlError(f"Crawl {number} is {record.state}; it does not run.")
        return crawl

    async def resume(self, number: int) -> None:
        async with self._turn(number):
            self._refuse_while_rejudged(number)
            crawl = self.running.get(number)
            if crawl:
                self._running.refuse_one_too_many()
                crawl.unpause()
                return
            record = await self.record(number)
            if record.state in ACTIVE:
                raise ControlError(f"Crawl {number} is being taken up; try again in a moment.")
            if record.state is CrawlState.FINISHED:
                await self._refuse_what_is_done(record)
            self._running.refuse_one_too_many()
            await self._begin(number)

    async def stop(self, number: int) -> None:
        """Stop a crawl and wait until its last step is saved."""
        crawl = await self.steered(number)
        crawl.stop(STOP_PATIENCE_SECONDS)
        await self._running.ended(number)

    async def change(self, number: int, changed: Mapping[str, Any], recrawl: RecrawlMode | None = None) -> None:
        """Give a crawl another budget or cap, or say whether an ended one visits again what it found: all or nothing.

        One that has ended goes on with it when it is resumed.
        """
        async with self._turn(number):
            state = (await self.record(number)).state
            if recrawl and (number in self.running or state in ACTIVE):
                raise ControlError(f"Crawl {number} is {state}; stop it before its recrawling is changed.")
            if changed:
                async with self._at_hand(number) as crawl:
                    await crawl.change(changed)
            if recrawl:
                kept = (await self.record(number)).settings
                settings = Settings.kept(kept).replaced("recrawl", {"mode": recrawl})
                await self._database.write(
                    crawls.settings_change(number, {**kept, "recrawl": settings.recrawl.model_dump()}),
                    crawls.event(number, "settings", recrawl=recrawl),
                )

    async def add_seeds(self, number: int, urls: Sequence[str]) -> int:
        """Place more seeds; one that has ended fetches them when it is resumed."""
        async with self._turn(number), self._at_hand(number) as crawl:
            return await crawl.add_seeds(urls)

    async def feedback(self, number: int, page: int, relevant: bool) -> tuple[int, bool]:
        """Keep a label; how many there are by now, and whether a running crawl learns from it."""
        async with self._turn(number):
            self._refuse_while_rejudged(number)
            crawl = self.running.get(number)
            if crawl:
                await crawl.feedback(page, relevant)
            else:
                await self.record(number)
                await judging.judged_page(self._database, number, page)
                await self._database.write(*judging.new_word(number, page, relevant))
                self._forget(number)
        trains = crawl is not None and crawl.can_learn_topic
        return await judging.label_count(self._database, number), trains

    async def rejudge(self, number: int) -> Lesson:
        """Let the judge of an ended crawl learn from all labels and the newest pages, and judge its pages again."""
        async with self._turn(number):
            self._refuse_while_rejudged(number)
            record = await self.record(number)
            if number in self.running or record.state in ACTIVE:
                raise ControlError(f"Crawl {number} is {record.state}: its judge learns from feedback by itself.")
            self._rejudging.add(number)
        # Without its turn, since this may take a minute: whatever it could not bear meanwhile is refused.
        try:
            return await rejudge_at_rest(self._database, record)
        finally:
            self._rejudging.discard(number)
            self._forget(number)

    async def delete(self, number: int) -> None:
        """Remove an ended crawl; it is gone at once, its rows soon after."""
        async with self._turn(number):
            self._refuse_while_rejudged(number)
            record = await self.record(number)
            if number in self.running or record.state in ACTIVE:
                raise ControlError(f"Crawl {number} is {record.state}; stop it before it is deleted.")
            await removal.begin(self._database, number)
            self._forget(number)
        self._beside.do(removal.finish(self._database, number, self._folder))

    # ---- in between ----

    def _turn(self, number: int) -> asyncio.Lock:
        """To be held by whoever loads a crawl or changes what is stored of it: two at once would number alike."""
        return self._turns.setdefault(number, asyncio.Lock())

    async def _begin(self, number: int, paused: bool = False) -> None:
        await self._running.begin(number, paused)
        self._forget(number)

    @asynccontextmanager
    async def _at_hand(self, number: int) -> AsyncIterator[Crawl]:
        """A crawl to be changed in its turn, as it runs; one that does not is loaded, and closed again."""
        crawl = self.running.get(number)
        if crawl:
            yield crawl
            return
        record = await self.record(number)
        if record.state in ACTIVE:
            raise ControlError(f"Crawl {number} is being taken up; try again in a moment.")
        loaded = await self._running.loaded(number)
        try:
            yield loaded
        finally:
            await loaded.close()
            self._forget(number)

    def _refuse_while_rejudged(self, number: int) -> None:
        if number in self._rejudging:
            raise ControlError(f"The pages of crawl {number} are being judged again; try again when that is done.")

    async def _refuse_what_is_done(self, record: CrawlRecord) -> None:
        """A finished crawl can go on only if it has been given more to do."""
        settings, (_, summary) = Settings.kept(record.settings), await self.status(record.id)
        if settings.recrawl.mode == "monitor" and summary.relevant_pages:
            return
        told = f"Crawl {record.id} is finished ({record.stop_reason}); there is nothing to resume."
        if summary.pages >= settings.crawl.max_pages:
            raise ControlError(
                f"{told} Give it a larger budget first: PATCH with max_pages; "
                'or let it watch what it found: PATCH with "recrawl": "monitor".'
            )
        if not summary.waiting:
            raise ControlError(f"{told} Add seeds first.")

    def _forget(self, number: int) -> None:
        self._running.failed.pop(number, None)
        self._ended.pop(number, None)
        self._trees.pop(number, None)
