"""TRES on the engine: what is learned is saved with its step, and found again."""

from __future__ import annotations

from io import StringIO
from typing import Any

import numpy as np
import pytest
from rich.console import Console
from sqlalchemy import text

from tests.site import SmallSite
from tres_crawler.cli.display import print_end
from tres_crawler.config import Settings
from tres_crawler.crawl import Crawl
from tres_crawler.errors import ControlError, ModelError, StoreError
from tres_crawler.finds import ADDRESS
from tres_crawler.founding import create_crawl
from tres_crawler.frontier.tree import Tree
from tres_crawler.learn import snapshot
from tres_crawler.learn.replay import Transition
from tres_crawler.policies.tres import TresPolicy
from tres_crawler.records import StopReason
from tres_crawler.store import crawls, learning, links, pages
from tres_crawler.store.database import Database
from tres_crawler.store.tables import pages as page_table
from tres_crawler.store.tables import snapshots

HOSTS, PAGES = 12, 8


def good_and_bad_web(site: SmallSite) -> None:
    """Hosts g0… have pages on the topic, hosts b0… have none; every page links to some of both, under equal words."""
    everywhere = [f"{kind}{host}.test/{page}" for kind in "gb" for host in range(HOSTS) for page in range(PAGES)]
    site.page("a.test/", links=everywhere[::5])
    for at, place in enumerate(everywhere):
        links = [everywhere[(at * 7 + step * 13) % len(everywhere)] for step in range(6)]
        site.page(place, links=links, text="" if place.startswith("g") else f"nothing of interest at {place}")


async def started(site: SmallSite, database: Database, policy_from: int | None = None, **sections: Any) -> Crawl:
    """A crawl by the prior judge, so that the judge stays as it is; sections are settings by name."""
    given: dict[str, dict[str, Any]] = {
        "fetch": {"connect_to": f"127.0.0.1:{site.port}", "delay_seconds": 0.0, "slots": 4},
        "relevance": {"model": "prior"},
        "crawl": {"seed": 3, "max_pages": 60, "max_per_site": "none"},
        "learn": {"start": "untaught", "warm_up": 0, "steps_per_page": 1.0},
    }
    settings = Settings()
    for name, values in {**given, **{k: {**given.get(k, {}), **v} for k, v in sections.items()}}.items():
        settings = settings.replaced(name, values)
    number = await create_crawl(database, site.topic("a.test/"), settings, policy_from=policy_from)
    return await Crawl.load(database, number)


def policy_of(crawl: Crawl) -> TresPolicy:
    policy = crawl._policy
    assert isinstance(policy, TresPolicy)
    return policy


def nodes_of(tree: Tree) -> list[tuple[float, ...]]:
    return [(node.number, node.feature, node.threshold, node.left, node.right) for node in tree.splits()]


async def test_it_learns_to_stay_on_good_hosts(site: SmallSite, database: Database) -> None:
    good_and_bad_web(site)
    await (await started(site, database, fetch={"slots": 1}, crawl={"max_pages": 90})).run()  # drawn by the seed alone
    asked = [path[0] for path in site.paths()[1:]]
    assert asked[45:].count("g") > asked[:45].count("g"), "half of all pages are good: later ones should be more often"
    assert asked[45:].count("g") / 45 > 0.6


async def test_a_resumed_crawl_has_the_same_tree_the_same_links_and_a_learner_that_goes_on(
    site: SmallSite, database: Database
) -> None:
    good_and_bad_web(site)
    first = await started(site, database)
    await first.run()
    before = policy_of(first)
    again = policy_of(await Crawl.load(database, first.id, {"max_pages": 80}))
    old, new = before.frontier.tree, again.frontier.tree
    assert nodes_of(new.tree) == nodes_of(old.tree)
    assert len(nodes_of(new.tree)) > 2
    assert len(new) == len(old)
    assert all(np.array_equal(a, b) for a, b in zip(old.tree.experienced(), new.tree.experienced(), strict=True))
    assert again.version == before.version > 0
    waiting = new.samples()
    assert np.allclose(again._value(waiting.features, waiting.hosts), before._value(waiting.features, waiting.hosts))
    assert again._known.finds.features(waiting.features[:, -ADDRESS:]).any(), "what pages named again is known again"


