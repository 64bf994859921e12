"""Pages without labels → examples: what the prior is sure of, set against the background (DESIGN, sec. 5)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

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
MOST_OF_A_KIND = 150
"""Pages of the web that are trained on, relevant or not, evenly over all that were met: more teach little."""
HALF_TRUST = 10.0
"""With so many positives what was learned counts half as much as it ever will."""
LEAST_COMPANY = 200
"""Pages that were met together with two others of their site, before anything is learned from company."""
HALF_COMPANY = 300.0
"""With so many of them it counts half as much as it ever will."""
DOUBT = 2.0
"""A site's other pages are taken to be so many more of the usual kind than they are."""
MUCH_COMPANY = 5.0
"""With so many other pages of its site a page's company has its full weight."""


@dataclass(frozen=True)
class Found:
    """A page that was met, and where."""

    page: PageText
    site: str
    anchor: str = ""


def pseudo_labels(pages: Sequence[Found], prior: Prior, labelled: Sequence[Example] = ()) -> list[Example]:
    """Pages that the prior, sharpened on the same web, is sure enough of; weights say how sure.

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
    own = [*_thinned([one for one in own if one.relevant]), *_thinned([one for one in own if not one.relevant])]
    return [*own, *_background(prior, sum(example.weight for example in own if not example.relevant))]


def _thinned(examples: Sequence[Example]) -> Sequence[Example]:
    return examples[:: -(-len(examples) // MOST_OF_A_KIND) or 1]


def enough(examples: Sequence[Example]) -> bool:
    return sum(example.relevant for example in examples) >= LEAST_POSITIVES


def _sharpened(pages: Sequence[Found], prior: Prior, labelled: Sequence[Example]) -> Floats:
    """The prior's logits, what sites tell of texts, and what a line on mean vectors learns from both, twice over."""
    read = prior.reader.read
    readings = [read(found.page) for found in pages]
    known = _directions(prior, readings)
    given = _directions(prior, [read(example.page) for example in labelled]) if labelled else known[:0]
    background = prior.background.directions[_off_topic(prior)] * SCALE
    said = np.array([example.relevant for example in labelled], dtype=bool)
    before = prior.logits(readings)
    company = _by_company(known, [found.site for found in pages], before > 0)
    # Near its seeds a crawl meets many more relevant pages than the prior was made for.
    before = before + np.float32(prevalence(before).shift) + company
    logits = before
    for _ in range(ROUNDS):
        likely = logits > 0
        positives = float(likely.sum() + said.sum())
        if not positives:
            break
        sure = np.concatenate([np.abs(2 * sigmoid(logits) - 1), np.full(len(given), 2.0)])
        relevant = np.concatenate([likely, said])
        others = np.full(len(background), (sure * ~relevant).sum() / len(background))
        line = _line(
            np.concatenate([known, given, background]),
            np.concatenate([relevant, np.zeros(len(background), dtype=bool)]),
            np.concatenate([sure, others]),
            len(sure),
        )
        if line is None:
            break
        logits = before + positives / (positives + HALF_TRUST) * line(known)
    return logits


def _by_company(known: Floats, sites: Sequence[str], sure: npt.NDArray[np.bool_]) -> Floats:
    """How like a text is to those whose site has other pages the prior is sure of, as logits (Blum and Mitchell 1998).

    The prior takes a neighbouring topic for its own by what a text says. What it is sure of on the rest of the site is
    another witness, and a line that has learned from that one alone does not repeat the mistakes of the first.
    """
    nothing = np.zeros(len(known), np.float32)
    _, site = np.unique(sites, return_inverse=True)
    others = np.bincount(site)[site] - 1
    met = float((others > 1).sum())
    usual = sure.mean()
    if met < LEAST_COMPANY or not usual:
        return nothing
    share = (np.bincount(site, sure)[site] - sure + DOUBT * usual) / (others + DOUBT)
    evidence = np.log(share / usual)
    line = _line(known, evidence > 0, np.abs(evidence) * np.minimum(1.0, others / MUCH_COMPANY), len(known))
    told = nothing if line is None else met / (met + HALF_COMPANY) * line(known)
    # Where sites are few and alike, what differs is the page that was left out: one that is sure sees one less of its
    # kind. So a witness who contradicts the prior where that is sure is not heard.
    agrees = not sure.all() and told[sure].mean() > told[~sure].mean()
    return told if agrees else nothing


def _line(
    inputs: Floats, relevant: npt.NDArray[np.bool_], weights: Floats, count: int
) -> Callable[[Floats], Floats] | None:
    """A line between two classes that weigh the same, together as `count` pages; None where one of them is missing."""
    # scikit-learn takes a second to import, which commands that train nothing need not wait for.
    from sklearn.linear_model import LogisticRegression

    sums = np.array([weights[~relevant].sum(), weights[relevant].sum()])
    if not sums.all():
        return None
    each = count / 2 / sums
    line = LogisticRegression(max_iter=300).fit(inputs, relevant, weights * each[relevant.astype(int)])
    return lambda asked: line.decision_function(asked).astype(np.float32)


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
