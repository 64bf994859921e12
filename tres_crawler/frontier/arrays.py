"""What the arrays of the frontier share: their types, room to grow, and many stretches at once."""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int32]
Floats = npt.NDArray[np.float32]
Halves = npt.NDArray[np.float16]
Bools = npt.NDArray[np.bool_]
Indices = npt.NDArray[np.intp]
AnyArray = TypeVar("AnyArray", bound=npt.NDArray[Any])

LEAST_ROOM = 64


def with_room(array: AnyArray, size: int, fill: int = 0) -> AnyArray:
    """The array itself if it has `size` rows, else a longer copy.

    A quarter more than was asked for: doubling would copy less often, but leave half of the memory idle at its worst.
    """
    if size <= len(array):
        return array
    longer = np.zeros((max(LEAST_ROOM, size + size // 4), *array.shape[1:]), array.dtype)
    longer[: len(array)] = array
    if fill:  # zeros cost nothing before they are written to
        longer[len(array) :] = fill
    return longer  # type: ignore[return-value]  # same type, another length


def stretches(starts: npt.NDArray[np.integer[Any]], sizes: npt.NDArray[np.integer[Any]]) -> Indices:
    """The indices of many stretches of an array, one stretch after the other."""
    before = np.cumsum(sizes, dtype=np.intp) - sizes
    return np.repeat(starts - before, sizes) + np.arange(sizes.sum(dtype=np.intp), dtype=np.intp)
