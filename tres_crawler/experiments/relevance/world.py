"""A simulated web of the reporting family: pages to learn from, others to be tested on, and judges made there."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import islice
from pathlib import Path
from random import Random
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tres_crawler.classify.classifier import restore_model
from tres_crawler.classify.neural import NeuralModel
from tres_crawler.classify.prior import Prior
from tres_crawler.classify.training import Kind, fit
from tres_crawler.config import CrawlSettings, FetchSettings, RelevanceSettings, Settings
from tres_crawler.crawl import Crawl
from tres_crawler.experiments.relevance.options import Sizes, vectors
from tres_crawler.founding import create_crawl
from tres_crawler.keywords import expand
from tres_crawler.parse import parse
from tres_crawler.records import Example, Fetched, PageText, Topic
from tres_crawler.relevance import BUDGET_SHARE
from tres_crawler.simweb.answers import answer
from tres_crawler.simweb.describe import resolve, split
from tres_crawler.simweb.links import links_of
from tres_crawler.simweb.model import Page, Web
from tres_crawler.simweb.params import family
from tres_crawler.simweb.server import SimServer
from tres_crawler.simweb.sites import Kind as SiteKind
from tres_crawler.simweb.topics import KEYWORDS
from tres_crawler.store import judging
from tres_crawler.store.database import Database
from tres_crawler.store.datadir import DataDir
from tres_crawler.urls import site_of

LEAST_RELEVANT = 5
SAME_SITE_PAGES = 3
"""Relevant and irrelevant pages taken of one site, at most."""
MIXED = (SiteKind.TOPICAL, SiteKind.PORTAL, SiteKind.FORUM, SiteKind.BLOG)

Truths = npt.NDArray[np.bool_]


class Seen(NamedTuple):
    """A page as a crawler has it, and its truth."""

    page: PageText
    topic: str | None
    site: str


class Anchor(NamedTuple):
    words: str
    topic: str | None
    """What the page it leads to is really about."""
    is_generic: bool


class World:
    """Pages that are learned from are never tested on."""

    def __init__(self, number: int, sizes: Sizes) -> None:
        self.sizes = sizes
        self.web = Web(family("report", number, sites=sizes.sites, pages=sizes.pages))
        self._rng = Random(number)
        self._taken: set[tuple[int, int]] = set()
        self.learned = list(islice(self._random_pages(), max(sizes.labels)))
        self.tested = list(islice(self._random_pages(), sizes.tested))
        self._labelled: dict[tuple[str, int, Kind], NeuralModel] = {}
        self._bootstrapped: dict[tuple[str, Kind], NeuralModel | None] = {}

    # ---- pages ----

    def _random_pages(self) -> Iterator[Seen]:
        sizes = [site.size for site in self.web.sites]
        while True:
            site = self._rng.choices(self.web.sites, sizes)[0]
            seen = self._seen(self.web.page(site, self._rng.randrange(site.size)))
            if seen:
                yield seen

    def _seen(self, page: Page) -> Seen | None:
        """None for a page that was taken before, does not answer or has no text."""
        if (page.site, page.number) in self._taken:
            return None
        host, path = split(self.web.url(page))
        said = answer(self.web, host, path)
        if said.status != 200:
            return None
        document = parse(Fetched(self.web.url(page), 200, said.content_type, said.body, None, 0.0))
        if not document.text:
            return None
        self._taken.add((page.site, page.number))
        return Seen(PageText.of(document), self._topic(page), site_of(host))

    def _topic(self, page: Page) -> str | None:
        return self.web.topic_of(*split(self.web.url(page)))

    def same_sites(self, topic: str) -> list[Seen]:
        """As many relevant as irrelevant pages from each of many sites: style and boilerplate tell nothing."""
        number = self.web.topic_names.index(topic)
        sites = [site for site in self.web.sites if number in site.topics and site.kind in MIXED]
        self._rng.shuffle(sites)
        found: list[Seen] = []
        for site in sites:
            drawn = self._rng.sample(range(site.size), min(site.size, 8 * SAME_SITE_PAGES))
            pages = [seen for at in drawn if (seen := self._seen(self.web.page(site, at)))]
            sides = [[seen for seen in pages if (seen.topic == topic) is label] for label in (True, False)]
            count = min(SAME_SITE_PAGES, *map(len, sides))
            found += [seen for side in sides for seen in side[:count]]
            if len(found) >= self.sizes.tested / 4:
                break
        return found

    @cached_property
    def anchors(self) -> list[Anchor]:
        """Anchors of content links on random pages, those without words left out."""
        generic = {template.fill(0) for template in self.web.prose.common["generic_anchor"]}
        sizes = [site.size for site in self.web.sites]
        found: list[Anchor] = []
        while len(found) < self.sizes.anchors:
            site = self._rng.choices(self.web.sites, sizes)[0]
            for link in links_of(self.web, self.web.page(site, self._rng.randrange(site.size))):
                if link.anchor and not link.navigation:
                    page = resolve(self.web, *split(link.url))[1]
                    found.append(Anchor(link.anchor, self._topic(page) if page else None, link.anchor in generic))
        return found

    # ---- judges ----

    def prior(self, topic: str) -> Prior:
        return Prior(vectors(), KEYWORDS[topic].split())

    def labelled(self, topic: str, count: int, kind: Kind) -> NeuralModel:
        """Trained on so many random pages, of which at least five are relevant."""
        key = (topic, count, kind)
        if key not in self._labelled:
            examples = [Example(seen.page, seen.topic == topic, group=seen.site) for seen in self._some(topic, count)]
            documents = [f"{example.page.title}\n{example.page.text}" for example in examples if example.relevant]
            keywords = KEYWORDS[topic].split()
            prior = Prior(vectors(), keywords, expand(keywords, documents, vectors()).found)
            model = fit(kind, examples, prior).model
            assert isinstance(model, NeuralModel)
            self._labelled[key] = model
        return self._labelled[key]

    def _some(self, topic: str, count: int) -> list[Seen]:
        chosen = self.learned[:count]
        lacking = LEAST_RELEVANT - sum(seen.topic == topic for seen in chosen)
        if lacking <= 0:
            return chosen
        others = (seen for seen in self.learned[count:] if seen.topic == topic)
        more = [*islice(others, lacking)]
        more += [*islice((seen for seen in self._random_pages() if seen.topic == topic), lacking - len(more))]
        return [*[seen for seen in chosen if seen.topic == topic], *more, *_others(chosen, topic)[: count - 5]]

    async def bootstrapped(self, topic: str, kind: Kind) -> NeuralModel | None:
        """The judge of a real crawl that began with ten keywords and one seed; None if it kept to the prior."""
        key = (topic, kind)
        if key not in self._bootstrapped:
            self._bootstrapped[key] = await self._crawled(topic, kind)
        return self._bootstrapped[key]

    async def _crawled(self, topic: str, kind: Kind) -> NeuralModel | None:
        wanted = Topic(topic, tuple(KEYWORDS[topic].split()), tuple(self.web.seeds(topic)[:1]))
        with tempfile.TemporaryDirectory() as scratch, DataDir(Path(scratch)) as folder:
            async with SimServer(self.web) as server, Database(folder.url) as database:
                settings = Settings.model_construct(
                    fetch=FetchSettings(connect_to=f"127.0.0.1:{server.port}", delay_seconds=0.0),
                    crawl=CrawlSettings(max_pages=BUDGET_SHARE * self.sizes.bootstrap, seed=1),
                    relevance=RelevanceSettings(model=kind, bootstrap_pages=self.sizes.bootstrap),
                )
                number = await create_crawl(database, wanted, settings)
                await (await Crawl.load(database, number)).run()
                saved = await judging.newest_version(database, number)
        if saved is None:
            return None
        model = restore_model(saved[1], vectors(), "student", f"The judge of {topic}")
        assert isinstance(model, NeuralModel)
        return model


def truths(pages: Sequence[Seen | Anchor], topic: str) -> Truths:
    return np.array([seen.topic == topic for seen in pages], dtype=bool)


def _others(pages: Sequence[Seen], topic: str) -> list[Seen]:
    return [seen for seen in pages if seen.topic != topic]


class Worlds:
    """The webs of one run, each made once, however many parts look at it."""

    def __init__(self, sizes: Sizes) -> None:
        self._sizes = sizes
        self._made: list[World] = []

    def __iter__(self) -> Iterator[World]:
        return (self[number] for number in range(self._sizes.webs))

    def __getitem__(self, number: int) -> World:
        while len(self._made) <= number:
            self._made.append(World(len(self._made), self._sizes))
        return self._made[number]
