"""What a person sees of a crawl: its pages and why, its sites, its course, its tree, its hosts."""

from __future__ import annotations

import math
import time
import urllib.request
from datetime import datetime
from typing import Any

import pytest
from sqlalchemy import insert, select

from tests.serve.service import Service
from tres_crawler.config import Settings
from tres_crawler.founding import create_crawl
from tres_crawler.records import Topic
from tres_crawler.serve.looking import _seconds
from tres_crawler.serve.looking import sites as listed_sites
from tres_crawler.serve.metrics import LAST_PAGES, step_for
from tres_crawler.store import judging, tables
from tres_crawler.store.database import Change, Database

PLACED = {
    "parent_reward",
    "inverse_distance",
    "path_ratio",
    "keyword_in_url",
    "keyword_in_anchor",
    "anchor_probability",
    "site_ratio",
    "site_known",
    "site_share",
    "word_probability",
}
LATER = {"found_again", "found_by_relevant", "best_anchor", "site_named", "site_anchor"}


def every(served: Service, path: str) -> list[dict[str, Any]]:
    """All items of a list, a part at a time."""
    found: list[dict[str, Any]] = []
    cursor = ""
    while True:
        part = served.get(f"{path}{'&' if '?' in path else '?'}limit=70{cursor}")
        found += part["items"]
        if part["next"] is None:
            return found
        cursor = f"&cursor={part['next']}"


def test_all_pages_are_listed_once_by_cursor_in_either_order(served: Service) -> None:
    newest = [page["id"] for page in every(served, "/1/pages")]
    assert newest == list(range(300, 0, -1))
    assert [page["id"] for page in every(served, "/1/pages?order=oldest")] == newest[::-1]


def test_pages_are_filtered_by_relevance_site_time_and_text(served: Service) -> None:
    pages = every(served, "/1/pages")
    relevant = [page for page in pages if page["relevant"]]
    assert 0 < len(relevant) < len(pages)
    assert every(served, "/1/pages?relevant=true") == relevant
    one = relevant[0]
    assert every(served, f"/1/pages?site={one['site']}") == [page for page in pages if page["site"] == one["site"]]
    since = pages[40]["fetched_at"]
    later = [page for page in pages if datetime.fromisoformat(page["fetched_at"]) >= datetime.fromisoformat(since)]
    assert every(served, f"/1/pages?since={since.replace('+', '%2B')}") == later
    word = one["title"].split()[0].lower()
    found = every(served, f"/1/pages?q={word}")
    assert one in found
    assert all(word in (page["title"] + page["url"]).lower() for page in found)
    assert every(served, "/1/pages?q=100%25_") == [], "signs of SQL stand for themselves"


@pytest.mark.parametrize(("since", "count"), [("0001-01-01T00:00:00", 300), ("9999-12-31T23:59:59", 0)])
def test_a_time_without_a_zone_may_be_any_time(served: Service, since: str, count: int) -> None:
    assert len(every(served, f"/1/pages?since={since}")) == count


def test_a_time_without_a_zone_is_utc_wherever_the_service_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as elsewhere:
        elsewhere.setenv("TZ", "Asia/Tokyo")
        time.tzset()
        assert _seconds(datetime(1970, 1, 2)) == 86_400
    time.tzset()


def test_why_tells_the_way_to_a_page_and_how_its_link_was_chosen(served: Service) -> None:
    pages = every(served, "/1/pages?order=oldest")
    ways = [served.get(f"/1/pages/{page['id']}") for page in pages[::4]]
    assert ways[0]["choice"]["how"] == "seed"
    assert {way["choice"]["how"] for way in ways[1:]} == {"value", "chance"}
    for way in ways:
        assert way["path"][-1]["id"] == way["id"]
        assert way["path"][0]["anchor"] == ""
        assert len(way["path"]) == way["depth"] + 1
        assert [step["id"] for step in way["path"]] == sorted(step["id"] for step in way["path"])
        choice = way["choice"]
        assert {feature["name"] for feature in choice["features"]} == PLACED | LATER
        assert {feature["name"] for feature in choice["features"] if feature["placed"] is None} == LATER
        assert all(0 <= feature["value"] <= 1 and 0 <= (feature["placed"] or 0) <= 1 for feature in choice["features"])
        assert choice["explored"] == (choice["how"] == "chance") or choice["how"] == "seed"
        assert choice["leaf"] is not None
        assert math.isfinite(choice["value"])
        assert choice["learner_version"] >= 0
        for rule in choice["rules"]:
            assert any(name in rule for name in PLACED)
    deep = max(ways, key=lambda way: len(way["path"]))
    placed = {feature["name"]: feature["placed"] for feature in deep["choice"]["features"]}
    assert placed["parent_reward"] == float(deep["path"][-2]["relevant"])


