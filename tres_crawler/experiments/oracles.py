"""Crawls that know the truth, for bounds: a judge that is always right, a policy that sees what links lead to.

`python -m tres_crawler.experiments.oracles` crawls as `tres crawl` does, with either put in from outside: the product
knows neither.
"""

from __future__ import annotations

import argparse
import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from functools import lru_cache
from pathlib import Path
from typing import TypeGuard

import numpy as np

from tres_crawler.classify.model import Model
from tres_crawler.config import Settings
from tres_crawler.crawl import Crawl
from tres_crawler.experiments.crawling import scaled
from tres_crawler.founding import create_crawl
from tres_crawler.frontier.scored import RescoredFrontier
from tres_crawler.policies.policy import Floats, Numbers, PageFact, PlainPolicy, Policy, Surroundings
from tres_crawler.policies.registry import create_policy
from tres_crawler.records import Offer, Outlink, PageText, Summary
from tres_crawler.relevance import Relevance
from tres_crawler.simweb.describe import resolve, split
from tres_crawler.simweb.links import links_of
from tres_crawler.simweb.model import PROMISING_FORMS, Page, Web
from tres_crawler.store import crawls, links
from tres_crawler.store.database import Change, Database
from tres_crawler.store.datadir import DataDir
from tres_crawler.store.pages import PageRecord
from tres_crawler.topic import load_topic

MODULE = "tres_crawler.experiments.oracles"
STAND_IN = "best-first"
"""What a crawl whose policy is the oracle says that it is: settings know only policies of the product."""
MOST_OUTLINKS = 100
KEPT = 300_000
"""Links lead to the same pages again and again."""
NOWHERE = (-1, -1)
"""Where a link leads that does not answer, or may not be asked."""
SEEMING = (-2, -2)
"""The same, of one that promises a relevant page."""


class TruthfulModel:
    """Judges pages by the truth of the web; anchors as the judge beside it does."""

    kind = "truth"
    threshold = 0.5

    def __init__(self, web: Web, topic: str, beside: Model) -> None:
        self._web = web
        self._topic = topic
        self._beside = beside

    def pages(self, pages: Sequence[PageText]) -> Floats:
        true = [self._web.topic_of(*split(page.url)) == self._topic for page in pages]
        return np.array(true, np.float32)

    def anchors(self, anchors: Sequence[str]) -> Floats:
        return self._beside.anchors(anchors)


Content = tuple[int, int]
"""Site and number of a page; copies of it have the same."""


class Oracle:
    """Knows what links lead to: relevant pages first, then pages that name most relevant ones nobody has named yet.

    It is greedy and looks one step ahead, so it is no bound: whoever goes a longer way for more may have more.
    """

    def __init__(self, web: Web, topic: str) -> None:
        self._web = web
        self._number = web.topic_names.index(topic)
        self._taken: set[Content] = set()
        self._named: set[Content] = set()
        self._names = lru_cache(maxsize=KEPT)(self._relevant_targets)
        self._led_to = lru_cache(maxsize=KEPT)(lambda url: resolve(web, *split(url))[1])

    def describe(self, outlinks: Sequence[Outlink], source: str = "") -> Floats:
        """The pages that the links of a page lead to, by site and number, which are thereby named."""
        pages = [self._led_to(outlink.url) for outlink in outlinks]
        self._named.update(self._content(page) for page in pages if page)
        rows = [(page.site, page.number) if self._answers(page) else NOWHERE for page in pages]
        return np.array(rows, np.float32).reshape(-1, len(NOWHERE))

    def worth(self, site: int, number: int) -> float:
        if site < 0:
            return -1.0
        page = self._page(site, number)
        if self._content(page) in self._taken:
            return 0.0
        return float(self._is_wanted(page)) + len(self._names(page) - self._named) / (MOST_OUTLINKS + 1)

    def take(self, site: int, number: int) -> None:
        if site >= 0:
            self._taken.add(self._content(self._page(site, number)))

    def _page(self, site: int, number: int) -> Page:
        return self._web.page(self._web.sites[site], number)

    def _answers(self, page: Page | None) -> TypeGuard[Page]:
        return page is not None and not self._web.is_broken(page) and not self._web.is_forbidden(page)

    def _is_wanted(self, page: Page) -> bool:
        return self._web.truth(page) == self._number

    def _content(self, page: Page) -> Content:
        shown = self._web.shown(page)
        return shown.site, shown.number

    def _relevant_targets(self, page: Page) -> frozenset[Content]:
        pages = (self._led_to(link.url) for link in links_of(self._web, page))
        relevant = {self._content(other) for other in pages if other and self._is_wanted(other)}
        return frozenset(sorted(relevant)[:MOST_OUTLINKS])