async def test_a_link_that_two_pages_name_with_other_parameters_is_found_again(
    site: SmallSite, database: Database
) -> None:
    site.page("a.test/", links=["b.test/", "c.test/"])
    site.page("b.test/", links=["d.test/1?ref=b", "d.test/2?ref=1", "d.test/2?ref=2"])
    site.page("c.test/", links=["d.test/1?ref=c"])
    crawl = await started(site, database, crawl={"max_pages": 5}, urls={"drop_parameters": ["ref"]})
    await crawl.run()
    described = {link.url: link.features for link in await links.described(database, crawl.id)}
    rows = learning.matrix((described[f"http://d.test/{page}"] for page in "12"), policy_of(crawl)._describer.width)
    assert policy_of(crawl)._known.finds.features(rows[:, -ADDRESS:]).tolist() == [0.5, 0.0], (
        "one page may name a link twice"
    )


async def forget_snapshots(database: Database) -> None:
    """As after a kill before the first one."""
    assert database._engine
    async with database._engine.begin() as connection:
        await connection.execute(snapshots.delete())


async def test_experiences_that_came_after_the_last_snapshot_are_learned_from_again(
    site: SmallSite, database: Database
) -> None:
    good_and_bad_web(site)
    crawl = await started(site, database, learn={"steps_per_page": 6.0})
    await crawl.run()
    before = policy_of(crawl)._learner.replay.arrays()
    await forget_snapshots(database)
    again = policy_of(await Crawl.load(database, crawl.id, {"max_pages": 80}))
    # As many gradient steps for the seed and each of the pages: a kill costs no lessons.
    assert again.version == 61 * 6
    await again.close()
    after = again._learner.replay.arrays()
    assert before["heads"]["page"].tolist() == [*range(61)], "the promise of the seed, then the pages"
    for name in ("features", "reward", "outlinks", "sampled"):
        assert np.allclose(before["heads"][name], after["heads"][name], atol=1e-3), name
    assert np.array_equal(before["candidates"], after["candidates"])


async def test_links_of_a_page_are_found_without_a_look_at_all_others(database: Database) -> None:
    """A killed crawl asks for them page by page, and has hundreds of thousands."""
    asked = links.FEATURES_BY_SOURCE.params(of_crawl=1, after=0)
    query = asked.compile(compile_kwargs={"literal_binds": True})
    assert database._engine
    async with database._engine.connect() as connection:
        told = await connection.execute(text(f"EXPLAIN QUERY PLAN {query}"))
        plan = [row.detail for row in told]
    assert any("SEARCH links USING PRIMARY KEY (crawl=? AND number>? AND number<?)" in step for step in plan), plan


async def test_a_judges_word_after_the_last_snapshot_counts_after_a_restart(
    site: SmallSite, database: Database
) -> None:
    good_and_bad_web(site)
    crawl = await started(site, database)
    await crawl.run()
    turned = {page.number: not page.relevant for page in policy_of(crawl)._history}
    assert database._engine
    async with database._engine.begin() as connection:
        # As `tres topic rejudge` does while the crawl lies still.
        await connection.execute(page_table.update().values(relevant=~page_table.c.relevant))
    again = policy_of(await Crawl.load(database, crawl.id, {"max_pages": 80}))
    heads = again._learner.replay.arrays()["heads"]
    assert {int(head["page"]): bool(head["reward"]) for head in heads} == {0: True, **turned}
    await again.close()


async def test_a_snapshot_is_never_saved_under_a_version_it_has_not_reached(
    site: SmallSite, database: Database
) -> None:
    """Else the one that a restarted crawl saves next would stand below it, and be passed over."""
    good_and_bad_web(site)
    policy = policy_of(await started(site, database))
    await policy.catch_up()
    before = policy.version
    taken = policy._trainer.snapshot

    async def then_learn_more() -> bytes:
        body = await taken()
        policy._trainer.remember(
            Transition(
                1, np.zeros(policy._describer.dim, np.float32), 1.0, np.zeros((0, policy._describer.dim), np.float32)
            )
        )
        await policy.catch_up()
        return body

    policy._trainer.snapshot = then_learn_more  # type: ignore[method-assign]
    (insert, _, _) = await policy.snapshot()
    assert {row["version"] for row in insert.rows} == {before}
    assert policy.version > before
    await policy.close()


async def test_at_one_slot_a_seed_makes_a_crawl_repeatable(site: SmallSite, database: Database) -> None:
    good_and_bad_web(site)
    orders = []
    for _ in range(2):
        site.asked.clear()
        await (await started(site, database, fetch={"slots": 1}, crawl={"max_pages": 40})).run()
        orders.append(site.paths())
    assert orders[0] == orders[1]


