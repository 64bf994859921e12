"""The sites of a simulated web: kind, topic, size, name and manners; all made at the start."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from dataclasses import dataclass
from enum import IntEnum
from itertools import accumulate
from random import Random

from tres_crawler.simweb.chance import mix, pick, share
from tres_crawler.simweb.params import WebParams
from tres_crawler.simweb.prose import Prose

NO_TOPIC = -1
LARGEST_SITE = 20_000
LARGEST_SHARE = 0.05
TLDS = ("example", "test")
"""Reserved names (RFC 2606): a crawl of these can never reach anybody."""
REGION_SITES = 12
PORTAL_TOPICS = 6
FORUM_TOPICS = 4


class Kind(IntEnum):
    """Kinds of site."""

    TOPICAL = 0
    PORTAL = 1
    DIRECTORY = 2
    BLOG = 3
    FORUM = 4
    GENERAL = 5
    FARM = 6
    PARKED = 7


class Draw(IntEnum):
    """What chance is used for: draws for different ends do not depend on each other."""

    SITE = 1
    PAGE = 2
    LINKS = 3
    TEXT = 4
    REGION = 5
    CHANGE = 6
    SIZE = 7


@dataclass(frozen=True, slots=True)
class Site:
    """A site as its owner made it; `bits` are its own 64 bits of chance."""

    number: int
    kind: Kind
    topics: tuple[int, ...]
    """What its pages may be about; the first is its main topic. Empty: nothing in particular."""
    size: int
    host: str
    bits: int
    has_rules: bool
    has_moved: bool
    has_sessions: bool
    has_calendar: bool
    is_limited: bool
    is_slow: bool
    is_latin: bool
    """Sends Latin-1 and says UTF-8."""
    has_validators: bool

    def draw(self, purpose: int) -> float:
        return share(mix(self.bits, purpose))


@dataclass(frozen=True, slots=True)
class Region:
    """Hidden sites of one topic, and the tunnel that leads there over sites off the topic."""

    number: int
    topic: int
    sites: tuple[int, ...]
    gates: tuple[int, ...]
    """Sites of the tunnel, from its start; the last gate lists the region's sites."""


def draw_topic(limits: list[float], bits: int) -> int:
    return bisect_right(limits, share(bits) * limits[-1])


def topic_limits(params: WebParams, prose: Prose) -> list[float]:
    return list(accumulate(params.rare_topics.get(topic.name, 1.0) for topic in prose.topics))


def make_sites(params: WebParams, prose: Prose) -> list[Site]:
    """All sites, in the order of their numbers."""
    limits = topic_limits(params, prose)
    weights = (
        params.topical,
        params.portals,
        params.directories,
        params.blogs,
        params.forums,
        params.general,
        params.farms,
        params.parked,
    )
    kind_limits = list(accumulate(weights))
    all_bits = [mix(params.seed, Draw.SITE, number) for number in range(params.sites)]
    kinds = [Kind(bisect_right(kind_limits, share(mix(bits, 1)) * kind_limits[-1])) for bits in all_bits]
    parked = kinds.count(Kind.PARKED)
    if parked == params.sites:
        kinds, parked = [Kind.TOPICAL] * params.sites, 0
    sizes = iter(_sizes(params.sites - parked, params.pages - parked, params))
    made = []
    for number, (kind, bits) in enumerate(zip(kinds, all_bits, strict=True)):
        topics = _topics(kind, bits, limits)
        size = 1 if kind is Kind.PARKED else next(sizes)
        made.append(Site(number, kind, topics, size, _host(prose, number, topics, bits), bits, *_manners(params, bits)))
    return made


def _manners(params: WebParams, bits: int) -> tuple[bool, ...]:
    """The switches of a Site, in the order of its fields."""
    haste = share(mix(bits, 27))
    return (
        share(mix(bits, 21)) < params.robots_rules,
        share(mix(bits, 23)) < params.moved_sites,
        share(mix(bits, 25)) < params.session_sites,
        share(mix(bits, 26)) < params.calendar_sites,
        haste < params.limited_sites,
        params.limited_sites <= haste < params.limited_sites + params.slow_sites,
        share(mix(bits, 28)) < params.wrong_charsets,
        share(mix(bits, 29)) < params.validators,
    )


def make_regions(params: WebParams, sites: list[Site]) -> list[Region]:
    """Groups of hidden topical sites of one topic, each behind a tunnel of two to four sites off the topic."""
    hidden: defaultdict[int, list[int]] = defaultdict(list)
    gates = []
    for site in sites:
        if site.kind is Kind.TOPICAL and site.draw(20) < params.hidden_sites:
            hidden[site.topics[0]].append(site.number)
        elif site.kind in (Kind.GENERAL, Kind.BLOG, Kind.FORUM):
            gates.append(site.number)
    regions: list[Region] = []
    for topic, numbers in sorted(hidden.items()):
        for start in range(0, len(numbers), REGION_SITES):
            bits = mix(params.seed, Draw.REGION, len(regions))
            length = 2 + bits % 3
            if len(gates) < length:
                return regions
            tunnel = tuple(Random(bits).sample(gates, length))
            members = tuple(numbers[start : start + REGION_SITES])
            regions.append(Region(len(regions), topic, members, tunnel))
    return regions


def _topics(kind: Kind, bits: int, limits: list[float]) -> tuple[int, ...]:
    wanted = {Kind.PORTAL: PORTAL_TOPICS, Kind.FORUM: FORUM_TOPICS, Kind.GENERAL: 0, Kind.PARKED: 0}.get(kind, 1)
    if kind is Kind.DIRECTORY:
        return tuple(range(len(limits)))
    found: dict[int, None] = {}
    at = 0
    while len(found) < min(wanted, len(limits)):
        found[draw_topic(limits, mix(bits, 2, at))] = None
        at += 1
    return tuple(found)


def _sizes(count: int, pages: int, params: WebParams) -> list[int]:
    """Pages per site: a power law of the rank whose sum is exact, in shuffled order, none above the largest."""
    spare = pages - count
    largest = max(-(-pages // count), min(LARGEST_SITE, int(pages * LARGEST_SHARE)))
    weights = [(rank + 1.0) ** -params.size_exponent for rank in range(count)]
    sizes = [1] * count
    while spare:
        open_weight = sum(weight for weight, size in zip(weights, sizes, strict=True) if size < largest)
        scale = spare / open_weight
        for rank, weight in enumerate(weights):
            # At least one page each round, so that the rounding's leftovers are shared out too.
            extra = min(max(1, int(weight * scale)), largest - sizes[rank], spare)
            sizes[rank] += extra
            spare -= extra
            if not spare:
                break
    Random(mix(params.seed, Draw.SIZE)).shuffle(sizes)
    return sizes


def _host(prose: Prose, number: int, topics: tuple[int, ...], bits: int) -> str:
    """An invented name; about a third of the sites with one topic have a word of it in theirs."""
    name = pick(prose.common["sitename"], bits, 5).fill(0)
    if len(topics) == 1 and share(mix(bits, 6)) < 0.35:
        words = pick(pick(prose.topics[topics[0]].facets, bits, 7).slugs, bits, 8).split("-")
        name = f"{max(words, key=len)}-{name}"
    prefix = "www." if share(mix(bits, 9)) < 0.5 else ""
    return f"{prefix}{name}{number}.{pick(TLDS, bits, 10)}"
