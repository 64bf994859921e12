"""TF-IDF and a linear SVM: a judge to compare with, as ACHE has it (TRES, sec. 3.2), and what others know of words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from math import log, sqrt
from typing import Any

import numpy as np
import numpy.typing as npt

from tres_crawler.classify.model import pack
from tres_crawler.classify.prior import sigmoid
from tres_crawler.classify.reading import MAX_CHARACTERS
from tres_crawler.errors import ModelError
from tres_crawler.records import Example, PageText
from tres_crawler.text import words
from tres_crawler.vectors import Floats

MOST_WORDS = 50_000


class SvmModel:
    """Which words stand on a page, weighed; knows nothing of words it was not trained on."""

    kind = "svm"

    def __init__(self, vocabulary: Sequence[str], idf: Floats, weights: Floats, offset: float) -> None:
        self._known = dict(zip(vocabulary, zip(idf.tolist(), weights.tolist(), strict=True), strict=True))
        self._vocabulary, self._idf, self._weights, self._offset = tuple(vocabulary), idf, weights, offset
        self.slope, self.intercept, self.threshold = 1.0, 0.0, 0.5

    @classmethod
    def fit(cls, examples: Sequence[Example]) -> SvmModel:
        # scikit-learn takes a second to import, which a crawl that only judges need not wait for.
        from sklearn.feature_extraction.text import TfidfVectorizer
        from sklearn.svm import LinearSVC

        vectoriser = TfidfVectorizer(tokenizer=words, token_pattern=None, sublinear_tf=True, max_features=MOST_WORDS)
        try:
            counted = vectoriser.fit_transform([_text(example.page) for example in examples])
        except ValueError as error:
            raise ModelError("None of the examples has a word to learn from.") from error
        svm = LinearSVC(class_weight="balanced", random_state=0)
        svm.fit(counted, [example.relevant for example in examples], [example.weight for example in examples])
        vocabulary = vectoriser.get_feature_names_out().tolist()
        return cls(
            vocabulary, vectoriser.idf_.astype(np.float32), svm.coef_[0].astype(np.float32), float(svm.intercept_[0])
        )

    def margins(self, texts: Sequence[str]) -> Floats:
        """Distances to the border between the classes."""
        return np.array([self._margin(text) for text in texts], np.float32)

    def _margin(self, text: str) -> float:
        """As scikit-learn counts, in a third of the time: words that are known, by the logarithm of how often."""
        total = squares = 0.0
        for word, count in Counter(words(text.lower())).items():
            if known := self._known.get(word):
                value = (1.0 + log(count)) * known[0]
                total += value * known[1]
                squares += value * value
        return total / sqrt(squares) + self._offset if squares else self._offset

    def page_margins(self, pages: Sequence[PageText]) -> Floats:
        return self.margins([_text(page) for page in pages])

    def pages(self, pages: Sequence[PageText]) -> Floats:
        return sigmoid(self.slope * self.page_margins(pages) + self.intercept)

    def anchors(self, anchors: Sequence[str]) -> Floats:
        return sigmoid(self.slope * self.margins(anchors) + self.intercept)

    def dump(self, **figures: Any) -> bytes:
        meta, arrays = self.state()
        return pack({"kind": self.kind, "figures": figures, **meta}, arrays)

    def state(self) -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]]]:
        """All that `restore` needs."""
        meta = {
            "calibration": [self.slope, self.intercept, self.threshold],
            "offset": self._offset,
            "vocabulary": list(self._vocabulary),
        }
        return meta, {"idf": self._idf, "weights": self._weights}

    @classmethod
    def restore(cls, meta: Mapping[str, Any], arrays: Mapping[str, npt.NDArray[Any]]) -> SvmModel:
        vocabulary, idf, weights = meta["vocabulary"], arrays["idf"], arrays["weights"]
        if not idf.shape == weights.shape == (len(vocabulary),):
            raise ValueError(f"{len(vocabulary)} words, {idf.shape} and {weights.shape} weights")
        if not (np.isfinite(idf).all() and np.isfinite(weights).all()):
            raise ValueError("a word whose weight is no number")
        self = cls(vocabulary, idf, weights, float(meta["offset"]))
        self.slope, self.intercept, self.threshold = meta["calibration"]
        return self


def _text(page: PageText) -> str:
    return "\n".join(part[:MAX_CHARACTERS] for part in (page.title, page.description, page.text))
