"""The parameters of a simulated web, its presets, and the families that tuning and reporting draw from."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from tres_crawler.errors import ConfigError
from tres_crawler.explaining import explain, nearest, read_toml

Share = Annotated[float, Field(ge=0.0, le=1.0)]
Weight = Annotated[float, Field(ge=0.0, le=100.0)]
TOPICS = (
    "arts",
    "business",
    "computers",
    "food",
    "games",
    "hardware",
    "health",
    "news",
    "recreation",
    "reference",
    "science",
    "society",
    "sports",
)


class WebParams(BaseModel):
    """Everything that a web depends on: equal parameters give equal bytes."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)

    # ---- size ----

    sites: int = Field(2000, ge=1, le=1_000_000)
    """How many sites there are."""

    pages: int = Field(100_000, ge=1, le=100_000_000)
    """How many pages there are over all sites, traps and copies under other addresses not counted."""

    seed: int = Field(1, ge=0, lt=2**63)
    """Another seed is another web of the same kind."""

    pool: Literal["train", "tune", "report"] = "report"
    """Which third of the prose the pages show; no two pools share a text of more than a line."""

    size_exponent: float = Field(0.9, ge=0.0, le=2.0)
    """How unequal sites are: the site of rank r has pages in proportion to r to the power of minus this."""

    # ---- what kinds of site there are (weights, beside each other) ----

    topical: Weight = 45.0
    """Sites about one topic."""

    portals: Weight = 6.0
    """Sites with six topics, and larger than others: the largest sites are mostly portals."""

    directories: Weight = 4.0
    """Hubs: pages that list sites of a topic and say nothing about it themselves."""

    blogs: Weight = 18.0
    """Personal sites: chatter, and now and then the owner's favourite topic."""

    forums: Weight = 8.0
    """Sites with threads on four topics and comments below them."""

    general: Weight = 10.0
    """Sites without any topic."""

    farms: Weight = 4.0
    """Link farms: stuffed with a topic's words, linking to each other and to pages on nothing under those words."""

    parked: Weight = 5.0
    """One page that offers the name for sale."""

    # ---- subjects ----

    rare_topics: Mapping[str, Weight] = {"hardware": 0.65, "news": 0.8}
    """How common a topic is beside the others (1); 0 leaves it out."""

    on_topic: Share = 0.75
    """Share of a topical site's pages that are on its topic."""

    portal_on_topic: Share = 0.85
    """Share of a portal's pages that are on one of its topics."""

    forum_on_topic: Share = 0.6
    """Share of a forum's threads that are on one of its topics."""

    blog_on_topic: Share = 0.3
    """Share of a blog's pages that are on its owner's favourite topic."""

    blog_strays: Share = 0.15
    """Share of a blog's pages that are on any topic."""

    general_on_topic: Share = 0.2
    """Share of the pages of a site without a topic that are on any topic."""

    thin_pages: Share = 0.05
    """Share of pages with a line or two of nothing."""

    foreign_pages: Share = 0.02
    """Share of pages in another language; they count as off topic."""

    # ---- addresses ----

    url_words: Share = 0.5
    """Share of sites that put words of a page's title into its address."""

    url_misleading: Share = 0.06
    """Share of the pages on these sites whose address has words of any topic in place of its own."""

    portal_sections: Share = 0.5
    """Share of portals whose addresses name the topic."""

    # ---- links ----

    links_per_page: float = Field(30.0, ge=1.0, le=300.0)
    """Mean number of content links on a page; heavy-tailed."""

    links_inside: Share = 0.5
    """Share of content links that stay on the site."""

    same_topic_inside: Share = 0.5
    """Chance that a content link within a site is meant to lead to a page of the same topic."""

    same_topic_across: Share = 0.4
    """Chance that a content link to another site is meant to lead to a page of the same topic."""

    hidden_sites: Share = 0.3
    """Share of topical sites that lie in hidden regions, reachable only through tunnels."""

    tunnel_links: Share = 0.04
    """Chance that an on-topic page links to a tunnel of its topic, beside the few entries that each tunnel has."""

    decoy_links: Share = 0.04
    """Share of content links to ordinary pages under words that links to tunnels use too ("our friends")."""

    directory_links: Share = 0.05
    """Chance that an on-topic page links to a directory's list for its topic."""

    anchor_generic: Share = 0.25
    """Share of content links whose anchor says nothing."""

    anchor_empty: Share = 0.08
    """Share of content links without words: an image, with or without a text for it."""

    anchor_misleading: Share = 0.05
    """Share of content links whose anchor is about another topic than their page."""

    dead_links: Share = 0.03
    """Share of content links to pages that do not exist."""

    # ---- bad manners ----

    robots_rules: Share = 0.2
    """Share of sites whose robots.txt forbids a folder."""

    forbidden_pages: Share = 0.06
    """Share of the pages of such a site that lie in the folder."""

    robots_missing: Share = 0.2
    """Share of sites without a robots.txt."""

    robots_broken: Share = 0.005
    """Share of sites whose robots.txt answers 503."""

    crawl_delays: Share = 0.02
    """Share of sites whose robots.txt asks for a pause of 1 or 2 seconds."""

    redirects: Share = 0.04
    """Share of content links that lead through one to three redirects."""

    moved_sites: Share = 0.05
    """Share of sites with an old name that redirects to the new one."""

    old_names: Share = 0.4
    """Share of links to a moved site that still use its old name."""

    copies: Share = 0.03
    """Share of pages that repeat another page word for word."""

    near_copies: Share = 0.03
    """Share of pages that repeat another page with a few words changed."""

    canonical_links: Share = 0.05
    """Share of content links to a print version that names the original with rel=canonical."""

    session_sites: Share = 0.01
    """Share of sites whose own links carry a session id that is new on every answer: a trap."""

    calendar_sites: Share = 0.01
    """Share of sites with a calendar that goes on for ever: a trap."""

    broken_pages: Share = 0.01
    """Share of pages that always answer 500."""

    limited_sites: Share = 0.01
    """Share of sites that answer 429 when asked again within half a second."""

    slow_sites: Share = 0.01
    """Share of sites that take half a second to two seconds."""

    wrong_charsets: Share = 0.01
    """Share of sites that declare another encoding than they use."""

    non_html: Share = 0.02
    """Share of content links to files that are not pages."""

    # ---- change ----

    changing: Share = 0.6
    """Share of pages that gain new items as time goes on."""

    slowest_change: float = Field(0.002, gt=0.0, le=1000.0)
    """New items an hour on the slowest of them; rates are spread evenly on a logarithmic scale."""

    fastest_change: float = Field(0.5, gt=0.0, le=1000.0)
    """New items an hour on the fastest of them."""

    grouped_change: Share = 0.2
    """Share of changing pages whose items also come in groups, together with other pages of their site."""

    seasonal_change: Share = 0.3
    """Share of changing pages whose items come mostly at one time of day."""

    validators: Share = 0.8
    """Share of sites that send ETag and Last-Modified and answer conditional requests with 304."""

    @model_validator(mode="after")
    def _consistent(self) -> WebParams:
        if self.sites > self.pages:
            raise ValueError(f"{self.sites} sites cannot share {self.pages} pages: every site has at least one")
        if self.topical + self.portals + self.blogs + self.forums <= 0:
            raise ValueError("no kind of site with content has a weight: raise topical, portals, blogs or forums")
        if self.slowest_change > self.fastest_change:
            raise ValueError("slowest_change is above fastest_change: swap them")
        for name in self.rare_topics:
            if name not in TOPICS:
                hint = nearest(name, TOPICS).strip(" .")
                raise ValueError(f'rare_topics names "{name}", which is no topic ({hint})')
        if not any(self.rare_topics.get(name, 1.0) for name in TOPICS):
            raise ValueError("rare_topics leaves no topic: give at least one a weight above 0")
        for what, names in SUMS.items():
            total = sum(getattr(self, name) for name in names)
            if total > 1.0:
                raise ValueError(f"{' + '.join(names)} is {total:g}: {what} cannot exceed 1")
        return self

    @classmethod
    def of(cls, preset: str = "default", file: Path | None = None, **given: Any) -> WebParams:
        """A preset, with a TOML file's values laid over it, and `given` over both; trouble is a ConfigError."""
        if preset not in PRESETS:
            raise ConfigError(f'There is no preset "{preset}".{nearest(preset, PRESETS)}')
        read = read_toml(file, ConfigError) if file else {}
        chosen = {name: value for name, value in given.items() if value is not None}
        try:
            return cls(**{**PRESETS[preset], **read, **chosen})
        except ValidationError as error:
            raise ConfigError(f"Wrong parameters of the simulated web. {explain(error, cls)}") from error


