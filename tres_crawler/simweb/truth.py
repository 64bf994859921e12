"""What a crawl really did, by the server's log alone: `python -m tres_crawler.simweb.truth LOG TOPIC`.

With `--over-time N` also how it came about, a row every N pages; with `--hosts` also the figures of every host.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from protego import Protego

from tres_crawler.simweb.model import Web
from tres_crawler.simweb.params import WebParams
from tres_crawler.urls import site_of

AGENT = "tres_crawler"
PATIENCE_SECONDS = 0.05
"""A request may come this much before its time: the wire is not of one speed."""


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
    """Requests without a condition for an address whose last answer, 429 and 503 aside, was below 429.

    A revisit with If-None-Match or If-Modified-Since is none, nor is another try after a 5xx.
    """
    robots_requests: int
    disallowed_requests: int
    """Requests that robots.txt forbids."""
    hasty_requests: int
    """Requests that came sooner after the one before than the host's Crawl-delay asks."""
    hosts_without_robots_first: int
    """Hosts whose first request was not for robots.txt."""
    smallest_gap_seconds: float | None
    """Shortest time from the end of one request to the start of the next on the same host."""
    largest_concurrency: int
    """Most requests under way at once on one host."""


@dataclass(frozen=True)
class HostTruth:
    """How a crawl treated one host."""

    requests: int
    disallowed_requests: int
    crawl_delay_seconds: float | None
    hasty_requests: int
    smallest_gap_seconds: float | None
    median_gap_seconds: float | None
    largest_concurrency: int


class LogStart(NamedTuple):
    """What a log's first line tells: the web, how fast its time runs, and when (Unix seconds) it was 0."""

    web: WebParams
    time_scale: float
    started: float


def read_start(path: Path) -> LogStart:
    with path.open(encoding="utf-8") as lines:
        first = json.loads(next(lines))
    return LogStart(WebParams(**first["web"]), first.get("time_scale", 0.0), first.get("started", 0.0))


def read_log(path: Path) -> tuple[WebParams, list[Request]]:
    with path.open(encoding="utf-8") as lines:
        next(lines)
        return read_start(path).web, [Request(**json.loads(line)) for line in lines if line.endswith("\n")]


def judge(web: Web, requests: Sequence[Request], topic: str) -> Truth:
    hosts = judge_hosts(web, requests)
    pages, relevant_pages, relevant_sites = [(0, 0, 0), *harvest_over_time(web, requests, topic)][-1]
    gaps = [host.smallest_gap_seconds for host in hosts.values() if host.smallest_gap_seconds is not None]
    firsts: dict[str, str] = {}
    for request in requests:
        firsts.setdefault(request.host, request.path)
    return Truth(
        topic=topic,
        pages=pages,
        relevant_pages=relevant_pages,
        harvest_rate=round(relevant_pages / pages, 4) if pages else 0.0,
        sites=len({site_of(request.host) for request in pages_of(requests)}),
        relevant_sites=relevant_sites,
        repeats=_repeats(requests),
        robots_requests=sum(request.path == "/robots.txt" for request in requests),
        disallowed_requests=sum(host.disallowed_requests for host in hosts.values()),
        hasty_requests=sum(host.hasty_requests for host in hosts.values()),
        hosts_without_robots_first=sum(path != "/robots.txt" for path in firsts.values()),
        smallest_gap_seconds=min(gaps, default=None),
        largest_concurrency=max((host.largest_concurrency for host in hosts.values()), default=0),
    )


def judge_hosts(web: Web, requests: Iterable[Request]) -> dict[str, HostTruth]:
    """By host name: gaps, concurrency and obedience."""
    by_host: dict[str, list[Request]] = defaultdict(list)
    for request in requests:
        by_host[request.host].append(request)
    return {host: _judge_host(web, host, mine) for host, mine in by_host.items()}