async def test_a_new_judges_rewards_regrow_the_tree_and_correct_the_learner(
    site: SmallSite, database: Database
) -> None:
    good_and_bad_web(site)
    crawl = await started(site, database)
    await crawl.run()
    reloaded = await Crawl.load(database, crawl.id, {"max_pages": 80})
    policy = policy_of(reloaded)
    turned = {page.number: not page.relevant for page in policy._history}
    changes = await policy.judged_again(turned, ("tennis",), judge_version=2)
    vectors, rewards = policy.frontier.tree.tree.experienced()
    assert {n: bool(r) for n, r in enumerate(rewards, 1)} == turned
    assert nodes_of(policy.frontier.tree.tree) == nodes_of(Tree.grown(vectors, rewards, policy._growth))
    await database.write(*changes)
    assert len(await learning.nodes(database, crawl.id, 2)) == len(nodes_of(policy.frontier.tree.tree))
    assert len(await learning.nodes(database, crawl.id, 1)) > 0, "the tree of the judge before is kept"
    again = await policy.judged_again({1: True}, ("tennis",), judge_version=2)
    await database.write(*again)
    await reloaded._policy.close()


async def test_a_learner_gone_astray_is_told_as_an_event_and_the_crawl_goes_on(
    site: SmallSite, database: Database
) -> None:
    good_and_bad_web(site)
    crawl = await started(site, database, crawl={"max_pages": 30})
    policy = policy_of(crawl)
    await policy.catch_up()
    policy._learner._online.last.bias.data.fill_(1e6)
    assert (await crawl.run()).stop_reason is StopReason.BUDGET
    told = await crawls.newest_event(database, crawl.id, "divergence")
    assert told and "no rewards can add up to" in told["reason"]
    assert told["learning_rate"] < policy._learn.learning_rate
    assert np.abs(policy._trainer.values(np.zeros((1, policy._describer.dim), np.float32))).max() < 10


async def test_the_learner_is_saved_at_200_pages_and_then_whenever_they_have_grown_by_a_tenth_and_100(
    site: SmallSite, database: Database
) -> None:
    policy = policy_of(await started(site, database))
    assert [pages for pages in range(1, 1001) if policy.is_snapshot_due(pages)] == [200, 320, 452, 597, 756, 931]
    await policy.close()


@pytest.mark.parametrize(
    ("objective", "rewards"), [("pages", [1, 1, 1]), ("balanced", [1, 0.5, 1]), ("sites", [1, 0.1, 1])]
)
async def test_the_objective_says_what_the_first_page_of_a_site_is_worth(
    site: SmallSite, database: Database, objective: str, rewards: list[float]
) -> None:
    policy = policy_of(await started(site, database, crawl={"objective": objective}))
    assert [policy._reward(place, True) for place in (7, 7, 8)] == rewards
    assert policy._reward(9, False) == 0.0
    await policy.close()


async def test_every_page_tells_why_it_was_chosen(site: SmallSite, database: Database) -> None:
    good_and_bad_web(site)
    crawl = await started(site, database, fetch={"slots": 1}, learn={"epsilon": 0.5})
    await crawl.run()
    from sqlalchemy import select

    from tres_crawler.store.tables import pages as table

    rows = await database.rows(select(table.c.value, table.c.leaf, table.c.explored, table.c.learner_version))
    assert all(row.value is not None and row.learner_version is not None for row in rows)
    assert {row.explored for row in rows} == {True, False}
    assert len({row.leaf for row in rows}) > 1
    versions = [row.learner_version for row in rows]
    assert versions[-1] > versions[0]


async def test_a_crawl_can_begin_with_what_another_has_learned(site: SmallSite, database: Database) -> None:
    good_and_bad_web(site)
    teacher = await started(site, database)
    await teacher.run()
    pupil, fresh = [policy_of(await started(site, database, policy_from=source)) for source in (teacher.id, None)]
    vectors, _ = policy_of(teacher).frontier.tree.tree.experienced()
    taught = policy_of(teacher)._trainer.values(vectors)
    # The seeds are a first lesson, so a step may lie between.
    gaps = [float(np.abs(policy._trainer.values(vectors) - taught).max()) for policy in (pupil, fresh)]
    assert gaps[0] < gaps[1] / 3, gaps
    for policy in (pupil, fresh):
        await policy.close()


async def test_a_policy_that_does_not_fit_or_was_never_learned_is_refused(site: SmallSite, database: Database) -> None:
    good_and_bad_web(site)
    teacher = await started(site, database)
    await teacher.run()
    with pytest.raises(ModelError, match="paper"):
        await started(site, database, policy_from=teacher.id, features={"set": "paper"})
    plain = await started(site, database, crawl={"policy": "random", "max_pages": 5})
    await plain.run()
    with pytest.raises(ControlError, match="has learned nothing"):
        await started(site, database, policy_from=plain.id)
    with pytest.raises(ControlError, match="learns nothing"):
        await started(site, database, policy_from=teacher.id, crawl={"policy": "random"})


