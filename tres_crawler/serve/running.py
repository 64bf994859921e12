"""The crawls of one process at work: each is loaded, runs in a task of its own, and is let go with all others."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from tres_crawler.classify.prior import background_of
from tres_crawler.config import Settings
from tres_crawler.crawl import Crawl
from tres_crawler.errors import ControlError, StoreError, TresError
from tres_crawler.fetch.client import request_headers
from tres_crawler.manners import Manners
from tres_crawler.policies.registry import LEARNERS
from tres_crawler.records import CrawlState, StopReason, Summary
from tres_crawler.store import crawls
from tres_crawler.store.content import Content, open_content
from tres_crawler.store.database import Database
from tres_crawler.vectors import load_vectors

logger = logging.getLogger(__name__)

LEAVE_PATIENCE_SECONDS = 3.0
"""A fetch still under way so long after the service was told to leave is called off."""
LEAVE_SECONDS = 8.0
"""After this, crawls that have still not left are broken off; what they saved is whole."""


class Running:
    """Every crawl that runs or is paused has a task here; leaving suspends them all.

    They share one pace, so two crawls never ask a host twice as hard, and `serve.slots` fetches under way.
    """

    def __init__(self, settings: Settings, database: Database, folder: Path) -> None:
        self._settings = settings
        self._database = database
        self._folder = folder
        self._manners: Manners | None = None
        self._starting: set[int] = set()
        self._crawls: dict[int, Crawl] = {}
        self._tasks: dict[int, asyncio.Task[None]] = {}
        self._models_loaded = asyncio.Event()
        self._leave_by: float | None = None
        self.failed: dict[int, Summary] = {}
        """Figures of crawls that ended by trouble: a database that refuses to be written does not know of their end."""

    async def open(self) -> None:
        self._manners = Manners.of(self._database, self._settings.fetch, self._settings.serve.slots)

    async def load_models(self) -> None:
        """Load what any crawl needs, beside the answers: the first one would hold them up for seconds."""
        try:
            await asyncio.to_thread(_load_models, self._settings)
        except TresError as error:
            # A crawl that needs them will say so to whoever starts it.
            logger.error("what judges pages cannot be loaded: %s", error)
        finally:
            self._models_loaded.set()

    async def models_loaded(self) -> None:
        """Wait until a crawl can be loaded without holding up others."""
        await self._models_loaded.wait()

    def leave(self) -> None:
        """Let every crawl save itself and end, to go on at the next start."""
        if self._leave_by is None:
            self._leave_by = time.monotonic() + LEAVE_SECONDS
        for crawl in self._crawls.values():
            crawl.suspend(LEAVE_PATIENCE_SECONDS)

    async def close(self, others: list[asyncio.Task[None]]) -> None:
        """Wait until all crawls, and `others`, have ended; those that take too long are broken off."""
        self.leave()
        assert self._leave_by is not None
        left = [*self._tasks.values(), *others]
        if left:
            _done, late = await asyncio.wait(left, timeout=max(0.0, self._leave_by - time.monotonic()))
            for task in late:
                task.cancel()
            await asyncio.gather(*late, return_exceptions=True)

    # ---- looking ----

    @property
    def crawls(self) -> Mapping[int, Crawl]:
        return self._crawls

    @property
    def fetches(self) -> int:
        """How many are under way."""
        return self._manners.slots.under_way if self._manners else 0

    # ---- running ----

    async def loaded(self, number: int, content: Content | None = None) -> Crawl:
        """A crawl as it was last saved."""
        await self.models_loaded()
        return await Crawl.load(self._database, number, content=content, manners=self._manners)

    async def begin(self, number: int, paused: bool = False) -> None:
        if number in self._starting or number in self._crawls:
            raise ControlError(f"Crawl {number} is being started already.")
        self._starting.add(number)
        try:
            settings = self._settings
            content = open_content(settings.store.content, number, self._folder, request_headers(settings.fetch))
            crawl = self._crawls[number] = await self.loaded(number, content)
        except Exception as error:
            is_fault = not isinstance(error, TresError)
            logger.error("crawl %d cannot run: %s", number, error, exc_info=is_fault)
            await self._save_failure(number, str(error))
            raise
        finally:
            self._starting.discard(number)
        if paused:
            crawl.pause()
        self._tasks[number] = asyncio.create_task(self._to_its_end(crawl), name=f"crawl {number}")

    async def ended(self, number: int) -> None:
        """Wait until the last step of a crawl is saved."""
        await asyncio.wait([self._tasks[number]])

    def refuse_one_too_many(self) -> None:
        most = self._settings.serve.slots
        active = sum(crawl.state is CrawlState.RUNNING for crawl in self._crawls.values()) + len(self._starting)
        if active >= most:
            raise ControlError(
                f"{active} crawls run, as many as there are fetches for (serve.slots = {most}). Pause or stop one."
            )

    async def _to_its_end(self, crawl: Crawl) -> None:
        try:
            summary = await crawl.run()
            logger.info("crawl %d ended: %s", crawl.id, summary.stop_reason)
            if summary.stop_reason is StopReason.FAILED:
                self.failed[crawl.id] = summary
        except Exception:
            logger.exception("crawl %d ended by a fault of the program", crawl.id)
            self.failed[crawl.id] = replace(crawl.summary(), stop_reason=StopReason.FAILED)
            await self._save_failure(crawl.id, "a fault of the program; its log has the details")
        finally:
            del self._crawls[crawl.id], self._tasks[crawl.id]

    async def _save_failure(self, number: int, detail: str) -> None:
        try:
            await self._database.write(
                crawls.state_change(number, CrawlState.FAILED, StopReason.FAILED, detail),
                crawls.event(number, CrawlState.FAILED, reason=StopReason.FAILED, detail=detail),
            )
        except StoreError as error:
            logger.warning("crawl %d: its end could not be saved: %s", number, error)


def _load_models(settings: Settings) -> None:
    background_of(load_vectors(settings.relevance.vectors))
    if settings.crawl.policy in LEARNERS:
        import tres_crawler.policies.learning  # noqa: F401  # imports torch, which takes seconds
