"""A path and its outlinks → one row of features per link, for the tree and the learner (TRES, sec. 2.4.1)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from urllib.parse import unquote

import numpy as np
from numpy.typing import NDArray

from tres_crawler.config import FeatureSettings
from tres_crawler.finds import ADDRESS, Finds, address_numbers
from tres_crawler.records import Outlink
from tres_crawler.text import PhraseFinder, words
from tres_crawler.wording import WORDS, Wording, word_numbers

Floats = NDArray[np.float32]
Numbers = NDArray[np.int64]

STATE = ("parent_reward", "inverse_distance", "path_ratio")
ACTION = ("keyword_in_url", "keyword_in_anchor", "anchor_probability")
ANCHOR = (STATE + ACTION).index("anchor_probability")
SITE = ("site_ratio", "site_known")
FURTHER_SITE = ("site_share",)
FURTHER = ("word_probability",)
NAMED = ("found_again", "found_by_relevant", "best_anchor")
NAMED_SITE = ("site_named", "site_anchor")
"""What the set `extended` adds; each is between 0 and 1.

`site_share`: the ratio of relevant pages of the site, drawn to that of the whole crawl while few pages tell;
`word_probability`: how links with such words in address and anchor have paid so far;
`found_again`, `found_by_relevant`: on how many pages the link stands, those after the first, and on how many relevant
ones of these;
`best_anchor`: the highest probability among the anchors that it has on all these pages;
`site_named`: the relevant part of those pages of other sites that name the site;
`site_anchor`: the mean probability of the anchors of all links to the site.

What pages name is found out after a link was placed, so the last five are the learner's alone: the tree, which routes
links by what was known when they were placed, does not see them, and they are not kept with the link.
"""

UNSEEN_SITE = 0.5
"""Ratio and flag of a site of which no page has been fetched (TRES, sec. 2.4.1)."""

SIMPLE_RULE = {"anchor_probability": 2 / 3, "parent_reward": 1 / 3}
"""Anchor probability + half the parent's reward, the strongest simple rule, scaled to be at most 1 as rewards are."""

DOUBT = 2.0
"""So many pages of the crawl's own ratio stand beside those of a site."""


@dataclass(frozen=True, slots=True)
class PathState:
    """What is known of the path that ends at a fetched page."""

    reward: float
    """1 if the page itself is relevant, else 0."""
    distance: int
    """Steps from a link on the page back to the closest relevant page of the path; 0: there is none."""
    relevant: int
    length: int

    @classmethod
    def of(cls, parent: PathState | None, relevant: bool) -> PathState:
        """The path of `parent` with one more page; None begins one at a seed.

        Counted as in Figure 1 of TRES: from the link, so a relevant page is at distance 1 of its own links.
        """
        before = parent or cls(0.0, 0, 0, 0)
        distance = 1 if relevant else before.distance + 1 if before.distance else 0
        return cls(float(relevant), distance, before.relevant + relevant, before.length + 1)

    def features(self) -> tuple[float, float, float]:
        return self.reward, 1 / self.distance if self.distance else 0.0, self.relevant / self.length


class SiteRatios:
    """Pages fetched and pages found relevant, by site number."""

    def __init__(self) -> None:
        self._fetched: Numbers = np.zeros(64, np.int64)
        self._relevant: Numbers = np.zeros(64, np.int64)

    def add(self, site: int, relevant: bool) -> None:
        self._reach(site)
        self._fetched[site] += 1
        self._relevant[site] += relevant

    def features(self, sites: Numbers) -> Floats:
        """Columns `SITE` of links to these sites, as known now."""
        self._reach(int(sites.max(initial=0)))
        fetched = self._fetched[sites]
        seen = fetched > 0
        columns = np.full((len(sites), 2), UNSEEN_SITE, np.float32)
        columns[seen, 0] = self._relevant[sites[seen]] / fetched[seen]
        columns[seen, 1] = 1.0
        return columns

    @property
    def share(self) -> float:
        """Ratio of relevant pages of the whole crawl."""
        return float((self._relevant.sum() + 1) / (self._fetched.sum() + 2))

    def shares(self, sites: Numbers) -> Floats:
        """Ratio of relevant pages, that of the whole crawl where little is known."""
        self._reach(int(sites.max(initial=0)))
        doubt = DOUBT * self.share
        found: Floats = ((self._relevant[sites] + doubt) / (self._fetched[sites] + DOUBT)).astype(np.float32)
        return found

    def _reach(self, site: int) -> None:
        missing = site + 1 - len(self._fetched)
        if missing > 0:
            # At least doubled: sites are numbered as they are found, one by one.
            more = np.zeros(max(missing, len(self._fetched)), np.int64)
            self._fetched = np.concatenate([self._fetched, more])
            self._relevant = np.concatenate([self._relevant, more])


