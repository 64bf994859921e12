"""What pages name → how a link looks to all pages that name it, and a site to all that name any of its pages."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt

from tres_crawler.text import fingerprint

Floats = npt.NDArray[np.float32]
Numbers = npt.NDArray[np.int64]
Addresses = npt.NDArray[np.uint16]
Names = npt.NDArray[np.void]
"""What one page names, a `NAME` for every outlink."""

ADDRESS = 2
"""So many numbers, of 16 bits each, stand for an address."""
NAME = np.dtype([("address", np.uint16, ADDRESS), ("site", np.int32), ("look", np.uint8), ("again", np.bool_)])
"""Address and site of an outlink, what the judge holds of its anchor in 255ths, whether it was known before."""
BUCKETS = 2**24
"""Addresses are counted in so many bytes: of a million of them, 6 % share one with another."""
MOST = 255


class Finds:
    """What is known of links and sites from the pages that name them, in whatever order they were added."""

    def __init__(self) -> None:
        self._again = np.zeros(BUCKETS, np.uint8)
        # Wider than needed to be read: what was counted can be taken back.
        self._again_by_relevant = np.zeros(BUCKETS, np.uint16)
        self._best_look = np.zeros(BUCKETS, np.uint8)
        self._naming: Numbers = np.zeros((64, 4), np.int64)
        """For each site: pages of others that name it, relevant ones of these, links to it, looks of these together."""
        self._links = self._looks = 0

    def add(self, names: Names, site: int, relevant: bool) -> None:
        """A page of a site names these."""
        again = names[names["again"]]
        at = _buckets(again["address"])
        self._again[at] = np.minimum(self._again[at], MOST - 1) + 1
        np.maximum.at(self._best_look, at, again["look"])
        sites, which, links = np.unique(names["site"], return_inverse=True, return_counts=True)
        looks = np.bincount(which, names["look"], len(sites)).astype(np.int64)
        nobody = np.zeros_like(looks)
        self._reach(int(sites.max(initial=0)))
        self._naming[sites] += np.stack([sites != site, nobody, links, looks], axis=1)
        self._links += len(names)
        self._looks += int(looks.sum())
        if relevant:
            self.judge(names, site, relevant)

    def judge(self, names: Names, site: int, relevant: bool) -> None:
        """The page of a site that names these counts as relevant from now on, or no longer does."""
        step = 1 if relevant else -1
        at = np.unique(_buckets(names["address"][names["again"]]))
        self._again_by_relevant[at] += np.array(step).astype(np.uint16)
        sites = np.unique(names["site"])
        self._naming[sites[sites != site], 1] += step

    def of_links(self, addresses: npt.NDArray[np.generic], looks: Floats) -> Floats:
        """Three columns: how often a link was found again, how often on relevant pages, its best anchor's look.

        The first two are 0 for what no further page names, ½ for what one does, and towards 1 with every other.
        """
        at = _buckets(addresses)
        again = self._again.take(at).astype(np.float32)
        by_relevant = np.minimum(self._again_by_relevant.take(at), MOST).astype(np.float32)
        best = np.maximum(self._best_look.take(at).astype(np.float32) / MOST, looks)
        return np.stack([again / (again + 1), by_relevant / (by_relevant + 1), best], axis=1)

    def of_sites(self, sites: Numbers, share: float) -> Floats:
        """Two columns: the relevant part of the pages that name a site, and the mean look of the links to it.

        `share`, the relevant part of all pages, and the mean of all looks stand in where nobody has named it yet.
        """
        self._reach(int(sites.max(initial=0)))
        usual = self._looks / max(self._links, 1)
        naming, relevant, links, looks = self._naming[sites].T
        found: Floats = np.stack(
            [(relevant + share) / (naming + 1), (looks + usual) / (links + 1) / MOST], axis=1, dtype=np.float32
        )
        return found

    def _reach(self, site: int) -> None:
        missing = site + 1 - len(self._naming)
        if missing > 0:
            more = max(missing, len(self._naming))
            self._naming = np.concatenate([self._naming, np.zeros((more, 4), np.int64)])


def names_of(urls: Sequence[str], sites: Numbers, looks: Floats, new: int) -> Names:
    """What a page names: so many links that are new, the first, and others that were known before it."""
    names = np.zeros(len(urls), NAME)
    names["address"] = address_numbers(urls)
    names["site"] = sites
    names["look"] = np.rint(looks * MOST)
    names["again"][new:] = True
    return names


def address_numbers(urls: Iterable[str]) -> Addresses:
    """A row for each URL, of numbers that a float keeps exactly."""
    keys = np.array([fingerprint(url) for url in urls], np.int64)
    return keys.view(np.uint16).reshape(-1, 4)[:, :ADDRESS]


def _buckets(addresses: npt.NDArray[np.generic]) -> npt.NDArray[np.intp]:
    high, low = addresses.astype(np.intp).T
    found: npt.NDArray[np.intp] = ((high << 16) + low) % BUCKETS
    return found
