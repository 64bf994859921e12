"""What is new in a text: the text before is kept as hashes of its runs of words, the new one is held against them."""

from __future__ import annotations

import zlib
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tres_crawler.text import WORD

RUN_WORDS = 3
LEAST_SHARE = 0.01
"""Below this share of new runs nothing has changed that a reader would notice, such as a date or a counter."""
COMPARED_CHARACTERS = 200_000
"""Of a text that are compared: enough for any page, and a matter of milliseconds."""
CONTEXT_WORDS = 8
MOST_CHARACTERS = 2000
"""Of new text that is kept to be shown."""

Prints = npt.NDArray[np.uint32]
Segment = tuple[bool, str]
"""Words, and whether they are new."""


@dataclass(frozen=True, slots=True)
class News:
    """What a text says that the one before did not."""

    share: float
    """Of its runs of words that are new."""
    segments: tuple[Segment, ...]
    """The new words with some around them, in order."""
    prints: Prints

    @property
    def changed(self) -> bool:
        return self.share >= LEAST_SHARE

    @property
    def added(self) -> str:
        """The new words alone."""
        return "\n".join(piece for is_new, piece in self.segments if is_new)


def prints_of(text: str) -> Prints:
    """Hashes of all runs of words, each once, in order of size."""
    return np.unique(_runs(text[:COMPARED_CHARACTERS]))


def whats_new(text: str, before: Prints) -> News:
    """Hold a text against the prints of another."""
    text = text[:COMPARED_CHARACTERS]
    runs = _runs(text)
    known = np.isin(runs, before)
    if known.all():
        return News(0.0, (), np.unique(runs))
    found = list(WORD.finditer(text))
    # A word is old if any run that it is part of was there before.
    old = np.zeros(len(found), bool)
    for at in range(min(RUN_WORDS, len(found))):
        old[at : at + len(runs)] |= known
    spans = [(word.start(), word.end()) for word in found]
    return News(float(1 - known.mean()), _segments(text, spans, ~old), np.unique(runs))


def share_gone(was_new: Prints, now: Prints) -> float:
    """Share of what was new once and is there no more."""
    return float(1 - np.isin(was_new, now).mean()) if len(was_new) else 0.0


def _runs(text: str) -> Prints:
    # Lower-cased one by one: as a whole, a text may change its length and its words.
    found = [word.lower() for word in WORD.findall(text)]
    count = max(len(found) - RUN_WORDS + 1, 1) if found else 0
    return np.array(
        [zlib.crc32(" ".join(found[at : at + RUN_WORDS]).encode("utf-8", "replace")) for at in range(count)], np.uint32
    )


def _segments(text: str, spans: list[tuple[int, int]], new: npt.NDArray[np.bool_]) -> tuple[Segment, ...]:
    """New words and those around them as pieces of the text; what lies far from anything new is left out."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], new, [False]]).astype(np.int8))).reshape(-1, 2).tolist()
    segments: list[Segment] = []
    left, shown = MOST_CHARACTERS, 0
    for start, end in edges:
        begin = max(shown, start - CONTEXT_WORDS)
        if begin < start:
            segments.append((False, text[spans[begin][0] : spans[start - 1][1]]))
        new_words = text[spans[start][0] : spans[end - 1][1]][:left]
        segments.append((True, new_words))
        left -= len(new_words)
        if left <= 0:
            break
        following = next((edge for edge, _ in edges if edge >= end), len(spans))
        shown = min(end + CONTEXT_WORDS, following, len(spans))
        if shown > end:
            segments.append((False, text[spans[end][0] : spans[shown - 1][1]]))
    return tuple(segments)
