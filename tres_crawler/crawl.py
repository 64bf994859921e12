"""The engine: one crawl, from its seeds to its stop reason."""

from __future__ import annotations

import asyncio
import logging
import random
import secrets
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

from tres_crawler.classify.prior import KeywordJudge
from tres_crawler.config import CrawlSettings, FetchSettings, Settings, UrlSettings, overlaid, parse_site_cap
from tres_crawler.errors import BadStatus, Blocked, ControlError, Disallowed, FetchError, Postponed, StoreError
from tres_crawler.fetch.pace import Pace
from tres_crawler.fetch.robots import KEPT_SECONDS, Robots
from tres_crawler.fetch.visitor import Visitor
from tres_crawler.frontier.frontier import create_frontier
from tres_crawler.frontier.places import Places
from tres_crawler.parse import parse_page
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
from tres_crawler.seen import Fingerprints, SavedPage, Seen
from tres_crawler.store import crawls, links, pages, robots
from tres_crawler.store.content import Content, Nothing
from tres_crawler.store.crawls import CrawlRecord
from tres_crawler.store.database import Change, Database
from tres_crawler.store.pages import PageRecord
from tres_crawler.traps import Trap
from tres_crawler.urls import DEFAULT_RULES, DROPPED_PARAMETERS, UrlRules, canonical
from tres_crawler.visits import Redirected, Visit, Visits

logger = logging.getLogger(__name__)

METRIC_EVERY_PAGES = 50
GIVE_UP_TROUBLES = 8
"""So many troubles in a row and a host is given up: what waits for it is refused."""
STORED_SECTIONS = ("fetch", "crawl", "urls")
"""Settings that are kept with a crawl, so that a resumed one goes on as it began."""


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


