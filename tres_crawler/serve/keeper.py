"""Runs the crawls of one data directory side by side, and takes up those that were running."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import replace
from pathlib import Path

from tres_crawler import crawl as engine
from tres_crawler.config import Settings
from tres_crawler.crawl import Crawl, Manners
from tres_crawler.errors import ControlError, TresError
from tres_crawler.examples import read_examples
from tres_crawler.fetch.client import request_headers
from tres_crawler.records import CrawlState, StopReason, Summary, Topic
from tres_crawler.store import crawls, judging
from tres_crawler.store.content import open_content
from tres_crawler.store.database import Database
from tres_crawler.topic import load_topic

logger = logging.getLogger(__name__)


class Keeper:
    """Every crawl that runs or is paused has a task here; leaving suspends them all.

    They share one pace, so two crawls never ask a host twice as hard.
    """

    def __init__(self, settings: Settings, database: Database, folder: Path) -> None:
        self._settings = settings
        self._database = database
        self._folder = folder
        self._manners: Manners | None = None
        self._starting: set[int] = set()
        self._running: dict[int, Crawl] = {}
        self._failed: dict[int, Summary] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> Keeper:
        self._manners = await Manners.of(self._database, self._settings.fetch)
        records = await crawls.every(self._database)
        for record in records:
            if record.state in (CrawlState.RUNNING, CrawlState.PAUSED):
                await self._run(record.id, paused=record.state is CrawlState.PAUSED)
        if self._settings.serve.topics_dir:
            files = sorted(Path(self._settings.serve.topics_dir).glob("*.toml"))  # noqa: ASYNC240  # once, at start
            await self._start_topics(files, {record.topic.name for record in records})
        return self

    async def __aexit__(self, *_: object) -> None:
        for crawl in self._running.values():
            crawl.suspend()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def start(self, topic: Topic, settings: Settings, policy_from: int | None = None) -> int:
        examples = await asyncio.to_thread(read_examples, topic)
        number = await engine.create(self._database, topic, settings, examples, policy_from)
        await self._run(number)
        return number

    async def status(self, number: int) -> tuple[CrawlState, Summary]:
        crawl = self._running.get(number)
        if crawl:
            return crawl.state, crawl.summary()
        if number in self._failed:
            # A database that refuses to be written does not know that the crawl has ended.
            return CrawlState.FAILED, self._failed[number]
        record = await crawls.get(self._database, number)
        return record.state, await crawls.summary(self._database, record)

    async def every(self) -> list[tuple[CrawlState, Summary]]:
        return [await self.status(record.id) for record in await crawls.every(self._database)]

    async def running(self, number: int) -> Crawl:
        """The crawl, if it can be steered; otherwise why not."""
        crawl = self._running.get(number)
        if crawl is None:
            record = await crawls.get(self._database, number)
            raise ControlError(f"Crawl {number} is {record.state}; it does not run.")
        return crawl

    async def resume(self, number: int) -> None:
        crawl = self._running.get(number)
        if crawl:
            crawl.unpause()
            return
        record = await crawls.get(self._database, number)
        if record.state is CrawlState.FINISHED:
            raise ControlError(f"Crawl {number} is finished ({record.stop_reason}); there is nothing to resume.")
        await self._run(number)

    async def stop(self, number: int) -> None:
        """Stop a crawl and wait until its last step is saved."""
        crawl = await self.running(number)
        crawl.stop()
        await asyncio.gather(*(task for task in self._tasks if task.get_name() == f"crawl {number}"))

    async def feedback(self, number: int, page: int, relevant: bool) -> tuple[int, bool]:
        """Keep a label; how many there are by now, and whether a running crawl learns from it."""
        crawl = self._running.get(number)
        if crawl:
            await crawl.feedback(page, relevant)
        else:
            await crawls.get(self._database, number)
            await judging.check_page(self._database, number, page)
            await self._database.write(judging.new_label(number, page, relevant))
        return await judging.label_count(self._database, number), crawl is not None

    async def _run(self, number: int, paused: bool = False) -> None:
        if number in self._starting or number in self._running:
            raise ControlError(f"Crawl {number} is being started already.")
        self._starting.add(number)
        try:
            settings = self._settings
            content = open_content(settings.store.content, number, self._folder, request_headers(settings.fetch))
            crawl = await Crawl.load(self._database, number, content=content, manners=self._manners)
            self._running[number] = crawl
        finally:
            self._starting.discard(number)
        if paused:
            crawl.pause()
        task = asyncio.create_task(self._to_its_end(crawl), name=f"crawl {number}")
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _to_its_end(self, crawl: Crawl) -> None:
        try:
            summary = await crawl.run()
            logger.info("crawl %d ended: %s", crawl.id, summary.stop_reason)
            if summary.stop_reason is StopReason.FAILED:
                self._failed[crawl.id] = summary
        except Exception:
            logger.exception("crawl %d ended by a fault of the program", crawl.id)
            self._failed[crawl.id] = replace(crawl.summary(), stop_reason=StopReason.FAILED)
        finally:
            del self._running[crawl.id]

    async def _start_topics(self, files: list[Path], known: set[str]) -> None:
        for path in files:
            try:
                topic = load_topic(path)
                if topic.name not in known:
                    known.add(topic.name)
                    await self.start(topic, self._settings.replaced("crawl", topic.crawl))
            except TresError as error:
                # One bad file must not keep the others, or the service, from starting.
                logger.error("topic not started: %s", error)
