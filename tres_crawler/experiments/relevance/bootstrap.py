"""From a few keywords to a judge, beside judges that were given labels; all by the truth of simulated webs."""

from __future__ import annotations

from typing import NamedTuple

from sklearn.metrics import roc_auc_score

from tres_crawler.classify.figures import Figures, measure
from tres_crawler.classify.model import Model
from tres_crawler.experiments.relevance.options import KINDS, Findings, Options, middle, spread
from tres_crawler.experiments.relevance.world import Seen, World, Worlds, truths
from tres_crawler.experiments.report import Check, Say

PRIOR = "keywords alone"
CRAWLED = "keywords + 1 seed"
MOST_STYLE_LOSS = 0.05
"""What AUC may lose where relevant and irrelevant pages are of the same sites."""


MOST_GAP = 0.05
"""What macro F1 may lack beside a judge that was given the most labels."""


class Tested(NamedTuple):
    figures: Figures
    same_sites: float


Found = dict[tuple[str, str], list[Tested]]
"""By start and model, one for each web."""


async def bootstrap(options: Options, worlds: Worlds, say: Say) -> Findings:
    rows: list[dict[str, object]] = []
    checks: list[Check] = []
    for topic in options.topics:
        found: Found = {}
        for number, world in enumerate(worlds):
            same_sites = world.same_sites(topic)
            for (start, kind), model in (await _judges(world, topic)).items():
                tested = _tested(model, world.tested, same_sites, topic)
                found.setdefault((start, kind), []).append(tested)
                say(f"{topic}, web {number}, {kind} from {start}: AUC {tested.figures.auc or 0:.3f}")
        rows += [_row(topic, start, kind, tested) for (start, kind), tested in found.items()]
        checks += _checks(topic, found, options.sizes.labels[-1])
    return Findings(rows, checks)


async def _judges(world: World, topic: str) -> dict[tuple[str, str], Model]:
    prior = world.prior(topic)
    judges: dict[tuple[str, str], Model] = {(PRIOR, "prior"): prior}
    for kind in KINDS:
        # A crawl that found too little to learn from is judged by the prior to its end.
        judges[CRAWLED, kind] = await world.bootstrapped(topic, kind) or prior
        for count in world.sizes.labels:
            judges[_labels(count), kind] = world.labelled(topic, count, kind)
    return judges


def _labels(count: int) -> str:
    return f"{count:,} labels"


def _tested(model: Model, pages: list[Seen], same_sites: list[Seen], topic: str) -> Tested:
    figures = measure(model.pages([seen.page for seen in pages]), truths(pages, topic), model.threshold)
    same = roc_auc_score(truths(same_sites, topic), model.pages([seen.page for seen in same_sites]))
    return Tested(figures, float(same))


def _row(topic: str, start: str, kind: str, found: list[Tested]) -> dict[str, object]:
    return {
        "part": "bootstrap",
        "topic": topic,
        "start": start,
        "model": kind,
        "webs": len(found),
        "prevalence": middle(tested.figures.prevalence for tested in found),
        "precision": middle(tested.figures.precision for tested in found),
        "recall": middle(tested.figures.recall for tested in found),
        "macro_f1": middle(tested.figures.macro_f1 for tested in found),
        "macro_f1_sd": spread([tested.figures.macro_f1 for tested in found]),
        "auc": _auc(found),
        "auc_same_sites": middle(tested.same_sites for tested in found),
    }


def _auc(found: list[Tested]) -> float:
    return middle(tested.figures.auc or 0.0 for tested in found)


def _macro(found: list[Tested]) -> float:
    return middle(tested.figures.macro_f1 for tested in found)


def _checks(topic: str, found: Found, most: int) -> list[Check]:
    prior = found[PRIOR, "prior"]
    checks = []
    for kind in KINDS:
        crawled, labelled = found[CRAWLED, kind], found[_labels(most), kind]
        same = middle(tested.same_sites for tested in crawled)
        checks += [
            Check.at_least(
                f"{topic}: AUC of {kind} from {CRAWLED} less {PRIOR}", round(_auc(crawled) - _auc(prior), 4), 0
            ),
            Check.at_most(
                f"{topic}: AUC of {kind} from {CRAWLED} less same sites",
                round(_auc(crawled) - same, 4),
                MOST_STYLE_LOSS,
            ),
            Check.at_most(
                f"{topic}: macro F1 of {kind} from {_labels(most)} less {CRAWLED}",
                round(_macro(labelled) - _macro(crawled), 4),
                MOST_GAP,
            ),
        ]
    return checks
