"""What a model says of examples it has not seen → probabilities that mean what they say, and a threshold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

import numpy as np
from sklearn.linear_model import LogisticRegression

from tres_crawler.classify.figures import Figures, best_threshold, calibration_error, measure
from tres_crawler.classify.neural import NeuralModel
from tres_crawler.classify.prior import sigmoid
from tres_crawler.classify.svm import SvmModel
from tres_crawler.records import Example

Goal = Literal["f1", "precision", "recall"]

BETA = {"f1": 1.0, "precision": 0.5, "recall": 2.0}
LEAST_TO_CALIBRATE = 40


def calibrate(model: NeuralModel | SvmModel, held: Sequence[Example], goal: Goal) -> Figures:
    """Set temperature, offset and threshold by examples the model has not seen; on another judge's word, leave them."""
    relevant = np.array([example.relevant for example in held])
    pages = [example.page for example in held]
    labelled = all(example.is_label for example in held)
    raw = model.page_margins(pages)
    before = calibration_error(sigmoid(raw), relevant)
    # Whole groups are held out, so now and then only one class is.
    both = 0 < relevant.sum() < len(relevant)
    if labelled and both and len(held) >= LEAST_TO_CALIBRATE:
        line = LogisticRegression(C=10.0).fit(raw[:, None], relevant)
        slope, intercept = float(line.coef_[0, 0]), float(line.intercept_[0])
        if slope > 0:
            _rescale(model, slope, intercept)
            threshold = best_threshold(model.pages(pages), relevant, BETA[goal])
            if isinstance(model, SvmModel):
                model.threshold = threshold
            else:
                model.calibration = replace(model.calibration, threshold=threshold)
    figures = measure(model.pages(pages), relevant, model.threshold)
    return replace(figures, uncalibrated_error=before, is_agreement=not labelled)


def _rescale(model: NeuralModel | SvmModel, slope: float, intercept: float) -> None:
    if isinstance(model, SvmModel):
        model.slope, model.intercept = slope, intercept
    else:
        known = model.calibration
        model.calibration = replace(
            known,
            temperature=known.temperature / slope,
            offset=known.offset + intercept * known.temperature / slope,
        )
