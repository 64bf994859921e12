"""Pages of a simulated web: what each is about and where it stands, worked out from its number when asked for."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable
from enum import IntEnum
from functools import lru_cache
from itertools import accumulate
from typing import NamedTuple

from tres_crawler.simweb import prose
from tres_crawler.simweb.chance import mix, pick, share
from tres_crawler.simweb.params import WebParams
from tres_crawler.simweb.sites import (
    NO_TOPIC,
    Draw,
    Kind,
    Region,
    Site,
    draw_topic,
    make_regions,
    make_sites,
    topic_limits,
)

FOLDERS = ("news", "articles", "guides", "archive", "notes", "stories", "items", "read")
PRIVATE = "private"
"""The folder that robots.txt forbids where it forbids one."""
OLD = "former-"
"""A moved site's old name starts with this."""
POPULAR_KINDS = {Kind.TOPICAL: 1.0, Kind.PORTAL: 0.6, Kind.FORUM: 0.4, Kind.BLOG: 0.3, Kind.FARM: 0.4}
"""How readily a page links to another site for its topic, by kind."""

KEPT_PAGES = 50_000
"""Subjects and places of pages that are linked to again and again; their text is not kept here."""
_NUMBER = re.compile(r"(?:^|[-/])(\d{1,9})(?:\.html|/)?$")


class Form(IntEnum):
    """What a page is made like."""

    ARTICLE = 0
    HOME = 1
    THIN = 2
    FOREIGN = 3
    COPY = 4
    NEAR_COPY = 5
    LISTING = 6
    STUFFED = 7
    PARKED = 8
    GATE = 9


ON_TOPIC_FORMS = frozenset({Form.ARTICLE, Form.HOME, Form.COPY, Form.NEAR_COPY})


class Page(NamedTuple):
    """A page's place and subject; `bits` are its own 64 bits of chance."""

    site: int
    number: int
    form: Form
    subject: int
    """The topic that links to it promise; whether it keeps the promise is the truth."""
    facet: int
    title: int
    bits: int


class Popular(NamedTuple):
    """Sites to link to, and their popularity summed up."""

    sites: list[int]
    sums: list[float]

    def draw(self, at: float) -> int:
        return self.sites[bisect_left(self.sums, at * self.sums[-1])]


