"""The books of one crawl: pages and links get their numbers here, and every step is committed whole."""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

from tres_crawler.config import CrawlSettings
from tres_crawler.frontier.frontier import Frontier
from tres_crawler.frontier.places import Places
from tres_crawler.policies.policy import Named, PageFact, Policy
from tres_crawler.records import Link, LinkState, Offer, Outcome, Outlink, Summary
from tres_crawler.seen import SavedPage, Seen
from tres_crawler.store import crawls, links, pages
from tres_crawler.store.database import Change, Database
from tres_crawler.store.pages import PageRecord
from tres_crawler.traps import Trap
from tres_crawler.urls import DEFAULT_RULES, UrlRules, canonical
from tres_crawler.visits import Visit

logger = logging.getLogger(__name__)

METRIC_EVERY_PAGES = 10
SEED_PROMISE = 2.0
"""More than any link can have: what a person names comes first."""


@dataclass
class Tally:
    """What has been fetched so far."""

    pages: int = 0
    relevant: int = 0
    failed: int = 0
    duplicates: int = 0
    sites: set[int] = field(default_factory=set)
    relevant_of_site: Counter[int] = field(default_factory=Counter)
    """Of sites that have any."""

    @property
    def relevant_sites(self) -> int:
        return len(self.relevant_of_site)

    def judge_again(self, site: int, before: bool, now: bool) -> bool:
        """A page is judged otherwise; whether it is the first relevant one of its site."""
        self.relevant += now - before
        self.relevant_of_site[site] += now - before
        if not self.relevant_of_site[site]:
            del self.relevant_of_site[site]
        return now > before and self.relevant_of_site[site] == 1

    def add(self, site: int, outcome: Outcome, relevant: bool) -> None:
        self.pages += 1
        self.sites.add(site)
        self.failed += outcome is Outcome.FAILED
        self.duplicates += outcome is Outcome.DUPLICATE
        if relevant:
            self.relevant += 1
            self.relevant_of_site[site] += 1


