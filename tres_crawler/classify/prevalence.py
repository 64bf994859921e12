"""How many of a crawl's pages are relevant, told from logits alone (Saerens, Latinne and Decaestecker 2002)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tres_crawler.vectors import Floats

USUAL_SHARE = 0.08
"""The share of relevant pages at which a judge without labels is right about the even ones; found on tuning webs."""
MOST_SHARE = 0.4
"""The first pages of a crawl are nearest to its seeds: what comes later is hardly ever richer than this."""
EXPECTED_SHARE = 0.2
EXPECTED_WEIGHT = 4.0
"""So many pages of the expected share stand in for what a handful cannot tell."""
ROUNDS = 200
CLOSE_ENOUGH = 1e-5


class Prevalence(NamedTuple):
    share: float
    shift: float
    """What logits are to be moved by where this share is relevant."""


def prevalence(logits: Floats) -> Prevalence:
    """The share of relevant pages under which the judge's own probabilities add up to it."""
    share = EXPECTED_SHARE
    for _ in range(ROUNDS):
        shift = _odds(share) - _odds(USUAL_SHARE)
        likely = float((1.0 / (1.0 + np.exp(-np.clip(logits + shift, -30, 30)))).sum())
        found = min(MOST_SHARE, (likely + EXPECTED_WEIGHT * EXPECTED_SHARE) / (len(logits) + EXPECTED_WEIGHT))
        if abs(found - share) < CLOSE_ENOUGH:
            break
        share = found
    return Prevalence(share, _odds(share) - _odds(USUAL_SHARE))


def _odds(share: float) -> float:
    """Logarithm of the odds."""
    return float(np.log(share / (1.0 - share)))