SUMS: Mapping[str, tuple[str, ...]] = {
    "the shares of anchors": ("anchor_generic", "anchor_empty", "anchor_misleading"),
    "the shares of odd pages": ("thin_pages", "foreign_pages", "copies", "near_copies"),
    "the shares of a blog's pages": ("blog_on_topic", "blog_strays"),
    "the shares of robots.txt": ("robots_rules", "robots_missing", "robots_broken"),
}

BAD_MANNERS = (
    "farms",
    "parked",
    "thin_pages",
    "foreign_pages",
    "url_misleading",
    "anchor_misleading",
    "dead_links",
    "robots_rules",
    "robots_missing",
    "robots_broken",
    "crawl_delays",
    "redirects",
    "moved_sites",
    "copies",
    "near_copies",
    "canonical_links",
    "session_sites",
    "calendar_sites",
    "broken_pages",
    "limited_sites",
    "slow_sites",
    "wrong_charsets",
    "non_html",
)

PRESETS: Mapping[str, Mapping[str, Any]] = {
    "default": {},
    "clean": dict.fromkeys(BAD_MANNERS, 0.0),
    "hard": {
        "anchor_generic": 0.45,
        "anchor_empty": 0.15,
        "anchor_misleading": 0.12,
        "url_words": 0.25,
        "url_misleading": 0.12,
        "portal_sections": 0.2,
        "decoy_links": 0.08,
        "hidden_sites": 0.5,
        "topical": 30.0,
        "portals": 12.0,
        "blogs": 25.0,
        "forums": 12.0,
        "on_topic": 0.6,
        "same_topic_across": 0.35,
    },
    "hostile": {
        "farms": 10.0,
        "thin_pages": 0.1,
        "foreign_pages": 0.06,
        "anchor_misleading": 0.15,
        "dead_links": 0.08,
        "robots_rules": 0.4,
        "robots_broken": 0.03,
        "crawl_delays": 0.05,
        "redirects": 0.12,
        "moved_sites": 0.15,
        "copies": 0.1,
        "near_copies": 0.1,
        "canonical_links": 0.1,
        "session_sites": 0.06,
        "calendar_sites": 0.06,
        "broken_pages": 0.05,
        "limited_sites": 0.05,
        "slow_sites": 0.05,
        "wrong_charsets": 0.08,
        "non_html": 0.06,
    },
    "news": {
        "changing": 0.9,
        "slowest_change": 0.02,
        "fastest_change": 6.0,
        "grouped_change": 0.4,
        "seasonal_change": 0.5,
        "portals": 14.0,
        "blogs": 25.0,
    },
}

