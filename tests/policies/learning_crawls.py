"""A small web with good and bad hosts, and crawls of it that learn."""

from __future__ import annotations

from typing import Any

from tests.site import SmallSite
from tres_crawler.config import Settings
from tres_crawler.crawl import Crawl
from tres_crawler.founding import create_crawl
from tres_crawler.frontier.tree import Tree
from tres_crawler.policies.tres import TresPolicy
from tres_crawler.store.database import Database

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
