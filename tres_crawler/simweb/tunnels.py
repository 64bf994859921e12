"""Hidden regions: sites that only a tunnel leads to, over pages that look like any other and are off the topic."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

from tres_crawler.simweb.chance import mix, share
from tres_crawler.simweb.params import WebParams
from tres_crawler.simweb.sites import Draw, Kind, Robots, Site

GATE_KINDS = (Kind.GENERAL, Kind.BLOG, Kind.FORUM)
REGION_SITES = 12
SHORTEST = 2
LONGEST = 4


@dataclass(frozen=True, slots=True)
class Region:
    """Hidden sites of one topic, and the tunnel that leads there over sites off the topic."""

    number: int
    topic: int
    sites: tuple[int, ...]
    gates: tuple[tuple[int, int], ...]
    """Site and page number of the tunnel's pages, from its start; the last lists the region's sites."""


def make_regions(params: WebParams, sites: Sequence[Site]) -> list[Region]:
    """Groups of hidden topical sites of one topic, each behind a tunnel."""
    able = [site for site in sites if site.kind in GATE_KINDS and site.robots is not Robots.BROKEN]
    regions: list[Region] = []
    taken: Counter[int] = Counter()
    for topic, numbers in sorted(_hidden(params, sites).items()):
        off_topic = [site for site in able if topic not in site.topics]
        for start in range(0, len(numbers), REGION_SITES):
            bits = mix(params.seed, Draw.REGION, len(regions))
            length = SHORTEST + bits % (LONGEST - SHORTEST + 1)
            if len(off_topic) < length:
                break
            gates = []
            for site in Random(bits).sample(off_topic, length):
                # Numbers after the last of the site's own pages, so that the address looks like theirs.
                gates.append((site.number, site.size + taken[site.number]))
                taken[site.number] += 1
            regions.append(Region(len(regions), topic, tuple(numbers[start : start + REGION_SITES]), tuple(gates)))
    return regions


def _hidden(params: WebParams, sites: Sequence[Site]) -> dict[int, list[int]]:
    """Hidden sites by topic: every so many in the order of size, so that all topics hide about as many pages."""
    by_topic: defaultdict[int, list[Site]] = defaultdict(list)
    for site in sites:
        if site.kind is Kind.TOPICAL:
            by_topic[site.topics[0]].append(site)
    hidden = {}
    for topic, members in by_topic.items():
        members.sort(key=lambda site: (-site.size, site.number))
        begin, rate = share(mix(params.seed, Draw.REGION, topic, 1)), params.hidden_sites
        chosen = [
            site.number for at, site in enumerate(members) if int((at + 1) * rate + begin) > int(at * rate + begin)
        ]
        # A region's sites are of all sizes.
        hidden[topic] = sorted(chosen)
    return hidden
