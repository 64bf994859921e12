"""What every policy with a learner does: features of links, a DDQN beside the crawl, all of it saved (TRES, Alg. 4)."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from tres_crawler.cards import checked
from tres_crawler.config import Settings
from tres_crawler.features import Describer, Known, PathState
from tres_crawler.finds import NAME, Names, names_of
from tres_crawler.frontier.frontier import Frontier
from tres_crawler.frontier.leaves import rounded
from tres_crawler.learn.ddqn import Ddqn
from tres_crawler.learn.replay import Transition
from tres_crawler.learn.worker import Trainer
from tres_crawler.policies.policy import Floats, Hosts, Named, Numbers, PageFact, Surroundings
from tres_crawler.records import Divergence, Outlink
from tres_crawler.resources import shipped
from tres_crawler.store import crawls, learning, links
from tres_crawler.store.database import Change, Database
from tres_crawler.store.pages import PageRecord

FIRST_SNAPSHOT = 200
SNAPSHOT_GROWTH = 1.1
"""The learner is saved whole when the pages have grown by a tenth and 100; later ones are remembered from the store."""
KNOWN_SITE = {"pages": 1.0, "balanced": 0.5, "sites": 0.1}
"""What a relevant page of a site already known to be relevant is worth, beside the first one of a new site."""


def shipped_policy() -> bytes:
    """What a learner of the features `extended` knows before its first page."""
    path = shipped("models") / "policy.npz"
    checked(path)
    return path.read_bytes()


def check_policy(policy: bytes, settings: Settings) -> None:
    """Refuse what another crawl has learned if a crawl with these settings cannot begin with it."""
    describer = Describer(settings.features, ())
    Ddqn(settings.learn, describer.name, describer.dim).load_policy(policy)


class LearningPolicy(ABC):
    """Every page that arrives is a transition of the learner, saved with its step; the frontier is the kind's own."""

    def __init__(self, around: Surroundings) -> None:
        settings = around.settings
        self._crawl = around.crawl
        self._known_site_reward = KNOWN_SITE[settings.crawl.objective]
        self._feature_settings = settings.features
        self._learn = settings.learn
        self._sites_of = around.sites_of
        self._tell = around.tell
        self._describer = Describer(settings.features, around.keywords)
        self._paths: dict[int, PathState] = {}
        self._known = Known()
        self._relevant_sites: set[int] = set()
        self._history: list[PageFact] = []
        self._rewards: dict[int, float] = {}
        self._rows: dict[int, Floats] = {}
        """Of the link that each page came of."""
        self._named: dict[int, Names] = {}
        """By each page."""
        self._next_snapshot = FIRST_SNAPSHOT
        prior = self._describer.simple_rule() if self._learn.prior else None
        self._learner = Ddqn(self._learn, self._describer.name, self._describer.dim, prior=prior, seed=around.seed)
        self._trainer = Trainer(self._learner, self._diverged)

    @property
    @abstractmethod
    def frontier(self) -> Frontier: ...

    @property
    def version(self) -> int:
        return self._trainer.weights.version

    # ---- what a kind of frontier makes of it ----

    @abstractmethod
    async def _take_up(self, database: Database, vectors: Floats, rewards: Floats, judge_version: int) -> None:
        """Restore the frontier: the waiting links, and what it grew from these experiences."""

    @abstractmethod
    def _experience(self, features: Floats, reward: float) -> list[Change]:
        """A link was worth this; what is to be saved of it."""

    @abstractmethod
    def _sample(self) -> Floats | None:
        """One waiting link as a candidate for the next step, where the target asks for one."""

    @abstractmethod
    async def _experience_anew(self, rewards: Mapping[int, float], judge_version: int) -> list[Change]:
        """A new judge has given all experiences so far these rewards."""

    # ---- starting ----

    async def restore(self, database: Database, pages: Sequence[PageFact], judge_version: int) -> None:
        saved = await learning.experiences(database, self._crawl)
        rows = learning.matrix((row.features for row in saved), self._describer.width)
        self._rows = dict(zip((row.page for row in saved), rows, strict=True))
        await self._load(database)
        learned = self._learner.last_page
        named = await learning.finds(database, self._crawl)
        self._named = {number: np.frombuffer(names, NAME) for number, names in named.items()}
        known = [page for page in pages if page.number <= learned]
        rewards = self._count_anew(known)
        for page in known:
            self._take_in(page)
        # A judge, or a person, may have had another word since the learner was saved.
        self._learner.relabel(rewards)
        if not len(self._learner.replay):
            seeds = learning.matrix(await links.features_of_seeds(database, self._crawl), self._describer.width)
            self._promise(seeds, np.zeros(len(seeds), np.int64))
        outlinks = await links.features_by_source(database, self._crawl, learned)
        for page in pages:
            if page.number > learned:
                vector = self._refreshed(self._rows[page.number][None], np.array([page.link_host], np.int32))[0]
                rewards[page.number] = self._count(page)
                found, hosts = outlinks.get(page.number, ((), ()))
                described = learning.matrix(found, self._describer.width)
                candidates = self._refreshed(described, np.array(hosts, np.int32))
                self._take_in(page)
                self._trainer.remember(Transition(page.number, vector, rewards[page.number], candidates))
                # One after the other, so that no gradient step is dropped: a kill must not cost lessons.
                await self._trainer.caught_up()
        lived = np.array([rewards[row.page] for row in saved], np.float32)
        await self._take_up(database, self._features(rows), lived, judge_version)

    async def _load(self, database: Database) -> None:
        """The learner as it was last saved, or what it begins with."""
        snapshot = await learning.newest(database, self._crawl, learning.LEARNER)
        policy = await learning.newest(database, self._crawl, learning.POLICY)
        if snapshot:
            self._learner.load(snapshot)
        elif policy:
            self._learner.load_policy(policy)
        elif self._learn.start == "shipped":
            self._learner.begin_with(await asyncio.to_thread(shipped_policy))
        self._trainer.weights = self._learner.weights()

    def describe_seeds(self, seeds: Sequence[Outlink], sites: Numbers) -> Floats:
        """Links from nowhere; the learner starts with the promise that they pay (TRES, sec. 2.4.2)."""
        certain = np.ones(len(seeds), np.float32)
        described = self._describer.describe(None, seeds, certain, sites, self._known)
        self._promise(described, sites)
        return described

    def _promise(self, seeds: Floats, sites: Numbers) -> None:
        vectors = self._describer.refresh(seeds, sites, self._known)
        for vector in vectors:
            self._trainer.remember(Transition(0, vector, 1.0, vectors[:0]))

    # ---- learning from pages ----

    def arrive(
        self, page: PageRecord, outlinks: Sequence[Outlink], looks: Floats, sites: Numbers
    ) -> tuple[Floats, list[Change]]:
        assert page.link.features is not None
        row = page.link.features.copy()
        row[: self._describer.placed] = rounded(self._features(row))
        refreshed = self._refreshed(row[None], np.array([page.link.host], np.int32))[0]
        self._rows[page.number] = row
        reward = self._count(PageFact.of(page))
        described = self.describe_more(page, outlinks, looks, sites)
        experience = learning.new_experience(self._crawl, page.number, row, reward)
        saved = [experience, *self._experience(self._features(row), reward)]
        sample = None if self._learn.target == "outlinks" else self._sample()
        candidates = self._describer.refresh(described, sites, self._known)
        self._trainer.remember(Transition(page.number, refreshed, reward, candidates, sample))
        return described, saved

    def hear(self, page: PageRecord, named: Named) -> list[Change]:
        if not (named.urls and self._describer.is_extended):
            return []
        names = self._named[page.number] = names_of(named.urls, named.sites, named.looks, named.new)
        self._take_in(PageFact.of(page))
        return [learning.new_finds(self._crawl, page.number, names.tobytes())]

    def describe_more(self, page: PageRecord, outlinks: Sequence[Outlink], looks: Floats, sites: Numbers) -> Floats:
        return self._describer.describe(self._paths.get(page.number), outlinks, looks, sites, self._known)

    async def catch_up(self) -> None:
        await self._trainer.caught_up()

    async def judged_again(
        self, relevant: Mapping[int, bool], keywords: Sequence[str], judge_version: int
    ) -> list[Change]:
        """Another judge, another meaning of reward: the frontier grows anew, the learner's rewards are corrected."""
        self._describer = Describer(self._feature_settings, keywords)
        before = self._rewards
        pages = [page._replace(relevant=relevant.get(page.number, page.relevant)) for page in self._history]
        for page, old in zip(pages, self._history, strict=True):
            if page.relevant != old.relevant and page.number in self._named:
                self._known.finds.judge(self._named[page.number], page.site, page.relevant)
        rewards = self._count_anew(pages)
        changed = {page: now for page, now in rewards.items() if now != before[page]}
        await self._trainer.relabel(changed)
        grown = await self._experience_anew(rewards, judge_version)
        return [learning.relabelled(self._crawl, changed), *grown]

    # ---- saving ----

    def is_snapshot_due(self, pages: int) -> bool:
        if pages < self._next_snapshot:
            return False
        self._next_snapshot = int(pages * SNAPSHOT_GROWTH) + FIRST_SNAPSHOT // 2
        return True

    async def snapshot(self) -> list[Change]:
        # Read first: saved under a version it has not reached, it would stand above what a restart saves next.
        version = self.version
        whole, policy = await self._trainer.snapshot(), await self._trainer.policy()
        told = crawls.event(
            self._crawl, "learner", version=version, loss=self._trainer.loss, dropped_steps=self._trainer.dropped_steps
        )
        return [*learning.new_snapshot(self._crawl, version, whole, policy), told]

    async def close(self) -> None:
        await self._trainer.close()

    # ---- in between ----

    def _value(self, rows: Floats, hosts: Hosts) -> Floats:
        return self._trainer.values(self._refreshed(rows, hosts))

    def _refreshed(self, rows: Floats, hosts: Hosts) -> Floats:
        return self._describer.refresh(rows, self._sites_of(hosts), self._known)

    def _features(self, rows: Floats) -> Floats:
        """What the tree sees of rows."""
        return rows[..., : self._describer.placed]

    def _reward(self, site: int, relevant: bool) -> float:
        if not relevant:
            return 0.0
        new = site not in self._relevant_sites
        self._relevant_sites.add(site)
        return 1.0 if new else self._known_site_reward

    def _count_anew(self, pages: Iterable[PageFact]) -> dict[int, float]:
        """Paths, sites and rewards of all pages, in order; the reward of each."""
        # What pages name is the same whoever judges them.
        self._paths, self._known, self._history = {}, Known(finds=self._known.finds), []
        self._relevant_sites, self._rewards = set(), {}
        return {page.number: self._count(page) for page in pages}

    def _count(self, page: PageFact) -> float:
        """Enter a page into paths, sites, words and history; its reward."""
        before = self._paths.get(page.source) if page.source else None
        self._paths[page.number] = PathState.of(before, page.relevant)
        self._describer.learn(self._rows[page.number], page.site, page.relevant, self._known)
        self._history.append(page)
        reward = self._rewards[page.number] = self._reward(page.site, page.relevant)
        return reward

    def _take_in(self, page: PageFact) -> None:
        """What a page names is known from now on."""
        if page.number in self._named:
            self._known.finds.add(self._named[page.number], page.site, page.relevant)

    def _diverged(self, told: Divergence) -> None:
        self._tell(
            crawls.event(
                self._crawl, "divergence", step=told.step, reason=told.reason, learning_rate=told.learning_rate
            )
        )
