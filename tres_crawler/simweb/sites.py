"""The sites of a simulated web: kind, topics, size, name and manners; all made at the start."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from itertools import accumulate
from random import Random

from tres_crawler.simweb.chance import mix, pick, share
from tres_crawler.simweb.params import WebParams
from tres_crawler.simweb.prose import Prose

NO_TOPIC = -1
LARGEST_SITE = 20_000
LARGEST_SHARE = 0.02
TLDS = ("example", "test")
"""Reserved names (RFC 2606): a crawl of these can never reach anybody."""
PORTAL_TOPICS = 6
FORUM_TOPICS = 4
PORTALS_LARGER = 4.0
"""How many times further up in the order of size a portal stands than chance would put it."""


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


class Robots(IntEnum):
    """What a site's robots.txt is like."""

    PLAIN = 0
    RULES = 1
    MISSING = 2
    BROKEN = 3


Manners = tuple[Robots, int, bool, bool, bool, bool, bool, bool, bool, bool, bool]
"""The fields of a Site from `robots` on."""


class Draw(IntEnum):
    """What chance is used for: draws for different ends do not depend on each other."""

    SITE = 1
    PAGE = 2
    LINKS = 3
    TEXT = 4
    REGION = 5
    CHANGE = 6
    SIZE = 7
    TOPIC = 8


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
    robots: Robots
    crawl_delay: int
    """Seconds that robots.txt asks to wait; 0: it does not ask."""
    has_moved: bool
    has_sessions: bool
    has_calendar: bool
    is_limited: bool
    is_slow: bool
    is_latin: bool
    """Sends Latin-1 and says UTF-8."""
    has_validators: bool
    has_url_words: bool
    has_sections: bool
    """Names a page's topic in its address."""

    def draw(self, purpose: int) -> float:
        return share(mix(self.bits, purpose))


def draw_topic(limits: list[float], bits: int) -> int:
    return bisect_right(limits, share(bits) * limits[-1])


def topic_limits(params: WebParams, prose: Prose) -> list[float]:
    return list(accumulate(topic_weights(params, prose)))


def topic_weights(params: WebParams, prose: Prose) -> list[float]:
    return [params.rare_topics.get(topic.name, 1.0) for topic in prose.topics]


def make_sites(params: WebParams, prose: Prose) -> list[Site]:
    """All sites, in the order of their numbers."""
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
    order = _order(kinds, all_bits)
    sizes = dict(zip(order, _sizes(params.sites - parked, params.pages - parked, params), strict=True))
    topics = _dealt(params, prose, kinds, order, sizes)
    made = []
    for number, (kind, bits) in enumerate(zip(kinds, all_bits, strict=True)):
        about = topics.get(number, ())
        host = _host(prose, number, about, bits)
        made.append(Site(number, kind, about, sizes.get(number, 1), host, bits, *_manners(params, kind, bits)))
    return made


def _manners(params: WebParams, kind: Kind, bits: int) -> Manners:
    """The manners of a Site, in the order of its fields."""
    haste = share(mix(bits, 27))
    robots = _robots(params, share(mix(bits, 21)))
    asks = robots in (Robots.PLAIN, Robots.RULES) and share(mix(bits, 24)) < params.crawl_delays
    return (
        robots,
        1 + bits % 2 if asks else 0,
        share(mix(bits, 23)) < params.moved_sites,
        share(mix(bits, 25)) < params.session_sites,
        share(mix(bits, 26)) < params.calendar_sites,
        haste < params.limited_sites,
        params.limited_sites <= haste < params.limited_sites + params.slow_sites,
        share(mix(bits, 28)) < params.wrong_charsets,
        share(mix(bits, 29)) < params.validators,
        share(mix(bits, 33)) < params.url_words,
        kind is Kind.DIRECTORY or (kind is Kind.PORTAL and share(mix(bits, 34)) < params.portal_sections),
    )


def _robots(params: WebParams, draw: float) -> Robots:
    """One of four; rules are taken from one end and the others from the other, so that a rate moves only its own."""
    if draw < params.robots_rules:
        return Robots.RULES
    if draw >= 1 - params.robots_broken:
        return Robots.BROKEN
    return Robots.MISSING if draw >= 1 - params.robots_broken - params.robots_missing else Robots.PLAIN


def _order(kinds: Sequence[Kind], all_bits: Sequence[int]) -> list[int]:
    """Sites with content by size, the largest first: kinds are spread evenly over the sizes, portals stand higher."""
    place: dict[int, float] = {}
    for kind in Kind:
        members = [number for number, other in enumerate(kinds) if other is kind and kind is not Kind.PARKED]
        members.sort(key=lambda number: mix(all_bits[number], Draw.SIZE))
        higher = PORTALS_LARGER if kind is Kind.PORTAL else 1.0
        for at, number in enumerate(members):
            place[number] = (at + share(mix(all_bits[number], Draw.SIZE, 1))) / len(members) / higher
    return sorted(place, key=place.__getitem__)


def _dealt(
    params: WebParams, prose: Prose, kinds: Sequence[Kind], order: Sequence[int], sizes: Mapping[int, int]
) -> dict[int, tuple[int, ...]]:
    """Topics of each site: within a kind the next largest goes to those that have fewest pages so far.

    By chance alone one topic would get several of the few large sites, and a random crawler its fill.
    """
    weights = topic_weights(params, prose)
    topics = [topic for topic, weight in enumerate(weights) if weight > 0]
    Random(mix(params.seed, Draw.TOPIC)).shuffle(topics)
    dealt: dict[int, tuple[int, ...]] = {}
    had = {kind: dict.fromkeys(topics, 0.0) for kind in Kind}
    wanted = {Kind.PORTAL: PORTAL_TOPICS, Kind.FORUM: FORUM_TOPICS, Kind.GENERAL: 0}
    for number in order:
        kind = kinds[number]
        if kind is Kind.DIRECTORY:
            dealt[number] = tuple(range(len(weights)))
            continue
        pages = had[kind]
        about = sorted(topics, key=pages.__getitem__)[: wanted.get(kind, 1)]
        for topic in about:
            pages[topic] += sizes[number] / weights[topic]
        dealt[number] = tuple(about)
    return dealt


def _sizes(count: int, pages: int, params: WebParams) -> list[int]:
    """Pages per site, from the largest: a power law of the rank whose sum is exact, none above the largest."""
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
    return sizes


def _host(prose: Prose, number: int, topics: tuple[int, ...], bits: int) -> str:
    """An invented name; about a third of the sites with one topic have a word of it in theirs."""
    name = pick(prose.common["sitename"], bits, 5).fill(0)
    if len(topics) == 1 and share(mix(bits, 6)) < 0.35:
        words = pick(pick(prose.topics[topics[0]].facets, bits, 7).slugs, bits, 8).split("-")
        name = f"{max(words, key=len)}-{name}"
    prefix = "www." if share(mix(bits, 9)) < 0.5 else ""
    return f"{prefix}{name}{number}.{pick(TLDS, bits, 10)}"
