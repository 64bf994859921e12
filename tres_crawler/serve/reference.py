"""What a crawl that draws its links at random would harvest: an estimate from the links and pages of this one."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from tres_crawler.serve.models import RandomReference

STRATA = 10
LEAST_PAGES = 20
"""Pages that a stratum needs to speak for its links; with fewer it joins the one above."""
CONFIDENCE = 1.96


def reference(links: Sequence[float], pages: Sequence[tuple[float, bool]]) -> RandomReference | None:
    """Links are parted by how promising they looked; each part counts with the share of its fetched pages that are
    relevant, weighted by its share of all links (post-stratification). None if there are too few pages.

    Within a part the crawl has picked the better links, and it has found its links near relevant pages: the estimate
    rather lies above the truth, so that the crawl is not flattered by it.
    """
    if len(pages) < LEAST_PAGES or not links:
        return None
    promises = np.array([promise for promise, _ in pages])
    relevant = np.array([hit for _, hit in pages], float)
    edges = np.unique(np.quantile(np.array(links), np.linspace(0, 1, STRATA + 1)[1:-1]))
    of_links = np.bincount(np.searchsorted(edges, links, side="right"), minlength=len(edges) + 1)
    of_pages = np.searchsorted(edges, promises, side="right")
    rate = variance = weight = 0.0
    fetched = hits = 0.0
    # From the least promising part up: one without enough pages is joined by the next, which leans high.
    for part in range(len(edges) + 1):
        weight += of_links[part] / len(links)
        fetched += float((of_pages == part).sum())
        hits += float(relevant[of_pages == part].sum())
        if fetched >= LEAST_PAGES or (part == len(edges) and fetched):
            # Half a hit and half a miss more: of a part without hits nothing is certain.
            share = (hits + 0.5) / (fetched + 1)
            rate += weight * hits / fetched
            variance += weight**2 * share * (1 - share) / fetched
            weight = fetched = hits = 0.0
    if weight:
        return None
    half = CONFIDENCE * math.sqrt(variance)
    return RandomReference(
        harvest_rate=min(1.0, rate),
        low=max(0.0, rate - half),
        high=min(1.0, rate + half),
        links=len(links),
        pages=len(pages),
    )
