"""How well a few words tell what a link leads to: AUC on anchors of simulated webs whose targets are known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from sklearn.metrics import roc_auc_score

from tres_crawler.classify.neural import NeuralModel
from tres_crawler.classify.prior import Prior
from tres_crawler.config import RelevanceSettings
from tres_crawler.experiments.relevance.options import Findings, Options, middle
from tres_crawler.experiments.relevance.world import World, Worlds, truths
from tres_crawler.experiments.report import Check, Say
from tres_crawler.vectors import Floats, unit

MATCH, COSINE, PRIOR = "keyword match", "mean-vector cosine", "prior"
STUDENT, NETWORK = "student", "network"


async def anchors(options: Options, worlds: Worlds, say: Say) -> Findings:
    rows: list[dict[str, object]] = []
    checks: list[Check] = []
    for topic in options.topics:
        found: dict[str, list[tuple[float, float]]] = {}
        for world in worlds:
            for way, aucs in (await _aucs(world, topic)).items():
                found.setdefault(way, []).append(aucs)
        say(f"{topic}: " + ", ".join(f"{way} {middle(of for of, _ in aucs):.3f}" for way, aucs in found.items()))
        overall = {way: middle(of for of, _ in aucs) for way, aucs in found.items()}
        rows += [
            {
                "part": "anchors",
                "topic": topic,
                "way": way,
                "anchors": options.sizes.anchors * len(aucs),
                "auc": overall[way],
                "auc_without_generic": middle(of for _, of in aucs),
            }
            for way, aucs in found.items()
        ]
        checks += _checks(topic, overall)
    return Findings(rows, checks)


async def _aucs(world: World, topic: str) -> dict[str, tuple[float, float]]:
    """By way: AUC over all anchors that have words, and over those that are not "read more"."""
    found = world.anchors
    texts, relevant = [anchor.words for anchor in found], truths(found, topic)
    telling = ~np.array([anchor.is_generic for anchor in found])
    scores = _without_training(world.prior(topic), texts)
    for start, model in (await _judges(world, topic)).items():
        for judge in (NETWORK, STUDENT):  # the student last, who stays: other parts look at the same model
            model.anchor_judge = judge
            scores[f"{judge}, {start}"] = model.anchors(texts)
    return {
        way: (float(roc_auc_score(relevant, said)), float(roc_auc_score(relevant[telling], said[telling])))
        for way, said in scores.items()
    }


async def _judges(world: World, topic: str) -> Mapping[str, NeuralModel]:
    kind = RelevanceSettings().model
    assert kind in ("bilstm", "kwbilstm")
    most = world.sizes.labels[-1]
    judges = {f"{most:,} labels": world.labelled(topic, most, kind)}
    crawled = await world.bootstrapped(topic, kind)
    return {"keywords + 1 seed": crawled, **judges} if crawled else judges


def _without_training(prior: Prior, texts: Sequence[str]) -> dict[str, Floats]:
    readings = [prior.reader.read_anchor(text) for text in texts]
    towards = unit(prior.reader.keyword_vectors.mean(axis=0))
    return {
        MATCH: np.array([reading.hits for reading in readings], dtype=np.float32),
        COSINE: np.stack([unit(reading.mean) for reading in readings]) @ towards,
        PRIOR: prior.anchor_logits(readings),
    }


def _checks(topic: str, overall: Mapping[str, float]) -> list[Check]:
    students = [way for way in overall if way.startswith(STUDENT)]
    return [
        Check.at_least(f"{topic}: AUC of {way} less {other}", round(overall[way] - overall[other], 4), 0)
        for way in students
        for other in (MATCH, COSINE)
    ]
