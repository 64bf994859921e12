"""Pages of a simulated web: what each is about and where it stands, worked out from its number when asked for."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from enum import IntEnum
from functools import lru_cache
from itertools import accumulate
from typing import NamedTuple

from tres_crawler.simweb import prose
from tres_crawler.simweb.chance import mix, pick, share
from tres_crawler.simweb.params import WebParams
from tres_crawler.simweb.sites import NO_TOPIC, Draw, Kind, Robots, Site, draw_topic, make_sites, topic_limits
from tres_crawler.simweb.tunnels import Region, make_regions

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
PROMISING_FORMS = ON_TOPIC_FORMS | {Form.THIN}
"""Of pages that seem to be about their subject until they are read."""
COPIES = (Form.COPY, Form.NEAR_COPY)
FORMS = (Form.THIN, Form.FOREIGN, Form.COPY, Form.NEAR_COPY, Form.ARTICLE)
"""Of pages with content, in the order of `Web._form_limits`; what is left are articles."""
ENTRIES = 3
"""Pages that surely link to a tunnel's start, besides those that do by chance."""


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


def _part(word: int) -> float:
    """A number in [0, 1) from the lowest 24 bits: one draw of 64 does for all that makes a page, which is most work."""
    return (word & 0xFFFFFF) * 2.0**-24


