"""The engine: one crawl, from its seeds to its stop reason."""

from __future__ import annotations

import asyncio
import logging
import random
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

from tres_crawler.caps import parse_site_cap
from tres_crawler.config import Settings, overlaid
from tres_crawler.errors import (
    ControlError,
    FetchError,
    ModelError,
    Postponed,
    StoreError,
)
from tres_crawler.fetch.visitor import Visitor
from tres_crawler.frontier.guided import GuidedFrontier
from tres_crawler.frontier.look import NodeLook
from tres_crawler.frontier.places import Places
from tres_crawler.frontier.queue import OrderedFrontier, most_promising_first
from tres_crawler.intake import Intake
from tres_crawler.ledger import Ledger
from tres_crawler.lessons import Lessons
from tres_crawler.logs import concern
from tres_crawler.manners import Manners, Politeness
from tres_crawler.parse import parse_page
from tres_crawler.policies.policy import Surroundings
from tres_crawler.policies.registry import MakePolicy, create_policy, settled
from tres_crawler.policies.valued import ValuedFrontier
from tres_crawler.records import (
    CrawlState,
    Offer,
    RobotsAnswer,
    StopReason,
    Summary,
)
from tres_crawler.relevance import Relevance
from tres_crawler.revisits import MakeRevisits, Revisits
from tres_crawler.seen import Seen
from tres_crawler.store import crawls, links, robots
from tres_crawler.store.content import Content, Nothing
from tres_crawler.store.crawls import CrawlRecord
from tres_crawler.store.database import Database
from tres_crawler.topic import is_url
from tres_crawler.troubles import Troubles
from tres_crawler.urls import DROPPED_PARAMETERS, UrlRules
from tres_crawler.visits import Redirected, Visit, Visits

logger = logging.getLogger(__name__)

SOON_SECONDS = 10.0
"""A better link is waited for if its host has rested within this time."""
DISCOVERED = (StopReason.BUDGET, StopReason.FRONTIER_EMPTY, StopReason.SITES_CAPPED)
"""Reasons to stop for which a crawl may stay up as a monitor of what it found."""