class Ledger:
    """Nothing is numbered twice, and the frontier learns of links once their rows are queued to be saved."""

    def __init__(
        self,
        crawl: int,
        settings: CrawlSettings,
        rules: UrlRules,
        database: Database,
        frontier: Frontier,
        policy: Policy,
        places: Places,
        seen: Seen,
        figures: Callable[[], Summary],
    ) -> None:
        self.tally = Tally()
        self.refused: Counter[str] = Counter()
        """Links that are not asked for, by reason."""
        self.seed_troubles: list[str] = []
        """Why seeds could not be had."""
        self._crawl = crawl
        self.settings = settings
        self._rules = rules
        self._database = database
        self._frontier = frontier
        self._policy = policy
        self._places = places
        self._seen = seen
        self._figures = figures
        self.last_link = 0
        """The number given last."""
        self._uncommitted: dict[int, Link] = {}

    async def restore(self) -> list[PageFact]:
        """Take up what was saved: figures, sites and their caps, what has been seen."""
        database = self._database
        self._places.restore(
            await links.known_sites(database, self._crawl), await links.known_hosts(database, self._crawl)
        )
        async for urls in links.placed(database, self._crawl):
            self._seen.restore(urls)
        saved = []
        async for row in pages.outcomes(database, self._crawl):
            outcome = Outcome(row.outcome)
            self.tally.add(row.site, outcome, row.relevant)
            self._places.charge(row.site)
            self._seen.remember(SavedPage(row.number, row.url, outcome, row.relevant, row.text_key, row.simhash))
            saved.append(PageFact(row.number, row.source, row.site, row.relevant, row.link_host))
        self._places.tighten(self.tally.pages / self.settings.max_pages)
        self.last_link = await links.last_number(database, self._crawl)
        self.refused = Counter(await links.refusals(database, self._crawl))
        return saved

    @property
    def has_begun(self) -> bool:
        """Whether any link was ever placed."""
        return self.last_link > 0

    def unseen(self, outlinks: Sequence[Outlink], depth: int) -> list[Outlink]:
        """Those of a page at a depth that were never placed and may be."""
        if depth >= self.settings.max_depth:
            return []
        return [outlink for outlink in outlinks if not self._seen.knows(outlink.url)]

    async def link(self, number: int) -> Link:
        return self._uncommitted.get(number) or await links.read(self._database, self._crawl, number)

    # ---- saving ----

    async def save_seeds(self, urls: Sequence[str], changes: Sequence[Change]) -> int:
        """Place links that stand on no page; how many of them wait now that were never seen before."""
        found = [Outlink(url, "") for url in urls]
        placed, at, _ = self._describe(found, None, 0, [SEED_PROMISE] * len(found))
        refused = [f"not asked for ({trap}): {link.url}" for link in placed if (trap := self._seen.refusal(link.url))]
        self.seed_troubles += refused
        features = self._policy.describe_seeds(_chosen(found, at, placed), self._sites(placed))
        await self.save(_featured(placed, features), changes)
        return len(placed) - len(refused)

    async def save_redirect(self, visit: Visit, target: str | None, hops: int, reason: str) -> None:
        """A link has led elsewhere: to a URL already known, or to one that waits in its place."""
        link = visit.link
        found = [Outlink(target, link.anchor)] if target else []
        described, _, _ = self._describe(found, link.source, link.depth, [link.promise] * len(found))
        placed = [replace(new, hops=hops, features=link.features) for new in described]
        await self.save(placed, [links.end_link(self._crawl, link.number, LinkState.REDIRECTED, reason)])

    def page(self, visit: Visit, **known: object) -> PageRecord:
        """What came of a visit; its number is given when it is saved."""
        base = PageRecord(
            number=0,
            link=visit.link,
            url=visit.url,
            host=visit.host,
            site=self._places.site(visit.host),
            outcome=Outcome.JUDGED,
            fetched_at=time.time(),
            value=visit.chosen.value,
            leaf=visit.chosen.leaf,
            explored=visit.chosen.explored,
            learner_version=visit.learner_version,
            features=visit.chosen.features,
        )
        return replace(base, **known)  # type: ignore[arg-type]  # checked by the fields of PageRecord

    async def save_page(
        self,
        page: PageRecord,
        outlinks: Sequence[Outlink] = (),
        looks: Iterable[float] = (),
        others: Callable[[int], Sequence[Change]] = lambda _: (),
    ) -> None:
        """Number the page, learn from it, place its outlinks, and commit it all as one.

        `looks` are the probabilities of the anchors; `others` is told the page's number and says what else is to be
        saved with it.
        """
        self.tally.add(page.site, page.outcome, page.reward > 0)
        page = replace(page, number=self.tally.pages)
        self._seen.remember(
            SavedPage(page.number, page.url, page.outcome, page.reward > 0, page.text_key, page.simhash)
        )
        self._places.tighten(page.number / self.settings.max_pages)
        looks = np.asarray(looks, np.float32)
        promises = (looks + page.reward / 2).tolist()
        placed, at, again = self._describe(outlinks, page.number, page.link.depth + 1, promises)
        new = _chosen(outlinks, at, placed)
        features, learned = self._policy.arrive(page, new, looks[at], self._sites(placed))
        # Not before: what a page says of itself would tell it from those that wait.
        learned += self._policy.hear(page, self._named(placed, again, looks[[*at, *again.values()]]))
        figures = self._figures()
        first = placed[0].number if placed else None
        page = replace(page, outlinks=len(outlinks), first_link=first, new_links=len(placed))
        changes = [
            *pages.new_page(self._crawl, page),
            links.end_link(self._crawl, page.link.number, LinkState.FETCHED),
            crawls.seconds_change(self._crawl, figures.seconds),
            *others(page.number),
            *learned,
            *self._first_of_site(page),
        ]
        if page.number % METRIC_EVERY_PAGES == 0:
            changes.append(crawls.metric_point(figures))
        said = "relevant" if page.reward else "irrelevant" if page.judgement else page.outcome
        value = "-" if page.value is None else f"{page.value:.2f}"
        told = (page.number, said, page.reward, value, page.leaf, page.url)
        logger.info("step %d %s reward=%g value=%s leaf=%d %s", *told)
        await self.save(_featured(placed, features), changes)

    async def save_more(
        self, page: PageRecord, outlinks: Sequence[Outlink], looks: Iterable[float], changes: Sequence[Change]
    ) -> None:
        """Place links that a page has gained since it was saved, together with what else came of visiting it again."""
        looks = np.asarray(looks, np.float32)
        promises = (looks + page.reward / 2).tolist()
        placed, at, _ = self._describe(outlinks, page.number, page.link.depth + 1, promises)
        new = _chosen(outlinks, at, placed)
        features = self._policy.describe_more(page, new, looks[at], self._sites(placed)) if placed else None
        await self.save(_featured(placed, features), changes)

    async def save(self, described: Sequence[Link], changes: Sequence[Change]) -> None:
        """Commit one whole step; links that look like traps are kept as refused."""
        refused: dict[Trap, list[Link]] = {}
        placed: list[Link] = []
        for link in described:
            trap = self._seen.refusal(link.url)
            (refused.setdefault(trap, []) if trap else placed).append(link)
        self.refused.update({str(trap): len(found) for trap, found in refused.items()})
        committed = self._database.queue(
            [
                links.new_sites(self._crawl, self._places.unsaved_sites),
                links.new_hosts(self._crawl, self._places.unsaved_hosts),
                links.new_links(self._crawl, placed),
                *(links.new_links(self._crawl, found, LinkState.REFUSED, trap) for trap, found in refused.items()),
                *changes,
            ]
        )
        self._places.unsaved_sites.clear()
        self._places.unsaved_hosts.clear()
        self._uncommitted.update((link.number, link) for link in placed)
        self._frontier.place(Offer.of(link) for link in placed)
        await committed
        for link in placed:
            del self._uncommitted[link.number]

    # ---- in between ----

    def _first_of_site(self, page: PageRecord) -> list[Change]:
        """Tell of a site's first relevant page."""
        if page.reward == 0 or self.tally.relevant_of_site[page.site] > 1:
            return []
        name = self._places.site_names[page.site]
        return [crawls.relevant_site(self._crawl, name, page.number, page.url, page.title)]

    def _describe(
        self, outlinks: Iterable[Outlink], source: int | None, depth: int, promises: Iterable[float]
    ) -> tuple[list[Link], list[int], dict[str, int]]:
        """The outlinks that were never seen before, as numbered links; which of them they are; likewise the others."""
        placed, found = [], []
        again: dict[str, int] = {}
        for at, (outlink, promise) in enumerate(zip(outlinks, promises, strict=True)):
            url = outlink.url if self._rules == DEFAULT_RULES else canonical(outlink.url, rules=self._rules)
            if not url:
                continue
            if self._seen.add(url):
                self.last_link += 1
                host = self._places.host(url)
                placed.append(Link(self.last_link, url, host, source, depth, outlink.anchor, promise=promise))
                found.append(at)
            else:
                again.setdefault(url, at)
        # A page may name a link twice, and one as its own address: that is no other page that names it.
        for link in placed:
            again.pop(link.url, None)
        return placed, found, again

    def _named(self, placed: Sequence[Link], again: Iterable[str], looks: npt.NDArray[np.float32]) -> Named:
        hosts = [*(link.host for link in placed), *map(self._places.host, again)]
        urls = [*(link.url for link in placed), *again]
        return Named(urls, self._places.sites(np.array(hosts, np.int32)), looks, len(placed))

    def _sites(self, placed: Sequence[Link]) -> npt.NDArray[np.int64]:
        return self._places.sites(np.array([link.host for link in placed], np.int32))


def _chosen(outlinks: Sequence[Outlink], at: Sequence[int], placed: Sequence[Link]) -> list[Outlink]:
    """Some of the outlinks, under the URLs that they were placed by."""
    return [replace(outlinks[row], url=link.url) for row, link in zip(at, placed, strict=True)]


def _featured(placed: Sequence[Link], features: npt.NDArray[np.float32] | None) -> list[Link]:
    """The links with their rows of features, under a policy that needs any."""
    if features is None:
        return list(placed)
    return [replace(link, features=row) for link, row in zip(placed, features, strict=True)]
