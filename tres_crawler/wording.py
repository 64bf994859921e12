"""Words of a link → the chance that it pays, learned online from what links with such words have led to."""

from __future__ import annotations

from collections.abc import Iterable
from urllib.parse import unquote, urlsplit
from zlib import crc32

import numpy as np
import numpy.typing as npt

from tres_crawler.records import Outlink
from tres_crawler.text import words

Floats = npt.NDArray[np.float32]

WORDS = 10
"""So many words of a link count."""
BUCKETS = 2**16
"""Words are told apart by a number below this; 0 is no word."""
NO_WORD, EVERY_LINK = 0, BUCKETS
RATE = 0.2
LEAST_SQUARES = 1e-6
MOST_LOGIT = 30.0


class Wording:
    """Logistic regression over the words of addresses and anchors, one step a page, as fast for each word as it is new.

    (AdaGrad: Duchi, Hazan and Singer 2011.) A link is a row of numbers, as `word_numbers` makes them. What is known
    follows from the pages it was told of, in order.
    """

    def __init__(self) -> None:
        self._weights = np.zeros(BUCKETS + 1, np.float32)
        self._squares = np.full(BUCKETS + 1, LEAST_SQUARES, np.float32)

    def probabilities(self, links: Floats) -> Floats:
        """One for each link; 0.5 before anything was learned."""
        logits = self._weights.take(links.astype(np.intp)).sum(axis=1) + self._weights[EVERY_LINK]
        chances: Floats = 1 / (1 + np.exp(-logits.clip(-MOST_LOGIT, MOST_LOGIT)))
        return chances

    def learn(self, link: Floats, relevant: bool) -> None:
        error = self.probabilities(link[None])[0] - np.float32(relevant)
        # Beside its words, every link has one in common, which stands for how often links pay at all.
        told = np.append(link[link != NO_WORD].astype(np.intp), EVERY_LINK)
        self._squares[told] += error * error
        self._weights[told] -= RATE * error / np.sqrt(self._squares[told])


def word_numbers(outlinks: Iterable[Outlink], with_host: bool = True) -> Floats:
    """A row for each link: its different words as numbers, which a float keeps exactly."""
    rows = [_numbers(outlink, with_host) for outlink in outlinks]
    return np.array(rows, np.float32).reshape(-1, WORDS)


def _numbers(outlink: Outlink, with_host: bool) -> list[int]:
    parts = urlsplit(outlink.url)
    address = unquote(f"{parts.path} {parts.query}")
    found = [*(words(parts.netloc.removeprefix("www.")) if with_host else ()), *words(outlink.anchor), *words(address)]
    numbers = list(dict.fromkeys(crc32(word.encode()) % (BUCKETS - 1) + 1 for word in found[: 2 * WORDS]))[:WORDS]
    return numbers + [NO_WORD] * (WORDS - len(numbers))
