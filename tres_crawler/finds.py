"""Addresses → how often pages named them: one that several pages name is seldom dead, and seldom beside the point."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from tres_crawler.text import fingerprint

Floats = npt.NDArray[np.float32]
Addresses = npt.NDArray[np.uint16]

ADDRESS = 2
"""So many numbers, of 16 bits each, stand for an address."""
BUCKETS = 2**24
"""Addresses are counted in so many bytes: of a million of them, 6 % share one with another."""
MOST = 255


class Finds:
    """Counts the pages on which an address was found again after the one it was first found on."""

    def __init__(self) -> None:
        self._again = np.zeros(BUCKETS, np.uint8)

    def add(self, addresses: Addresses) -> None:
        """A page names addresses that were known before it."""
        at = np.unique(_buckets(addresses))
        self._again[at] = np.minimum(self._again[at], MOST - 1) + 1

    def restore(self, saved: bytes) -> None:
        """What the addresses of a page were saved as."""
        self.add(np.frombuffer(saved, np.uint16).reshape(-1, ADDRESS))

    def features(self, addresses: npt.NDArray[np.generic]) -> Floats:
        """0 for what one page names, ½ for what two do, and towards 1 with every further one."""
        again: Floats = self._again.take(_buckets(addresses)).astype(np.float32)
        return again / (again + np.float32(1))


def address_numbers(urls: Iterable[str]) -> Addresses:
    """A row for each URL, of numbers that a float keeps exactly."""
    keys = np.array([fingerprint(url) for url in urls], np.int64)
    return keys.view(np.uint16).reshape(-1, 4)[:, :ADDRESS]


def _buckets(addresses: npt.NDArray[np.generic]) -> npt.NDArray[np.intp]:
    high, low = addresses.astype(np.intp).T
    found: npt.NDArray[np.intp] = ((high << 16) + low) % BUCKETS
    return found