def test_why_tells_what_a_page_led_to(served: Service) -> None:
    pages = every(served, "/1/pages?order=oldest")
    led = served.get("/1/pages/1")["led_to"]
    came_of_it = [page for page in pages if page["source"] == 1]
    assert led["fetched"] == len(came_of_it) > 0
    assert led["relevant"] == sum(page["relevant"] for page in came_of_it)
    assert {page["id"] for page in led["pages"]} <= {page["id"] for page in came_of_it}
    assert led["fetched"] + led["waiting"] + led["refused"] <= led["links"]


def test_a_policy_without_values_says_so(served: Service) -> None:
    choice = served.get("/2/pages/2")["choice"]
    assert choice["how"] == "order"
    assert (choice["value"], choice["leaf"], choice["rules"], choice["features"]) == (None, None, [], [])


def test_sites_are_ranked_by_evidence(served: Service) -> None:
    sites = every(served, "/1/sites")
    assert len(sites) == served.get("/1")["relevant_sites"]
    assert [site["rank"] for site in sites] == list(range(1, len(sites) + 1))
    assert [site["share_low"] for site in sites] == sorted((site["share_low"] for site in sites), reverse=True)
    for site in sites:
        pages = every(served, f"/1/pages?site={site['site']}")
        relevant = [page for page in pages if page["relevant"]]
        assert (site["pages"], site["relevant_pages"]) == (len(pages), len(relevant))
        assert site["share_low"] <= site["relevant_share"] <= site["share_high"]
        surest = sorted((page["probability"] for page in relevant), reverse=True)[:3]
        assert [page["probability"] for page in site["best_pages"]] == surest


async def add_pages(database: Database, crawl: int, first: int, sites_of: list[tuple[int, bool]]) -> None:
    """Pages from the number `first` on, each of a site and relevant or not; sites that are new are added."""
    link = {"crawl": crawl, "depth": 0, "anchor": "", "leaf": 0, "state": "fetched"}
    page = {"crawl": crawl, "outcome": "judged", "fetched_at": 0.0, "title": ""}
    known = {row.number for row in await database.rows(select(tables.sites.c.number))}
    new = [{"crawl": crawl, "number": n} for n in {site for site, _ in sites_of} - known]
    rows = [
        {"number": n, "url": f"http://{site}.test/{n}", "url_key": n, "host": site, "site": site, "relevant": relevant}
        for n, (site, relevant) in enumerate(sites_of, first)
    ]
    places = [{name: row[name] for name in ("number", "url", "url_key", "host")} for row in rows]
    await database.write(
        Change(insert(tables.sites), [{**one, "name": f"{one['number']}.test"} for one in new]),
        Change(insert(tables.hosts), [{**one, "name": f"{one['number']}.test", "site": one["number"]} for one in new]),
        Change(insert(tables.links), [{**link, **place} for place in places]),
        Change(insert(tables.pages), [{**page, **row, "link": row["number"]} for row in rows]),
    )


async def test_a_walk_over_the_sites_of_a_running_crawl_meets_each_that_was_there_once(database: Database) -> None:
    crawl = await create_crawl(database, Topic("t", ("word",), ("http://1.test/",)), Settings())
    await add_pages(database, crawl, 1, [(site, True) for site in range(1, 10)])
    first = await listed_sites(crawl, database, limit=2)
    walked = list(first.items)
    # Those already had fall behind, those to come rise, and new ones arrive.
    await add_pages(database, crawl, 10, [(1, False), (2, False), (9, True), (9, True), (20, True), (21, True)])
    after = first.next
    while after:
        part = await listed_sites(crawl, database, limit=2, cursor=after)
        walked, after = [*walked, *part.items], part.next
    assert [item.site for item in walked] == [f"{site}.test" for site in range(1, 10)]
    assert [item.rank for item in walked] == list(range(1, 10))
    assert {item.pages for item in walked} == {1}
    again = await listed_sites(crawl, database, limit=50)
    assert again.items[0].site == "9.test", "who begins anew sees what has arrived"
    assert len(again.items) == 11


