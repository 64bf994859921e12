"""Sites, pages and links of a simulated web, each worked out from its number when it is asked for."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate
from random import Random
from typing import NamedTuple

from tres_crawler.simweb import prose
from tres_crawler.simweb.chance import mix, pick, share
from tres_crawler.simweb.params import WebParams

NO_TOPIC = -1
LARGEST_SITE = 20_000
LARGEST_SHARE = 0.1
TOPIC_SHARE = {"sports": 1.0, "food": 1.1, "hardware": 0.6}
"""How common a topic is beside the others (1); hardware is the rare one, as in the paper."""
GENERAL_SHARE = 0.35
"""Share of sites without a topic of their own."""
TLDS = ("example", "test")
SECTIONS = ("news", "articles", "guides", "archive", "blog", "forum", "notes", "stories")
PRIVATE = "private"
"""The folder that robots.txt forbids where it forbids one."""


class Kind:
    """Purposes of chance: draws for different ends do not depend on each other."""

    SITE = 1
    PAGE = 2
    LINKS = 3
    TEXT = 4
    FAULT = 5


@dataclass(frozen=True, slots=True)
class Site:
    """A site: its host, how many pages it has, and the topic most of them are on."""

    number: int
    host: str
    size: int
    topic: int
    style: int
    guarded: bool
    """Whether robots.txt forbids a folder."""


class Page(NamedTuple):
    """A page's place and subject; `bits` are its own 64 bits of chance."""

    site: int
    number: int
    topic: int
    facet: int
    title: int
    bits: int


class SimLink(NamedTuple):
    """A link as it stands on a page."""

    url: str
    anchor: str
    navigation: bool