@dataclass(frozen=True)
class Manners:
    """What is known of hosts, whoever asks them: crawls of one process share it, so none is asked twice as hard."""

    pace: Pace
    robots: Robots

    @classmethod
    async def of(cls, database: Database, settings: FetchSettings) -> Manners:
        known = await robots.load(database, time.time() - KEPT_SECONDS)
        return cls(Pace(settings.delay_seconds, time.monotonic), Robots(time.time, known))


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
        url_settings: UrlSettings,
        database: Database,
        manners: Manners,
        content: Content,
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
        self._rules = UrlRules(DROPPED_PARAMETERS + url_settings.drop_parameters, url_settings.private_suffixes)
        self._places = Places(parse_site_cap(settings.max_per_site), self._frontier, url_settings.private_suffixes)
        self._visitor = Visitor(fetch_settings, manners.pace, manners.robots, self._keep_robots)
        self._judge = KeywordJudge(record.topic.keywords)
        self._content = content
        self._seen = Seen()
        self._last_link = 0
        self._uncommitted: dict[int, Link] = {}
        self._tally = Tally()
        self._in_flight = 0
        self._seed_troubles: list[str] = []
        self._suspended = False
        self._wake = asyncio.Event()
        self._visits = Visits(self._visitor, self._frontier, self._places, self._seen, self._wake.set)
        self._started = time.monotonic()
        self._seconds_before = record.seconds

    # ---- load ----

    @classmethod
    async def load(
        cls,
        database: Database,
        crawl: int,
        changed: Mapping[str, Any] | None = None,
        content: Content | None = None,
        manners: Manners | None = None,
    ) -> Crawl:
        """A crawl as it was last saved, or with its seeds placed when it has not begun.

        `changed` are crawl settings that take the place of those it was started with, for good.
        """
        record = await crawls.get(database, crawl)
        settings = overlaid(CrawlSettings(**record.settings["crawl"]), "crawl", changed or {})
        fetch_settings = FetchSettings(**record.settings["fetch"])
        manners = manners or await Manners.of(database, fetch_settings)
        url_settings = UrlSettings(**record.settings.get("urls", {}))
        self = cls(record, settings, fetch_settings, url_settings, database, manners, content or Nothing())
        await self._restore()
        begun = [crawls.settings_change(crawl, {**record.settings, "crawl": settings.model_dump()})]
        if self._last_link:
            await database.write(*begun)
        else:
            seeds = self._describe((Outlink(url, "") for url in record.topic.seeds), source=None, depth=0)
            await self._save(seeds, [*begun, crawls.event(self.id, "started", topic=record.topic.name)])
        return self

    async def _restore(self) -> None:
        database = self._database
        self._places.restore(await links.known_sites(database, self.id), await links.known_hosts(database, self.id))
        saved = await pages.outcomes(database, self.id)
        for row in saved:
            self._tally.add(row.site, Outcome(row.outcome), row.relevant)
            self._places.charge(row.site)
        self._places.tighten(self._tally.pages / self.settings.max_pages)
        self._seen.restore(
            await links.placed(database, self.id),
            (
                SavedPage(row.number, row.url, Outcome(row.outcome), row.relevant, row.text_key, row.simhash)
                for row in saved
            ),
        )
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
                while not self._suspended:
                    self._visits.release_rested()
                    if reason := self._over():
                        break
                    for offer in self.choose():
                        steps.create_task(self.step(offer))
                    await self._something_happens()
        except* StoreError as group:
            reason, self.stop_detail = StopReason.FAILED, str(group.exceptions[0])
        if reason is StopReason.NO_SEED:
            self.stop_detail = "; ".join(self._seed_troubles)
        self._content.close()
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
        if self._visits.next_due is None and not self._frontier.can_offer:
            return StopReason.SITES_CAPPED
        return None

    async def _something_happens(self) -> None:
        """Wait for a step to end, a host to have rested, or a command."""
        due = self._visits.next_due
        until = None if due is None else max(0.0, due - time.monotonic())
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
        while (
            self.state is CrawlState.RUNNING
            and self._in_flight < self.slots
            and self._tally.pages + self._in_flight < self.settings.max_pages
            and (offers := self._frontier.offer())
        ):
            offer = offers[0]
            if self._visits.seize(offer.host):
                self._frontier.take(offer)
                self._in_flight += 1
                yield offer

    async def step(self, offer: Offer) -> None:
        """One link's journey: fetch, parse, judge, describe, place, save. Its slot is free once that is committed."""
        link = self._uncommitted.get(offer.link) or await links.read(self._database, self.id, offer.link)
        visit = Visit.of(link)
        self.latest_url = link.url
        try:
            fetched = await self._visits.fetch(visit)
        except Postponed:
            self._visits.give_back(visit)
            self._frontier.place([offer])
        except Redirected as elsewhere:
            await self._follow_later(visit, elsewhere)
        except FetchError as trouble:
            await self._fail(visit, offer, trouble)
        else:
            await self._keep(visit, fetched)
        self._in_flight -= 1
        self._wake.set()

    async def _keep(self, visit: Visit, fetched: Fetched) -> None:
        """Parse and judge what was fetched, and save it."""
        document = await parse_page(fetched)
        page = self._page(
            visit, status=fetched.status, seconds=fetched.seconds, bytes=len(fetched.body), title=document.title
        )
        if document.noindex:
            await self._save_page(replace(page, outcome=Outcome.NOINDEX, title=""), document)
            return
        if not document.text:
            await self._save_page(replace(page, outcome=Outcome.EMPTY), document)
            return
        prints = Fingerprints.of(document.text)
        copy = self._seen.copy_of(document, prints)
        page = replace(page, text_key=prints.exact, simhash=prints.near)
        if copy:
            await self._save_page(
                replace(page, outcome=Outcome.DUPLICATE, duplicate_of=copy.original, reason=copy.reason)
            )
            return
        judgement = await self._judge.judge(document)
        page = replace(page, judgement=judgement, reward=float(judgement.relevant))
        await self._save_page(page, document, fetched)

    async def _fail(self, visit: Visit, offer: Offer, trouble: FetchError) -> None:
        """Write trouble down as what became of the link: to be tried again, refused, or a failed page."""
        link = visit.link
        logger.info("link %d: %s", link.number, trouble)
        if trouble.retry and link.attempts < self.retries:
            self._visits.give_back(visit)
            counted = links.count_attempt(self.id, link, trouble.reason)
            await self._save([], [counted, *self._quarantine(visit.host, trouble)])
            self._frontier.place([offer])
            return
        if link.source is None:
            self._seed_troubles.append(str(trouble))
        given_up = self._given_up(visit.host, trouble)
        if isinstance(trouble, Disallowed | Blocked):
            self._visits.give_back(visit)
            ended = links.end_link(self.id, link.number, LinkState.REFUSED, trouble.reason)
            await self._save([], [ended, *given_up])
            return
        status = trouble.status if isinstance(trouble, BadStatus) else None
        page = self._page(visit, outcome=Outcome.FAILED, reason=trouble.reason, status=status)
        await self._save_page(page, others=given_up)

    def _quarantine(self, host: int, trouble: FetchError) -> list[Change]:
        """Write down that a host is left alone for a while, when that begins."""
        name = self._places.names[host]
        if self._visitor.troubles(name) != Pace.QUARANTINE_TROUBLES:
            return []
        return [crawls.event(self.id, "quarantine", host=name, reason=trouble.reason)]

    def _given_up(self, host: int, trouble: FetchError) -> list[Change]:
        """Refuse all that waits for a host that has been in trouble too often in a row."""
        name = self._places.names[host]
        if self._visitor.troubles(name) < GIVE_UP_TROUBLES or not self._frontier.drop(host):
            return []
        logger.warning("host %s is given up: %s", name, trouble.reason)
        return [
            links.refuse_host(self.id, host, "host given up"),
            crawls.event(self.id, "host given up", host=name, reason=trouble.reason),
        ]

    async def _follow_later(self, visit: Visit, elsewhere: Redirected) -> None:
        self._visits.give_back(visit)
        link = visit.link
        found = [Outlink(elsewhere.target, link.anchor)] if elsewhere.target else []
        placed = [replace(new, hops=elsewhere.hops) for new in self._describe(found, link.source, link.depth)]
        await self._save(placed, [links.end_link(self.id, link.number, LinkState.REDIRECTED, elsewhere.reason)])

    async def _keep_robots(self, answer: RobotsAnswer) -> None:
        await self._database.write(robots.new_answer(answer))

    # ---- placing and saving ----

    def _describe(self, outlinks: Iterable[Outlink], source: int | None, depth: int) -> list[Link]:
        """The outlinks that were never seen before, as numbered links."""
        placed = []
        for outlink in outlinks:
            url = outlink.url if self._rules == DEFAULT_RULES else canonical(outlink.url, rules=self._rules)
            if url and self._seen.add(url):
                self._last_link += 1
                placed.append(Link(self._last_link, url, self._places.host(url), source, depth, outlink.anchor))
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

    async def _save_page(
        self,
        page: PageRecord,
        document: Document | None = None,
        fetched: Fetched | None = None,
        others: Sequence[Change] = (),
    ) -> None:
        """Number the page, place its outlinks, and commit it all as one."""
        self._tally.add(page.site, page.outcome, page.reward > 0)
        page = replace(page, number=self._tally.pages)
        self._seen.remember(
            SavedPage(page.number, page.url, page.outcome, page.reward > 0, page.text_key, page.simhash)
        )
        self._places.tighten(page.number / self.settings.max_pages)
        depth = page.link.depth + 1
        outlinks = _to_follow(document) if document and depth <= self.settings.max_depth else ()
        placed = self._describe(outlinks, page.number, depth)
        changes = [
            *pages.new_page(self.id, replace(page, outlinks=len(outlinks))),
            *(self._content.keep(page.number, fetched, document) if document and fetched else ()),
            links.end_link(self.id, page.link.number, LinkState.FETCHED),
            crawls.seconds_change(self.id, self.seconds),
            *others,
        ]
        if page.number % METRIC_EVERY_PAGES == 0:
            changes.append(crawls.metric_point(self.summary()))
        logger.info("step %d %s reward=%g leaf=%d %s", page.number, page.outcome, page.reward, page.link.leaf, page.url)
        await self._save(placed, changes)

    async def _save(self, described: list[Link], changes: list[Change]) -> None:
        """Commit one whole step; the frontier learns of its links once their rows are queued."""
        refused: dict[Trap, list[Link]] = {}
        placed: list[Link] = []
        for link in described:
            trap = self._seen.refusal(link.url, link.depth)
            (refused.setdefault(trap, []) if trap else placed).append(link)
        committed = self._database.queue(
            [
                links.new_sites(self.id, self._places.unsaved_sites),
                links.new_hosts(self.id, self._places.unsaved_hosts),
                links.new_links(self.id, placed),
                *(links.new_links(self.id, found, LinkState.REFUSED, trap) for trap, found in refused.items()),
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


def _to_follow(document: Document) -> tuple[Outlink, ...]:
    """A page's outlinks, the address it names as its proper one first."""
    named = document.canonical
    if not named or named == document.url or document.nofollow:
        return document.outlinks
    return (Outlink(named, document.title), *document.outlinks)
