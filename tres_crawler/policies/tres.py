"""TRES: features, Tree-Frontier and DDQN on the live engine (TRES, Alg. 4)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict

import numpy as np

from tres_crawler.config import Settings
from tres_crawler.features import Describer, PathState, SiteRatios
from tres_crawler.frontier.leaves import TreeFrontier
from tres_crawler.frontier.tree import Growth, Node, Tree
from tres_crawler.learn.ddqn import Ddqn
from tres_crawler.learn.replay import Transition
from tres_crawler.learn.worker import Trainer
from tres_crawler.policies.policy import Floats, Numbers, PageFact
from tres_crawler.policies.valued import Hosts, ValuedFrontier
from tres_crawler.records import Divergence, Outlink
from tres_crawler.store import crawls, learning, links
from tres_crawler.store.database import Change, Database
from tres_crawler.store.pages import PageRecord

FIRST_SNAPSHOT = 200
SNAPSHOT_GROWTH = 1.1
"""The learner is saved whole when the pages have grown by a tenth; what came later is remembered from the store."""
KNOWN_SITE = {"pages": 1.0, "balanced": 0.5, "sites": 0.1}
"""What a relevant page of a site already known to be relevant is worth, beside the first one of a new site."""


def check_policy(policy: bytes, settings: Settings) -> None:
    """Refuse what another crawl has learned if a crawl with these settings cannot begin with it."""
    describer = Describer(settings.features, ())
    Ddqn(settings.learn, describer.name, describer.dim).load_policy(policy)


class TresPolicy:
    """Every page that arrives is an experience of the tree and a transition of the learner, saved with its step."""

    def __init__(
        self,
        crawl: int,
        settings: Settings,
        *,
        keywords: Sequence[str],
        seed: int,
        sites_of: Callable[[Hosts], Numbers],
        is_out_of_reach: Callable[[int], bool],
        tell: Callable[[Change], object],
    ) -> None:
        learn, grow = settings.learn, settings.frontier
        self._crawl = crawl
        self._known_site_reward = KNOWN_SITE[settings.crawl.objective]
        self._feature_settings = settings.features
        self._learn = learn
        self._sites_of = sites_of
        self._tell = tell
        self._describer = Describer(settings.features, keywords)
        self._growth = Growth(grow.min_experiences, grow.max_depth, grow.max_leaves)
        self._paths: dict[int, PathState] = {}
        self._ratios = SiteRatios()
        self._relevant_sites: set[int] = set()
        self._history: list[PageFact] = []
        self._judge_version = 1
        self._next_snapshot = FIRST_SNAPSHOT
        rng = np.random.default_rng(seed)
        prior = self._describer.simple_rule() if learn.prior else None
        self._learner = Ddqn(learn, self._describer.name, self._describer.dim, prior=prior, seed=seed)
        self._trainer = Trainer(self._learner, self._diverged)
        tree = TreeFrontier(Tree(self._describer.dim, self._growth), rng)
        eagerness = settings.choose.eagerness
        self.frontier = ValuedFrontier(tree, self._value, eagerness, is_out_of_reach, rng, self._refreshed)

    @property
    def reads_contexts(self) -> bool:
        return self._feature_settings.set == "extended"

    @property
    def version(self) -> int:
        return self._trainer.weights.version

    # ---- starting ----

    async def restore(self, database: Database, pages: Sequence[PageFact], judge_version: int) -> None:
        self._judge_version = judge_version
        saved = await learning.experiences(database, self._crawl)
        vectors = learning.matrix((row.features for row in saved), self._describer.dim)
        rewards = self._count_anew(pages)
        nodes = [Node(*row) for row in await learning.nodes(database, self._crawl, judge_version)]
        known = np.array([rewards[row.page] for row in saved], np.float32)
        if nodes:
            tree = await asyncio.to_thread(Tree.restored, nodes, vectors, known, self._growth)
        else:
            # A judge that took over while the crawl lay still (`tres topic rejudge`) has no tree yet.
            tree = await asyncio.to_thread(Tree.grown, vectors, known, self._growth)
            await database.write(learning.new_nodes(self._crawl, judge_version, map(asdict, tree.splits())))
        self.frontier.tree.rebuild(tree)
        waiting = await links.waiting_columns(database, self._crawl)
        self.frontier.tree.place(waiting.numbers, waiting.hosts, learning.matrix(waiting.features, self._describer.dim))
        snapshot = await learning.newest(database, self._crawl, learning.LEARNER)
        policy = await learning.newest(database, self._crawl, learning.POLICY)
        if snapshot:
            self._learner.load(snapshot)
        elif policy:
            self._learner.load_policy(policy)
        self._trainer.weights = self._learner.weights()
        learned = self._learner.last_page
        for row in saved:
            if row.page > learned:
                outlinks = learning.matrix(
                    await links.features_of(database, self._crawl, row.page), self._describer.dim
                )
                vector = np.frombuffer(row.features, np.float32)
                # By the trainer, which owes them their gradient steps: a kill must not cost lessons.
                self._trainer.remember(Transition(row.page, vector, rewards[row.page], outlinks))
        self._plan()

    def describe_seeds(self, seeds: Sequence[Outlink], sites: Numbers) -> Floats:
        """Links from nowhere; the learner starts with the promise that they pay (TRES, sec. 2.4.2)."""
        certain = np.ones(len(seeds), np.float32)
        described = self._describer.describe(None, seeds, certain, sites, self._ratios)
        for row in described:
            self._trainer.remember(Transition(0, row, 1.0, described[:0]))
        return described

    # ---- learning from pages ----

    def arrive(
        self, page: PageRecord, outlinks: Sequence[Outlink], looks: Floats, contexts: Floats | None, sites: Numbers
    ) -> tuple[Floats, list[Change]]:
        relevant = page.reward > 0
        frozen = page.link.features
        assert frozen is not None
        link_site = self._sites_of(np.array([page.link.host], np.int32))
        refreshed = self._describer.refresh(frozen[None], link_site, self._ratios)[0]
        reward = self._reward(page.site, relevant)
        path = self._enter(PageFact(page.number, page.link.source, page.site, relevant))
        described = self._describer.describe(
            path,
            outlinks,
            looks,
            sites,
            self._ratios,
            depth=page.link.depth + 1,
            page_site=page.site,
            context_probabilities=contexts,
        )
        event = self.frontier.tree.learn(frozen, reward)
        sample = None if self._learn.target == "outlinks" else self.frontier.sample(best=self._learn.target == "paper")
        self._trainer.remember(Transition(page.number, refreshed, reward, described, sample))
        self._plan()
        saved = [learning.new_experience(self._crawl, page.number, frozen, reward)]
        if event:
            node = asdict(event.node)
            saved.append(learning.new_nodes(self._crawl, self._judge_version, [node]))
            told = {**node, "feature": self._describer.columns[event.node.feature], "gain": event.gain}
            saved.append(crawls.event(self._crawl, "split", **told))
        return described, saved

    async def catch_up(self) -> None:
        await self._trainer.caught_up()

    async def judged_again(
        self, relevant: Mapping[int, bool], keywords: Sequence[str], judge_version: int
    ) -> list[Change]:
        """Another judge, another meaning of reward: the tree grows anew, the learner's rewards are corrected."""
        self._describer = Describer(self._feature_settings, keywords)
        vectors, before = self.frontier.tree.tree.experienced()
        rewards = self._count_anew(
            [page._replace(relevant=relevant.get(page.number, page.relevant)) for page in self._history]
        )
        # The tree has an experience for every page, in order; more may arrive while it grows beside the loop.
        known = np.array(list(rewards.values()), np.float32)
        if judge_version == self._judge_version:
            # A person's word, or a few pages that the judge before was still at: what has split stays as it is.
            pages = list(rewards)
            changed = {pages[at]: rewards[pages[at]] for at in np.flatnonzero(known != before).tolist()}
            self.frontier.tree.tree.relabel(known)
            await self._trainer.relabel(changed)
            return [learning.relabelled(self._crawl, changed)]
        await self._trainer.relabel(rewards)
        corrected = learning.relabelled(self._crawl, rewards)
        tree = await asyncio.to_thread(Tree.grown, vectors[: len(known)], known, self._growth)
        # From here on nothing is awaited: whatever splits next is saved after the tree it belongs to.
        later, late_rewards = self.frontier.tree.tree.experienced()
        for vector, reward in zip(later[len(known) :], late_rewards[len(known) :].tolist(), strict=True):
            tree.learn(vector, reward)
        self.frontier.tree.rebuild(tree)
        self._judge_version = judge_version
        return [corrected, learning.new_nodes(self._crawl, judge_version, map(asdict, tree.splits()))]

    # ---- saving ----

    def is_snapshot_due(self, pages: int) -> bool:
        if pages < self._next_snapshot:
            return False
        self._next_snapshot = int(pages * SNAPSHOT_GROWTH) + FIRST_SNAPSHOT // 2
        return True

    async def snapshot(self) -> list[Change]:
        whole, policy = await self._trainer.snapshot(), await self._trainer.policy()
        told = crawls.event(self._crawl, "learner", version=self.version, loss=self._trainer.loss)
        return [*learning.new_snapshot(self._crawl, self.version, whole, policy), told]

    async def close(self) -> None:
        await self._trainer.close()

    # ---- in between ----

    def _value(self, features: Floats, hosts: Hosts) -> Floats:
        return self._trainer.values(self._refreshed(features, hosts))

    def _refreshed(self, features: Floats, hosts: Hosts) -> Floats:
        return self._describer.refresh(features, self._sites_of(hosts), self._ratios)

    def _enter(self, page: PageFact) -> PathState:
        before = self._paths.get(page.source) if page.source else None
        path = self._paths[page.number] = PathState.of(before, page.relevant)
        self._ratios.add(page.site, page.relevant)
        self._history.append(page)
        return path

    def _reward(self, site: int, relevant: bool) -> float:
        if not relevant:
            return 0.0
        new = site not in self._relevant_sites
        self._relevant_sites.add(site)
        return 1.0 if new else self._known_site_reward

    def _count_anew(self, pages: Iterable[PageFact]) -> dict[int, float]:
        """Paths, sites and rewards of all pages, in order; the reward of each."""
        self._paths, self._ratios, self._history = {}, SiteRatios(), []
        self._relevant_sites = set()
        rewards = {}
        for page in pages:
            rewards[page.number] = self._reward(page.site, page.relevant)
            self._enter(page)
        return rewards

    def _plan(self) -> None:
        self.frontier.exploration = self._learn.exploration(len(self._history))

    def _diverged(self, told: Divergence) -> None:
        self._tell(
            crawls.event(
                self._crawl, "divergence", step=told.step, reason=told.reason, learning_rate=told.learning_rate
            )
        )
