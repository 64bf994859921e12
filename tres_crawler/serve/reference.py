"""What a crawl that draws its links at random would harvest: an estimate from the texts of the links of this one."""

from __future__ import annotations

from collections.abc import Sequence

from tres_crawler.serve.models import RandomReference

LEAST_LINKS = 100
REAL_SHARES = 0.3, 1.3
"""Real random crawls harvested between these shares of the estimate, wherever both were measured (docs/results.md)."""


def reference(looks: Sequence[float]) -> RandomReference | None:
    """The mean probability of being relevant that a judge gives the texts of links; None of too few links.

    Links are judged as they are found, whether they are fetched or not, so nothing of the crawl's own choice is in it.
    What fetched pages turned out to be is left out: they are the best of their kind, whatever kinds are told apart.
    """
    if len(looks) < LEAST_LINKS:
        return None
    rate = sum(looks) / len(looks)
    low, high = (min(1.0, rate * share) for share in REAL_SHARES)
    return RandomReference(harvest_rate=rate, low=low, high=high, links=len(looks))