@pytest.mark.parametrize("on_topic", [True, False])
async def test_a_judge_that_says_the_same_of_every_page_grows_no_tree_and_stops_nothing(
    site: SmallSite, database: Database, on_topic: bool
) -> None:
    places = [f"h{host}.test/{page}" for host in range(5) for page in range(4)]
    site.page("a.test/", links=places, text="" if on_topic else "nothing of interest")
    for place in places:
        site.page(place, links=places[:2], text="" if on_topic else f"nothing of interest at {place}")
    summary = await (await started(site, database, crawl={"max_pages": 15})).run()
    assert (summary.pages, summary.leaves, summary.stop_reason) == (15, 1, StopReason.BUDGET)
    assert summary.relevant_pages == (15 if on_topic else 0)


async def test_a_frontier_that_runs_dry_says_so(site: SmallSite, database: Database) -> None:
    site.page("a.test/", links=["b.test/1"])
    site.page("b.test/1")
    summary = await (await started(site, database)).run()
    assert (summary.pages, summary.stop_reason, summary.waiting) == (2, StopReason.FRONTIER_EMPTY, 0)
    assert [row.relevant for row in await pages.outcomes(database, 1)] == [True, True]
    out = Console(file=StringIO(), width=120)
    print_end(out, summary, None)
    assert isinstance(out.file, StringIO)
    assert "Stopped: frontier_empty." in out.file.getvalue()
    assert "add seeds to reach more of the web" in out.file.getvalue()


async def test_a_learner_that_a_newer_program_has_saved_is_refused_and_stays_as_it_is(
    site: SmallSite, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    good_and_bad_web(site)
    with monkeypatch.context() as newer:
        newer.setattr(snapshot, "FORMAT", snapshot.FORMAT + 1)
        crawl = await started(site, database, crawl={"max_pages": 10})
        await crawl.run()
    saved = await learning.newest(database, crawl.id, learning.LEARNER)
    with pytest.raises(ModelError, match=r"a newer one has saved it\. Use a newer program, or begin a new crawl"):
        await Crawl.load(database, crawl.id, {"max_pages": 20})
    with pytest.raises(ModelError, match="a newer one has saved it"):
        await started(site, database, policy_from=crawl.id)
    assert saved == await learning.newest(database, crawl.id, learning.LEARNER)


async def test_a_crawl_whose_links_another_version_described_is_not_resumed_but_told(
    site: SmallSite, database: Database
) -> None:
    good_and_bad_web(site)
    crawl = await started(site, database, crawl={"max_pages": 20})
    await crawl.run()
    assert database._engine
    async with database._engine.begin() as connection:
        await connection.execute(text("update experiences set features = substr(features, 5)"))
    with pytest.raises(StoreError, match="another version"):
        await Crawl.load(database, crawl.id, {"max_pages": 40})


async def test_a_learner_that_has_learned_nothing_since_can_be_saved_again(site: SmallSite, database: Database) -> None:
    good_and_bad_web(site)
    crawl = await started(site, database, learn={"steps_per_page": 0.0})
    assert (await crawl.run()).stop_reason is StopReason.BUDGET
    again = await Crawl.load(database, crawl.id, {"max_pages": 80})
    assert (await again.run()).stop_reason is StopReason.BUDGET


async def test_a_learner_begins_with_the_shipped_policy_where_it_knows_the_features(
    site: SmallSite, database: Database
) -> None:
    good_and_bad_web(site)
    taught = policy_of(await started(site, database, learn={"start": "shipped"}))
    untaught = policy_of(await started(site, database))
    other = policy_of(await started(site, database, learn={"start": "shipped"}, features={"set": "paper"}))
    links = np.zeros((2, taught._describer.dim), np.float32)
    links[0, [taught._describer.columns.index(name) for name in ("site_share", "word_probability")]] = 1.0
    hosts = np.ones(2, np.int32)
    promising, plain = taught._trainer.values(links).tolist()
    assert promising > plain + 0.3, "it has been taught what words and sites are worth"
    assert np.abs(untaught._trainer.values(links)).max() < 0.1
    elsewhere = other._value(np.zeros((2, other._describer.dim), np.float32), hosts)
    assert np.abs(elsewhere).max() < 0.1, "what was taught is about other features"
    for policy in (taught, untaught, other):
        await policy.close()
