"""What every policy must do on the engine, whatever it chooses by."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from tests.policies.learning_crawls import good_and_bad_web, started
from tests.site import SmallSite
from tres_crawler.config import Settings
from tres_crawler.crawl import Crawl
from tres_crawler.policies.registry import POLICIES, PRESETS, settled
from tres_crawler.records import StopReason
from tres_crawler.store import crawls, links
from tres_crawler.store.database import Database

CAPS = ("100", "50", "10", "5")
every_policy = pytest.mark.parametrize("policy", POLICIES)


@every_policy
async def test_a_crawl_that_is_left_and_taken_up_again_meets_its_budget_and_fetches_nothing_twice(
    site: SmallSite, database: Database, policy: str
) -> None:
    good_and_bad_web(site)
    first = await started(site, database, crawl={"policy": policy, "max_pages": 30})
    assert (await first.run()).stop_reason is StopReason.BUDGET
    again = await Crawl.load(database, first.id, {"max_pages": 60})
    assert len(again._frontier) == len(first._frontier) == len(await links.waiting(database, first.id))
    summary = await again.run()
    assert (summary.pages, summary.policy, summary.stop_reason) == (60, policy, StopReason.BUDGET)
    assert max(Counter(site.paths()).values()) == 1


@pytest.mark.parametrize(
    ("policy", "cap", "most"), [*((name, "5:2", 5) for name in POLICIES), *(("tres", cap, int(cap)) for cap in CAPS)]
)
async def test_no_site_has_more_pages_than_its_cap(
    site: SmallSite, database: Database, policy: str, cap: str, most: int
) -> None:
    good_and_bad_web(site)
    summary = await (await started(site, database, crawl={"policy": policy, "max_per_site": cap})).run()
    assert summary.stop_reason in (StopReason.BUDGET, StopReason.SITES_CAPPED)
    fetched = Counter(path.partition("/")[0] for path in site.paths())
    assert max(fetched.values()) <= most
    assert summary.pages == sum(fetched.values()) >= (60 if cap != "5:2" else 2 * len(fetched) - 1)


@every_policy
async def test_a_new_judge_in_the_middle_is_followed_and_survives_a_restart(
    site: SmallSite, database: Database, policy: str
) -> None:
    good_and_bad_web(site)
    first = await started(site, database, crawl={"policy": policy, "max_pages": 30})
    await first.run()
    crawl = await Crawl.load(database, first.id, {"max_pages": 60})
    turned = {number: number % 2 == 0 for number in range(1, 31)}
    await database.write(*await crawl._policy.judged_again(turned, ("tennis", "court"), judge_version=2))
    summary = await crawl.run()
    assert (summary.pages, summary.stop_reason) == (60, StopReason.BUDGET)
    again = await Crawl.load(database, first.id, {"max_pages": 70})
    assert (await again.run()).pages == 70


@every_policy
async def test_a_host_that_is_given_up_and_a_redirect_do_no_harm(
    site: SmallSite, database: Database, policy: str
) -> None:
    site.page("a.test/", links=["moved.test/", *(f"down.test/{page}" for page in range(12)), "b.test/"])
    site.redirect("moved.test/", "c.test/")
    for page in range(12):
        site.error(f"down.test/{page}", 500)
    for place in ("b.test/", "c.test/"):
        site.page(place, links=["a.test/"])
    summary = await (await started(site, database, crawl={"policy": policy}, fetch={"retries": 0, "slots": 2})).run()
    assert summary.stop_reason in (StopReason.FRONTIER_EMPTY, StopReason.BUDGET)
    assert {"a.test/", "b.test/", "c.test/"} <= set(site.paths())
    assert summary.waiting == 0


# The paper's own settings draw the first 300 pages at random.
BLIND = {"random", "tree-random", "breadth-first", "async", "tres-paper"}


@pytest.mark.parametrize("policy", sorted(set(POLICIES) - BLIND))
async def test_it_prefers_what_looks_and_has_been_good(site: SmallSite, database: Database, policy: str) -> None:
    """Links on good pages say so in words; links to bad pages have words of their own.

    At one slot, so that the seed alone says what is drawn, and not which answer comes first.
    """
    good = [f"tennis{n}.test/coach-match" for n in range(60)]
    bad = [f"railway{n}.test/timetable" for n in range(60)]
    site.page("a.test/", links=[*bad[:20], *good[:20]])
    for at, place in enumerate((*good, *bad)):
        step = [links[(at * 7 + n * 11) % 60] for n in range(6) for links in (bad, good)]
        site.page(place, links=step, text="" if place in good else f"timetable of the railway at {place}")
    given: dict[str, Any] = {"crawl": {"policy": policy, "max_pages": 60}}
    await (await started(site, database, **given, fetch={"slots": 1}, learn={"steps_per_page": 4})).run()
    late = site.paths()[30:]
    assert sum(path in good for path in late) / len(late) > 0.6, site.paths()


def test_a_preset_wins_over_what_was_set_and_leaves_the_rest() -> None:
    given = Settings().replaced("learn", {"discount": 0.9, "clip": 0.5}).replaced("crawl", {"policy": "tres-paper"})
    found = settled(given.replaced("features", {"site": False}))
    assert (found.learn.discount, found.learn.target, found.learn.prior) == (0.3, "paper", False)
    assert (found.learn.clip, found.features.site) == (0.5, False)
    ours = (found.learn.weight_decay, found.frontier.draws, found.frontier.shortlist)
    assert ours == (0.0, 1, 0), "none is TRES's"
    assert settled(given.replaced("crawl", {"policy": "tres"})).learn.discount == 0.9
    assert set(PRESETS) <= set(POLICIES)


async def test_brute_force_says_once_that_too_many_links_wait(
    site: SmallSite, database: Database, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("tres_crawler.policies.queued.MANY_LINKS", 10)
    good_and_bad_web(site)
    crawl = await started(site, database, crawl={"policy": "sync", "max_pages": 10})
    assert (await crawl.run()).pages == 10
    told = await crawls.newest_event(database, crawl.id, "slow policy")
    assert told and told["waiting"] >= 10
    assert caplog.text.count("values each of them at every choice") == 1
