"""The sources of one crawl: who is watched, what is held of each, and how that is saved and taken up again."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from tres_crawler.config import RecrawlSettings
from tres_crawler.records import Validators
from tres_crawler.recrawl.allowance import Clock
from tres_crawler.recrawl.estimate import EVIDENCE, Estimates, Evidence
from tres_crawler.recrawl.policies import create_estimates, create_scheduler
from tres_crawler.recrawl.scheduler import Beliefs, Finding, Scheduler, Source
from tres_crawler.store import crawls, sources
from tres_crawler.store.database import AnyRow, Change, Database

logger = logging.getLogger(__name__)

NO_LONGER_RELEVANT = "no longer relevant"


class Watchlist:
    """Estimates and schedule know the same sources, which are those saved and not retired."""

    def __init__(
        self,
        crawl: int,
        settings: RecrawlSettings,
        seed: int,
        database: Database,
        clock: Clock,
        beliefs: Beliefs | None = None,
    ) -> None:
        self.estimates: Estimates = create_estimates(settings)
        self.scheduler: Scheduler = create_scheduler(settings, self.estimates, seed, beliefs)
        self.counts = {"visits": 0, "changes": 0, "troubles": 0}
        self._crawl = crawl
        self._database = database
        self._clock = clock
        self._hosts: dict[int, int] = {}
        self._has_begun = False

    def __len__(self) -> int:
        return len(self._hosts)

    def __contains__(self, number: int) -> bool:
        return number in self._hosts

    def host(self, number: int) -> int:
        return self._hosts[number]

    # ---- taking up, adding, retiring ----

    async def restore(self) -> None:
        """Take up what was saved."""
        saved = await sources.progress(self._database, self._crawl)
        if saved:
            self._has_begun = True
            self.estimates.faded, self.estimates.faded_exposure = saved["faded"], saved["faded_exposure"]
            self.counts = {name: int(saved[name]) for name in self.counts}
            # A policy without a price leaves none to one that has.
            self.scheduler.price = saved["price"] or self.scheduler.price
        self._take_up(await sources.live(self._database, self._crawl))

    def _take_up(self, found: Sequence[AnyRow]) -> None:
        now = self._clock()
        for row in found:
            known = row._mapping
            # What was seen "in the future", before the clock was set right, was seen now at the latest.
            evidence = Evidence(**{name: known[name] for name in EVIDENCE})
            evidence.visited_at = min(evidence.visited_at, now)
            self._hosts[row.page] = row.host
            self.estimates.add(row.page, row.host, evidence)
        # What is believed of one rests on all.
        for row in found:
            self.scheduler.add(Source(row.page, row.host, min(row.tried_at, now), row.memory))

    async def follow_judge(self) -> list[Change]:
        """Let sources be the pages that are held to be relevant by now."""
        now = self._clock()
        changes: list[Change] = []
        for row in await sources.unknown(self._database, self._crawl):
            if row.number not in self:
                changes += self.add(row.number, row.host, Evidence(min(row.fetched_at, now)), Validators())
        retired = await sources.relevant_again(self._database, self._crawl, NO_LONGER_RELEVANT)
        again = [row for row in retired if row.page not in self]
        self._take_up(again)
        changes += [sources.retirement(self._crawl, row.page, None, None) for row in again]
        for page in await sources.irrelevant(self._database, self._crawl):
            if page in self:
                changes += self.retire(page, NO_LONGER_RELEVANT)
                changes.append(sources.retirement(self._crawl, page, now, NO_LONGER_RELEVANT))
        if not self._has_begun:
            self._has_begun = True
            changes.append(sources.begun(self._crawl, self.progress()))
        return changes

    def add(self, number: int, host: int, evidence: Evidence, known: Validators) -> list[Change]:
        """A page that is to be watched from now on."""
        self._hosts[number] = host
        self.estimates.add(number, host, evidence)
        self.scheduler.add(Source(number, host, evidence.visited_at))
        state = self.state(number, evidence.visited_at, known)
        return [sources.new_source(self._crawl, number, evidence.visited_at, state)]

    def retire(self, number: int, reason: str) -> list[Change]:
        """Watch a page no more; its row is for the caller to change."""
        logger.info("source %d is retired: %s", number, reason)
        del self._hosts[number]
        self.estimates.retire(number)
        self.scheduler.retire(number)
        return [crawls.event(self._crawl, "source retired", page=number, reason=reason)]

    # ---- what is held ----

    def observe(self, number: int, now: float, finding: Finding) -> None:
        """Learn from a visit, then plan the next."""
        self.estimates.observe(number, now, finding)
        self.scheduler.observe(number, now, finding)
        self.counts["visits"] += 1
        self.counts["changes"] += bool(finding.changed)
        self.counts["troubles"] += finding.changed is None and not finding.is_first

    def state(
        self, number: int, tried_at: float, known: Validators, changed_at: float | None = None, missing: int = 0
    ) -> dict[str, Any]:
        """A source as it is saved."""
        belief = self.estimates.belief(number)
        due_at = self.scheduler.due_at(number)
        return {
            **asdict(self.estimates.evidence(number)),
            "retired_at": None,
            "retired_reason": None,
            "etag": known.etag,
            "last_modified": known.last_modified,
            "tried_at": tried_at,
            "changed_at": changed_at,
            "missing": missing,
            "utility": belief.utility,
            "cost": belief.cost,
            "memory": self.scheduler.memory(number),
            "due_at": due_at if due_at is not None and due_at < float("inf") else None,
        }

    def progress(self) -> Mapping[str, float]:
        """The schedule as a whole, as it is saved."""
        faded = {"faded": self.estimates.faded, "faded_exposure": self.estimates.faded_exposure}
        return {"price": self.scheduler.price, **faded, **self.counts}
