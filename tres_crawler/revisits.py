"""Visiting known pages again: which and when, what has changed, and what becomes of a page that is gone."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from email.utils import parsedate_to_datetime

import numpy as np

from tres_crawler.config import RecrawlSettings
from tres_crawler.errors import BadStatus, Blocked, Disallowed, FetchError, Postponed
from tres_crawler.ledger import Ledger
from tres_crawler.parse import parse_page
from tres_crawler.records import Document, Fetched, Judgement, Outcome, Outlink, PageText, Validators
from tres_crawler.recrawl.allowance import Allowance, Clock, steady_clock
from tres_crawler.recrawl.estimate import Evidence
from tres_crawler.recrawl.news import News, prints_of, share_gone, whats_new
from tres_crawler.recrawl.scheduler import Beliefs, Finding, Scheduler
from tres_crawler.relevance import Relevance
from tres_crawler.store import crawls, pages, sources
from tres_crawler.store.database import AnyRow, Change, Database
from tres_crawler.store.pages import PageRecord
from tres_crawler.visits import Visits
from tres_crawler.watchlist import Watchlist

logger = logging.getLogger(__name__)

GONE = (404, 410)
MOVED = (301, 308)
"""For good; any other redirect may end with the maintenance, or whatever it is, that leads elsewhere."""
CONFIRMATIONS = 2
"""So many visits in a row must find a page gone, or moved, before it is given up."""
LOOK_AGAIN_SECONDS = 1.0
"""When nothing is due."""


class Revisits:
    """Every relevant page is a source until it is retired; a visit is saved whole, with what it changed."""

    def __init__(
        self,
        crawl: int,
        settings: RecrawlSettings,
        seed: int,
        slots: int,
        database: Database,
        relevance: Relevance,
        clock: Clock | None = None,
        beliefs: Beliefs | None = None,
    ) -> None:
        self.settings = settings
        self.in_flight = 0
        self.must_follow_judge = False
        """Whether pages may have been judged anew, so that `sync` is due."""
        self._crawl = crawl
        self._database = database
        self._relevance = relevance
        self._clock = clock or steady_clock()
        self.list = Watchlist(crawl, settings, seed, database, self._clock, beliefs)
        self._allowance = Allowance(settings, slots)
        self._one_sync = asyncio.Lock()
        self._visits: Visits
        self._ledger: Ledger

    def join(self, visits: Visits, ledger: Ledger) -> None:
        """Whom to ask for pages, and where to save; both know the crawl's other parts."""
        self._visits, self._ledger = visits, ledger

    @property
    def scheduler(self) -> Scheduler:
        return self.list.scheduler

    @property
    def is_on(self) -> bool:
        return self.settings.mode != "off"

    @property
    def monitors(self) -> bool:
        """Whether there is something left to do when nothing is left to discover."""
        return self.settings.mode == "monitor" and len(self.list) > 0

    # ---- which pages are sources ----

    async def restore(self) -> None:
        """Take up what was saved, and make sources of relevant pages that are none yet."""
        if self.is_on:
            await self.list.restore()
            await self.sync()

    async def sync(self) -> None:
        """Let sources follow what is held to be relevant by now."""
        if self.is_on:
            async with self._one_sync:
                await self._database.write(*await self.list.follow_judge())

    def adopt(self, page: PageRecord, number: int, fetched: Fetched, document: Document) -> list[Change]:
        """A page was found relevant: visit it again."""
        if not self.is_on:
            return []
        now = self._clock()
        evidence = Evidence(now, stated_at=_stated_at(fetched, now))
        return [
            *self.list.add(number, page.host, evidence, Validators.of(fetched)),
            sources.new_prints(self._crawl, number, prints_of(document.text).tobytes(), b""),
        ]

    # ---- choosing ----

    def earn(self) -> None:
        """A new page is being fetched, so known ones may be visited too."""
        self._allowance.earn_by_fetch()

    def choose(self, free: int, discovering: bool) -> Iterator[int]:
        """Sources to visit now; each has its host reserved."""
        if not self.is_on or free <= 0:
            return
        if not discovering:
            self._allowance.earn_by_time(time.monotonic())
        while (budget := min(free, int(self._allowance.visits))) > 0:
            found = self.scheduler.choose(self._clock(), budget)
            if not found:
                return
            for number in found:
                if self._visits.seize(self.list.host(number), charge=False):
                    free -= 1
                    self._allowance.visits -= 1
                    self.in_flight += 1
                    yield number
                else:
                    self.scheduler.give_back(number)

    @property
    def wait_seconds(self) -> float | None:
        """After which to look again when there is nothing to discover; None: no need to."""
        if not self.monitors:
            return None
        return max(self._allowance.wait_seconds, LOOK_AGAIN_SECONDS if self._allowance.visits >= 1 else 0.0)

    # ---- one visit ----

    async def step(self, number: int) -> None:
        """Ask for a page again; what is found is saved before the slot is free."""
        source = await sources.read(self._database, self._crawl, number)
        try:
            known = Validators(source.etag, source.last_modified)
            fetched = await self._visits.ask_again(source.url, source.host, known)
            document = await parse_page(fetched)
        except Postponed:
            self.scheduler.give_back(number)
            self._allowance.visits += 1
        except FetchError as trouble:
            await self._fail(source, trouble)
        else:
            await self._look(source, fetched, document)
        self.in_flight -= 1

    async def _fail(self, source: AnyRow, trouble: FetchError) -> None:
        """No page: it may be gone for good, or forbidden by now, or its host in trouble."""
        status = trouble.status if isinstance(trouble, BadStatus) else None
        logger.info("source %d: %s", source.page, trouble)
        if isinstance(trouble, Disallowed | Blocked) and not trouble.retry:
            await self._save(source, Finding(None), retire=trouble.reason)
        elif status in GONE:
            await self._miss(source, status, f"gone (status {status})")
        else:
            await self._save(source, Finding(None, status=status), missing=source.missing)

    async def _miss(self, source: AnyRow, status: int, reason: str, moved_to: str | None = None) -> None:
        missing = source.missing + 1
        retire = reason if missing >= CONFIRMATIONS else None
        outlinks = self._ledger.unseen([Outlink(moved_to, "")], 0) if moved_to else []
        looks = (await self._relevance.judge.judge(None, [outlink.anchor for outlink in outlinks])).anchors
        await self._save(source, Finding(None, status=status), missing, retire, outlinks=outlinks, looks=looks)

    async def _look(self, source: AnyRow, fetched: Fetched, document: Document) -> None:
        if fetched.location is not None and fetched.status in MOVED:
            await self._miss(source, fetched.status, f"moved to {fetched.location}", fetched.location)
        elif fetched.location is not None:
            await self._save(source, Finding(None, status=fetched.status), missing=source.missing)
        elif fetched.status == 304:
            await self._save(source, _finding(fetched, self._clock(), changed=False), fetched=fetched)
        else:
            await self._compare(source, fetched, document)

    async def _compare(self, source: AnyRow, fetched: Fetched, document: Document) -> None:
        """Hold a page against what it was."""
        if document.noindex:
            await self._save(source, Finding(None, status=fetched.status), retire="its owner does not want it kept")
            return
        if not document.text or source.body is None:
            # Nothing to compare, or nothing to compare with: this is its first version.
            first = sources.new_prints(self._crawl, source.page, prints_of(document.text).tobytes(), b"")
            finding = Finding(None, status=fetched.status, is_first=bool(document.text))
            await self._save(source, finding, fetched=fetched, others=[first] if finding.is_first else [])
            return
        news = whats_new(document.text, np.frombuffer(source.body, np.uint32))
        faded = share_gone(np.frombuffer(source.added, np.uint32), news.prints) if source.added else None
        outlinks = [] if document.nofollow else self._ledger.unseen(document.outlinks, source.depth)
        # A line alone is too little for a judge of pages: it reads what is new first, then the page as it is now.
        read = PageText(document.title, document.description, f"{news.added}\n{document.text}")
        anchors = [outlink.anchor for outlink in outlinks]
        judged = await self._relevance.judge.judge(read if news.changed else None, anchors)
        value = news.share * _relevance(judged.page) if judged.page else 0.0
        finding = _finding(fetched, self._clock(), news.changed, value, faded)
        await self._save(
            source,
            finding,
            fetched=fetched,
            outlinks=outlinks,
            looks=judged.anchors,
            others=self._news(source, news, value) if news.changed else (),
        )

    def _news(self, source: AnyRow, news: News, value: float) -> list[Change]:
        page = source.page
        logger.info("source %d has news: %.0f %%", page, 100 * news.share)
        told = {"page": page, "url": source.url, "share": round(news.share, 3), "value": round(value, 3)}
        return [
            sources.prints_change(self._crawl, page, news.prints.tobytes(), prints_of(news.added).tobytes()),
            sources.new_news(self._crawl, page, self._clock(), news.share, value, news.segments),
            crawls.event(self._crawl, "source changed", **told),
        ]

    async def _save(
        self,
        source: AnyRow,
        finding: Finding,
        missing: int = 0,
        retire: str | None = None,
        fetched: Fetched | None = None,
        outlinks: Sequence[Outlink] = (),
        looks: Iterable[float] = (),
        others: Sequence[Change] = (),
    ) -> None:
        """Learn from a visit and commit it as one."""
        number, now = source.page, self._clock()
        if number not in self.list:
            return  # retired meanwhile
        self.list.observe(number, now, finding)
        known = Validators(source.etag, source.last_modified)
        known = known.after(fetched) if fetched else known
        changed_at = now if finding.changed else source.changed_at
        state = self.list.state(number, now, known, changed_at, missing)
        retirement: list[Change] = []
        if retire:
            state |= {"retired_at": now, "retired_reason": retire}
            retirement = self.list.retire(number, retire)
        told = {"status": finding.status, "seconds": finding.seconds, "bytes": finding.bytes}
        changes = [
            sources.source_change(self._crawl, number, state),
            sources.new_visit(self._crawl, number, now, {**told, "changed": bool(finding.changed)}),
            sources.progress_change(self._crawl, self.list.progress()),
            *retirement,
            *others,
        ]
        if outlinks:
            await self._ledger.save_more(await self._page(number), outlinks, looks, changes)
        else:
            await self._database.write(*changes)

    async def _page(self, number: int) -> PageRecord:
        row = await pages.read(self._database, self._crawl, number)
        link = await self._ledger.link(row.link)
        outcome = Outcome(row.outcome)
        return PageRecord(number, link, row.url, row.host, row.site, outcome, row.fetched_at, reward=row.reward)


def _finding(fetched: Fetched, now: float, changed: bool, value: float = 0.0, faded: float | None = None) -> Finding:
    return Finding(changed, value, fetched.seconds, len(fetched.body), fetched.status, _stated_at(fetched, now), faded)


def _relevance(judged: Judgement) -> float:
    """How sure a judge is says little about how relevant a page is: what it holds relevant counts fully."""
    return 1.0 if judged.relevant else judged.probability


def _stated_at(fetched: Fetched, now: float) -> float | None:
    """When a page says that it last changed, by our clock: its server's may be wrong, so its Date counts."""
    said = {name.lower(): value for name, value in fetched.headers}
    try:
        age = parsedate_to_datetime(said["date"]) - parsedate_to_datetime(said["last-modified"])
    except (KeyError, ValueError, TypeError, OverflowError):
        return None
    return now - age.total_seconds()


MakeRevisits = Callable[..., Revisits]
"""Takes the arguments of Revisits that a crawl gives: all but clock and beliefs."""
