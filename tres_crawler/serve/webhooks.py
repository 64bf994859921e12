"""Tells other programs of new relevant sites and changed sources: signed, retried, beside the crawls."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import json
import logging
import time
from collections.abc import Mapping

from tres_crawler.config import ServeSettings
from tres_crawler.errors import FetchError, StoreError
from tres_crawler.fetch.post import Poster
from tres_crawler.serve.common import moment
from tres_crawler.store import history, webhooks
from tres_crawler.store.database import AnyRow, Database

logger = logging.getLogger(__name__)

TOLD_OF = ("relevant site", "source changed")
LOOK_SECONDS = 1.0
MOST_AT_ONCE = 100
"""Events read at once; the others wait in the store."""
FIRST_WAIT_SECONDS = 1.0
LONGEST_WAIT_SECONDS = 300.0
MOST_TRIES = 12
"""After so many tries, about half an hour, an event is given up for this address, with a line in the log."""


class Webhooks:
    """Every address is told of every event in order, at least once, from the time it was first named."""

    def __init__(self, settings: ServeSettings, database: Database, poster: Poster) -> None:
        self._urls = settings.webhooks
        self._secret = settings.webhook_secret.encode()
        self._database = database
        self._poster = poster
        self._tasks: list[asyncio.Task[None]] = []

    async def __aenter__(self) -> Webhooks:
        self._tasks = [asyncio.create_task(self._tell(url), name=f"webhook {url}") for url in self._urls]
        return self

    async def __aexit__(self, *_: object) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _tell(self, url: str) -> None:
        try:
            known = await webhooks.told(self._database, url)
            if known is None:
                known = await history.last_event(self._database)
                await self._database.write(webhooks.set_told(url, known))
            while True:
                for event in await webhooks.untold(self._database, known, TOLD_OF, MOST_AT_ONCE):
                    await self._deliver(url, event)
                    known = event.id
                    await self._database.write(webhooks.set_told(url, known))
                await asyncio.sleep(LOOK_SECONDS)
        except StoreError as error:
            logger.error("webhook %s is told nothing more: %s", url, error)

    async def _deliver(self, url: str, event: AnyRow) -> None:
        body = json.dumps(
            {
                "event": event.kind.replace(" ", "_"),
                "id": event.id,
                "crawl_id": event.crawl,
                "topic": event.topic,
                "at": moment(event.at).isoformat(),
                **event.detail,
            }
        ).encode()
        wait, trouble = FIRST_WAIT_SECONDS, ""
        for _ in range(MOST_TRIES):
            try:
                status = await self._poster.post(url, body, self._headers(event, body))
            except FetchError as error:
                trouble = error.reason
            else:
                if 200 <= status < 300:
                    return
                trouble = f"status {status}"
            logger.warning("webhook %s: %s; asked again in %g s", url, trouble, wait)
            await asyncio.sleep(wait)
            wait = min(2 * wait, LONGEST_WAIT_SECONDS)
        logger.error("webhook %s was not told of event %d: %s", url, event.id, trouble)

    def _headers(self, event: AnyRow, body: bytes) -> Mapping[str, str]:
        now = str(int(time.time()))
        return {
            "Content-Type": "application/json",
            "X-Tres-Event": event.kind.replace(" ", "_"),
            "X-Tres-Delivery": str(event.id),
            "X-Tres-Timestamp": now,
            "X-Tres-Signature": signature(self._secret, now, body),
        }


def signature(secret: bytes, timestamp: str, body: bytes) -> str:
    """Of the time and the body, so that an old message cannot be sent again as a new one."""
    return "sha256=" + hmac.new(secret, timestamp.encode() + b"." + body, hashlib.sha256).hexdigest()
