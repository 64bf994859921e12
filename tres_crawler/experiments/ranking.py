"""How well the links that wait at the end of a crawl are told apart, by what, and how well they could be."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from tres_crawler.experiments.afterwards import KnownLinks
from tres_crawler.simweb.describe import split
from tres_crawler.simweb.model import Web

BEST = (50, 200, 500)
"""So many links from the top are looked at."""
ALONE = ("anchor_probability", "site_share", "word_probability")
"""Features that are looked at as scores of their own."""
FEW = 20
"""With fewer relevant links on either side there is nothing to learn or to compare."""

Floats = npt.NDArray[np.floating[Any]]
Bools = npt.NDArray[np.bool_]
Numbers = npt.NDArray[np.int64]


def ranking(known: KnownLinks, web: Web, topic: str) -> dict[str, Any]:
    """Of each score: which share of its best waiting links lead to relevant pages, by truth.

    `taught` is what boosted trees make of the same features when they are told the truth of half of the sites; it and
    `value there` are judged on the other half. Nothing is told of a crawl that has left no link.
    """
    if not known.waiting.any():
        return {}
    true = np.array([web.topic_of(*split(url)) == topic for url in known.urls], bool)
    waits = known.waiting
    scores: dict[str, Floats] = {
        "value": known.values,
        "promise": known.promises,
        **{name: known.features[:, at] for at, name in enumerate(known.columns) if name in ALONE},
        "true share of the site": true_shares(true, known.sites),
    }
    best = {name: best_of(score[waits], true[waits]) for name, score in scores.items()}
    return {"waiting": int(waits.sum()), "relevant": int(true[waits].sum()), "best": {**best, **_taught(known, true)}}


def best_of(score: Floats, true: Bools) -> list[float]:
    """The share of relevant links among the best, for each of `BEST`."""
    order = np.argsort(-score, kind="stable")
    return [round(float(true[order[:count]].mean()), 3) for count in BEST]


def true_shares(true: Bools, sites: Numbers) -> Floats:
    """Which part of all known links of a link's site is relevant."""
    shares: Floats = (np.bincount(sites, true) / np.maximum(np.bincount(sites), 1))[sites]
    return shares


def _taught(known: KnownLinks, true: Bools) -> dict[str, list[float]]:
    there = np.random.default_rng(0).random(int(known.sites.max(initial=0)) + 1)[known.sites] < 0.5
    lesson, test = known.waiting & there, known.waiting & ~there
    if min(true[lesson].sum(), true[test].sum()) < FEW:
        return {}
    from sklearn.ensemble import HistGradientBoostingClassifier  # takes a second to import

    trees = HistGradientBoostingClassifier(max_depth=5, learning_rate=0.05, max_iter=200, random_state=0)
    trees.fit(known.features[lesson], true[lesson])
    chances = trees.predict_proba(known.features[test])[:, 1]
    return {"value there": best_of(known.values[test], true[test]), "taught": best_of(chances, true[test])}
