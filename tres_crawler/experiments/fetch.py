"""How fast pages are had beside other ways to have them, and how politely, on a simulated web beside this process."""

from __future__ import annotations

import asyncio
import gc
import inspect
import json
import os
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from statistics import median
from urllib.parse import urlsplit

import aiohttp
from selectolax.lexbor import LexborHTMLParser

from tres_crawler.config import CrawlSettings, FetchSettings, Settings
from tres_crawler.crawl import Crawl
from tres_crawler.errors import TresError
from tres_crawler.experiments.report import Check, Report, Say
from tres_crawler.fetch.pace import Pace
from tres_crawler.fetch.robots import Robots
from tres_crawler.fetch.visitor import Visitor
from tres_crawler.founding import create_crawl
from tres_crawler.parse import parse_page
from tres_crawler.records import RobotsAnswer, Summary, Topic
from tres_crawler.simweb import truth
from tres_crawler.simweb.model import Web
from tres_crawler.simweb.params import WebParams
from tres_crawler.store.database import Database
from tres_crawler.store.datadir import DataDir
from tres_crawler.urls import host_of

SLOTS = 32
SITES, PAGES_PER_SITE = 400, 20
"""Far more sites than slots: a host is never wanted twice at once, so none has to wait for another's turn."""
TOPIC = "sports"
PAGES, REPEAT = 2000, 3
QUICK_PAGES, QUICK_REPEAT = 300, 2
POLITE_SITES, POLITE_PAGES = 200, 1000
QUICK_POLITE_PAGES = 150
SAY_EVERY_SECONDS = 5.0

Way = Callable[[Sequence[str], str], Awaitable[float]]
"""Fetches all URLs from the web at an address; returns the seconds it took."""


# ---- the web ----


@asynccontextmanager
async def running_web(*options: str) -> AsyncIterator[str]:
    """`tres simweb` on a free port; gives its address."""
    command = [sys.executable, "-m", "tres_crawler", "simweb", "--port", "0", *options]
    process = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE)
    try:
        assert process.stdout
        address = (await process.stdout.readline()).decode().rpartition(" ")[2].strip()
        if not address:
            raise TresError("The simulated web did not start; try `tres simweb` to see why.")
        yield address
    finally:
        if process.returncode is None:
            process.terminate()
        await process.wait()


def first_urls(web: Web, number: int) -> list[str]:
    """Home pages first, then the second page of every site, and so on: those that `simweb --prepare` makes ahead."""
    largest = max(site.size for site in web.sites)
    pages = (web.page(site, at) for at in range(largest) for site in web.sites if at < site.size)
    return [web.url(page) for page in islice(pages, number)]


# ---- ways to have pages ----


def pull(body: bytes) -> tuple[str, list[tuple[str, str]]]:
    """The least that a crawler takes from a page: its text, its links and their anchors."""
    tree = LexborHTMLParser(body)
    links = [(node.attributes.get("href") or "", node.text()) for node in tree.css("a[href]")]
    return (tree.body.text() if tree.body else ""), links


async def only_fetched(urls: Sequence[str], address: str) -> float:
    return await _bare(urls, address, lambda _body: None)


async def fetched_and_pulled(urls: Sequence[str], address: str) -> float:
    return await _bare(urls, address, pull)


async def _bare(urls: Sequence[str], address: str, use: Callable[[bytes], object]) -> float:
    """aiohttp as its manual shows it, without a limit or a check."""
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session:

        async def have(url: str) -> None:
            parts = urlsplit(url)
            where = f"http://{address}{parts.path}{'?' if parts.query else ''}{parts.query}"
            async with session.get(where, headers={"Host": parts.netloc}) as response:
                response.raise_for_status()
                use(await response.read())

        return await _side_by_side(urls, have)


async def visited_and_parsed(urls: Sequence[str], address: str) -> float:
    """Our own fetch and parse, called as the engine calls them."""

    async def forget(_answer: RobotsAnswer) -> None: ...

    settings = FetchSettings(slots=SLOTS, delay_seconds=0.0, connect_to=address, obey_robots=False)
    async with Visitor(settings, Pace(0.0, time.monotonic), Robots(time.time), forget) as visitor:

        async def have(url: str) -> None:
            visitor.reserve(host_of(url))
            await parse_page(await visitor.get(url))

        return await _side_by_side(urls, have)