class Web:
    """Equal parameters give an equal web; nothing is kept of a page once it has been made."""

    def __init__(self, params: WebParams) -> None:
        self.params = params
        self.prose = prose.load(params.pool)
        self.topic_names = tuple(topic.name for topic in self.prose.topics)
        self._topic_limits = list(accumulate(TOPIC_SHARE.get(name, 1.0) for name in self.topic_names))
        self.sites = self._make_sites()
        self._site_by_host = {site.host: site.number for site in self.sites}
        self._popular = self._by_topic()

    # ---- sites ----

    def _make_sites(self) -> list[Site]:
        params, seed = self.params, self.params.seed
        order = list(range(params.sites))
        Random(mix(seed, Kind.SITE)).shuffle(order)
        sizes = self._sizes()
        made: list[Site] = []
        hosts: set[str] = set()
        for number in range(params.sites):
            bits = mix(seed, Kind.SITE, number)
            topic = NO_TOPIC if share(mix(bits, 1)) < GENERAL_SHARE else self._draw_topic(mix(bits, 2))
            host = self._host_name(number, topic, bits)
            while host in hosts:
                host = f"{mix(bits, len(hosts)) % 1000}-{host}"
            hosts.add(host)
            guarded = share(mix(bits, 3)) < params.robots_sites
            made.append(Site(number, host, sizes[order[number]], topic, mix(bits, 4) % 3, guarded))
        return made

    def _sizes(self) -> list[int]:
        """Pages per site by rank: a power law whose sum is exact, none above the largest allowed."""
        params = self.params
        largest = min(LARGEST_SITE, max(1, int(params.pages * LARGEST_SHARE)))
        if largest * params.sites < params.pages:
            largest = -(-params.pages // params.sites)
        weights = [(rank + 1.0) ** -params.size_exponent for rank in range(params.sites)]
        spare = params.pages - params.sites
        sizes = [1] * params.sites
        while spare:
            total = sum(weight for weight, size in zip(weights, sizes, strict=True) if size < largest)
            scale, before = spare / total, spare
            for rank, weight in enumerate(weights):
                extra = min(int(weight * scale), largest - sizes[rank], spare)
                sizes[rank] += extra
                spare -= extra
            if spare == before:
                for rank in range(params.sites):
                    if spare and sizes[rank] < largest:
                        sizes[rank] += 1
                        spare -= 1
        return sizes

    def _draw_topic(self, bits: int) -> int:
        return bisect_right(self._topic_limits, share(bits) * self._topic_limits[-1])

    def _host_name(self, number: int, topic: int, bits: int) -> str:
        name = pick(self.prose.common["sitename"], bits, 5).fill(0)
        if topic != NO_TOPIC and share(mix(bits, 6)) < 0.3:
            word = pick(pick(self.prose.topics[topic].facets, bits, 7).slugs, bits, 8).split("-")[-1]
            name = f"{word}-{name}"
        prefix = "www." if share(mix(bits, 9)) < 0.5 else ""
        return f"{prefix}{name}{number}.{pick(TLDS, bits, 10)}"

    def _by_topic(self) -> dict[int, tuple[list[int], list[float]]]:
        """For each topic its sites and their summed popularity; links across sites are drawn by it."""
        grouped: dict[int, list[int]] = {}
        for site in self.sites:
            grouped.setdefault(site.topic, []).append(site.number)
        everyone = list(range(len(self.sites)))
        return {
            topic: (members, list(accumulate(self.sites[number].size ** 0.5 for number in members)))
            for topic, members in [*grouped.items(), (len(self.topic_names), everyone)]
        }

    # ---- pages ----

    def page(self, site: Site, index: int) -> Page:
        bits = mix(self.params.seed, Kind.PAGE, site.number, index)
        topic = self._page_topic(site, bits)
        subject = self.prose.topics[topic if topic != NO_TOPIC else bits % len(self.topic_names)]
        facet = mix(bits, 2) % len(subject.facets)
        return Page(site.number, index, topic, facet, mix(bits, 3) % len(subject.facets[facet].titles), bits)

    def _page_topic(self, site: Site, bits: int) -> int:
        draw = share(mix(bits, 1))
        if site.topic == NO_TOPIC:
            return NO_TOPIC if draw < 0.6 else self._draw_topic(mix(bits, 4))
        if draw < self.params.on_topic:
            return site.topic
        return NO_TOPIC if draw < self.params.on_topic + 0.1 else self._draw_topic(mix(bits, 4))

    def title(self, page: Page) -> str:
        if page.number == 0:
            return self.site_name(self.sites[page.site])
        if page.topic == NO_TOPIC:
            return pick(self.prose.common["nav"], page.bits, 5).fill(0)
        return self.prose.topics[page.topic].facets[page.facet].titles[page.title].fill(page.bits)

    def site_name(self, site: Site) -> str:
        return re.sub(r"\d*\.\w+$", "", site.host.removeprefix("www.")).replace("-", " ").title()

    def url(self, page: Page) -> str:
        site = self.sites[page.site]
        if page.number == 0:
            return f"http://{site.host}/"
        folder = SECTIONS[page.bits % len(SECTIONS)]
        if site.guarded and page.bits % 16 == 0:
            folder = PRIVATE
        if site.style == 2 or page.topic == NO_TOPIC:
            return f"http://{site.host}/{folder}/{page.number}"
        slug = self.prose.topics[page.topic].facets[page.facet].slugs[page.title]
        end = ".html" if site.style == 0 else "/"
        return f"http://{site.host}/{folder}/{slug}-{page.number}{end}"

    def find(self, host: str, path: str) -> Page | None:
        """The page at an address; None where there is none."""
        number = self._site_by_host.get(host)
        if number is None:
            return None
        site = self.sites[number]
        if path == "/":
            return self.page(site, 0)
        found = re.search(r"(?:^|[-/])(\d+)(?:\.html|/)?$", path)
        if not found or not 0 < int(found[1]) < site.size:
            return None
        page = self.page(site, int(found[1]))
        return page if self.url(page) == f"http://{host}{path}" else None

    def is_broken(self, page: Page) -> bool:
        return page.number > 0 and share(mix(page.bits, Kind.FAULT)) < self.params.error_pages

    # ---- links ----

    def links(self, page: Page) -> Iterator[SimLink]:
        """Navigation first, then content links, as they stand on the page."""
        site = self.sites[page.site]
        rng = Random(mix(page.bits, Kind.LINKS))
        yield SimLink(f"http://{site.host}/", "Home", True)
        for near in (page.number + 1, page.number - 1, page.number // 2):
            if 0 < near < site.size and near != page.number:
                target = self.page(site, near)
                yield SimLink(self.url(target), self.title(target), True)
        count = 4 + int(rng.paretovariate(1.3) * 6) if page.number else 12 + int(rng.paretovariate(1.3) * 10)
        for _ in range(min(count, 150)):
            target = self._target(rng, site, page)
            yield SimLink(self._dressed(rng, target), self._anchor(rng, target), False)

    def _target(self, rng: Random, site: Site, page: Page) -> Page:
        params = self.params
        if rng.random() < params.links_inside and site.size > 1:
            like = page.topic if rng.random() < params.same_topic_inside else None
            return self._page_like(rng, site, like)
        same = page.topic != NO_TOPIC and rng.random() < params.same_topic_across
        members, popularity = self._popular.get(page.topic, ([], [])) if same else ([], [])
        if not members:
            members, popularity = self._popular[len(self.topic_names)]
        there = self.sites[members[bisect_left(popularity, rng.random() * popularity[-1])]]
        if rng.random() < 0.4:
            return self.page(there, 0)
        return self._page_like(rng, there, page.topic if same else None)

    def _page_like(self, rng: Random, site: Site, topic: int | None) -> Page:
        """A page of `site`, preferably on `topic`."""
        for _ in range(4):
            found = self.page(site, int(rng.random() * site.size))
            if topic is None or found.topic == topic:
                break
        return found

    def _dressed(self, rng: Random, target: Page) -> str:
        """The URL a link to `target` shows: now and then a dead one, or one that redirects."""
        url, draw = self.url(target), rng.random()
        if draw < self.params.dead_links:
            return f"http://{self.sites[target.site].host}/gone/{rng.randrange(10**6)}"
        if draw < self.params.dead_links + self.params.redirects:
            return f"http://{self.sites[target.site].host}/go/{target.number}"
        return url

    def _anchor(self, rng: Random, target: Page) -> str:
        draw = rng.random()
        if draw < self.params.anchor_empty:
            return ""
        if draw < self.params.anchor_empty + self.params.anchor_generic or target.topic == NO_TOPIC:
            return pick(self.prose.common["generic_anchor"], rng.getrandbits(32)).fill(0)
        if rng.random() < 0.5 and target.number:
            return self.title(target)
        return pick(self.prose.topics[target.topic].facets[target.facet].anchors, rng.getrandbits(32))

    def redirect(self, host: str, path: str) -> str | None:
        """Where `/go/N` leads."""
        number = self._site_by_host.get(host)
        found = re.fullmatch(r"/go/(\d+)", path)
        if number is None or not found or int(found[1]) >= self.sites[number].size:
            return None
        return self.url(self.page(self.sites[number], int(found[1])))

    def robots(self, host: str) -> str:
        number = self._site_by_host.get(host)
        if number is None or not self.sites[number].guarded:
            return "User-agent: *\nDisallow:\n"
        return f"User-agent: *\nDisallow: /{PRIVATE}/\n"

    # ---- truth ----

    def topic_of(self, host: str, path: str) -> str | None:
        """The topic a page is really on; None for no topic, no page or an error."""
        page = self.find(host, path)
        if page is None or page.topic == NO_TOPIC or self.is_broken(page):
            return None
        return self.topic_names[page.topic]

    def seeds(self, topic: str, count: int = 3) -> list[str]:
        """Home pages of medium-sized sites of the topic: what a person would find by asking around."""
        number = self.topic_names.index(topic)
        able = [
            site
            for site in self.sites
            if site.topic == number and self.page(site, 0).topic == number and not site.guarded
        ]
        able.sort(key=lambda site: (-min(site.size, 200), mix(self.params.seed, site.number)))
        return [f"http://{site.host}/" for site in able[:count]]
