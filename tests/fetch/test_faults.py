"""One crawl over every fault: what is written down of each, what it costs, and that the crawl ends.

`pytest -s tests/fetch/test_faults.py` prints the table.
"""

from __future__ import annotations

import asyncio
import os
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from rich.console import Console
from rich.table import Table
from sqlalchemy import select

from tests.faults import FAULTS, RETRY_AFTER_SECONDS, FaultWeb
from tres_crawler.config import FetchSettings, Settings
from tres_crawler.crawl import Crawl
from tres_crawler.fetch.client import Client
from tres_crawler.fetch.dns import Resolver
from tres_crawler.founding import create_crawl
from tres_crawler.records import Offer, StopReason, Summary, Topic
from tres_crawler.store.database import AnyRow, AnySelect, Database
from tres_crawler.store.datadir import DataDir
from tres_crawler.store.tables import links, pages

MEGABYTE = 1_000_000
MOST_GROWTH_BYTES = 150 * MEGABYTE
"""What all faults together may add to the memory of the process, the fault web in it; one bomb is 100 MB."""
MOST_SECONDS = 60.0
FIRST_BYTE_SECONDS, TIMEOUT_SECONDS = 0.5, 0.75
TRIES = 2
SITE_CAP = 30

EXPECTED: dict[str, tuple[str, str]] = {
    "slow-headers": ("failed", "took too long"),
    "dripping-headers": ("failed", "took too long"),
    "slow-body": ("failed", "took too long"),
    "endless-body": ("failed", "more than 5000000 bytes received"),
    "gzip-bomb": ("failed", "more than 10000000 bytes after decompression"),
    "gzip-gzip-bomb": ("failed", "more than 10000000 bytes after decompression"),
    "br-bomb": ("failed", "more than 10000000 bytes after decompression"),
    "zstd-bomb": ("failed", "more than 10000000 bytes after decompression"),
    "huge-header": ("failed", ""),
    "many-headers": ("failed", ""),
    "many-links": ("judged", ""),
    "redirect-loop": ("redirected", "which is known"),
    "redirect-chain": ("failed", "more than 5 redirects"),
    "to-disallowed": ("refused", "disallowed by robots.txt"),
    "walled": ("judged", ""),
    "to-loopback": ("refused", "address not public (loopback)"),
    "to-private-name": ("refused", "address not public (private)"),
    "to-metadata": ("refused", "address not public (metadata)"),
    "to-odd-port": ("refused", "port 22 is not one that is asked"),
    "to-long-url": ("redirected", "redirects to http://to-long-url.test"),
    "to-file": ("failed", "status 302"),
    "reset": ("failed", "reset"),
    "no-answer": ("failed", "disconnected"),
    "not-http": ("failed", ""),
    "cut-chunked": ("failed", "not completed"),
    "cut-length": ("failed", "not completed"),
    "not-gzip": ("failed", "not gzip"),
    "odd-encoding": ("failed", "unknown encoding ??"),
    "odd-type": ("judged", ""),
    "busy-429": ("judged", ""),
    "busy-for-ever": ("failed", "status 503"),
    "robots-503": ("refused", "robots.txt could not be had (status 503)"),
    "wrong-charset": ("judged", ""),
    "binary": ("judged", ""),
    "image": ("failed", "type image/png"),
    "null-bytes": ("judged", ""),
    "calendar": ("judged", ""),
    "labyrinth": ("judged", ""),
    "long-links": ("judged", ""),
}


class Memory:
    """Looks at the memory of this process every few milliseconds, from a thread, so that a busy loop is seen too."""

    def __init__(self) -> None:
        self.most_bytes = self.most_in_step = self.now()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._watch)

    def __enter__(self) -> Memory:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()

    @staticmethod
    def now() -> int:
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    def look(self) -> None:
        now = self.now()
        self.most_bytes, self.most_in_step = max(self.most_bytes, now), max(self.most_in_step, now)

    def _watch(self) -> None:
        while not self._ended.wait(0.003):
            self.look()


class LocalClient(Client):
    """Its guard lets the addresses of the fault web pass, as if they were public, and no others."""

    def __init__(self, settings: FetchSettings, web: FaultWeb) -> None:
        super().__init__(settings, Resolver(web.lookup()))
        self._proxies._named = {}
        self._web = web

    def _permitted(self) -> Callable[[str, int], bool]:
        places = {(address, self._web.port) for address in self._web.addresses.values()}
        return lambda address, port: (address, port) in places


class MeasuredCrawl(Crawl):
    """Keeps how long the steps of every link took, and the most memory that was in use meanwhile."""

    costs: dict[int, tuple[float, int]]
    memory: Memory

    async def step(self, offer: Offer) -> None:
        started = time.monotonic()
        self.memory.most_in_step = before = self.memory.now()
        await super().step(offer)
        self.memory.look()
        seconds, growth = self.costs.get(offer.link, (0.0, 0))
        growth = max(growth, self.memory.most_in_step - before)
        self.costs[offer.link] = seconds + time.monotonic() - started, growth


@dataclass
class Ran:
    """The crawl after its end: its web, every link by URL as it was written down, and what each cost."""

    web: FaultWeb
    summary: Summary
    seconds: float
    growth_bytes: int
    rows: dict[str, AnyRow]
    costs: dict[int, tuple[float, int]]

    def told(self, name: str, path: str = "/") -> tuple[str, str]:
        """Outcome and reason."""
        row = self.rows[self.web.url(name, path)]
        return row.outcome or row.state, row.page_reason or row.link_reason or ""

    def of(self, name: str) -> list[AnyRow]:
        return [row for url, row in self.rows.items() if url.startswith(self.web.url(name))]

    def table(self) -> Table:
        table = Table("fault", "outcome", "reason", "requests", "seconds", "MB more")
        for name in FAULTS:
            seconds, growth = self.costs[self.rows[self.web.url(name)].number]
            asked = sum(host == f"{name}.test" for host, _, _ in self.web.asked)
            outcome, reason = self.told(name)
            table.add_row(name, outcome, reason[:70], str(asked), f"{seconds:.2f}", f"{growth / MEGABYTE:.1f}")
        return table


