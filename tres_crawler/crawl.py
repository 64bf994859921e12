"""The engine: one crawl, from its seeds to its stop reason."""

from __future__ import annotations

import asyncio
import heapq
import logging
import random
import secrets
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace

from tres_crawler.classify.prior import KeywordJudge
from tres_crawler.config import CrawlSettings, FetchSettings, Settings, overlaid, parse_site_cap
from tres_crawler.errors import BadStatus, ControlError, Disallowed, FetchError, Postponed, StoreError
from tres_crawler.fetch.robots import KEPT_SECONDS
from tres_crawler.fetch.visitor import Visitor
from tres_crawler.frontier.frontier import create_frontier
from tres_crawler.frontier.places import Places
from tres_crawler.parse import parse
from tres_crawler.records import (
    CrawlState,
    Document,
    Fetched,
    Link,
    LinkState,
    Offer,
    Outcome,
    Outlink,
    RobotsAnswer,
    StopReason,
    Summary,
    Topic,
)
from tres_crawler.store import crawls, links, pages, robots
from tres_crawler.store.crawls import CrawlRecord
from tres_crawler.store.database import Change, Database
from tres_crawler.store.pages import PageRecord
from tres_crawler.text import fingerprint

logger = logging.getLogger(__name__)

MAX_REDIRECTS = 5
METRIC_EVERY_PAGES = 50
STORED_SECTIONS = ("fetch", "crawl")
"""Settings that are kept with a crawl, so that a resumed one goes on as it began."""


class Redirected(Exception):
    """The page is elsewhere: at `target`, which becomes a link of its own, or at a URL already known (None)."""

    def __init__(self, target: str | None, reason: str) -> None:
        super().__init__(reason)
        self.target = target
        self.reason = reason


@dataclass
class Tally:
    """What has been fetched so far."""

    pages: int = 0
    relevant: int = 0
    failed: int = 0
    duplicates: int = 0
    sites: set[int] = field(default_factory=set)
    relevant_sites: set[int] = field(default_factory=set)

    def add(self, site: int, outcome: Outcome, relevant: bool) -> None:
        self.pages += 1
        self.sites.add(site)
        self.failed += outcome is Outcome.FAILED
        self.duplicates += outcome is Outcome.DUPLICATE
        if relevant:
            self.relevant += 1
            self.relevant_sites.add(site)


@dataclass
class Visit:
    """A step under way: its link, and where redirects have led it; that host and its site are charged."""

    link: Link
    url: str
    host: int


async def create(database: Database, topic: Topic, settings: Settings) -> int:
    """Write down a new crawl; `Crawl.load` then starts it like one that is resumed."""
    kept = {name: getattr(settings, name).model_dump() for name in STORED_SECTIONS}
    seed = settings.crawl.seed if settings.crawl.seed is not None else secrets.randbits(32)
    return await crawls.create(database, topic, kept, settings.crawl.policy, seed)


