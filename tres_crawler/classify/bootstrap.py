"""Pages without labels → examples: what the prior is sure of, set against the background (DESIGN, sec. 5)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tres_crawler.classify.prevalence import prevalence
from tres_crawler.classify.prior import Prior, sigmoid
from tres_crawler.classify.reading import Reading, centred
from tres_crawler.records import Example, PageText
from tres_crawler.text import has_sentences
from tres_crawler.vectors import Floats

LEAST_POSITIVES = 8
"""Pages that must look relevant before a judge is trained on them; with fewer the prior stays."""
LEAST_CONFIDENCE = 0.2
ROUNDS = 2
SCALE = 3.0
"""Of unit vectors, so that a regularised line on a few pages can lean on them."""
MOST_BACKGROUND = 150
"""Pages of the background that are trained on: more cost time and teach little."""
HALF_TRUST = 10.0
"""With so many positives what was learned counts half as much as it ever will."""


@dataclass(frozen=True)
class Found:
    """A page that was met, and where."""

    page: PageText
    site: str
    anchor: str = ""


def pseudo_labels(pages: Sequence[Found], prior: Prior, labelled: Sequence[Example] = ()) -> list[Example]:
    """Every page the prior, sharpened on the same web, is sure enough of; weights say how sure.

    Negatives come from the same web as positives, so that style cannot stand in for topic. The project's own prose is
    added as further negatives: it shows subjects that the pages met so far may lack. Of a page that only lists words
    nothing is learned: its words may be right, but it is no example of anything.
    """
    pages = [found for found in pages if has_sentences(found.page.text)]
    if not pages:
        return []
    logits = _sharpened(pages, prior, labelled)
    confidence = np.abs(2 * sigmoid(logits) - 1)
    own = [
        Example(found.page, bool(logit > 0), float(sure), found.site, is_label=False, anchor=found.anchor)
        for found, logit, sure in zip(pages, logits, confidence, strict=True)
        if sure >= LEAST_CONFIDENCE
    ]
    return [*own, *_background(prior, sum(example.weight for example in own if not example.relevant))]


def enough(examples: Sequence[Example]) -> bool:
    return sum(example.relevant for example in examples) >= LEAST_POSITIVES


def _sharpened(pages: Sequence[Found], prior: Prior, labelled: Sequence[Example]) -> Floats:
    """The prior's logits plus what a line on mean vectors learns from them, twice over."""
    # scikit-learn takes a second to import, which commands that train nothing need not wait for.
    from sklearn.linear_model import LogisticRegression

    read = prior.reader.read
    readings = [read(found.page) for found in pages]
    known = _directions(prior, readings)
    given = _directions(prior, [read(example.page) for example in labelled]) if labelled else known[:0]
    background = prior.background.directions[_off_topic(prior)] * SCALE
    said = np.array([example.relevant for example in labelled], dtype=bool)
    before = prior.logits(readings)
    # Near its seeds a crawl meets many more relevant pages than the prior was made for.
    before = before + np.float32(prevalence(before).shift)
    logits = before
    for _ in range(ROUNDS):
        likely = logits > 0
        positives = float(likely.sum() + said.sum())
        if not positives:
            break
        inputs = np.concatenate([known, given, background])
        relevant = np.concatenate([likely, said, np.zeros(len(background), dtype=bool)])
        sure = np.concatenate([np.abs(2 * sigmoid(logits) - 1), np.full(len(given), 2.0)])
        weights = np.concatenate(
            [sure, np.full(len(background), (sure * ~relevant[: len(sure)]).sum() / len(background))]
        )
        weights *= np.where(
            relevant, 0.5 / max(weights[relevant].sum(), 1e-9), 0.5 / max(weights[~relevant].sum(), 1e-9)
        )
        line = LogisticRegression(max_iter=300).fit(inputs, relevant, weights * len(sure))
        logits = before + positives / (positives + HALF_TRUST) * line.decision_function(known).astype(np.float32)
    return logits


def _directions(prior: Prior, readings: Sequence[Reading]) -> Floats:
    means = np.stack([reading.mean for reading in readings])
    found: Floats = centred(means, prior.background.centre) * SCALE
    return found


def _off_topic(prior: Prior) -> list[int]:
    return [at for at, logit in enumerate(prior.background_logits) if logit < 0]


def _background(prior: Prior, weight: float) -> list[Example]:
    """Together they weigh as much as the web's own negatives."""
    off_topic = _off_topic(prior)
    chosen = off_topic[:: max(1, len(off_topic) // MOST_BACKGROUND)]
    each = min(1.0, weight / len(chosen)) if chosen else 0.0
    if not each:
        return []
    pages = prior.background.pages
    return [Example(pages[at], False, each, f"background {at}", is_label=False, is_met=False) for at in chosen]