def _judge_host(web: Web, host: str, requests: Sequence[Request]) -> HostTruth:
    status, text = web.robots(host)
    rules = Protego.parse(text)
    delay = rules.crawl_delay(AGENT)
    ordered = sorted(requests)
    asked = [request for request in ordered if request.path != "/robots.txt"]
    gaps = [later.arrived - earlier.finished for earlier, later in pairwise(ordered)]
    return HostTruth(
        requests=len(requests),
        disallowed_requests=sum(
            status >= 500 or not rules.can_fetch(f"http://{host}{request.path}", AGENT) for request in asked
        ),
        crawl_delay_seconds=delay,
        hasty_requests=sum(
            later.arrived - earlier.arrived < (delay or 0.0) - PATIENCE_SECONDS for earlier, later in pairwise(asked)
        ),
        smallest_gap_seconds=round(min(gaps), 3) if gaps else None,
        median_gap_seconds=round(median(gaps), 3) if gaps else None,
        largest_concurrency=_concurrency(requests),
    )


def _repeats(requests: Iterable[Request]) -> int:
    last: dict[tuple[str, str], int] = {}
    repeats = 0
    for request in pages_of(requests):
        key = (request.host, request.path)
        repeats += last.get(key, 500) < 429 and not request.conditional
        last[key] = request.status
    return repeats


def harvest_over_time(
    web: Web, requests: Iterable[Request], topic: str, every: int = 100
) -> Iterator[tuple[int, int, int]]:
    """(pages, relevant pages, relevant sites) after every so many pages and at the end.

    A page counts from its first request and is relevant from its first answer with 200; a copy of a content already
    had makes no page more, but its site is one where the topic was found.
    """
    seen: set[tuple[str, str]] = set()
    had: set[tuple[str, str]] = set()
    contents: set[tuple[int, int] | None] = set()
    sites: set[str] = set()
    for request in pages_of(requests):
        key = (request.host, request.path)
        if key not in seen and seen and len(seen) % every == 0:
            yield len(seen), len(contents), len(sites)
        seen.add(key)
        if request.status == 200 and key not in had:
            had.add(key)
            if web.topic_of(*key) == topic:
                contents.add(web.content_of(*key))
                sites.add(site_of(request.host))
    if seen:
        yield len(seen), len(contents), len(sites)


def pages_of(requests: Iterable[Request]) -> Iterator[Request]:
    """Requests for pages: not robots.txt, not redirects, not those turned away with 429 or 503."""
    turned_away = (429, 503)
    return (
        r
        for r in requests
        if r.path != "/robots.txt" and (not 300 <= r.status < 400 or r.status == 304) and r.status not in turned_away
    )


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
    parser = argparse.ArgumentParser(prog="python -m tres_crawler.simweb.truth", description="How a crawl really went.")
    parser.add_argument("log", type=Path, help="the request log of `tres simweb --log`")
    parser.add_argument("topic")
    parser.add_argument("--over-time", type=int, metavar="N", help="also pages and relevant pages every N pages")
    parser.add_argument("--hosts", action="store_true", help="also the figures of every host")
    given = parser.parse_args()
    try:
        start, (params, requests) = read_start(given.log), read_log(given.log)
    except OSError as error:
        sys.exit(f"The log {given.log} cannot be read: {error.strerror}.")
    web = Web(params)
    if given.topic not in web.topic_names:
        sys.exit(f"There is no topic {given.topic!r}. Known: {', '.join(web.topic_names)}.")
    if given.over_time is not None and given.over_time < 1:
        sys.exit("--over-time takes a number of pages, at least 1.")
    told: dict[str, Any] = asdict(judge(web, requests, given.topic))
    if given.over_time:
        rows = harvest_over_time(web, requests, given.topic, given.over_time)
        told["over_time"] = [dict(zip(("pages", "relevant_pages", "relevant_sites"), row, strict=True)) for row in rows]
    if given.hosts:
        told["hosts"] = {host: asdict(found) for host, found in sorted(judge_hosts(web, requests).items())}
    told |= {"web": params.model_dump(), "time_scale": start.time_scale, "started": start.started}
    print(json.dumps(told, indent=2))


if __name__ == "__main__":
    main()
