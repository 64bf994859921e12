"""Known pages are visited again: politely, within their share, and whatever has become of them."""

from __future__ import annotations

import time
from itertools import pairwise

import pytest

from tests.conftest import MakeCrawl
from tests.monitoring import DATED, DAY, LONG, NEWS, HandClock, Watch, rows
from tests.site import Answer, SmallSite
from tests.test_visits import fails_on
from tres_crawler.parse import page
from tres_crawler.records import CrawlState, StopReason
from tres_crawler.store import crawls, sources
from tres_crawler.store.database import Database


async def test_without_recrawling_a_crawl_ends_and_has_no_sources(
    site: SmallSite, make_crawl: MakeCrawl, database: Database
) -> None:
    site.page("a.test/")
    summary = await (await make_crawl(site.topic("a.test/"), policy="random")).run()
    assert summary.stop_reason == StopReason.FRONTIER_EMPTY
    assert await rows(database) == {}


async def test_a_monitor_stays_up_and_visits_again_what_is_relevant_until_it_is_stopped(
    site: SmallSite, watch: Watch, database: Database
) -> None:
    site.page("a.test/", links=["b.test/", "c.test/"])
    site.page("b.test/")
    site.page("c.test/", text="an entirely different matter about cooking soup with onions and butter")
    running = await watch(pages=3)
    await running.visit(2)
    assert set(await rows(database)) == {"a.test/", "b.test/"}
    assert sorted(site.paths())[:5] == ["a.test/", "a.test/", "b.test/", "b.test/", "c.test/"]
    assert running.crawl.state is CrawlState.RUNNING
    await running.stop()
    assert running.task.result().stop_reason == StopReason.STOPPED
    assert running.task.result().pages == 3, "visits are paid for from no budget"


async def test_a_revisit_is_conditional_and_an_unchanged_page_costs_no_body(
    site: SmallSite, watch: Watch, database: Database
) -> None:
    site.page("a.test/", headers=DATED)
    running = await watch(pages=1)
    await running.visit()
    await running.visit()
    asked = [one.headers for one in site.asked if one.path == "/"]
    assert "if-none-match" not in asked[0]
    assert asked[1]["if-none-match"] == '"1"'
    assert asked[1]["if-modified-since"] == "sat, 08 sep 2001 00:00:00 gmt"
    kept = (await rows(database))["a.test/"]
    assert (kept.visits, kept.found, kept.bytes) == (2, 0, 0)
    assert kept.truths == 2


async def test_an_unchanged_page_need_not_repeat_its_validators(
    site: SmallSite, watch: Watch, database: Database
) -> None:
    site.page("a.test/", headers=DATED)
    running = await watch(pages=1)
    site.answers["a.test/"] = [Answer(304)]
    await running.visit()
    await running.visit()
    assert [one.headers.get("if-none-match") for one in site.asked if one.path == "/"] == [None, '"1"', '"1"']
    kept = (await rows(database))["a.test/"]
    assert (kept.etag, kept.last_modified) == (DATED["ETag"], DATED["Last-Modified"])


async def test_validators_of_no_alphabet_are_left(site: SmallSite, watch: Watch, database: Database) -> None:
    site.page("a.test/", headers={"ETag": '"caf\udce9"', "Last-Modified": "Sat, 08 Sep 2001 \udcff"})
    running = await watch(pages=1)
    await running.visit()
    kept = (await rows(database))["a.test/"]
    assert (kept.etag, kept.last_modified, kept.visits) == (None, None, 1)


async def test_a_server_that_dates_every_answer_anew_is_not_believed(
    site: SmallSite, watch: Watch, database: Database
) -> None:
    site.page("a.test/", headers={"Last-Modified": DATED["Date"], "Date": DATED["Date"]})
    running = await watch(pages=1)
    for _ in range(4):
        await running.visit()
    kept = (await rows(database))["a.test/"]
    assert (kept.truths, kept.lies, kept.found) == (0, 4, 0)
    assert not running.crawl._revisits.list.estimates.belief(kept.page).dated


