"""How a crawl behaves towards the hosts it asks, on a small web whose every answer is known."""

from __future__ import annotations

import asyncio
from collections import Counter
from itertools import pairwise

from tests.conftest import MakeCrawl, exported
from tests.site import SmallSite
from tres_crawler.config import FetchSettings
from tres_crawler.crawl import Crawl
from tres_crawler.errors import Unreachable
from tres_crawler.manners import Manners
from tres_crawler.records import StopReason
from tres_crawler.store import crawls, links
from tres_crawler.store.database import Database
from tres_crawler.troubles import GIVE_UP_TROUBLES


async def test_a_host_is_asked_one_request_at_a_time_with_a_pause_between(
    site: SmallSite, make_crawl: MakeCrawl
) -> None:
    site.page("a.test/", links=[f"a.test/{page}" for page in range(5)])
    for page in range(5):
        site.page(f"a.test/{page}")
    await (await make_crawl(site.topic("a.test/"), {"slots": 8, "delay_seconds": 0.05})).run()
    assert site.most_under_way["a.test"] == 1
    gaps = [later.arrived - earlier.finished for earlier, later in pairwise(site.asked)]
    assert len(gaps) == 6
    assert min(gaps) >= 0.05


async def test_a_waiting_host_holds_no_slot(site: SmallSite, make_crawl: MakeCrawl) -> None:
    site.page("a.test/", links=["a.test/1", *(f"h{n}.test/" for n in range(4))])
    site.page("a.test/1")
    for n in range(4):
        site.page(f"h{n}.test/")
    fetch = {"slots": 1, "delay_seconds": 0.4, "obey_robots": False}
    await (await make_crawl(site.topic("a.test/"), fetch, policy="breadth-first")).run()
    assert site.paths() == ["a.test/", "h0.test/", "h1.test/", "h2.test/", "h3.test/", "a.test/1"]


async def test_robots_txt_is_asked_first_and_obeyed(site: SmallSite, make_crawl: MakeCrawl, database: Database) -> None:
    site.robots("a.test", "User-agent: *\nDisallow: /secret")
    site.page("a.test/", links=["a.test/secret/1", "a.test/open"])
    site.page("a.test/secret/1")
    site.page("a.test/open")
    summary = await (await make_crawl(site.topic("a.test/"))).run()
    assert site.asked[0].path == "/robots.txt"
    assert site.paths() == ["a.test/", "a.test/open"]
    assert summary.pages == 2, "a refused link costs nothing"


async def test_robots_txt_is_a_request_that_is_followed_by_a_pause_also_when_it_forbids_the_page(
    site: SmallSite, make_crawl: MakeCrawl
) -> None:
    site.robots("b.test", "User-agent: *\nDisallow: /secret")
    site.page("a.test/", links=["b.test/secret/1", "b.test/secret/2", "b.test/open"])
    site.page("b.test/open")
    await (await make_crawl(site.topic("a.test/"), {"delay_seconds": 0.2}, policy="breadth-first")).run()
    asked = [one for one in site.asked if one.host == "b.test"]
    assert [one.path for one in asked] == ["/robots.txt", "/open"]
    assert asked[1].arrived - asked[0].finished >= 0.2


async def test_unreachable_robots_txt_means_not_fetched(site: SmallSite, make_crawl: MakeCrawl) -> None:
    site.robots("b.test", "", status=503)
    site.page("a.test/", links=["b.test/1"])
    site.page("b.test/1")
    summary = await (await make_crawl(site.topic("a.test/"))).run()
    assert (site.paths(), summary.pages) == (["a.test/"], 1)
    assert sum(one.host == "b.test" for one in site.asked) == 3, "the first try and two retries"


async def test_owners_wishes_for_a_page_are_honoured(
    site: SmallSite, make_crawl: MakeCrawl, database: Database
) -> None:
    site.page("a.test/", links=["b.test/1", "c.test/1"])
    site.page("b.test/1", links=["b.test/2"])
    site.answers["b.test/1"][0].headers["X-Robots-Tag"] = "noindex"
    site.page("b.test/2")
    site.page("c.test/1", links=["c.test/2"])
    site.answers["c.test/1"][0].body += '<meta name="tres_crawler" content="nofollow">'
    crawl = await make_crawl(site.topic("a.test/"))
    summary = await crawl.run()
    rows = {str(row["url"]): row for row in await exported(database, crawl)}
    assert (rows["http://b.test/1"]["outcome"], rows["http://b.test/1"]["title"]) == ("noindex", "")
    assert "http://b.test/2" in rows, "noindex is not nofollow"
    assert "http://c.test/2" not in rows
    assert (summary.pages, summary.relevant_pages) == (4, 3)