class Web:
    """Equal parameters give an equal web; a page is made when it is asked for."""

    def __init__(self, params: WebParams) -> None:
        self.params = params
        self.prose = prose.load(params.pool)
        self.topic_names = tuple(topic.name for topic in self.prose.topics)
        self._limits = topic_limits(params, self.prose)
        self.sites = make_sites(params, self.prose)
        self.regions = make_regions(params, self.sites)
        self.region_of = {number: region for region in self.regions for number in region.sites}
        self.regions_of_topic: dict[int, list[Region]] = {}
        for region in self.regions:
            self.regions_of_topic.setdefault(region.topic, []).append(region)
        self._by_host = {site.host: site.number for site in self.sites}
        self.popular = self._popular()
        self._page = lru_cache(KEPT_PAGES)(self._make_page)
        self.directories = [site.number for site in self.sites if site.kind is Kind.DIRECTORY and site.size > 1]

    def _popular(self) -> dict[int, Popular]:
        """By topic, and under NO_TOPIC all; hidden sites are left out, so that only tunnels lead to them."""
        grouped: dict[int, list[tuple[int, float]]] = {NO_TOPIC: []}
        for site in self.sites:
            if site.number in self.region_of:
                continue
            weight = site.size**0.5 / (0.05 + site.draw(30))
            grouped[NO_TOPIC].append((site.number, weight))
            if site.kind in POPULAR_KINDS:
                for topic in site.topics:
                    grouped.setdefault(topic, []).append((site.number, weight * POPULAR_KINDS[site.kind]))
        return {
            topic: Popular([number for number, _ in found], list(accumulate(weight for _, weight in found)))
            for topic, found in grouped.items()
        }

    # ---- pages ----

    def page(self, site: Site, number: int) -> Page:
        """The `number`th page of a site; 0 is its home."""
        return self._page(site.number, number)

    def _make_page(self, site_number: int, number: int) -> Page:
        site = self.sites[site_number]
        bits = mix(self.params.seed, Draw.PAGE, site.number, number)
        form = self._form(site, number, bits)
        if form in (Form.COPY, Form.NEAR_COPY):
            original = self.original(site, bits)
            return original._replace(site=site.number, number=number, form=form, bits=bits)
        subject = self._subject(site, number, form, bits)
        if subject == NO_TOPIC:
            return Page(site.number, number, form, NO_TOPIC, 0, 0, bits)
        facets = self.prose.topics[subject].facets
        facet = mix(bits, 2) % len(facets)
        return Page(site.number, number, form, subject, facet, mix(bits, 3) % len(facets[facet].titles), bits)

    def original(self, site: Site, bits: int) -> Page:
        """The page that a copy with these bits repeats: of its own site, or of one that shares its topic."""
        there = site
        if share(mix(bits, 12)) < 0.5 and site.topics and site.topics[0] in self.popular:
            there = self.sites[self.popular[site.topics[0]].draw(share(mix(bits, 13)))]
        for attempt in range(14, 20):
            number = mix(bits, attempt) % there.size
            own = mix(self.params.seed, Draw.PAGE, there.number, number)
            if self._form(there, number, own) in (Form.ARTICLE, Form.HOME):
                return self.page(there, number)
        return self.page(there, 0)

    def _form(self, site: Site, number: int, bits: int) -> Form:
        if site.kind is Kind.PARKED:
            return Form.PARKED
        if site.kind is Kind.FARM:
            return Form.STUFFED
        if site.kind is Kind.DIRECTORY:
            return Form.LISTING
        if number == 0:
            return Form.HOME
        params, draw = self.params, share(mix(bits, 11))
        for form, rate in (
            (Form.THIN, params.thin_pages),
            (Form.FOREIGN, params.foreign_pages),
            (Form.COPY, params.copies),
            (Form.NEAR_COPY, params.near_copies),
        ):
            if draw < rate:
                return form
            draw -= rate
        return Form.ARTICLE

    def _subject(self, site: Site, number: int, form: Form, bits: int) -> int:
        draw = share(mix(bits, 1))
        match site.kind:
            case Kind.TOPICAL:
                if number == 0 or draw < self.params.on_topic:
                    return site.topics[0]
                return NO_TOPIC if draw < (1 + self.params.on_topic) / 2 else draw_topic(self._limits, mix(bits, 4))
            case Kind.FARM:
                return site.topics[0]
            case Kind.DIRECTORY:
                return site.topics[number % len(site.topics)] if number else NO_TOPIC
            case Kind.PORTAL | Kind.FORUM if number:
                on_topic = 0.85 if site.kind is Kind.PORTAL else 0.6
                return pick(site.topics, bits, 4) if draw < on_topic else NO_TOPIC
            case Kind.BLOG if number and draw < 0.45:
                return site.topics[0] if draw < 0.3 else draw_topic(self._limits, mix(bits, 4))
            case Kind.GENERAL if number and draw < 0.2:
                return draw_topic(self._limits, mix(bits, 4))
        return NO_TOPIC

    def gate(self, region: Region, step: int) -> Page:
        """A page of a tunnel; it is about nothing."""
        site = region.gates[step]
        return Page(
            site, region.number, Form.GATE, NO_TOPIC, 0, 0, mix(self.params.seed, Draw.REGION, region.number, step)
        )

    def gate_at(self, site: Site, number: int) -> Page | None:
        if number < len(self.regions) and site.number in self.regions[number].gates:
            region = self.regions[number]
            return self.gate(region, region.gates.index(site.number))
        return None

    # ---- names and addresses ----

    def title(self, page: Page) -> str:
        if page.form is Form.FOREIGN:
            return pick(self.foreign(page)[0], page.bits, 5)
        if page.form is Form.HOME or page.form is Form.PARKED:
            return self.site_name(self.sites[page.site])
        if page.form is Form.LISTING:
            return f"{self.topic_names[page.subject].title()} links" if page.subject != NO_TOPIC else "Web directory"
        if page.form is Form.GATE:
            return "Links and friends"
        if page.subject == NO_TOPIC:
            return pick(self.prose.neutral_titles, page.bits, 5).fill(page.bits)
        return self.prose.topics[page.subject].facets[page.facet].titles[page.title].fill(page.bits)

    def foreign(self, page: Page) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Titles and paragraphs of a foreign page's language."""
        return pick(tuple(self.prose.foreign.values()), page.bits, 6)

    def site_name(self, site: Site) -> str:
        return re.sub(r"\d*\.\w+$", "", site.host.removeprefix("www.")).replace("-", " ").title()

    def url(self, page: Page) -> str:
        return f"http://{self.sites[page.site].host}{self.path(page)}"

    def path(self, page: Page) -> str:
        site = self.sites[page.site]
        if page.form is Form.GATE:
            return f"/resources/{page.number}"
        if page.number == 0:
            return "/"
        folder = self._folder(site, page)
        if page.subject == NO_TOPIC or page.form in (Form.FOREIGN, Form.LISTING) or site.bits % 4 == 0:
            return f"/{folder}/{page.number}"
        slug = self.prose.topics[page.subject].facets[page.facet].slugs[page.title]
        return f"/{folder}/{slug}-{page.number}{'.html' if site.bits % 4 == 1 else '/'}"

    def _folder(self, site: Site, page: Page) -> str:
        if site.has_rules and page.bits % 16 == 0:
            return PRIVATE
        if site.kind in (Kind.PORTAL, Kind.DIRECTORY) and page.subject != NO_TOPIC:
            return self.topic_names[page.subject]
        return "thread" if site.kind is Kind.FORUM else pick(FOLDERS, page.bits, 7)

    def site_at(self, host: str) -> Site | None:
        number = self._by_host.get(host)
        return None if number is None else self.sites[number]

    def find(self, host: str, path: str) -> Page | None:
        """The page at an address, whatever its query; None where there is none."""
        site = self.site_at(host)
        if site is None:
            return None
        path = path.partition("?")[0]
        if path == "/":
            return self.page(site, 0)
        found = _NUMBER.search(path)
        if not found:
            return None
        number = int(found[1])
        if path == f"/resources/{number}":
            return self.gate_at(site, number)
        if path == f"/print/{number}" and number < site.size:
            return self.page(site, number)
        if not 0 < number < site.size:
            return None
        page = self.page(site, number)
        return page if self.path(page) == path else None

    def robots(self, host: str) -> tuple[int, str]:
        """Status and text of a host's robots.txt."""
        site = self.site_at(host)
        if site is None:
            return 404, ""
        params, draw = self.params, site.draw(22)
        if draw < params.robots_broken:
            return 503, ""
        if draw < params.robots_broken + params.robots_missing and not site.has_rules:
            return 404, ""
        lines = ["User-agent: *", f"Disallow: /{PRIVATE}/" if site.has_rules else "Disallow:"]
        if site.draw(24) < params.crawl_delays:
            lines.append(f"Crawl-delay: {1 + site.bits % 2}")
        return 200, "\n".join([*lines, ""])

    # ---- truth ----

    def is_broken(self, page: Page) -> bool:
        return page.form is not Form.GATE and page.number > 0 and share(mix(page.bits, 8)) < self.params.broken_pages

    def truth(self, page: Page) -> int:
        """The topic a page is really about; NO_TOPIC for one that says nothing, or not in English, or never answers."""
        return page.subject if page.form in ON_TOPIC_FORMS and not self.is_broken(page) else NO_TOPIC

    def topic_of(self, host: str, path: str) -> str | None:
        page = self.find(host, path)
        topic = NO_TOPIC if page is None else self.truth(page)
        return None if topic == NO_TOPIC else self.topic_names[topic]

    def content_of(self, host: str, path: str) -> tuple[int, int] | None:
        """Which content an address shows: all copies of a page have the same; None where there is no page."""
        page = self.find(host, path)
        if page is None:
            return None
        if page.form in (Form.COPY, Form.NEAR_COPY):
            original = self.original(self.sites[page.site], page.bits)
            return original.site, original.number
        return page.site, page.number if page.form is not Form.GATE else -1 - page.number

    def seeds(self, topic: str, count: int = 3) -> list[str]:
        """Home pages of sites that a person would find by asking around: visible, of some size, no rules against us."""
        number = self.topic_names.index(topic)
        able = [
            site
            for site in self.sites
            if site.kind is Kind.TOPICAL
            and site.topics[0] == number
            and site.number not in self.region_of
            and self.is_well_mannered(site)
        ]
        able.sort(key=lambda site: (-min(site.size, 60), mix(self.params.seed, site.number)))
        return [f"http://{site.host}/" for site in able[:count]]

    def is_well_mannered(self, site: Site) -> bool:
        """A seed's first page must answer, without a trap, a limit or a pause behind it."""
        odd = site.has_sessions or site.is_limited or site.is_slow or site.is_latin
        robots = site.draw(22) < self.params.robots_broken + self.params.robots_missing
        return not odd and not robots and site.draw(24) >= self.params.crawl_delays

    def all_pages(self) -> Iterable[Page]:
        """Every page, tunnels included."""
        for site in self.sites:
            for number in range(site.size):
                yield self.page(site, number)
        for region in self.regions:
            for step in range(len(region.gates)):
                yield self.gate(region, step)