async def crawled(urls: Sequence[str], address: str) -> float:
    """The whole engine with its database: the URLs are its seeds, and links found are placed behind them."""
    fetch = FetchSettings(slots=SLOTS, delay_seconds=0.0, connect_to=address, obey_robots=False)
    limits = CrawlSettings(max_pages=len(urls), max_per_site="none", policy="breadth-first", seed=1)
    topic = Topic(TOPIC, (TOPIC,), tuple(urls))
    with tempfile.TemporaryDirectory() as scratch, DataDir(Path(scratch)) as folder:
        async with Database(folder.url) as database:
            made = await create_crawl(database, topic, Settings.model_construct(fetch=fetch, crawl=limits))
            crawl = await Crawl.load(database, made)
            started = time.perf_counter()
            summary = await crawl.run()
            seconds = time.perf_counter() - started
    if (summary.pages, summary.failed) != (len(urls), 0):
        raise TresError(f"The crawl had {summary.pages} of {len(urls)} pages, {summary.failed} of them failed.")
    return seconds


def by_scrapy(python: str) -> Way:
    """Scrapy, run by an interpreter that has it and selectolax; its own start is not counted."""

    script = SCRAPY.replace("#PULL", inspect.getsource(pull))

    async def have(urls: Sequence[str], address: str) -> float:
        try:
            process = await asyncio.create_subprocess_exec(
                python, "-c", script, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE
            )
            told, _ = await process.communicate(json.dumps([urls, address, SLOTS]).encode())
        except OSError as error:
            raise _no_scrapy(python) from error
        if process.returncode:
            raise _no_scrapy(python)
        pages, seconds = json.loads(told)
        if pages != len(urls):
            raise TresError(f"Scrapy had {pages} of {len(urls)} pages.")
        return float(seconds)

    return have


def _no_scrapy(python: str) -> TresError:
    return TresError(f"Scrapy did not run by {python}: that interpreter must have scrapy and selectolax installed.")


SCRAPY = """
from __future__ import annotations
import json, sys, time
from urllib.parse import urlsplit
import scrapy
from scrapy.crawler import CrawlerProcess
from selectolax.lexbor import LexborHTMLParser

#PULL

urls, address, slots = json.load(sys.stdin)
found = []

class Pages(scrapy.Spider):
    name = "pages"

    async def start(self):
        self.started = time.perf_counter()
        for url in urls:
            parts = urlsplit(url)
            where = f"http://{address}{parts.path}" + (f"?{parts.query}" if parts.query else "")
            yield scrapy.Request(where, headers={"Host": parts.netloc}, dont_filter=True)

    def parse(self, response):
        found.append(pull(response.body))

    def closed(self, reason):
        self.seconds = time.perf_counter() - self.started
        print(json.dumps([len(found), self.seconds]))

process = CrawlerProcess({
    "CONCURRENT_REQUESTS": slots, "CONCURRENT_REQUESTS_PER_DOMAIN": slots, "DOWNLOAD_DELAY": 0,
    "ROBOTSTXT_OBEY": False, "COOKIES_ENABLED": False, "TELNETCONSOLE_ENABLED": False, "LOG_ENABLED": False,
})
process.crawl(Pages)
process.start()
"""


async def _side_by_side(urls: Sequence[str], have: Callable[[str], Awaitable[None]]) -> float:
    waiting = iter(urls)

    async def work() -> None:
        for url in waiting:
            await have(url)

    started = time.perf_counter()
    async with asyncio.TaskGroup() as workers:
        for _ in range(SLOTS):
            workers.create_task(work())
    return time.perf_counter() - started


# ---- speed ----


@dataclass(frozen=True)
class Goal:
    """What is asked of one way, beside another."""

    way: str
    other: str
    ratio: float


BARE, PULLED, OURS, WHOLE, SCRAPY_WAY = (
    "aiohttp, fetch only",
    "aiohttp + selectolax",
    "our fetch + parse",
    "whole engine",
    "Scrapy + selectolax",
)
GOALS = (Goal(OURS, PULLED, 0.4), Goal(OURS, SCRAPY_WAY, 3.0), Goal(WHOLE, SCRAPY_WAY, 1.0))


async def speed(pages: int, repeat: int, scrapy: str | None, say: Say) -> Report:
    """Pages a second of every way, in turns, in one run; medians."""
    if scrapy is None and find_spec("scrapy"):
        scrapy = sys.executable
    ways: dict[str, Way] = {BARE: only_fetched, PULLED: fetched_and_pulled, OURS: visited_and_parsed, WHOLE: crawled}
    if scrapy:
        ways[SCRAPY_WAY] = by_scrapy(scrapy)
    params = WebParams.of("clean", sites=SITES, pages=max(2 * pages, SITES * PAGES_PER_SITE))
    urls = first_urls(Web(params), pages)
    size = ("--sites", str(params.sites), "--pages", str(params.pages))
    async with running_web("--preset", "clean", "--prepare", str(pages), *size) as address:
        await only_fetched(urls, address)  # so that the first one measured finds the web as warm as the last
        rates = await _rates(ways, urls, address, repeat, say)
    if not scrapy:
        say("Scrapy is not installed here and was left out; --scrapy PYTHON names an interpreter that has it.")
    settings = {
        "part": "speed",
        "pages": pages,
        "repeat": repeat,
        "slots": SLOTS,
        "processors": os.cpu_count(),
        "scrapy": scrapy or "left out: not installed",
    }
    return Report("fetch", settings, _rows(rates), _checks(rates))


