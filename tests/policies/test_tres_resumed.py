"""What TRES has learned is saved with its step, and found again."""

from __future__ import annotations

import numpy as np
import pytest
from sqlalchemy import text

from tests.policies.learning_crawls import HOSTS, PAGES, good_and_bad_web, nodes_of, policy_of, started
from tests.site import WORDS, SmallSite
from tres_crawler.crawl import Crawl
from tres_crawler.errors import ModelError, StoreError
from tres_crawler.features import ANCHOR
from tres_crawler.finds import ADDRESS
from tres_crawler.learn import snapshot
from tres_crawler.learn.replay import Transition
from tres_crawler.records import StopReason
from tres_crawler.store import database as database_module
from tres_crawler.store import learning, links
from tres_crawler.store.database import Database
from tres_crawler.store.tables import pages as page_table
from tres_crawler.store.tables import snapshots


async def test_a_resumed_crawl_has_the_same_tree_the_same_links_and_a_learner_that_goes_on(
    site: SmallSite, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database_module, "PART_ROWS", 7)
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
    named = again._known.finds.of_links(waiting.features[:, -ADDRESS:], waiting.features[:, ANCHOR])
    assert (named > 0).any(axis=0).all(), "what pages name is known again"


async def test_what_pages_say_of_links_and_sites_follows_a_persons_word_also_after_a_restart(
    site: SmallSite, database: Database
) -> None:
    good_and_bad_web(site)
    first = await started(site, database)
    await first.run()
    crawl = await Crawl.load(database, first.id, {"max_pages": 80})
    policy = policy_of(crawl)
    waiting = policy.frontier.tree.samples()
    told = policy._refreshed(waiting.features, waiting.hosts)
    for page in policy._history[5:25]:
        if page.number in policy._named:
            await crawl.feedback(page.number, not page.relevant)
    live = policy._refreshed(waiting.features, waiting.hosts)
    await policy.close()
    named = [policy._describer.columns.index(name) for name in ("found_by_relevant", "site_named")]
    assert (live[:, named] != told[:, named]).any(axis=0).all()
    again = policy_of(await Crawl.load(database, first.id, {"max_pages": 80}))
    assert np.array_equal(again._refreshed(waiting.features, waiting.hosts), live)
    await again.close()


async def forget_snapshots(database: Database) -> None:
    """As after a kill before the first one."""
    assert database._engine
    async with database._engine.begin() as connection:
        await connection.execute(snapshots.delete())


@pytest.mark.parametrize("moved", [False, True], ids=["at their address", "moved to other sites"])
async def test_experiences_that_came_after_the_last_snapshot_are_learned_from_again(
    site: SmallSite, database: Database, moved: bool
) -> None:
    good_and_bad_web(site)
    for host in range(HOSTS * moved):
        # What was known of a link is what was known of the site it named, not of the one that answered.
        for page in range(0, PAGES, 2):
            site.redirect(f"b{host}.test/{page}", f"g{(host + 1) % HOSTS}.test/moved{page}")
            site.page(f"g{(host + 1) % HOSTS}.test/moved{page}", text=f"{WORDS} {host} {page}")
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


async def test_the_learner_is_saved_at_200_pages_and_then_whenever_they_have_grown_by_a_tenth_and_100(
    site: SmallSite, database: Database
) -> None:
    policy = policy_of(await started(site, database))
    assert [pages for pages in range(1, 1001) if policy.is_snapshot_due(pages)] == [200, 320, 452, 597, 756, 931]
    await policy.close()


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