class Web:
    """Equal parameters give an equal web; a page is made when it is asked for."""

    def __init__(self, params: WebParams) -> None:
        self.params = params
        self.prose = prose.load(params.pool)
        self.topic_names = tuple(topic.name for topic in self.prose.topics)
        self._limits = topic_limits(params, self.prose)
        self._form_limits = list(
            accumulate((params.thin_pages, params.foreign_pages, params.copies, params.near_copies))
        )
        self.sites = make_sites(params, self.prose)
        self.regions = make_regions(params, self.sites)
        self.region_of = {number: region for region in self.regions for number in region.sites}
        self.regions_of_topic: dict[int, list[Region]] = {}
        self._gates: dict[tuple[int, int], tuple[Region, int]] = {}
        for region in self.regions:
            self.regions_of_topic.setdefault(region.topic, []).append(region)
            self._gates |= {place: (region, step) for step, place in enumerate(region.gates)}
        self._by_host = {site.host: site.number for site in self.sites}
        self.popular = self._popular()
        self._page = lru_cache(KEPT_PAGES)(self._make_page)
        self.directories = [site.number for site in self.sites if site.kind is Kind.DIRECTORY and site.size > 1]
        self.farms = [site.number for site in self.sites if site.kind is Kind.FARM]
        self.entries: dict[tuple[int, int], list[Region]] = {}
        for region in self.regions:
            for at in range(ENTRIES):
                entry = self._entry(region, at)
                if entry:
                    self.entries.setdefault((entry.site, entry.number), []).append(region)

    def _entry(self, region: Region, at: int) -> Page | None:
        """A page that links to the region's tunnel: on its topic, else a home page where no such page is met."""
        for attempt in range(40):
            bits = mix(self.params.seed, Draw.REGION, region.number, at, attempt)
            by_topic = attempt < 30 and region.topic in self.popular
            site = self.sites[self.popular[region.topic if by_topic else NO_TOPIC].draw(share(bits))]
            page = self.page(site, mix(bits, 1) % site.size if by_topic else 0)
            # Whether it answers and may be asked for is left to chance: another entry is likely to.
            if page.form in (Form.ARTICLE, Form.HOME) and (page.subject == region.topic or not by_topic):
                return page
        return None

    def _popular(self) -> dict[int, Popular]:
        """By topic, and under NO_TOPIC all; hidden sites are left out, so that only tunnels lead to them."""
        grouped: dict[int, list[tuple[int, float]]] = {NO_TOPIC: []}
        for site in self.sites:
            if site.number in self.region_of:
                continue
            weight = site.size**0.5 / (0.1 + site.draw(30))
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
        word = mix(bits, 11)
        form = self._form(site, number, word)
        if form in COPIES:
            original = self._original(site, bits)
            if original:
                return original._replace(site=site.number, number=number, form=form, bits=bits)
            form = Form.ARTICLE
        subject = self._subject(site, number, word >> 24, bits)
        if subject == NO_TOPIC:
            return Page(site.number, number, form, NO_TOPIC, 0, 0, bits)
        facets = self.prose.topics[subject].facets
        facet = (word >> 48 & 0xFF) % len(facets)
        return Page(site.number, number, form, subject, facet, (word >> 56) % len(facets[facet].titles), bits)

    def _original(self, site: Site, bits: int) -> Page | None:
        """The page that a copy with these bits repeats: of its own site, or of one that shares its topic."""
        there = site
        if share(mix(bits, 12)) < 0.5 and site.topics and site.topics[0] in self.popular:
            there = self.sites[self.popular[site.topics[0]].draw(share(mix(bits, 13)))]
        for attempt in range(14, 20):
            number = mix(bits, attempt) % there.size
            word = mix(mix(self.params.seed, Draw.PAGE, there.number, number), 11)
            if self._form(there, number, word) in (Form.ARTICLE, Form.HOME):
                return self.page(there, number)
        return None

    def shown(self, page: Page) -> Page:
        """The page whose text, links and news are shown: a copy's original, else the page itself."""
        original = self._original(self.sites[page.site], page.bits) if page.form in COPIES else None
        return original or page

    def _form(self, site: Site, number: int, word: int) -> Form:
        if site.kind is Kind.PARKED:
            return Form.PARKED
        if site.kind is Kind.FARM:
            return Form.STUFFED
        if site.kind is Kind.DIRECTORY:
            return Form.LISTING
        if number == 0:
            return Form.HOME
        return FORMS[bisect_right(self._form_limits, _part(word))]

    def _subject(self, site: Site, number: int, word: int, bits: int) -> int:
        draw = _part(word)
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
                on_topic = self.params.portal_on_topic if site.kind is Kind.PORTAL else self.params.forum_on_topic
                return pick(site.topics, bits, 4) if draw < on_topic else NO_TOPIC
            case Kind.BLOG if number and draw < self.params.blog_on_topic:
                return site.topics[0]
            case Kind.BLOG if number and draw >= 1 - self.params.blog_strays:
                return draw_topic(self._limits, mix(bits, 4))
            case Kind.GENERAL if number and draw < self.params.general_on_topic:
                return draw_topic(self._limits, mix(bits, 4))
        return NO_TOPIC

    def gate(self, region: Region, step: int) -> Page:
        """A page of a tunnel; it is about nothing."""
        bits = mix(self.params.seed, Draw.REGION, region.number, step)
        return Page(*region.gates[step], Form.GATE, NO_TOPIC, 0, 0, bits)

    def gate_place(self, page: Page) -> tuple[Region, int]:
        """The region that a gate leads to, and which page of the tunnel it is."""
        return self._gates[page.site, page.number]

    # ---- names and addresses ----

    def title(self, page: Page) -> str:
        page = self.shown(page)
        if page.form is Form.FOREIGN:
            return pick(self.prose.foreign[self.language(page)][0], page.bits, 5)
        if page.form is Form.HOME or page.form is Form.PARKED:
            return self.site_name(self.sites[page.site])
        if page.form is Form.LISTING:
            return f"{self.topic_names[page.subject].title()} links" if page.subject != NO_TOPIC else "Web directory"
        if page.subject == NO_TOPIC:
            return pick(self.prose.neutral_titles, page.bits, 5).fill(page.bits)
        return self.prose.topics[page.subject].facets[page.facet].titles[page.title].fill(page.bits)

    def language(self, page: Page) -> str:
        """What a foreign page is written in."""
        return pick(tuple(self.prose.foreign), page.bits, 6)

    def site_name(self, site: Site) -> str:
        return re.sub(r"\d*\.\w+$", "", site.host.removeprefix("www.")).replace("-", " ").title()

    def url(self, page: Page) -> str:
        return f"http://{self.sites[page.site].host}{self.path(page)}"

    def path(self, page: Page) -> str:
        if page.number == 0:
            return "/"
        site = self.sites[page.site]
        folder = self._folder(site, page)
        if not site.has_url_words or page.form in (Form.FOREIGN, Form.LISTING):
            return f"/{folder}/{page.number}"
        return f"/{folder}/{self._slug(page)}-{page.number}{'.html' if site.bits % 2 else '/'}"

    def _folder(self, site: Site, page: Page) -> str:
        if self.is_forbidden(page):
            return PRIVATE
        if site.has_sections and page.subject != NO_TOPIC:
            return self.topic_names[page.subject]
        return "thread" if site.kind is Kind.FORUM else pick(FOLDERS, page.bits, 7)

    def _slug(self, page: Page) -> str:
        """Words of the title, or of any topic's where the address misleads."""
        if share(mix(page.bits, 9)) < self.params.url_misleading:
            topic = draw_topic(self._limits, mix(page.bits, 10))
            return pick(pick(self.prose.topics[topic].facets, page.bits, 21).slugs, page.bits, 22)
        if page.subject == NO_TOPIC:
            return pick(self.prose.neutral_slugs, page.bits, 5)
        return self.prose.topics[page.subject].facets[page.facet].slugs[page.title]

    def is_forbidden(self, page: Page) -> bool:
        """Whether robots.txt forbids the page; never a gate, so that a tunnel is open."""
        ruled = self.sites[page.site].robots is Robots.RULES and page.number > 0 and page.form is not Form.GATE
        return ruled and share(mix(page.bits, 23)) < self.params.forbidden_pages

    def dead_path(self, target: Page, draw: float) -> str:
        """An address like those of the target's site where there is no page: one that was once, or never."""
        site = self.sites[target.site]
        number = site.size + 1 + int(draw * (site.size + 50))
        while (site.number, number) in self._gates:
            number += 1
        return self.path(target._replace(number=number))

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
        if path == f"/print/{number}" and number < site.size:
            return self.page(site, number)
        if (site.number, number) in self._gates:
            page = self.gate(*self._gates[site.number, number])
        elif 0 < number < site.size:
            page = self.page(site, number)
        else:
            return None
        return page if self.path(page) == path else None

    def robots(self, host: str) -> tuple[int, str]:
        """Status and text of a host's robots.txt."""
        site = self.site_at(host)
        if site is None:
            return 404, ""
        if site.robots is Robots.BROKEN:
            return 503, ""
        if site.robots is Robots.MISSING:
            return 404, ""
        lines = ["User-agent: *", f"Disallow: /{PRIVATE}/" if site.robots is Robots.RULES else "Disallow:"]
        if site.crawl_delay:
            lines.append(f"Crawl-delay: {site.crawl_delay}")
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
        shown = self.shown(page)
        return shown.site, shown.number

    def seeds(self, topic: str, count: int = 3) -> list[str]:
        """Home pages that a person would find by asking around: visible sites of some size, well-mannered if any is."""
        number = self.topic_names.index(topic)
        able = [
            site
            for site in self.sites
            if site.kind is Kind.TOPICAL
            and site.topics[0] == number
            and site.number not in self.region_of
            and site.robots is not Robots.BROKEN
        ]
        able.sort(
            key=lambda site: (not self.is_well_mannered(site), -min(site.size, 60), mix(self.params.seed, site.number))
        )
        return [f"http://{site.host}/" for site in able[:count]]

    def is_well_mannered(self, site: Site) -> bool:
        """Whether it answers at once, without a trap, a limit or a pause behind the first page."""
        odd = site.has_sessions or site.has_calendar or site.is_limited or site.is_slow or site.is_latin
        return not odd and site.robots in (Robots.PLAIN, Robots.RULES) and not site.crawl_delay

    def all_pages(self) -> Iterable[Page]:
        """Every page, tunnels included."""
        for site in self.sites:
            for number in range(site.size):
                yield self.page(site, number)
        for region in self.regions:
            for step in range(len(region.gates)):
                yield self.gate(region, step)
