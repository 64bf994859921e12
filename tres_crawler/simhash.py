"""A text → 64 bits of which near copies share nearly all, and a memory of those seen."""

from __future__ import annotations

from functools import lru_cache
from hashlib import blake2b

import numpy as np

from tres_crawler.text import words

SHINGLE_WORDS = 2
NEAR = 3
MASK = (1 << 64) - 1
_BANDS = range(0, 64, 16)


def simhash(text: str, shingle_words: int = SHINGLE_WORDS) -> int:
    """64 bits, signed as databases want them; each bit is the vote of all runs of words (Charikar 2002)."""
    tokens = words(text)
    if not tokens:
        return 0
    hashes = np.array([_word_hash(token) for token in tokens], dtype=np.uint64)
    runs = hashes[: max(len(tokens) - shingle_words + 1, 1)].copy()
    for at in range(1, min(shingle_words, len(tokens))):
        runs = _mixed(runs) + hashes[at : at + len(runs)]
    bits = np.unpackbits(_mixed(runs).astype(">u8").view(np.uint8)).reshape(-1, 64)
    votes = bits.sum(axis=0, dtype=np.int64) * 2 > len(bits)
    return int.from_bytes(np.packbits(votes).tobytes(), "big", signed=True)


def distance(one: int, other: int) -> int:
    """The number of bits in which two hashes differ."""
    return ((one ^ other) & MASK).bit_count()


class NearDuplicates:
    """Finds a hash within `NEAR` bits of a given one: they agree wholly in at least one of four bands of 16 bits."""

    def __init__(self) -> None:
        self._numbers: dict[int, int] = {}
        self._bands: tuple[dict[int, list[int]], ...] = tuple({} for _ in _BANDS)

    def __len__(self) -> int:
        return len(self._numbers)

    def find(self, hash: int) -> int | None:
        """The number of a page whose hash is the same, else of one that is near, else None."""
        if hash in self._numbers:
            return self._numbers[hash]
        for shift, band in zip(_BANDS, self._bands, strict=True):
            for known in band.get(hash >> shift & 0xFFFF, ()):
                if ((hash ^ known) & MASK).bit_count() <= NEAR:
                    return self._numbers[known]
        return None

    def add(self, hash: int, number: int) -> None:
        """Remember the page; of pages with one hash the first is kept."""
        if hash in self._numbers:
            return
        self._numbers[hash] = number
        for shift, band in zip(_BANDS, self._bands, strict=True):
            band.setdefault(hash >> shift & 0xFFFF, []).append(hash)


@lru_cache(maxsize=100_000)
def _word_hash(word: str) -> int:
    # Not Python's own hash: it differs from one process to the next, and hashes are kept.
    return int.from_bytes(blake2b(word.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "big")


def _mixed(hashes: np.ndarray[tuple[int], np.dtype[np.uint64]]) -> np.ndarray[tuple[int], np.dtype[np.uint64]]:
    """Every bit depends on every other (the finaliser of splitmix64)."""
    hashes = (hashes ^ (hashes >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    hashes = (hashes ^ (hashes >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return hashes ^ (hashes >> np.uint64(31))