@dataclass(slots=True)
class Known:
    """What a crawl has learned of sites, words and addresses so far."""

    sites: SiteRatios = field(default_factory=SiteRatios)
    words: Wording = field(default_factory=Wording)
    finds: Finds = field(default_factory=Finds)


class Describer:
    """Describes links in the columns of one named feature set, always in the same order.

    A row, which is kept with its link, has the features first that the tree sees; behind them, in the set `extended`,
    stand the numbers of the link's words and of its address, by which `refresh` gives all columns as they are now.
    """

    def __init__(self, settings: FeatureSettings, keywords: Iterable[str]) -> None:
        self.name = settings.set if settings.site else f"{settings.set} without sites"
        """Says which columns a saved learner was trained on."""
        self.is_extended = settings.set == "extended"
        self._knows_sites = settings.site
        placed = (
            STATE
            + ACTION
            + (SITE if settings.site else ())
            + (FURTHER_SITE if settings.site and self.is_extended else ())
            + (FURTHER if self.is_extended else ())
        )
        named = NAMED + (NAMED_SITE if settings.site else ()) if self.is_extended else ()
        self.columns = placed + named
        """What the learner sees; the tree sees the first `placed` of them."""
        self.placed = len(placed)
        self._finder = PhraseFinder(keywords)

    @property
    def dim(self) -> int:
        """How many features there are."""
        return len(self.columns)

    @property
    def width(self) -> int:
        """How long a row is, numbers included."""
        return self.placed + (WORDS + ADDRESS if self.is_extended else 0)

    def describe(
        self,
        path: PathState | None,
        outlinks: Sequence[Outlink],
        anchor_probabilities: Floats,
        sites: Numbers,
        known: Known,
    ) -> Floats:
        """A row for every outlink of one page.

        `path` is the page's; None, for seeds, makes the state features zero. `sites` and the probabilities have one
        entry per outlink.
        """
        rows = np.zeros((len(outlinks), self.width), np.float32)
        rows[:, 0:3] = path.features() if path else 0.0
        rows[:, 3:5] = np.array([self._keywords(outlink) for outlink in outlinks], np.float32).reshape(-1, 2)
        rows[:, ANCHOR] = anchor_probabilities
        if self.is_extended:
            rows[:, self.placed : -ADDRESS] = word_numbers(outlinks, with_host=self._knows_sites)
            rows[:, -ADDRESS:] = address_numbers(outlink.url for outlink in outlinks)
        rows[:, : self.placed] = self.refresh(rows, sites, known)[:, : self.placed]
        return rows

    def refresh(self, rows: Floats, sites: Numbers, known: Known) -> Floats:
        """All features of these rows by what is known now; the given ones stay as they are."""
        features = np.empty((len(rows), self.dim), np.float32)
        features[:, : self.placed] = rows[:, : self.placed]
        if self._knows_sites:
            features[:, 6:8] = known.sites.features(sites)
        if self.is_extended:
            at = self.placed + len(NAMED)
            features[:, self.placed - 1] = known.words.probabilities(rows[:, self.placed : -ADDRESS])
            features[:, self.placed : at] = known.finds.of_links(rows[:, -ADDRESS:], rows[:, ANCHOR])
        if self._knows_sites and self.is_extended:
            features[:, 8] = known.sites.shares(sites)
            features[:, at:] = known.finds.of_sites(sites, known.sites.share)
        return features

    def learn(self, row: Floats, site: int, relevant: bool, known: Known) -> None:
        """A page of a site has come of the link with this row."""
        known.sites.add(site, relevant)
        if self.is_extended:
            known.words.learn(row[self.placed : -ADDRESS], relevant)

    def simple_rule(self) -> Floats:
        """A weight per column: the value of a link by `SIMPLE_RULE`, for a learner that has not learned yet."""
        return np.array([SIMPLE_RULE.get(column, 0.0) for column in self.columns], np.float32)

    def _keywords(self, outlink: Outlink) -> tuple[bool, bool]:
        """Whether a keyword is in the URL, and in the anchor."""
        return self._has_keyword(url_words(outlink.url)), self._has_keyword(words(outlink.anchor))

    def _has_keyword(self, found: list[str]) -> bool:
        # Most links hit no keyword at all, and a page has dozens: only the rest is looked at closely.
        return not self._finder.by_first.keys().isdisjoint(found) and bool(self._finder.count(found))


def url_words(url: str) -> list[str]:
    """Words of host, path and query; the scheme is the same everywhere."""
    rest = url.partition("//")[2]
    return words(unquote(rest) if "%" in rest else rest)
