"""Crawls that know the truth, for bounds: a judge that is always right, a policy that sees what links lead to.

`python -m tres_crawler.experiments.oracles` crawls as `tres crawl` does, with either put in from outside: the product
knows neither.
"""

from __future__ import annotations

import argparse
import asyncio
import json
from collections.abc import Sequence
from dataclasses import asdict
from functools import lru_cache
from pathlib import Path

import numpy as np

from tres_crawler.classify.model import Model
from tres_crawler.config import Settings
from tres_crawler.crawl import Crawl
from tres_crawler.experiments.crawling import scaled
from tres_crawler.founding import create_crawl
from tres_crawler.policies.policy import Floats, Policy, Surroundings
from tres_crawler.policies.registry import create_policy
from tres_crawler.policies.scored import ScoredPolicy
from tres_crawler.records import Outlink, PageText, Summary
from tres_crawler.relevance import Relevance
from tres_crawler.simweb.describe import resolve, split
from tres_crawler.simweb.links import links_of
from tres_crawler.simweb.model import Page, Web
from tres_crawler.store import crawls
from tres_crawler.store.database import Database
from tres_crawler.store.datadir import DataDir
from tres_crawler.store.pages import PageRecord
from tres_crawler.topic import load_topic

MODULE = "tres_crawler.experiments.oracles"
STAND_IN = "best-first"
"""What a crawl whose policy is the oracle says that it is: settings know only policies of the product."""
MOST_OUTLINKS = 100
KEPT = 300_000
"""Links lead to the same pages again and again."""


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


class Oracle:
    """Scores links by truth: those to relevant pages first, then those to pages with most relevant outlinks.

    Among relevant pages, too, the one with more relevant outlinks comes first. A content that a link was found to
    before is worth nothing again.
    """

    def __init__(self, web: Web, topic: str) -> None:
        self._web = web
        self._number = web.topic_names.index(topic)
        self._found: set[tuple[int, int]] = set()
        self._relevant_outlinks = lru_cache(maxsize=KEPT)(self._count)
        self._led_to = lru_cache(maxsize=KEPT)(lambda url: resolve(web, *split(url))[1])

    def score(self, page: PageRecord, outlinks: Sequence[Outlink], looks: Floats) -> Floats:
        return np.array([self._worth(outlink.url) for outlink in outlinks], np.float32)

    def _worth(self, url: str) -> float:
        page = self._led_to(url)
        if page is None or self._web.is_broken(page) or self._web.is_forbidden(page):
            return -1.0
        shown = self._web.shown(page)
        content = (shown.site, shown.number)
        relevant = self._web.truth(page) == self._number and content not in self._found
        self._found.add(content)
        return float(relevant) + self._relevant_outlinks(page) / (MOST_OUTLINKS + 1)

    def _count(self, page: Page) -> int:
        links = (self._led_to(link.url) for link in links_of(self._web, page))
        different = {(other.site, other.number) for other in links if other and self._web.truth(other) == self._number}
        return min(len(different), MOST_OUTLINKS)


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
                "policy": STAND_IN if given.policy == "oracle" else given.policy,
            },
        )
    )
    oracle = Oracle(web, topic.name)

    def make_policy(around: Surroundings) -> Policy:
        return ScoredPolicy(around.crawl, oracle.score) if given.policy == "oracle" else create_policy(around)

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
