"""A simulated web whose time passes with the visits it gets, and what its log says of a schedule."""

from __future__ import annotations

import math
import time
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from tres_crawler.records import Topic
from tres_crawler.simweb.answers import Answer
from tres_crawler.simweb.change import SHOWN_ITEMS, between, processes
from tres_crawler.simweb.describe import split
from tres_crawler.simweb.model import Form, Page, Web
from tres_crawler.simweb.params import WebParams
from tres_crawler.simweb.render import EPOCH, item_text, paragraphs_of
from tres_crawler.simweb.server import SimServer
from tres_crawler.simweb.topics import KEYWORDS
from tres_crawler.text import words

TOPIC = "sports"
FIRST_WEB = 2040
"""Seeds from here on, of the family `report`."""
MOST_PER_HOST = 40
DATE_WORDS = 5
HOUR_SECONDS = 3600.0


def web_of(seed: int, sources: int) -> Web:
    """A web without bad manners, large enough for so many sources."""
    scale = sources / 2000
    sites, pages = int(1500 * scale) + 60, int(110_000 * scale) + 5000
    return Web(WebParams.of("clean", sites=sites, pages=pages, seed=FIRST_WEB + seed, pool="report"))


def candidates(web: Web, hosts: int, count: int) -> list[Page]:
    """Pages on the topic on so many hosts, few or many of each, as sites are small or large."""
    subject = list(web.topic_names).index(TOPIC)
    by_site: defaultdict[int, list[Page]] = defaultdict(list)
    for page in web.all_pages():
        if page.subject == subject and page.form is Form.ARTICLE and len(by_site[page.site]) < MOST_PER_HOST:
            by_site[page.site].append(page)
    largest = sorted(by_site.values(), key=len, reverse=True)[:hosts]
    in_turn = [pages[at] for at in range(MOST_PER_HOST) for pages in largest if at < len(pages)]
    return in_turn[:count]


def topic_of(web: Web, pages: Sequence[Page]) -> Topic:
    return Topic(TOPIC, tuple(KEYWORDS[TOPIC].split()), tuple(web.url(page) for page in pages))


def rate_of(web: Web, url: str) -> float:
    """How often a page truly changes, per second."""
    page = web.find(*split(url))
    return sum(process.rate for process in processes(web, page)) / HOUR_SECONDS if page else 0.0


@dataclass(frozen=True, slots=True)
class Asked:
    """A page that a server was asked for: when by the web's time, and when by ours."""

    url: str
    host: str
    hours: float
    at: float


class PacedServer(SimServer):
    """An hour of this web passes with every so many pages asked for, so that a budget is met whatever the machine.

    Visits that a policy leaves unused are counted by whoever sees it idle.
    """

    def __init__(self, web: Web, visits_per_hour: float) -> None:
        super().__init__(web, time_scale=1.0)
        self._visits_per_hour = visits_per_hour
        self.visits = 0.0
        self.asked: list[Asked] = []

    @property
    def hours(self) -> float:
        return self.visits / self._visits_per_hour

    def clock(self) -> float:
        """The web's time of day, in seconds."""
        return EPOCH + HOUR_SECONDS * self.hours

    def answer(self, host: str, path: str, headers: dict[str, str]) -> Answer:
        said = super().answer(host, path, headers)
        if path != "/robots.txt":
            self.asked.append(Asked(f"http://{host}{path}", host, self.hours, time.monotonic()))
            self.visits += 1
        return said

    def visited(self, urls: Iterable[str]) -> dict[str, list[float]]:
        """The hours at which each page was asked for; all were first seen at 0."""
        found = {url: [0.0] for url in urls}
        for asked in self.asked:
            found[asked.url].append(asked.hours)
        return found

    @property
    def least_pause(self) -> float:
        """The shortest time, by our clock, between two pages asked of one host."""
        last: dict[str, float] = {}
        pauses = []
        for asked in self.asked:
            pauses.append(asked.at - last.get(asked.host, -math.inf))
            last[asked.host] = asked.at
        return min(pauses, default=math.inf)


@dataclass(frozen=True)
class Truth:
    """What a schedule achieved between two hours of the web's time, by the web's own account."""

    visits: int
    changes: int
    value: float
    """Over all visits that found a page changed, the share of its text that one change brings: what the index is for.

    Relevance is 1 for every source.
    """
    text: float
    """The share that is new over all visits, however many changes have brought it."""
    fresh: float
    """Share of the time, over all sources, in which what was seen last was still what was there."""

    @classmethod
    def of(cls, web: Web, visited: Mapping[str, Sequence[float]], start: float, end: float) -> Truth:
        """`visited` are the hours of all visits of each source, the first at 0."""
        visits, changes, value, text, fresh = 0, 0, 0.0, 0.0, 0.0
        for url, hours in visited.items():
            page = web.find(*split(url))
            assert page is not None
            size = sum(len(words(text)) for text in paragraphs_of(web, page))
            for before, now in pairwise([*hours, end]):
                if now <= start:
                    continue
                new = between(web, page, before, now)
                until = new[0].hours if new else now
                fresh += max(0.0, until - max(before, start))
                if now < end:
                    visits += 1
                    changes += bool(new)
                    items = [len(words(item_text(web, page, item))) + DATE_WORDS for item in new[-SHOWN_ITEMS:]]
                    value += sum(item / (size + item) for item in items) / max(len(items), 1)
                    text += sum(items) / (size + sum(items))
        return cls(visits, changes, value, text, fresh / (end - start) / len(visited))
