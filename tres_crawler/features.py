"""A path and its outlinks → one row of features per link, for the tree and the learner (TRES, sec. 2.4.1)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from urllib.parse import unquote

import numpy as np
from numpy.typing import NDArray

from tres_crawler.config import FeatureSettings
from tres_crawler.records import Outlink
from tres_crawler.text import PhraseFinder, words

Floats = NDArray[np.float32]
Numbers = NDArray[np.int64]

STATE = ("parent_reward", "inverse_distance", "path_ratio")
ACTION = ("keyword_in_url", "keyword_in_anchor", "anchor_probability")
SITE = ("site_ratio", "site_known")
FURTHER = ("context_probability", "navigation", "depth", "same_site", "keywords", "silent_anchor")
"""What the set `extended` adds; each is between 0 and 1.

`context_probability`: the judge's word on the text around the link; `navigation`: it stands in a menu, header or
footer; `depth`: steps from the seed, n / (n + 4); `same_site`: it does not leave the page's site; `keywords`: different
keywords in URL and anchor, n / (n + 1); `silent_anchor`: the anchor is empty, a number, or says "read more".
"""

UNSEEN_SITE = 0.5
"""Ratio and flag of a site of which no page has been fetched (TRES, sec. 2.4.1)."""

SIMPLE_RULE = {"anchor_probability": 2 / 3, "parent_reward": 1 / 3}
"""Anchor probability + half the parent's reward, the strongest simple rule, scaled to be at most 1 as rewards are."""

SILENT = frozenset(
    (
        *("", "here", "click here", "this", "link", "image", "source", "website", "visit", "view", "details"),
        *("more", "read more", "learn more", "see more", "show more", "continue", "continue reading"),
        *("next", "previous", "prev", "back"),
    )
)


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

    def restore(self, sites: Numbers, relevant: NDArray[np.bool_]) -> None:
        """Forget everything and count these pages: after a restart, or when a new judge has judged them again."""
        size = max(64, int(sites.max(initial=0)) + 1)
        self._fetched = np.bincount(sites, minlength=size)
        self._relevant = np.bincount(sites[relevant], minlength=size)

    def features(self, sites: Numbers) -> Floats:
        """Columns `SITE` of links to these sites, as known now."""
        self._reach(int(sites.max(initial=0)))
        fetched = self._fetched[sites]
        seen = fetched > 0
        columns = np.full((len(sites), 2), UNSEEN_SITE, np.float32)
        columns[seen, 0] = self._relevant[sites[seen]] / fetched[seen]
        columns[seen, 1] = 1.0
        return columns

    def _reach(self, site: int) -> None:
        missing = site + 1 - len(self._fetched)
        if missing > 0:
            # At least doubled: sites are numbered as they are found, one by one.
            more = np.zeros(max(missing, len(self._fetched)), np.int64)
            self._fetched = np.concatenate([self._fetched, more])
            self._relevant = np.concatenate([self._relevant, more])


class Describer:
    """Describes links in the columns of one named feature set, always in the same order."""

    def __init__(self, settings: FeatureSettings, keywords: Iterable[str]) -> None:
        self.name = settings.set if settings.site else f"{settings.set} without sites"
        """Says which columns a saved learner was trained on."""
        self.columns = (
            STATE + ACTION + (SITE if settings.site else ()) + (FURTHER if settings.set == "extended" else ())
        )
        self._extended = settings.set == "extended"
        self._site = slice(self.columns.index(SITE[0]), self.columns.index(SITE[-1]) + 1) if settings.site else None
        self._finder = PhraseFinder(keywords)

    @property
    def dim(self) -> int:
        return len(self.columns)

    def describe(
        self,
        path: PathState | None,
        outlinks: Sequence[Outlink],
        anchor_probabilities: Floats,
        sites: Numbers,
        ratios: SiteRatios,
        *,
        depth: int = 0,
        page_site: int | None = None,
        context_probabilities: Floats | None = None,
    ) -> Floats:
        """A row for every outlink of one page.

        `path` is the page's; None, for seeds, makes the state features zero. `sites` and both probabilities have one
        entry per outlink, `depth` is that of the links. What the set `paper` does not know may be left out.
        """
        found = [self._keywords(outlink) for outlink in outlinks]
        rows = np.zeros((len(outlinks), self.dim), np.float32)
        rows[:, 0:3] = path.features() if path else 0.0
        rows[:, 3:5] = np.array([hits[:2] for hits in found], np.float32).reshape(-1, 2)
        rows[:, 5] = anchor_probabilities
        if self._site:
            rows[:, self._site] = ratios.features(sites)
        if self._extended:
            context, navigation, depths, same_site, keywords, silent = range(self.dim - len(FURTHER), self.dim)
            rows[:, context] = anchor_probabilities if context_probabilities is None else context_probabilities
            rows[:, navigation] = [outlink.navigation for outlink in outlinks]
            rows[:, depths] = depth / (depth + 4)
            rows[:, same_site] = 0.0 if page_site is None else sites == page_site
            rows[:, keywords] = [hits[2] / (hits[2] + 1) for hits in found]
            rows[:, silent] = [hits[3] for hits in found]
        return rows

    def refresh(self, features: Floats, sites: Numbers, ratios: SiteRatios) -> Floats:
        """The same rows with what is known of their sites now; the given ones stay as they were placed."""
        if self._site is None:
            return features
        refreshed = features.copy()
        refreshed[:, self._site] = ratios.features(sites)
        return refreshed

    def simple_rule(self) -> Floats:
        """A weight per column: the value of a link by `SIMPLE_RULE`, for a learner that has not learned yet."""
        return np.array([SIMPLE_RULE.get(column, 0.0) for column in self.columns], np.float32)

    def _keywords(self, outlink: Outlink) -> tuple[bool, bool, int, bool]:
        """Whether a keyword is in the URL, in the anchor; how many in both; whether the anchor says nothing."""
        in_url, in_anchor = url_words(outlink.url), words(outlink.anchor)
        firsts = self._finder.by_first.keys()
        # Most links hit no keyword at all, and a page has dozens: only the rest is counted.
        url_hits = {} if firsts.isdisjoint(in_url) else self._finder.count(in_url)
        anchor_hits = {} if firsts.isdisjoint(in_anchor) else self._finder.count(in_anchor)
        different = len(url_hits.keys() | anchor_hits.keys()) if url_hits or anchor_hits else 0
        return bool(url_hits), bool(anchor_hits), different, self._extended and _says_nothing(in_anchor)


def url_words(url: str) -> list[str]:
    """Words of host, path and query; the scheme is the same everywhere."""
    rest = url.partition("//")[2]
    return words(unquote(rest) if "%" in rest else rest)


def _says_nothing(anchor: list[str]) -> bool:
    return len(anchor) < 3 and (" ".join(anchor) in SILENT or "".join(anchor).isdigit())