async def _rates(
    ways: dict[str, Way], urls: Sequence[str], address: str, repeat: int, say: Say
) -> dict[str, list[float]]:
    rates: dict[str, list[float]] = {name: [] for name in ways}
    for turn in range(repeat):
        for name, way in ways.items():
            gc.collect()
            rates[name].append(len(urls) / await way(urls, address))
            say(f"{turn + 1} of {repeat}: {name}: {rates[name][-1]:,.0f} pages/s")
    return rates


def _rows(rates: dict[str, list[float]]) -> list[dict[str, object]]:
    return [
        {
            "way": name,
            "pages_per_second": round(median(found)),
            "lowest": round(min(found)),
            "highest": round(max(found)),
            "times_aiohttp_selectolax": _ratio(rates, name, PULLED),
            "times_scrapy": _ratio(rates, name, SCRAPY_WAY),
        }
        for name, found in rates.items()
    ]


def _checks(rates: dict[str, list[float]]) -> list[Check]:
    """One for each goal whose both ways were measured."""
    return [
        Check.at_least(f"{goal.way} / {goal.other}", _ratio(rates, goal.way, goal.other), goal.ratio)
        for goal in GOALS
        if goal.other in rates
    ]


def _ratio(rates: dict[str, list[float]], way: str, other: str) -> float | None:
    """Median of the ratios within each turn: what else the machine did in that turn, it did to both."""
    if other not in rates:
        return None
    return round(median(mine / theirs for mine, theirs in zip(rates[way], rates[other], strict=True)), 2)


# ---- politeness ----


async def politeness(pages: int, sites: int, say: Say) -> Report:
    """A crawl with default settings over a web with all its bad manners, judged by the web's own log."""
    params = WebParams.of(sites=sites, pages=sites * 100)
    topic = Topic(TOPIC, (TOPIC,), tuple(Web(params).seeds(TOPIC)))
    with tempfile.TemporaryDirectory() as scratch:
        log = Path(scratch) / "requests.jsonl"
        options = ("--sites", str(params.sites), "--pages", str(params.pages), "--log", str(log))
        async with running_web(*options) as address:
            fetch = FetchSettings(connect_to=address)
            settings = Settings.model_construct(fetch=fetch, crawl=CrawlSettings(max_pages=pages, seed=1))
            with DataDir(Path(scratch) / "data") as folder:
                async with Database(folder.url) as database:
                    crawl = await Crawl.load(database, await create_crawl(database, topic, settings))
                    summary = await _told(crawl, say)
        requests = truth.read_log(log)[1]
    found = truth.judge(Web(params), requests, TOPIC)
    row = {
        "pages": summary.pages,
        "seconds": summary.seconds,
        "requests": len(requests),
        "hosts": len({request.host for request in requests}),
        "smallest_gap_seconds": found.smallest_gap_seconds,
        "largest_concurrency": found.largest_concurrency,
        "robots_requests": found.robots_requests,
        "hosts_without_robots_first": found.hosts_without_robots_first,
        "disallowed_requests": found.disallowed_requests,
    }
    checks = [
        Check.at_least("smallest gap per host, seconds", found.smallest_gap_seconds, fetch.delay_seconds),
        Check.at_most("most requests under way at one host", found.largest_concurrency, 1),
        Check.at_most("hosts not asked for robots.txt first", found.hosts_without_robots_first, 0),
        Check.at_most("requests that robots.txt forbids", found.disallowed_requests, 0),
    ]
    shown = {
        "part": "politeness",
        "pages": pages,
        "sites": sites,
        "delay_seconds": fetch.delay_seconds,
        "slots": fetch.slots,
    }
    return Report("fetch", shown, [row], checks)


async def _told(crawl: Crawl, say: Say) -> Summary:
    """Run a crawl and say now and then how far it is."""
    running = asyncio.create_task(crawl.run())
    while not (await asyncio.wait([running], timeout=SAY_EVERY_SECONDS))[0]:
        now = crawl.summary()
        say(f"{now.pages:,} of {crawl.settings.max_pages:,} pages, {now.sites:,} sites, {now.seconds:.0f} s")
    return running.result()