async def test_what_is_new_is_judged_on_the_text_kept_and_shown(
    site: SmallSite, watch: Watch, clock: HandClock, database: Database
) -> None:
    site.page("a.test/", text=LONG)
    running = await watch(pages=1)
    site.page("a.test/", text=LONG, headers={"X-Other": "bytes, same text"})
    await running.visit()
    assert await sources.latest_news(database, 1, 10) == []
    site.page("a.test/", text=LONG.replace("number4", f"number4 {NEWS}"))
    await running.visit()
    await running.visit()
    (news,) = await sources.latest_news(database, 1, 10)
    assert [words for is_new, words in news.segments if is_new] == [NEWS]
    assert 0 < news.value <= news.share < 0.3
    told = await crawls.newest_event(database, 1, "source changed")
    assert told and (told["url"], told["share"]) == ("http://a.test/", round(news.share, 3)), "webhooks tell of it"
    kept = (await rows(database))["a.test/"]
    assert (kept.visits, kept.found, kept.changed_at) == (3, 1, clock.now - DAY)
    assert kept.rate > 0


async def test_a_page_that_cannot_be_parsed_any_more_is_looked_at_again_later(
    site: SmallSite, watch: Watch, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    site.page("a.test/", text=LONG)
    running = await watch(pages=1)
    with monkeypatch.context() as patched:
        patched.setattr(page, "parse", fails_on("http://a.test/"))
        await running.visit()
    site.page("a.test/", text=f"{LONG} {NEWS}")
    await running.visit()
    kept = (await rows(database))["a.test/"]
    assert (kept.visits, kept.found, kept.retired_at) == (1, 1, None), "one of the two has told something"


async def test_new_links_of_a_known_page_are_discovered(site: SmallSite, watch: Watch) -> None:
    site.page("a.test/", text=LONG)
    running = await watch(pages=1)
    site.page("a.test/", links=["new.test/1"], text=LONG)
    site.page("new.test/1")
    await running.visit()
    await running.fetched(2)
    assert site.paths("new.test") == ["new.test/1"]


async def test_new_links_wait_where_the_budget_is_spent(site: SmallSite, watch: Watch) -> None:
    site.page("a.test/", text=LONG)
    running = await watch(pages=1, max_pages=1)
    site.page("a.test/", links=["new.test/1"], text=LONG)
    await running.visit()
    await running.visit()
    assert running.crawl.summary().waiting == 1
    assert site.paths("new.test") == []


async def test_visits_are_not_charged_to_the_cap_of_a_site(site: SmallSite, watch: Watch) -> None:
    site.page("a.test/", text=LONG)
    running = await watch(pages=1, max_per_site="2")
    for _ in range(3):
        await running.visit()
    site.page("a.test/", links=["a.test/new"], text=LONG)
    site.page("a.test/new", text=f"{LONG} {NEWS}")
    await running.visit()
    await running.fetched(2)
    assert site.paths("a.test").count("a.test/new") == 1


@pytest.mark.parametrize("status", [404, 410])
async def test_a_page_that_is_gone_is_retired_after_a_second_look(
    site: SmallSite, watch: Watch, database: Database, status: int
) -> None:
    site.page("a.test/", links=["b.test/"])
    site.page("b.test/")
    running = await watch(pages=2)
    site.answers["b.test/"] = [Answer(status)]
    await running.visit(2)
    assert set(await rows(database)) == {"a.test/", "b.test/"}
    await running.visit(2)
    assert set(await rows(database)) == {"a.test/"}
    assert await sources.retired(database, 1) == {f"gone (status {status})": 1}
    await running.visit(1)
    assert len(site.paths("b.test")) == 3


async def test_a_page_that_comes_back_is_kept(site: SmallSite, watch: Watch, database: Database) -> None:
    site.page("a.test/")
    running = await watch(pages=1)
    for _ in range(3):
        site.error("a.test/", 404, times=1)
        await running.visit()
        await running.visit()
    assert set(await rows(database)) == {"a.test/"}


@pytest.mark.parametrize("status", [301, 308])
async def test_a_page_that_moves_is_found_where_it_went(
    site: SmallSite, watch: Watch, database: Database, status: int
) -> None:
    site.page("a.test/")
    running = await watch(pages=1)
    site.answers["a.test/"] = [Answer(status, headers={"Location": "http://b.test/new"})]
    site.page("b.test/new", text=LONG)
    await running.visit()
    await running.fetched(2)
    await running.visit(2)
    assert set(await rows(database)) == {"b.test/new"}
    assert await sources.retired(database, 1) == {"moved to http://b.test/new": 1}


@pytest.mark.parametrize("status", [302, 303, 307])
async def test_a_page_that_leads_elsewhere_for_a_while_is_kept(
    site: SmallSite, watch: Watch, clock: HandClock, database: Database, status: int
) -> None:
    site.page("a.test/")
    running = await watch(pages=1)
    seen_at, back = clock.now, site.answers["a.test/"]
    site.answers["a.test/"] = [Answer(status, headers={"Location": "http://a.test/maintenance"})]
    for _ in range(3):
        await running.visit()
    kept = (await rows(database))["a.test/"]
    assert (kept.visits, kept.missing, kept.visited_at) == (0, 0, seen_at), "nothing was found out"
    site.answers["a.test/"] = back
    await running.visit()
    assert (await rows(database))["a.test/"].visits == 1


async def test_robots_txt_may_retire_a_page(site: SmallSite, watch: Watch, database: Database) -> None:
    site.page("a.test/", links=["b.test/x"])
    site.page("b.test/x")
    running = await watch(pages=2)
    site.robots("b.test", "User-agent: *\nDisallow: /x")
    running.crawl._visitor._robots.clock = lambda: time.time() + 2 * DAY
    await running.visit(2)
    assert set(await rows(database)) == {"a.test/"}
    assert await sources.retired(database, 1) == {"disallowed by robots.txt": 1}
    assert len(site.paths("b.test")) == 1, "it was not asked for"


async def test_an_owner_who_no_longer_wants_a_page_kept_is_obeyed(
    site: SmallSite, watch: Watch, clock: HandClock, database: Database
) -> None:
    site.page("a.test/")
    running = await watch(pages=1)
    site.page("a.test/", headers={"X-Robots-Tag": "noindex"})
    clock.now += DAY
    await running.task
    assert await sources.retired(database, 1) == {"its owner does not want it kept": 1}
    assert running.task.result().stop_reason == StopReason.FRONTIER_EMPTY, "nothing is left to watch"


async def test_trouble_tells_nothing_and_retires_nothing(
    site: SmallSite, watch: Watch, clock: HandClock, database: Database
) -> None:
    site.page("a.test/", text=LONG)
    running = await watch(pages=1, fetch={"delay_seconds": 0.001})
    seen_at = clock.now
    site.error("a.test/", 404, times=1)
    await running.visit()
    site.answers["a.test/"] = [Answer(200, "<title>nothing</title>")]
    await running.visit()
    kept = (await rows(database))["a.test/"]
    assert (kept.visits, kept.visited_at, kept.tried_at) == (0, seen_at, clock.now)


async def test_a_share_of_the_fetches_goes_to_known_pages_while_new_ones_are_discovered(
    site: SmallSite, make_crawl: MakeCrawl
) -> None:
    places = [f"h{number % 20}.test/{number}" for number in range(200)]
    site.page("a.test/", links=places)
    for place in places:
        site.page(place)
    recrawl = {"mode": "share", "share": 0.25, "policy": "round-robin", "least_gap_seconds": 0.0}
    crawl = await make_crawl(
        site.topic("a.test/"),
        {"slots": 4},
        recrawl=recrawl,
        max_pages=150,
        policy="random",
        relevance={"model": "prior"},
    )
    summary = await crawl.run()
    assert (summary.pages, summary.stop_reason) == (150, StopReason.BUDGET)
    assert 150 + 40 <= len(site.paths()) <= 150 + 50


async def test_hosts_are_asked_no_faster_for_what_is_known(site: SmallSite, watch: Watch) -> None:
    site.page("a.test/", links=[f"a.test/{number}" for number in range(4)])
    for number in range(4):
        site.page(f"a.test/{number}")
    running = await watch(pages=5, recrawl={"policy": "round-robin"}, fetch={"delay_seconds": 0.03})
    await running.visit(10)
    await running.stop()
    assert site.most_under_way["a.test"] == 1
    gaps = [later.arrived - earlier.finished for earlier, later in pairwise(site.asked) if later.host == earlier.host]
    assert min(gaps) >= 0.03
