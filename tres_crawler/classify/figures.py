"""How good a judge is: precision, recall, F1, AUC, and how far its probabilities can be trusted."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from sklearn.metrics import precision_recall_fscore_support, roc_auc_score

from tres_crawler.vectors import Floats


@dataclass(frozen=True)
class Figures:
    """How a judge did on examples it had not learned from; `is_agreement` if those are no person's labels."""

    held_out: int
    prevalence: float
    precision: float
    recall: float
    f1: float
    macro_f1: float
    auc: float | None
    calibration_error: float
    """Expected calibration error over ten bins."""
    uncalibrated_error: float
    threshold: float
    is_agreement: bool = False


def measure(probabilities: Floats, relevant: npt.NDArray[np.bool_], threshold: float) -> Figures:
    said = probabilities >= threshold
    precision, recall, f1, _ = precision_recall_fscore_support(relevant, said, average="binary", zero_division=0)
    macro = precision_recall_fscore_support(relevant, said, average="macro", zero_division=0)[2]
    error = calibration_error(probabilities, relevant)
    both = 0 < relevant.sum() < len(relevant)
    return Figures(
        held_out=len(relevant),
        prevalence=float(relevant.mean()),
        precision=float(precision),
        recall=float(recall),
        f1=float(f1),
        macro_f1=float(macro),
        auc=float(roc_auc_score(relevant, probabilities)) if both else None,
        calibration_error=error,
        uncalibrated_error=error,
        threshold=threshold,
    )


def best_threshold(probabilities: Floats, relevant: npt.NDArray[np.bool_], beta: float) -> float:
    """The middle of the two probabilities between which F-beta is highest."""
    order = np.argsort(-probabilities, kind="stable")
    hits = np.cumsum(relevant[order])
    taken = np.arange(1, len(order) + 1)
    scores = (1 + beta**2) * hits / (beta**2 * relevant.sum() + taken)
    at = int(np.argmax(scores))
    after = probabilities[order[at + 1]] if at + 1 < len(order) else 0.0
    return float(np.clip((probabilities[order[at]] + after) / 2, 0.05, 0.95))


def calibration_error(probabilities: Floats, relevant: npt.NDArray[np.bool_], bins: int = 10) -> float:
    """Mean distance between what was said and what was so, over bins of equal width."""
    inside = np.minimum((probabilities * bins).astype(int), bins - 1)
    gaps = [
        abs(probabilities[inside == b].mean() - relevant[inside == b].mean()) * (inside == b).sum() for b in set(inside)
    ]
    return float(sum(gaps) / len(probabilities))