class TopicOracle(Oracle):
    """Knows which topic every link promises, and what pages of other topics lead to, but not which promises are kept.

    Addresses where nothing is, pages that fail, thin pages and copies are to it what they seem. Foreign pages and
    farms, which give themselves away by their names and sites, it knows.
    """

    def describe(self, outlinks: Sequence[Outlink], source: str = "") -> Floats:
        rows = super().describe(outlinks)
        dead = [at for at, outlink in enumerate(outlinks) if self._led_to(outlink.url) is None]
        if dead and (page := self._led_to(source) if source else None):
            promises = {_address(link.url): link.promise for link in links_of(self._web, page)}
            for at in dead:
                if promises.get(_address(outlinks[at].url)) == self._number:
                    rows[at] = SEEMING
        return rows

    def worth(self, site: int, number: int) -> float:
        # Alike for all that seem relevant: what a page leads to would tell which of them are dead ends.
        return 1.0 if (site, number) == SEEMING else min(super().worth(site, number), 1.0)

    def _is_wanted(self, page: Page) -> bool:
        return page.subject == self._number and page.form in PROMISING_FORMS

    def _answers(self, page: Page | None) -> TypeGuard[Page]:
        return page is not None and not self._web.is_forbidden(page)

    def _content(self, page: Page) -> Content:
        return page.site, page.number


def _address(url: str) -> str:
    """Without the query, in which every answer of a site may have a session of its own."""
    return url.partition("?")[0]


class FallingFrontier(RescoredFrontier):
    """What links are worth only falls: the first that is still worth what it was is the best."""

    def __init__(self, oracle: Oracle) -> None:
        super().__init__(lambda placed: [oracle.worth(*_page(link)) for link in placed])
        self._oracle = oracle

    def offer(self) -> list[Offer]:
        while offers := super().offer():
            whole = self._whole[offers[0].link]
            if self._score([whole])[0] >= offers[0].promise:
                return offers
            super().take(whole)
            self.place([whole])
        return []

    def take(self, offer: Offer) -> None:
        self._oracle.take(*_page(self._whole[offer.link]))
        super().take(offer)


class OraclePolicy(PlainPolicy):
    """A link's page is all its features."""

    def __init__(self, crawl: int, oracle: Oracle) -> None:
        super().__init__(crawl, FallingFrontier(oracle))
        self._oracle = oracle

    async def restore(self, database: Database, pages: Sequence[PageFact], judge_version: int) -> None:
        self.frontier.place(await links.waiting_with_features(database, self._crawl))

    def describe_seeds(self, seeds: Sequence[Outlink], sites: Numbers) -> Floats:
        return self._oracle.describe(seeds)

    def arrive(
        self, page: PageRecord, outlinks: Sequence[Outlink], looks: Floats, sites: Numbers
    ) -> tuple[Floats, list[Change]]:
        return self._oracle.describe(outlinks, page.url), []

    def describe_more(self, page: PageRecord, outlinks: Sequence[Outlink], looks: Floats, sites: Numbers) -> Floats:
        return self._oracle.describe(outlinks, page.url)


ORACLE, TOPIC_ORACLE = "oracle", "topic-oracle"
ORACLES: Mapping[str, type[Oracle]] = {ORACLE: Oracle, TOPIC_ORACLE: TopicOracle}
"""Policies of the experiments, not of the product."""


def _page(link: Offer) -> Content:
    assert link.features is not None
    return int(link.features[0]), int(link.features[1])


async def crawled(given: argparse.Namespace) -> Summary:
    web = Web(scaled(given.family, given.web, given.scale))
    topic = load_topic(given.topic)
    settings = (
        Settings.load()
        # What is always right has nothing to learn.
        .replaced("relevance", {"relearn": False} if given.true_judge else {})
        .replaced("fetch", {"connect_to": given.connect_to})
        .replaced(
            "crawl",
            {
                "max_pages": given.pages,
                "seed": given.seed,
                "policy": STAND_IN if given.policy in ORACLES else given.policy,
            },
        )
    )

    def make_policy(around: Surroundings) -> Policy:
        oracle = ORACLES.get(given.policy)
        return OraclePolicy(around.crawl, oracle(web, topic.name)) if oracle else create_policy(around)

    with DataDir(given.data_dir) as folder:
        async with Database(folder.url) as database:
            number = await create_crawl(database, topic, settings, judge_from=given.judge_from)
            relevance = await Relevance.of_crawl(database, await crawls.get(database, number))
            if given.true_judge:
                judge = relevance.judge
                judge.switch(TruthfulModel(web, topic.name, judge.model), judge.version)
            return await (await Crawl.load(database, number, relevance=relevance, make_policy=make_policy)).run()


def main() -> None:
    parser = argparse.ArgumentParser(prog=f"python -m {MODULE}", description=__doc__)
    parser.add_argument("topic", type=Path)
    for name in ("--pages", "--seed", "--web", "--judge-from"):
        parser.add_argument(name, type=int)
    parser.add_argument("--scale", type=int, default=1)
    for name in ("--policy", "--connect-to", "--family"):
        parser.add_argument(name)
    parser.add_argument("--data-dir", type=Path)
    for name in ("--true-judge", "--json"):
        parser.add_argument(name, action="store_true")
    print(json.dumps(asdict(asyncio.run(crawled(parser.parse_args())))))


if __name__ == "__main__":
    main()