async def crawl_faults(folder: Path) -> Ran:
    """One slot, so that what a step costs is its own."""
    with DataDir(folder / "data") as place:
        async with FaultWeb() as web, Database(place.url) as database:
            settings = settings_for(web)
            topic = Topic("tennis", ("tennis", "coach", "match"), tuple(map(web.url, FAULTS)))
            crawl = await MeasuredCrawl.load(database, await create_crawl(database, topic, settings))
            assert isinstance(crawl, MeasuredCrawl)
            crawl._visitor._client = LocalClient(settings.fetch, web)
            crawl.costs, started, before = {}, time.monotonic(), Memory.now()
            with Memory() as crawl.memory:
                summary = await crawl.run()
            growth = crawl.memory.most_bytes - before
            seconds = time.monotonic() - started
            rows = {row.url: row for row in await database.rows(written_down(crawl.id))}
    return Ran(web, summary, seconds, growth, rows, crawl.costs)


def settings_for(web: FaultWeb) -> Settings:
    fetch = {
        "slots": 1,
        "delay_seconds": 0.0,
        "first_byte_seconds": FIRST_BYTE_SECONDS,
        "timeout_seconds": TIMEOUT_SECONDS,
        "retries": TRIES - 1,
        "ports": (80, web.port),
    }
    crawl = {"seed": 1, "policy": "breadth-first", "max_per_site": str(SITE_CAP)}
    # No judge is trained: its memory is not that of faults.
    return Settings().replaced("fetch", fetch).replaced("crawl", crawl).replaced("relevance", {"model": "prior"})


def written_down(crawl: int) -> AnySelect:
    page = (pages.c.crawl == links.c.crawl) & (pages.c.link == links.c.number)
    return (
        select(
            links.c.number,
            links.c.url,
            links.c.state,
            links.c.reason.label("link_reason"),
            pages.c.outcome,
            pages.c.reason.label("page_reason"),
            pages.c.title,
            pages.c.relevant,
            pages.c.outlinks,
        )
        .outerjoin(pages, page)
        .where(links.c.crawl == crawl)
    )


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Ran:
    found = asyncio.run(crawl_faults(tmp_path_factory.mktemp("faults")))
    print()
    Console(width=150).print(found.table())
    print(f"{found.seconds:.1f} s, memory at most {found.growth_bytes / MEGABYTE:.0f} MB above the start")
    return found


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_written_down_with_its_reason(ran: Ran, name: str) -> None:
    outcome, reason = ran.told(name)
    assert outcome == EXPECTED[name][0], reason
    assert EXPECTED[name][1] in reason


def test_the_crawl_ends_in_time_and_within_its_memory(ran: Ran) -> None:
    assert ran.summary.stop_reason == StopReason.SITES_CAPPED
    assert ran.seconds < MOST_SECONDS
    assert ran.growth_bytes < MOST_GROWTH_BYTES


@pytest.mark.parametrize("name", ["slow-headers", "dripping-headers", "slow-body"])
def test_a_slow_host_holds_a_slot_no_longer_than_its_tries_may_take(ran: Ran, name: str) -> None:
    seconds, _ = ran.costs[ran.rows[ran.web.url(name)].number]
    assert seconds < TRIES * TIMEOUT_SECONDS + 2.0


def test_a_host_that_asks_for_time_gets_it(ran: Ran) -> None:
    first, second = ran.web.times("busy-429")
    assert second - first >= RETRY_AFTER_SECONDS


def test_what_robots_txt_forbids_or_cannot_say_is_never_asked_for(ran: Ran) -> None:
    assert ran.web.times("walled", "/secret") == []
    assert ran.web.times("robots-503") == []
    assert ran.web.times("robots-503", "/robots.txt") != []


def test_of_200_000_links_the_first_2000_are_kept_and_the_site_cap_holds(ran: Ran) -> None:
    assert ran.rows[ran.web.url("many-links")].outlinks == 2000
    assert sum(row.state == "fetched" for row in ran.of("many-links")) == SITE_CAP


def test_traps_end_by_their_pattern_or_by_the_cap_of_their_site(ran: Ran) -> None:
    assert "closed_pattern" in {row.link_reason for row in ran.of("calendar")}
    assert sum(row.state == "fetched" for row in ran.of("calendar")) < SITE_CAP
    assert sum(row.state == "fetched" for row in ran.of("labyrinth")) == SITE_CAP


def test_addresses_that_are_too_long_or_run_in_circles_are_refused(ran: Ran) -> None:
    assert {row.link_reason for row in ran.of("to-long-url") if row.state == "refused"} == {"long_url"}
    assert {row.link_reason for row in ran.of("long-links") if row.state == "refused"} == {"long_path"}
    assert ran.told("long-links", "/ok")[0] == "judged"


def test_odd_bytes_leave_the_readable_words_and_no_null_byte_in_the_database(ran: Ran) -> None:
    assert ran.rows[ran.web.url("wrong-charset")].relevant
    odd = ran.of("null-bytes")
    assert odd[0].relevant
    assert not any("\0" in f"{row.url}{row.title}{row.page_reason}" for row in odd)