async def test_retry_after_is_obeyed(site: SmallSite, make_crawl: MakeCrawl) -> None:
    site.page("a.test/")
    site.error("a.test/", 429, times=1)
    site.answers["a.test/"][0].headers["Retry-After"] = "1"
    summary = await (await make_crawl(site.topic("a.test/"))).run()
    first, second = (one for one in site.asked if one.path == "/")
    assert second.arrived - first.finished >= 1.0
    assert (summary.pages, summary.failed) == (1, 0)


async def test_a_host_that_asks_for_too_long_a_pause_is_left_alone(
    site: SmallSite, make_crawl: MakeCrawl, database: Database
) -> None:
    site.robots("b.test", "User-agent: *\nCrawl-delay: 1000")
    site.page("a.test/", links=["b.test/1"])
    site.page("b.test/1")
    crawl = await make_crawl(site.topic("a.test/"))
    summary = await crawl.run()
    assert (summary.pages, site.paths("b.test")) == (1, [])
    assert await links.refusals(database, crawl.id) == {"robots.txt asks for a pause above 60 s": 1}


async def test_a_crawl_delay_counts_also_after_a_restart(
    site: SmallSite, make_crawl: MakeCrawl, database: Database
) -> None:
    site.robots("a.test", "User-agent: *\nCrawl-delay: 0.3")
    site.page("a.test/", links=[f"a.test/{n}" for n in range(4)])
    for n in range(4):
        site.page(f"a.test/{n}")
    crawl = await make_crawl(site.topic("a.test/"), max_pages=2)
    await crawl.run()
    asked = len(site.asked)
    await (await Crawl.load(database, crawl.id, {"max_pages": 4})).run()
    later = site.asked[asked:]
    assert later[1].arrived - later[0].finished >= 0.3


async def test_a_host_in_trouble_too_often_is_given_up_with_all_that_waits_for_it(
    site: SmallSite, make_crawl: MakeCrawl, database: Database
) -> None:
    site.page("a.test/", links=[f"b.test/{n}" for n in range(20)])
    for n in range(20):
        site.error(f"b.test/{n}", 500)
    crawl = await make_crawl(site.topic("a.test/"))
    summary = await crawl.run()
    assert summary.stop_reason == StopReason.FRONTIER_EMPTY
    assert summary.failed < 6
    for kind in ("quarantine", "host given up"):
        assert await crawls.troubled_hosts(database, crawl.id, kind) == {"b.test": "status 500"}
    assert sum((await links.refusals(database, crawl.id)).values()) == 20 - summary.failed


async def test_two_crawls_that_share_their_manners_never_ask_a_host_twice_as_hard(
    site: SmallSite, make_crawl: MakeCrawl, database: Database
) -> None:
    site.page("a.test/", links=[f"a.test/{n}" for n in range(6)])
    for n in range(6):
        site.page(f"a.test/{n}")
    made = [await make_crawl(site.topic("a.test/"), {"delay_seconds": 0.05}) for _ in range(2)]
    manners = Manners.of(database, FetchSettings(delay_seconds=0.05))
    both = [await Crawl.load(database, crawl.id, manners=manners) for crawl in made]
    await asyncio.gather(*(crawl.run() for crawl in both))
    assert Counter(site.paths()) == dict.fromkeys(site.answers, 2)
    assert site.most_under_way["a.test"] == 1
    gaps = [later.arrived - earlier.finished for earlier, later in pairwise(site.asked)]
    assert min(gaps) >= 0.05


async def test_links_that_are_placed_when_their_host_has_just_been_given_up_wait_also_in_the_store(
    site: SmallSite, make_crawl: MakeCrawl, database: Database
) -> None:
    crawl = await make_crawl(site.topic("a.test/1"), policy="breadth-first")
    for _ in range(GIVE_UP_TROUBLES):
        crawl._visitor._pace.begin("a.test")
        crawl._visitor._pace.end_badly("a.test")
    trouble = Unreachable("http://a.test/1", "no answer")
    # Both steps are queued before the writer takes them, as one batch.
    given_up = crawl._troubles._given_up(crawl._places.host("http://a.test/"), trouble)
    await asyncio.gather(crawl._ledger.save([], given_up), crawl._ledger.save_seeds(["http://a.test/2"], []))
    assert [offer.link for offer in await links.waiting(database, crawl.id)] == [2]
    assert await links.refusals(database, crawl.id) == {"host given up": 1}
    await crawl.close()