class Crawl:
    """Fetches the links that its frontier offers until the budget is spent; every step is saved whole.

    The event loop owns all state here: nothing between two awaits is interrupted.
    """

    def __init__(
        self,
        record: CrawlRecord,
        settings: CrawlSettings,
        fetch_settings: FetchSettings,
        database: Database,
        known_robots: Iterable[RobotsAnswer],
    ) -> None:
        self.id = record.id
        self.record = record
        self.settings = settings
        self.slots = fetch_settings.slots
        self.retries = fetch_settings.retries
        self.stop_reason: StopReason | None = None
        self.stop_detail: str | None = None
        self.state = CrawlState.RUNNING
        self.latest_url = ""
        self._database = database
        self._rng = random.Random()
        self._frontier = create_frontier(record.policy, self._rng)
        self._places = Places(parse_site_cap(settings.max_per_site), self._frontier)
        self._visitor = Visitor(fetch_settings, known_robots, self._keep_robots)
        self._judge = KeywordJudge(record.topic.keywords)
        self._seen: set[int] = set()
        self._texts: dict[int, int | None] = {}
        self._last_link = 0
        self._uncommitted: dict[int, Link] = {}
        self._tally = Tally()
        self._in_flight = 0
        self._resting: list[tuple[float, int]] = []
        """(time, host) heap: held hosts, and when their pause is over."""
        self._seed_troubles: list[str] = []
        self._suspended = False
        self._wake = asyncio.Event()
        self._started = time.monotonic()
        self._seconds_before = record.seconds

    # ---- load ----

    @classmethod
    async def load(cls, database: Database, crawl: int, max_pages: int | None = None) -> Crawl:
        """A crawl as it was last saved, or with its seeds placed when it has not begun."""
        record = await crawls.get(database, crawl)
        settings = overlaid(CrawlSettings(**record.settings["crawl"]), "crawl", {"max_pages": max_pages})
        known_robots = await robots.load(database, time.time() - KEPT_SECONDS)
        self = cls(record, settings, FetchSettings(**record.settings["fetch"]), database, known_robots)
        await self._restore()
        if not self._last_link:
            seeds = self._describe((Outlink(url, "") for url in record.topic.seeds), source=None, depth=0)
            await self._save(seeds, [crawls.event(self.id, "started", topic=record.topic.name)])
        return self

    async def _restore(self) -> None:
        database = self._database
        self._places.restore(await links.known_sites(database, self.id), await links.known_hosts(database, self.id))
        for row in await pages.outcomes(database, self.id):
            self._tally.add(row.site, Outcome(row.outcome), row.relevant)
            self._places.charge(row.site)
            if row.text_key is not None:
                self._texts.setdefault(row.text_key, row.number)
        self._places.tighten(self._tally.pages / self.settings.max_pages)
        self._seen = await links.seen(database, self.id)
        self._last_link = await links.last_number(database, self.id)
        self._frontier.place(await links.waiting(database, self.id))
        self._rng.seed(f"{self.record.random_seed}/{self._tally.pages}")

    # ---- run, pause, stop ----

    async def run(self) -> Summary:
        """Crawl until there is a reason to stop; steps in flight are finished first."""
        self._started = time.monotonic()
        reason: StopReason | None = None
        try:
            await self._database.write(crawls.state_change(self.id, self.state))
            async with self._visitor, asyncio.TaskGroup() as steps:
                while not self._suspended and (reason := self._over()) is None:
                    for offer in self.choose():
                        steps.create_task(self.step(offer))
                    await self._something_happens()
        except* StoreError as group:
            reason, self.stop_detail = StopReason.FAILED, str(group.exceptions[0])
        if reason is StopReason.NO_SEED:
            self.stop_detail = "; ".join(self._seed_troubles)
        if reason:
            await self._end(reason)
        if reason is StopReason.FAILED:
            # Pages that could not be saved must not be told as had.
            with suppress(StoreError):
                saved = await crawls.summary(self._database, await crawls.get(self._database, self.id))
                return replace(saved, stop_reason=reason)
        return self.summary()

    def pause(self) -> None:
        """Start no new step; those in flight finish."""
        if self.state is not CrawlState.RUNNING:
            raise ControlError(f"Crawl {self.id} is {self.state}; only a running crawl can be paused.")
        self._turn(CrawlState.PAUSED)

    def unpause(self) -> None:
        if self.state is not CrawlState.PAUSED:
            raise ControlError(f"Crawl {self.id} is {self.state}; only a paused crawl can be resumed.")
        self._turn(CrawlState.RUNNING)

    def stop(self) -> None:
        """End the crawl after the steps in flight."""
        if self.state not in (CrawlState.RUNNING, CrawlState.PAUSED):
            raise ControlError(f"Crawl {self.id} is {self.state}; there is nothing to stop.")
        self.state = CrawlState.STOPPED
        self._wake.set()

    def suspend(self) -> None:
        """Leave after the steps in flight, to be resumed by whoever starts next."""
        self._suspended = True
        self._wake.set()

    def _turn(self, state: CrawlState) -> None:
        self.state = state
        self._database.queue([crawls.state_change(self.id, state), crawls.event(self.id, state)])
        self._wake.set()

    def _over(self) -> StopReason | None:
        if self.state is CrawlState.STOPPED:
            return StopReason.STOPPED
        if self._tally.pages >= self.settings.max_pages:
            return StopReason.BUDGET
        if self._in_flight or self.state is CrawlState.PAUSED:
            return None
        if not len(self._frontier):
            no_seed = self._seed_troubles and self._tally.pages == self._tally.failed
            return StopReason.NO_SEED if no_seed else StopReason.FRONTIER_EMPTY
        if not self._resting and not self._frontier.offer():
            return StopReason.SITES_CAPPED
        return None

    async def _something_happens(self) -> None:
        """Wait for a step to end, a host to have rested, or a command."""
        until = max(0.0, self._resting[0][0] - time.monotonic()) if self._resting else None
        # Not wait_for: in Python 3.11 it can swallow the cancellation by which a failed step ends the others.
        with suppress(TimeoutError):
            async with asyncio.timeout(until):
                await self._wake.wait()
        self._wake.clear()

    async def _end(self, reason: StopReason) -> None:
        ended = {StopReason.STOPPED: CrawlState.STOPPED, StopReason.FAILED: CrawlState.FAILED}
        self.state = ended.get(reason, CrawlState.FINISHED)
        self._seconds_before, self.stop_reason = self.seconds, reason
        try:
            await self._database.write(
                crawls.state_change(self.id, self.state, reason, self.stop_detail),
                crawls.event(self.id, self.state, reason=reason, detail=self.stop_detail),
                crawls.seconds_change(self.id, self.seconds),
            )
        except StoreError:
            # A full disk cannot be told about itself; the crawl is found interrupted and can be resumed.
            logger.warning("crawl %d: its end could not be saved", self.id)

    # ---- one step ----

    def choose(self) -> Iterator[Offer]:
        """Fill the free slots; a link taken has its host, its site's cap and its place in the budget reserved."""
        self._release_rested()
        while (
            self.state is CrawlState.RUNNING
            and self._in_flight < self.slots
            and self._tally.pages + self._in_flight < self.settings.max_pages
            and (offers := self._frontier.offer())
        ):
            offer = offers[0]
            self._frontier.take(offer)
            self._seize(offer.host)
            self._in_flight += 1
            yield offer

    async def step(self, offer: Offer) -> None:
        """One link's journey: fetch, parse, judge, describe, place, save. Its slot is free once that is committed."""
        link = self._uncommitted.get(offer.link) or await links.read(self._database, self.id, offer.link)
        visit = Visit(link, link.url, link.host)
        self.latest_url = link.url
        try:
            fetched = await self._fetch(visit)
        except Postponed:
            self._places.refund(self._places.site(visit.host))
            self._frontier.place([offer])
        except Redirected as elsewhere:
            await self._follow_later(visit, elsewhere)
        except FetchError as trouble:
            await self._fail(visit, offer, trouble)
        else:
            await self._keep(visit, fetched)
        self._in_flight -= 1
        self._wake.set()

    async def _fetch(self, visit: Visit) -> Fetched:
        """The page behind a link; a redirect is followed while its host is ready and its site below the cap."""
        for _ in range(MAX_REDIRECTS + 1):
            try:
                fetched = await self._visitor.get(visit.url)
            finally:
                self._let_rest(visit.host)
            if fetched.location is None:
                return fetched
            self._move(visit, fetched.location)
        raise FetchError(visit.url, f"more than {MAX_REDIRECTS} redirects")

    def _move(self, visit: Visit, target: str) -> None:
        """Take a visit to where it was sent, or say that the target must wait like any other link."""
        if fingerprint(target) in self._seen:
            raise Redirected(None, f"redirects to {target}, which is known")
        host = self._places.host(target)
        here, there = self._places.site(visit.host), self._places.site(host)
        if not self._visitor.is_free(self._places.names[host]) or (here != there and self._places.is_full(there)):
            raise Redirected(target, f"redirects to {target}")
        self._seen.add(fingerprint(target))
        self._places.refund(here)
        self._seize(host)
        visit.url, visit.host = target, host

    async def _keep(self, visit: Visit, fetched: Fetched) -> None:
        """Parse and judge what was fetched, and save it."""
        document = parse(fetched)
        page = self._page(
            visit,
            status=fetched.status,
            seconds=fetched.seconds,
            bytes=len(fetched.body),
            title=document.title,
        )
        if not document.text:
            await self._save_page(replace(page, outcome=Outcome.EMPTY), document)
            return
        text_key = fingerprint(document.text)
        if text_key in self._texts:
            original = self._texts[text_key]
            await self._save_page(replace(page, outcome=Outcome.DUPLICATE, text_key=text_key, duplicate_of=original))
            return
        self._texts[text_key] = None  # known from here on; its page number follows
        judgement = await self._judge.judge(document)
        page = replace(page, text_key=text_key, judgement=judgement, reward=float(judgement.relevant))
        await self._save_page(page, document)

    async def _fail(self, visit: Visit, offer: Offer, trouble: FetchError) -> None:
        """Write trouble down as what became of the link: to be tried again, refused, or a failed page."""
        link = visit.link
        logger.info("link %d: %s", link.number, trouble)
        if trouble.retry and link.attempts < self.retries:
            self._places.refund(self._places.site(visit.host))
            await self._save([], [links.count_attempt(self.id, link, trouble.reason)])
            self._frontier.place([offer])
            return
        if link.source is None:
            self._seed_troubles.append(str(trouble))
        if isinstance(trouble, Disallowed):
            self._places.refund(self._places.site(visit.host))
            await self._save([], [links.end_link(self.id, link.number, LinkState.REFUSED, trouble.reason)])
            return
        status = trouble.status if isinstance(trouble, BadStatus) else None
        await self._save_page(self._page(visit, outcome=Outcome.FAILED, reason=trouble.reason, status=status))

    async def _follow_later(self, visit: Visit, elsewhere: Redirected) -> None:
        self._places.refund(self._places.site(visit.host))
        link = visit.link
        found = [Outlink(elsewhere.target, link.anchor)] if elsewhere.target else []
        placed = self._describe(found, link.source, link.depth)
        await self._save(placed, [links.end_link(self.id, link.number, LinkState.REDIRECTED, elsewhere.reason)])

    # ---- hosts ----

    def _seize(self, host: int) -> None:
        self._visitor.reserve(self._places.names[host])
        self._frontier.hold(host)
        self._places.charge(self._places.site(host))

    def _let_rest(self, host: int) -> None:
        heapq.heappush(self._resting, (self._visitor.free_at(self._places.names[host]), host))
        self._wake.set()

    def _release_rested(self) -> None:
        now = time.monotonic()
        while self._resting and self._resting[0][0] <= now:
            self._frontier.release(heapq.heappop(self._resting)[1])

    async def _keep_robots(self, answer: RobotsAnswer) -> None:
        await self._database.write(robots.new_answer(answer))

    # ---- placing and saving ----

    def _describe(self, outlinks: Iterable[Outlink], source: int | None, depth: int) -> list[Link]:
        """The outlinks that were never seen before, as numbered links."""
        placed = []
        for outlink in outlinks:
            key = fingerprint(outlink.url)
            if key not in self._seen:
                self._seen.add(key)
                self._last_link += 1
                host = self._places.host(outlink.url)
                placed.append(Link(self._last_link, outlink.url, host, source, depth, outlink.anchor))
        return placed

    def _page(self, visit: Visit, **known: object) -> PageRecord:
        base = PageRecord(
            number=0,
            link=visit.link,
            url=visit.url,
            host=visit.host,
            site=self._places.site(visit.host),
            outcome=Outcome.JUDGED,
            fetched_at=time.time(),
        )
        return replace(base, **known)  # type: ignore[arg-type]  # checked by the fields of PageRecord

    async def _save_page(self, page: PageRecord, document: Document | None = None) -> None:
        """Number the page, place its outlinks, and commit it all as one."""
        self._tally.add(page.site, page.outcome, page.reward > 0)
        page = replace(page, number=self._tally.pages)
        if page.text_key is not None and page.outcome is not Outcome.DUPLICATE:
            self._texts[page.text_key] = page.number
        self._places.tighten(page.number / self.settings.max_pages)
        depth = page.link.depth + 1
        outlinks = document.outlinks if document and depth <= self.settings.max_depth else ()
        placed = self._describe(outlinks, page.number, depth)
        changes = [
            *pages.new_page(self.id, replace(page, outlinks=len(outlinks))),
            links.end_link(self.id, page.link.number, LinkState.FETCHED),
            crawls.seconds_change(self.id, self.seconds),
        ]
        if page.number % METRIC_EVERY_PAGES == 0:
            changes.append(crawls.metric_point(self.summary()))
        logger.info(
            "step %d %s reward=%g leaf=%d %s",
            page.number,
            page.outcome,
            page.reward,
            page.link.leaf,
            page.url,
        )
        await self._save(placed, changes)

    async def _save(self, placed: list[Link], changes: list[Change]) -> None:
        """Commit one whole step; the frontier learns of its links once their rows are queued."""
        committed = self._database.queue(
            [
                links.new_sites(self.id, self._places.unsaved_sites),
                links.new_hosts(self.id, self._places.unsaved_hosts),
                links.new_links(self.id, placed),
                *changes,
            ]
        )
        self._places.unsaved_sites.clear()
        self._places.unsaved_hosts.clear()
        self._uncommitted.update((link.number, link) for link in placed)
        self._frontier.place(Offer(link.number, link.host, link.leaf) for link in placed)
        await committed
        for link in placed:
            del self._uncommitted[link.number]

    # ---- figures ----

    @property
    def seconds(self) -> float:
        """Time spent running, over all its runs."""
        return self._seconds_before + (time.monotonic() - self._started if self.stop_reason is None else 0.0)

    def summary(self) -> Summary:
        tally = self._tally
        return Summary.of(
            crawl_id=self.id,
            topic=self.record.topic.name,
            policy=self.record.policy,
            pages=tally.pages,
            relevant_pages=tally.relevant,
            sites=len(tally.sites),
            relevant_sites=len(tally.relevant_sites),
            failed=tally.failed,
            duplicates=tally.duplicates,
            waiting=len(self._frontier),
            leaves=self._frontier.leaves,
            seconds=self.seconds,
            stop_reason=self.stop_reason,
        )