FAMILIES: Mapping[str, Mapping[str, Any]] = {
    "tune": {
        "seeds": range(1000, 1100),
        "topics": ("computers", "games", "health", "recreation"),
        "webs": (
            {"links_inside": 0.45, "anchor_generic": 0.2, "hidden_sites": 0.2, "size_exponent": 0.8},
            {"links_inside": 0.6, "anchor_generic": 0.3, "hidden_sites": 0.35, "same_topic_across": 0.45},
            {"portals": 10.0, "on_topic": 0.65, "links_per_page": 22.0, "tunnel_links": 0.06},
        ),
    },
    "report": {
        "seeds": range(2000, 2100),
        "topics": ("sports", "food", "hardware"),
        "webs": (
            {},
            {"links_inside": 0.55, "anchor_generic": 0.35, "hidden_sites": 0.4, "size_exponent": 1.0},
            {"portals": 9.0, "on_topic": 0.7, "links_per_page": 36.0, "same_topic_across": 0.35},
        ),
    },
}
"""Webs to choose settings on and webs to report on: other seeds, other prose, other topics, other parameters."""


def family(name: str, number: int, **given: Any) -> WebParams:
    """The `number`th web of a family."""
    if name not in FAMILIES:
        raise ConfigError(f'There is no family of webs "{name}".{nearest(name, FAMILIES)}')
    chosen = FAMILIES[name]
    webs, seeds = chosen["webs"], chosen["seeds"]
    return WebParams.of(**{**webs[number % len(webs)], "pool": name, "seed": seeds[number % len(seeds)], **given})
