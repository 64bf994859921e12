"""Work that goes on beside the answers, and the topic files that a service starts by itself."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

from tres_crawler.errors import TopicError
from tres_crawler.records import Topic
from tres_crawler.topic import load_topic

logger = logging.getLogger(__name__)


class Beside:
    """Holds tasks until they are done; one that fails is told in the log and takes nothing with it."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[None]] = set()

    def do(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._done)

    def cancelled(self) -> list[asyncio.Task[None]]:
        """All that is still under way, told to end."""
        for task in self._tasks:
            task.cancel()
        return list(self._tasks)

    def _done(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()):
            logger.error("work beside the crawls failed", exc_info=error)


def own_topics(folder: str) -> list[Topic]:
    """The topics of the files in a folder; a bad file is told in the log and left out."""
    found = []
    for path in sorted(Path(folder).glob("*.toml")) if folder else []:
        try:
            found.append(load_topic(path))
        except TopicError as error:
            logger.error("topic not started: %s", error)
    return found
