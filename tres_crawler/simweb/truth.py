"""What a crawl really did, by the server's log alone: `python -m tres_crawler.simweb.truth LOG TOPIC`."""

from __future__ import annotations

import json
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from protego import Protego

from tres_crawler.simweb.model import Web
from tres_crawler.simweb.params import WebParams
from tres_crawler.urls import site_of

AGENT = "tres_crawler"


class Request(NamedTuple):
    """A line of the log."""

    arrived: float
    finished: float
    host: str
    path: str
    status: int
    conditional: bool


@dataclass(frozen=True)
class Truth:
    """How a crawl went, judged by the server."""

    topic: str
    pages: int
    """Addresses asked for, without robots.txt and redirects."""
    relevant_pages: int
    """Different contents on the topic; a copy of one already had is not counted again."""
    harvest_rate: float
    sites: int
    relevant_sites: int
    repeats: int
    """Requests for an address that had been answered before; retries of failures and revisits are left out."""
    robots_requests: int
    disallowed_requests: int
    """Requests that robots.txt forbids."""
    hosts_without_robots_first: int
    """Hosts whose first request was not for robots.txt."""
    smallest_gap_seconds: float | None
    """Shortest time from the end of one request to the start of the next on the same host."""
    largest_concurrency: int
    """Most requests under way at once on one host."""


def read_log(path: Path) -> tuple[WebParams, list[Request]]:
    with path.open(encoding="utf-8") as lines:
        params = WebParams(**json.loads(next(lines))["web"])
        return params, [Request(**json.loads(line)) for line in lines if line.endswith("\n")]


def judge(web: Web, requests: Sequence[Request], topic: str) -> Truth:
    by_host: dict[str, list[Request]] = defaultdict(list)
    for request in requests:
        by_host[request.host].append(request)
    asked: dict[tuple[str, str], int] = {}
    repeats = 0
    for request in pages_of(requests):
        key = (request.host, request.path)
        repeats += key in asked and asked[key] < 429 and not request.conditional
        asked[key] = request.status
    relevant = {
        web.content_of(*key): key[0] for key, status in asked.items() if status == 200 and web.topic_of(*key) == topic
    }
    return Truth(
        topic=topic,
        pages=len(asked),
        relevant_pages=len(relevant),
        harvest_rate=round(len(relevant) / len(asked), 4) if asked else 0.0,
        sites=len({site_of(host) for host, _ in asked}),
        relevant_sites=len({site_of(host) for host in relevant.values()}),
        repeats=repeats,
        robots_requests=sum(request.path == "/robots.txt" for request in requests),
        disallowed_requests=sum(_disallowed(web, host, mine) for host, mine in by_host.items()),
        hosts_without_robots_first=sum(mine[0].path != "/robots.txt" for mine in by_host.values()),
        smallest_gap_seconds=_smallest_gap(by_host.values()),
        largest_concurrency=max((_concurrency(mine) for mine in by_host.values()), default=0),
    )


def harvest_over_time(
    web: Web, requests: Sequence[Request], topic: str, every: int = 100
) -> Iterator[tuple[int, int, int]]:
    """(pages, relevant pages, relevant sites) after every so many pages and at the end."""
    contents: set[tuple[int, int] | None] = set()
    sites: set[str] = set()
    seen: set[tuple[str, str]] = set()
    for request in pages_of(requests):
        key = (request.host, request.path)
        if key in seen:
            continue
        seen.add(key)
        if request.status == 200 and web.topic_of(*key) == topic:
            contents.add(web.content_of(*key))
            sites.add(site_of(request.host))
        if len(seen) % every == 0:
            yield len(seen), len(contents), len(sites)
    if len(seen) % every:
        yield len(seen), len(contents), len(sites)


def pages_of(requests: Iterable[Request]) -> Iterator[Request]:
    """Requests for pages: not robots.txt, not redirects, not those turned away with 429 or 503."""
    turned_away = (429, 503)
    return (
        r
        for r in requests
        if r.path != "/robots.txt" and (not 300 <= r.status < 400 or r.status == 304) and r.status not in turned_away
    )


def _disallowed(web: Web, host: str, requests: Iterable[Request]) -> int:
    status, text = web.robots(host)
    rules = Protego.parse(text)
    return sum(
        r.path != "/robots.txt" and (status >= 500 or not rules.can_fetch(f"http://{host}{r.path}", AGENT))
        for r in requests
    )


def _smallest_gap(hosts: Iterable[Sequence[Request]]) -> float | None:
    gaps = [
        later.arrived - earlier.finished
        for requests in hosts
        for earlier, later in pairwise(sorted(requests, key=lambda request: request.arrived))
    ]
    return round(min(gaps), 3) if gaps else None


def _concurrency(requests: Sequence[Request]) -> int:
    moments = Counter[tuple[float, int]]()
    for request in requests:
        moments[request.arrived, 1] += 1
        moments[request.finished, 0] -= 1
    under_way = most = 0
    for moment in sorted(moments):
        under_way += moments[moment]
        most = max(most, under_way)
    return most


def main() -> None:
    if len(sys.argv) != 3:
        sys.exit("usage: python -m tres_crawler.simweb.truth LOG TOPIC")
    params, requests = read_log(Path(sys.argv[1]))
    web = Web(params)
    if sys.argv[2] not in web.topic_names:
        sys.exit(f"There is no topic {sys.argv[2]!r}. Known: {', '.join(web.topic_names)}.")
    print(json.dumps(asdict(judge(web, requests, sys.argv[2])), indent=2))


if __name__ == "__main__":
    main()