async def test_a_label_given_in_the_middle_of_a_walk_loses_no_other_site(database: Database) -> None:
    crawl = await create_crawl(database, Topic("t", ("word",), ("http://1.test/",)), Settings())
    await add_pages(database, crawl, 1, [(site, True) for site in range(1, 6)])
    first = await listed_sites(crawl, database, limit=2)
    await database.write(*judging.new_word(crawl, 1, relevant=False))
    rest = await listed_sites(crawl, database, limit=50, cursor=first.next)
    assert [item.site for item in (*first.items, *rest.items)] == [f"{site}.test" for site in range(1, 6)]


def test_metrics_follow_from_the_pages(served: Service) -> None:
    metrics, now = served.get("/1/metrics?points=40"), served.get("/1")
    pages = every(served, "/1/pages?order=oldest")
    assert len(metrics["points"]) <= 40
    for point in metrics["points"]:
        had = pages[: point["pages"]]
        assert point["relevant_pages"] == sum(page["relevant"] for page in had)
        assert point["harvest_rate"] == pytest.approx(point["relevant_pages"] / point["pages"])
        last = had[-LAST_PAGES:]
        assert point["harvest_rate_last"] == pytest.approx(sum(page["relevant"] for page in last) / len(last))
        assert point["sites"] == len({page["site"] for page in had})
        assert point["relevant_sites"] == len({page["site"] for page in had if page["relevant"]})
        assert point["failed"] == sum(page["outcome"] == "failed" for page in had)
    end = metrics["points"][-1]
    assert end["pages"] == 300
    assert [end[name] for name in ("sites", "waiting", "leaves")] == [
        now[name] for name in ("sites", "waiting", "leaves")
    ]
    assert [point["seconds"] for point in metrics["points"]] == sorted(point["seconds"] for point in metrics["points"])
    reference = metrics["random_reference"]
    assert 0 <= reference["low"] <= reference["harvest_rate"] <= reference["high"] <= 1


@pytest.mark.parametrize(("pages", "most"), [(0, 10), (95, 10), (3_000, 300), (20_000, 300), (1_000_000, 300)])
def test_points_are_few_enough_and_as_close_as_that_allows(pages: int, most: int) -> None:
    step = step_for(pages, most)
    assert pages / step + 1 <= most
    assert LAST_PAGES % step == 0 or step % LAST_PAGES == 0


def test_the_tree_adds_up(served: Service) -> None:
    tree, now = served.get("/1/frontier?depth=64"), served.get("/1")
    nodes = {node["id"]: node for node in tree["nodes"]}
    root = nodes[0]
    assert (root["leaves"], root["links"], root["experiences"]) == (now["leaves"], now["waiting"], 300)
    assert set(tree["features"]) == PLACED
    leaves = [node for node in nodes.values() if node["left"] is None]
    assert len(leaves) == now["leaves"]
    for node in nodes.values():
        if node["left"] is not None:
            left, right = nodes[node["left"]], nodes[node["right"]]
            for sum_of in ("leaves", "links", "experiences"):
                assert node[sum_of] == left[sum_of] + right[sum_of]
            assert node["feature"] in PLACED
    shallow = served.get("/1/frontier?depth=1")["nodes"]
    assert [node["id"] for node in shallow] == [0, root["left"], root["right"]]
    assert shallow[0]["experiences"] == 300
    assert any(node["collapsed"] for node in shallow)


def test_a_policy_without_a_tree_has_no_nodes(served: Service) -> None:
    tree = served.get("/2/frontier")
    assert (tree["nodes"], tree["features"], tree["leaves"]) == ([], [], 1)


def test_hosts_say_how_pages_were_answered(served: Service) -> None:
    hosts = served.get("/1/hosts")
    assert sum(hosts["statuses"].values()) == 300
    assert hosts["in_flight"] == 0
    times = hosts["fetch_times"]
    assert 0 < times["median_seconds"] <= times["p75_seconds"] <= times["p95_seconds"]
    assert all(count > 0 for count in hosts["refused"].values())


def test_the_service_says_that_it_is_alive_and_ready_and_how_it_does(served: Service) -> None:
    assert served.call("GET", "/healthz")[1]["status"] == "ok"
    assert served.call("GET", "/readyz")[0] == 200
    with urllib.request.urlopen(f"{served.address}/metrics") as answer:
        text = answer.read().decode()
    assert 'tres_crawl_pages_total{crawl="2"}' in text
    assert 'tres_crawls{state="paused"} 1.0' in text
    assert 'route="/api/v1/crawls/{number}"' in text, "labels are patterns, not paths"
