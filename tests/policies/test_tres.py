"""TRES on the engine: what it learns from, what it begins with, and what it says of its choices."""

from __future__ import annotations

from io import StringIO

import numpy as np
import pytest
from rich.console import Console

from tests.policies.learning_crawls import good_and_bad_web, nodes_of, policy_of, started
from tests.site import SmallSite
from tres_crawler.cli.display import print_end
from tres_crawler.crawl import Crawl
from tres_crawler.errors import ControlError, ModelError
from tres_crawler.features import ANCHOR
from tres_crawler.finds import ADDRESS
from tres_crawler.frontier.tree import Tree
from tres_crawler.records import StopReason
from tres_crawler.store import crawls, learning, links, pages
from tres_crawler.store.database import Database


async def test_it_learns_to_stay_on_good_hosts(site: SmallSite, database: Database) -> None:
    good_and_bad_web(site)
    await (await started(site, database, fetch={"slots": 1}, crawl={"max_pages": 90})).run()  # drawn by the seed alone
    asked = [path[0] for path in site.paths()[1:]]
    assert asked[45:].count("g") > asked[:45].count("g"), "half of all pages are good: later ones should be more often"
    assert asked[45:].count("g") / 45 > 0.6


async def test_a_choice_looks_again_at_the_best_links_of_earlier_ones(site: SmallSite, database: Database) -> None:
    good_and_bad_web(site)
    looked = {}
    for size in (0, 30):
        looks = {"draws": 1, "shortlist": size}
        crawl = await started(site, database, crawl={"max_pages": 40}, frontier=looks, choose={"eagerness": 1.0})
        await crawl.run()
        frontier = policy_of(crawl).frontier
        looked[size] = len(frontier._others(frontier.tree.offers()))
    assert looked[0] == 0 < looked[30] < 30


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
    found = policy_of(crawl)._known.finds.of_links(rows[:, -ADDRESS:], rows[:, ANCHOR])
    assert found[:, 0].tolist() == [0.5, 0.0], "one page may name a link twice"


async def test_the_better_anchor_of_a_later_page_counts_for_a_link_that_waits(
    site: SmallSite, database: Database
) -> None:
    telling = '<a href="http://d.test/1">tennis players and their coach</a>'
    site.page("a.test/", links=["b.test/"], text='<a href="http://d.test/1">here</a><a href="http://d.test/2">here</a>')
    site.page("b.test/", text=telling)
    crawl = await started(site, database, crawl={"max_pages": 2})
    await crawl.run()
    described = {link.url: link.features for link in await links.described(database, crawl.id)}
    policy = policy_of(crawl)
    rows = learning.matrix((described[f"http://d.test/{page}"] for page in "12"), policy._describer.width)
    better, same = policy._known.finds.of_links(rows[:, -ADDRESS:], rows[:, ANCHOR])[:, 2]
    assert better > same + 0.1


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
    vectors = policy_of(teacher)._learner.replay.arrays()["heads"]["features"]
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
    assert [row.relevant async for row in pages.outcomes(database, 1)] == [True, True]
    out = Console(file=StringIO(), width=120)
    print_end(out, summary, None)
    assert isinstance(out.file, StringIO)
    assert "Stopped: frontier_empty." in out.file.getvalue()
    assert "add seeds to reach more of the web" in out.file.getvalue()


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
    elsewhere = other._value(np.zeros((2, other._describer.width), np.float32), hosts)
    assert np.abs(elsewhere).max() < 0.1, "what was taught is about other features"
    for policy in (taught, untaught, other):
        await policy.close()