class Crawl:
    """Fetches the links that its frontier offers until the budget is spent; every step is saved whole.

    The event loop owns all state here: nothing between two awaits is interrupted.
    """

    def __init__(
        self,
        record: CrawlRecord,
        settings: Settings,
        database: Database,
        manners: Manners,
        content: Content,
        relevance: Relevance,
        make_policy: MakePolicy = create_policy,
        make_revisits: MakeRevisits = Revisits,
    ) -> None:
        fetch_settings, url_settings = settings.fetch, settings.urls
        self.id = record.id
        self.record = record
        self.settings = settings.crawl
        self.slots = fetch_settings.slots
        self._pages_per_slot = settings.choose.pages_per_slot
        self.stop_reason: StopReason | None = None
        self.stop_detail: str | None = None
        self.state = CrawlState.RUNNING
        self.latest_url = ""
        self._database = database
        self._rng = random.Random()
        self._relevance = relevance
        bootstrap_pages = relevance.bootstrap_pages(self.settings.max_pages)
        guide = OrderedFrontier(most_promising_first) if bootstrap_pages else None
        self._policy = make_policy(self._surroundings(settled(settings)))
        self._frontier = GuidedFrontier(self._policy.frontier, guide)
        cap = parse_site_cap(self.settings.max_per_site)
        self._places = Places(cap, self._frontier, url_settings.private_suffixes)
        self._all_slots = manners.slots
        self._visitor = Visitor(fetch_settings, manners.pace, manners.robots, self._keep_robots)
        self._content = content
        self._seen = Seen()
        self._in_flight = 0
        self._suspended = False
        self._patience_seconds: float | None = None
        self._wake = asyncio.Event()
        self._revisits = make_revisits(self.id, settings.recrawl, record.random_seed, self.slots, database, relevance)
        holders = (self._frontier, self._revisits.scheduler)
        self._visits = Visits(self._visitor, holders, self._places, self._seen, self._wake.set)
        self._ledger = Ledger(
            self.id,
            self.settings,
            UrlRules(DROPPED_PARAMETERS + url_settings.drop_parameters, url_settings.private_suffixes),
            database,
            self._frontier,
            self._policy,
            self._places,
            self._seen,
            self.summary,
        )
        self._revisits.join(self._visits, self._ledger)
        self._tally = self._ledger.tally
        self._troubles = Troubles(
            self.id, fetch_settings.retries, self._visits, self._frontier, self._places, self._ledger
        )
        self._lessons = Lessons(
            self.id,
            record.topic,
            database,
            relevance,
            self._policy,
            self._tally,
            bootstrap_pages,
            self._lesson_over,
        )
        self._intake = Intake(self.id, record.topic, self._ledger, relevance, self._seen, content, self._revisits)
        self._seconds_before = record.seconds
        self._running_since: float | None = None

    def _surroundings(self, settings: Settings) -> Surroundings:
        """What the policy is told; it is made before the places it asks for."""
        return Surroundings(
            crawl=self.id,
            settings=settings,
            keywords=(*self.record.topic.keywords, *self._relevance.found_keywords),
            seed=self.record.random_seed % 2**32,
            rng=self._rng,
            sites_of=lambda hosts: self._places.sites(hosts),
            are_full=lambda hosts: self._places.are_full(hosts),
            is_out_of_reach=self._is_out_of_reach,
            tell=lambda change: self._database.queue([change]),
        )

    # ---- load ----

    @classmethod
    async def load(
        cls,
        database: Database,
        crawl: int,
        changed: Mapping[str, Any] | None = None,
        content: Content | None = None,
        manners: Manners | None = None,
        relevance: Relevance | None = None,
        make_policy: MakePolicy = create_policy,
        recrawl: Mapping[str, Any] | None = None,
        make_revisits: MakeRevisits = Revisits,
    ) -> Crawl:
        """A crawl as it was last saved, or with its seeds placed when it has not begun.

        `changed` are crawl settings that take the place of those it was started with, for good, and `recrawl` the
        same for recrawling. An experiment may bring a judge, a policy and revisits of its own.
        """
        record = await crawls.get(database, crawl)
        settings = Settings.kept(record.settings).replaced("crawl", changed or {}).replaced("recrawl", recrawl or {})
        manners = manners or Manners.of(database, settings.fetch)
        relevance = relevance or await Relevance.of_crawl(database, record)
        self = cls(record, settings, database, manners, content or Nothing(), relevance, make_policy, make_revisits)
        try:
            await self._restore()
        except BaseException:
            await self.close()
            raise
        kept = {name: getattr(settings, name).model_dump() for name in ("crawl", "recrawl")}
        begun = [crawls.settings_change(crawl, {**record.settings, **kept})] if changed or recrawl else []
        if not self._ledger.has_begun:
            examples = filter(is_url, (*record.topic.relevant_examples, *record.topic.irrelevant_examples))
            begun.append(crawls.event(self.id, "started", topic=record.topic.name))
            await self._ledger.save_seeds([*record.topic.seeds, *examples], begun)
        elif begun:
            await database.write(*begun)
        return self

    async def _restore(self) -> None:
        facts = await self._ledger.restore()
        self._lessons.take_up()
        if self._lessons.bootstrap_pages:
            self._frontier.guide_through(await links.waiting(self._database, self.id))
        await self._policy.restore(self._database, facts, self._relevance.judge.version)
        await self._revisits.restore()
        self._rng.seed(f"{self.record.random_seed}/{self._tally.pages}")

    # ---- run, pause, stop ----

    async def run(self) -> Summary:
        """Crawl until there is a reason to stop; steps in flight are finished first."""
        self._count_seconds()
        if not (self._visitor.settings.contact or self._visitor.settings.connect_to):
            logger.warning("hosts cannot tell whose crawler asks them: set fetch.contact to an address or a URL")
        reason: StopReason | None = None
        calling_off: asyncio.TimerHandle | None = None
        try:
            await self._database.write(crawls.state_change(self.id, self.state))
            self._share_slots()
            async with self._visitor, asyncio.TaskGroup() as steps:
                while not self._suspended:
                    self._visits.release_rested()
                    reason = self._over()
                    discovering = reason is None
                    if reason and not self._stays_up(reason):
                        break
                    reason = None
                    if self.slots > 1 or not self._in_flight:
                        self._lessons.begin_if_due(self._in_flight, steps)
                    if self._revisits.must_follow_judge:
                        self._revisits.must_follow_judge = False
                        steps.create_task(self._revisits.sync())
                    if self._policy.is_snapshot_due(self._tally.pages):
                        steps.create_task(self._save_policy())
                    for source in self._revisits.choose(self._spare_slots, discovering):
                        self._all_slots.take()
                        steps.create_task(self.revisit(source))
                    for offer in self.choose():
                        steps.create_task(self.step(offer))
                    await self._something_happens(discovering)
                self._lessons.cancel()
                if self._patience_seconds is not None:
                    loop = asyncio.get_running_loop()
                    calling_off = loop.call_later(self._patience_seconds, self._visits.call_off)
            # What is saved at the end is all that was learned: no lesson goes on after it.
            await self._policy.catch_up()
            await self._save_policy()
        except* (StoreError, ModelError) as group:
            reason, self.stop_detail = StopReason.FAILED, str(group.exceptions[0])
        finally:
            self._let_go()
            if calling_off:
                calling_off.cancel()
            await self.close()
        if reason is StopReason.NO_SEED:
            self.stop_detail = "; ".join(self._ledger.seed_troubles) or "no page was had from any seed"
        if reason:
            await self._end(reason)
        if reason is StopReason.FAILED:
            # Pages that could not be saved must not be told as had.
            with suppress(StoreError):
                saved = await crawls.summary(self._database, await crawls.get(self._database, self.id))
                return replace(saved, stop_reason=reason)
        return self.summary()

    def _let_go(self) -> None:
        """Leave to other crawls what this one shares with them, also what steps broken off by trouble still hold."""
        for _ in range(self._in_flight + self._revisits.in_flight):
            self._all_slots.give_back()
        self._all_slots.leave(self.id)
        self._visits.let_go()

    async def close(self) -> None:
        """Let go of files and threads; `run` does so by itself."""
        self._content.close()
        self._relevance.close()
        await self._policy.close()

    def pause(self) -> None:
        """Start no new step; those in flight finish."""
        if self.state is not CrawlState.RUNNING:
            raise ControlError(f"Crawl {self.id} is {self.state}; only a running crawl can be paused.")
        self._turn(CrawlState.PAUSED)

    def unpause(self) -> None:
        if self.state is not CrawlState.PAUSED:
            raise ControlError(f"Crawl {self.id} is {self.state}; only a paused crawl can be resumed.")
        self._turn(CrawlState.RUNNING)

    def stop(self, patience_seconds: float | None = None) -> None:
        """End the crawl after the steps in flight; fetches still under way after `patience_seconds` are called off."""
        if self.state not in (CrawlState.RUNNING, CrawlState.PAUSED):
            raise ControlError(f"Crawl {self.id} is {self.state}; there is nothing to stop.")
        self.state, self._patience_seconds = CrawlState.STOPPED, patience_seconds
        self._wake.set()

    def suspend(self, patience_seconds: float | None = None) -> None:
        """As `stop`, to be resumed by whoever starts next."""
        self._suspended, self._patience_seconds = True, patience_seconds
        self._wake.set()

    async def add_seeds(self, urls: Sequence[str]) -> int:
        """Place more seeds; how many of them wait now that were never seen before."""
        placed = await self._ledger.save_seeds(urls, [crawls.event(self.id, "seeds", urls=list(urls))])
        self._wake.set()
        return placed

    async def change(self, changed: Mapping[str, Any]) -> None:
        """Give the crawl another budget or cap, for good."""
        settings = overlaid(self.settings, "crawl", changed)
        spent = self._tally.pages + self._in_flight
        if settings.max_pages < spent:
            raise ControlError(f"Crawl {self.id} has {spent} pages already; its budget cannot be {settings.max_pages}.")
        self.settings = self._ledger.settings = settings
        self._places.set_cap(parse_site_cap(settings.max_per_site), self._tally.pages / settings.max_pages)
        self._wake.set()
        kept = {**self.record.settings, "crawl": settings.model_dump()}
        await self._database.write(
            crawls.settings_change(self.id, kept), crawls.event(self.id, "settings", **dict(changed))
        )

    def _share_slots(self) -> None:
        """Take part in what all crawls may fetch at once, while running."""
        if self.state is CrawlState.RUNNING:
            self._all_slots.join(self.id, self._wake.set)
        else:
            self._all_slots.leave(self.id)

    def _turn(self, state: CrawlState) -> None:
        self.state = state
        self._count_seconds()
        self._share_slots()
        self._database.queue([crawls.state_change(self.id, state), crawls.event(self.id, state)])
        self._wake.set()

    def _over(self) -> StopReason | None:
        if self.state is CrawlState.STOPPED:
            return StopReason.STOPPED
        if self._tally.pages >= self.settings.max_pages:
            return StopReason.BUDGET
        if self._in_flight or self.is_learning_topic or self.state is CrawlState.PAUSED:
            return None
        if not len(self._frontier):
            no_seed = self._tally.pages == self._tally.failed
            return StopReason.NO_SEED if no_seed else StopReason.FRONTIER_EMPTY
        if self._visits.next_due is None and not self._frontier.can_offer:
            return StopReason.SITES_CAPPED
        return None

    def _stays_up(self, reason: StopReason) -> bool:
        """Whether a crawl that has nothing left to discover goes on, to see what becomes of what it found."""
        return reason in DISCOVERED and self._revisits.monitors

    async def _something_happens(self, discovering: bool) -> None:
        """Wait for a step to end, a host to have rested, a known page to be due, or a command."""
        due, wait = self._visits.next_due, None if discovering else self._revisits.wait_seconds
        waits = [] if due is None else [max(0.0, due - time.monotonic())]
        until = min(waits if wait is None else [*waits, wait], default=None)
        # Not wait_for: in Python 3.11 it can swallow the cancellation by which a failed step ends the others.
        with suppress(TimeoutError):
            async with asyncio.timeout(until):
                await self._wake.wait()
        self._wake.clear()

    async def _end(self, reason: StopReason) -> None:
        ended = {StopReason.STOPPED: CrawlState.STOPPED, StopReason.FAILED: CrawlState.FAILED}
        self.state = ended.get(reason, CrawlState.FINISHED)
        self._count_seconds()
        self.stop_reason = reason
        try:
            await self._database.write(
                crawls.state_change(self.id, self.state, reason, self.stop_detail),
                crawls.event(self.id, self.state, reason=reason, detail=self.stop_detail),
                crawls.seconds_change(self.id, self.seconds),
            )
        except StoreError:
            # A full disk cannot be told about itself; the crawl is found interrupted and can be resumed.
            logger.warning("crawl %d: its end could not be saved", self.id)

    # ---- learning ----

    @property
    def is_learning_topic(self) -> bool:
        """Whether the first judge is being trained, which the crawl waits for."""
        return self._lessons.is_first

    @property
    def can_learn_topic(self) -> bool:
        """Whether a judge is trained at all."""
        return self._relevance.trains

    async def feedback(self, page: int, relevant: bool) -> None:
        """What a person says of a page counts at once; the judge learns from it while the crawl goes on."""
        await self._lessons.feedback(page, relevant)
        self._revisits.must_follow_judge = True
        self._wake.set()

    def _lesson_over(self) -> None:
        self._revisits.must_follow_judge = True
        self._frontier.let_go()
        self._wake.set()

    async def _save_policy(self) -> None:
        await self._database.write(*await self._policy.snapshot())

    # ---- one step ----

    def choose(self) -> Iterator[Offer]:
        """Fill the free slots; a link taken has its host, its site's cap and its place in the budget reserved."""
        while self._free_slots() and (offers := self._frontier.offer()):
            asked: set[int] = set()
            for offer in offers:
                if not self._free_slots():
                    return
                # One offer may have several hosts of a site, and the last page that it may have be taken already.
                is_full = self._places.is_full(self._places.site(offer.host))
                if offer.host not in asked and not is_full and self._visits.seize(offer.host):
                    self._frontier.take(offer)
                    self._revisits.earn()
                    self._in_flight += 1
                    self._all_slots.take()
                    yield offer
                asked.add(offer.host)

    def _free_slots(self) -> int:
        """How many steps may be begun."""
        # One step at a time is repeatable only if the judge changes between the same two steps each time.
        is_awaited = self.slots == 1 and self._lessons.under_way
        if self.state is not CrawlState.RUNNING or is_awaited:
            return 0
        budget = (self._lessons.bootstrap_pages or self.settings.max_pages) - self._tally.pages
        earned = 1 + self._tally.pages // self._pages_per_slot if self._pages_per_slot else self.slots
        known = self._revisits.in_flight
        own = max(0, min(self.slots - known, budget, earned) - self._in_flight)
        shared = self._all_slots.free(self._in_flight + known)
        return own if shared is None else max(0, min(own, shared))

    @property
    def _spare_slots(self) -> int:
        """How many known pages may be visited now."""
        if self.state is not CrawlState.RUNNING:
            return 0
        under_way = self._in_flight + self._revisits.in_flight
        shared = self._all_slots.free(under_way)
        return self.slots - under_way if shared is None else min(self.slots - under_way, shared)

    def _is_out_of_reach(self, host: int) -> bool:
        """Whether a host will not be asked soon: its site is full, or it rests for long."""
        if self._places.is_full(self._places.site(host)):
            return True
        return self._visitor.free_at(self._places.names[host]) > time.monotonic() + SOON_SECONDS

    async def step(self, offer: Offer) -> None:
        """One link's journey: fetch, parse, judge, describe, place, save. Its slot is free once that is committed."""
        concern(crawl=self.id, link=offer.link, host=self._places.names[offer.host])
        link = await self._ledger.link(offer.link)
        visit = Visit.of(link, offer, self._policy.version)
        self.latest_url = link.url
        try:
            fetched = await self._visits.fetch(visit)
            document = await parse_page(fetched)
        except Postponed:
            self._visits.give_back(visit)
            self._frontier.place([Offer.of(link)])
        except Redirected as elsewhere:
            self._visits.give_back(visit)
            await self._ledger.save_redirect(visit, elsewhere.target, elsewhere.hops, elsewhere.reason)
        except FetchError as trouble:
            await self._troubles.write_down(visit, trouble)
        else:
            await self._intake.keep(visit, fetched, document)
        if self.slots == 1:
            # One step at a time is repeatable only if the learner keeps step.
            await self._policy.catch_up()
        self._in_flight -= 1
        self._all_slots.give_back()
        self._wake.set()

    async def revisit(self, source: int) -> None:
        """A known page's next visit; its slot is free once what came of it is committed."""
        concern(crawl=self.id, source=source)
        await self._revisits.step(source)
        self._all_slots.give_back()
        self._wake.set()

    async def _keep_robots(self, answer: RobotsAnswer) -> None:
        await self._database.write(*robots.new_answer(answer))

    # ---- figures ----

    @property
    def seconds(self) -> float:
        """Time spent running, over all its runs; a pause does not count."""
        since = self._running_since
        return self._seconds_before + (0.0 if since is None else time.monotonic() - since)

    def _count_seconds(self) -> None:
        """What was counted so far is kept; from now on it counts if the crawl runs."""
        self._seconds_before = self.seconds
        self._running_since = time.monotonic() if self.state is CrawlState.RUNNING else None

    def summary(self) -> Summary:
        tally = self._tally
        return Summary.of(
            crawl_id=self.id,
            topic=self.record.topic.name,
            policy=self.record.policy,
            pages=tally.pages,
            relevant_pages=tally.relevant,
            sites=len(tally.sites),
            relevant_sites=tally.relevant_sites,
            failed=tally.failed,
            duplicates=tally.duplicates,
            waiting=len(self._frontier),
            leaves=self._frontier.leaves,
            seconds=self.seconds,
            stop_reason=self.stop_reason,
        )

    def tree(self) -> list[NodeLook]:
        """The nodes of the Tree-Frontier; none under a policy without one."""
        frontier = self._policy.frontier
        return frontier.look() if isinstance(frontier, ValuedFrontier) else []

    def politeness(self) -> Politeness:
        """Which hosts are let rest or left alone, and what was refused."""
        return Politeness(
            in_flight=self._in_flight + self._revisits.in_flight,
            resting=self._visits.resting(),
            quarantined=[one for one in self._visitor.quarantined() if self._places.knows(one.host)],
            sites_full=self._places.full_sites,
            refused=dict(self._ledger.refused),
        )
