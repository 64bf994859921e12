"""Table 1 of TRES on labelled text: five folds, books and lists kept whole, every model on the same folds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from statistics import mean

import numpy as np
import numpy.typing as npt
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from tres_crawler.classify.figures import Figures, best_threshold, measure
from tres_crawler.classify.prior import Prior
from tres_crawler.classify.training import Kind, fit, folds, split
from tres_crawler.experiments.relevance.data import Folder
from tres_crawler.experiments.relevance.options import KINDS, Findings, Options, given_keywords, middle, spread, vectors
from tres_crawler.experiments.report import Check, Say
from tres_crawler.records import Example
from tres_crawler.text import words
from tres_crawler.vectors import Floats

LINEAR_STRENGTH = 0.01
"""C of the linear model, the best of 0.01, 0.1 and 1 on Arts, Health and Science: it is to be a strong one."""
PAPER = {
    ("sports", "svm"): 0.904,
    ("sports", "bilstm"): 0.954,
    ("hardware", "svm"): 0.839,
    ("hardware", "bilstm"): 0.908,
}
"""Macro F1 as far as Table 1 is legible, at a prevalence of about 6 % and on other data."""

Tried = Callable[[Sequence[Example], Sequence[Example], Prior], Figures]


def classify(options: Options, folder: Folder, say: Say) -> Findings:
    rows: list[dict[str, object]] = []
    checks: list[Check] = []
    for topic in options.topics:
        examples = folder.examples(topic, options.sizes.relevant)
        prior = Prior(vectors(), given_keywords(topic))
        found: dict[str, list[Figures]] = {name: [] for name in MODELS}
        for number, (learned, tested) in enumerate(folds(examples, 0), 1):
            for name, tried in MODELS.items():
                figures = tried([examples[at] for at in learned], [examples[at] for at in tested], prior)
                found[name].append(figures)
                say(f"{topic}, fold {number}, {name}: macro F1 {figures.macro_f1:.3f}")
        best = max(KINDS, key=lambda kind: mean(figures.macro_f1 for figures in found[kind]))
        rows += [_row(topic, name, figures, found[best]) for name, figures in found.items()]
        checks += [
            Check.at_least(
                f"{topic}: macro F1 of {best} less that of {other}", middle(_differences(found[best], found[other])), 0
            )
            for other in ("svm", "linear")
        ]
    return Findings(rows, checks)


# ---- models ----


def _trained(kind: Kind) -> Tried:
    def tried(learned: Sequence[Example], tested: Sequence[Example], prior: Prior) -> Figures:
        model = fit(kind, learned, prior, refit=False).model
        return measure(model.pages([example.page for example in tested]), _labels(tested), model.threshold)

    return tried


def _prior(_learned: Sequence[Example], tested: Sequence[Example], prior: Prior) -> Figures:
    return measure(prior.pages([example.page for example in tested]), _labels(tested), prior.threshold)


def linear(learned: Sequence[Example], tested: Sequence[Example], prior: Prior) -> Figures:
    """Balanced logistic regression on mean vectors; its threshold is chosen on as much as the others' is."""
    known, relevant = _means(learned, prior), _labels(learned)
    rest, held = split(learned, seed=0)
    line = make_pipeline(
        StandardScaler(), LogisticRegression(C=LINEAR_STRENGTH, class_weight="balanced", max_iter=1000)
    )
    line.fit(known[rest], relevant[rest])
    threshold = best_threshold(line.predict_proba(known[held])[:, 1], relevant[held], beta=1.0)
    return measure(line.predict_proba(_means(tested, prior))[:, 1], _labels(tested), threshold)


def _means(examples: Sequence[Example], prior: Prior) -> Floats:
    """Of title and text together, as the networks read both."""
    known = prior.reader.vectors
    texts = (words(f"{example.page.title}\n{example.page.text}") for example in examples)
    return np.stack([known.mean(known.rows(text)) for text in texts])


def _labels(examples: Sequence[Example]) -> npt.NDArray[np.bool_]:
    return np.array([example.relevant for example in examples], dtype=bool)


MODELS: dict[str, Tried] = {
    **{kind: _trained(kind) for kind in KINDS},
    "svm": _trained("svm"),
    "linear": linear,
    "prior": _prior,
}


# ---- figures ----


def _row(topic: str, name: str, found: Sequence[Figures], best: Sequence[Figures]) -> dict[str, object]:
    differences = _differences(best, found)
    off = spread(differences)
    return {
        "part": "classify",
        "topic": topic,
        "model": name,
        "pages": sum(figures.held_out for figures in found),
        "prevalence": middle(figures.prevalence for figures in found),
        "precision": middle(figures.precision for figures in found),
        "recall": middle(figures.recall for figures in found),
        "macro_f1": middle(figures.macro_f1 for figures in found),
        "macro_f1_sd": spread([figures.macro_f1 for figures in found]),
        "auc": middle(figures.auc or 0.0 for figures in found),
        "best_ahead_by": middle(differences),
        "standard_error": round(off / len(found) ** 0.5, 4) if off is not None else None,
        "paper_macro_f1": PAPER.get((topic, name)),
    }


def _differences(one: Sequence[Figures], other: Sequence[Figures]) -> list[float]:
    """Fold by fold: what makes a fold hard, it makes hard for both."""
    return [mine.macro_f1 - theirs.macro_f1 for mine, theirs in zip(one, other, strict=True)]
