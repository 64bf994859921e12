"""Words of a link → the chance that it pays, learned online from what links with such words have led to."""

from __future__ import annotations

from collections.abc import Sequence
from math import exp
from urllib.parse import unquote, urlsplit
from zlib import crc32

import numpy as np
import numpy.typing as npt

from tres_crawler.text import words

Floats = npt.NDArray[np.float32]
Numbers = npt.NDArray[np.uint16]

MOST_WORDS = 24
BUCKETS = 2**16
"""Words are told apart by a number below this."""
EVERY_LINK = 0
RATE = 0.2
LEAST_SQUARES = 1e-6
MOST_LOGIT = 30.0


class Wording:
    """Logistic regression over the words of addresses and anchors, one step a page, as fast for each word as it is new.

    (AdaGrad: Duchi, Hazan and Singer 2011.) Its state follows from the pages it was told of, in order.
    """

    def __init__(self) -> None:
        self._weights = np.zeros(BUCKETS, np.float32)
        self._squares = np.full(BUCKETS, LEAST_SQUARES, np.float32)

    def probabilities(self, links: Sequence[Numbers]) -> Floats:
        """One for each link; 0.5 before anything was learned."""
        return np.array([self._probability(link) for link in links], np.float32)

    def learn(self, link: Numbers, relevant: bool) -> None:
        error = np.float32(self._probability(link) - relevant)
        self._squares[link] += error * error
        self._weights[link] -= RATE * error / np.sqrt(self._squares[link])

    def _probability(self, link: Numbers) -> float:
        return 1 / (1 + exp(-max(-MOST_LOGIT, min(MOST_LOGIT, float(self._weights[link].sum())))))


def wording(url: str, anchor: str, with_host: bool = True) -> Numbers:
    """The different words of a link as numbers; a bucket that every link has stands for how often links pay at all."""
    parts = urlsplit(url)
    address = unquote(f"{parts.path} {parts.query}")
    found = [*(words(parts.netloc) if with_host else ()), *words(anchor), *words(address)]
    numbers = {crc32(word.encode()) % (BUCKETS - 1) + 1 for word in dict.fromkeys(found[:MOST_WORDS])}
    return np.array([EVERY_LINK, *sorted(numbers)], np.uint16)
