"""A learner as bytes: a checksum, then a header in JSON and numpy arrays in one zip file; nothing in it can run."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from hashlib import blake2b
from typing import Any
from zipfile import BadZipFile

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from tres_crawler.errors import ModelError

FORMAT = 1
"""Raised by one whenever older programs could not read what is written."""
SEAL_BYTES = 16
DAMAGED = "The saved learner is damaged, or is none. Begin a new crawl without it."


@dataclass(frozen=True)
class Shape:
    """What a saved learner and the one that takes it over must have in common."""

    features: str
    dim: int
    hidden: tuple[int, int]


@dataclass(frozen=True)
class Snapshot:
    """What was saved, of the shape that was asked for."""

    header: Mapping[str, Any]
    arrays: Mapping[str, NDArray[Any]]

    def part(self, name: str) -> dict[str, NDArray[Any]]:
        """The arrays saved under this name."""
        return {key.partition(".")[2]: array for key, array in self.arrays.items() if key.startswith(f"{name}.")}

    def state(self, name: str, like: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """The weights of one network, complete, of the shapes of `like`, and finite."""
        found = {key: torch.tensor(value) for key, value in self.part(name).items()}
        fits = {key: value.shape for key, value in found.items()} == {key: value.shape for key, value in like.items()}
        if not fits or not all(bool(torch.isfinite(value).all()) for value in found.values()):
            raise ModelError(f"{DAMAGED} Weights are missing or are not numbers.")
        return found


def pack(shape: Shape, header: Mapping[str, Any], parts: Mapping[str, Mapping[str, NDArray[Any]]]) -> bytes:
    text = json.dumps({"format": FORMAT, **asdict(shape), **header}).encode()
    arrays = {f"{part}.{name}": array for part, named in parts.items() for name, array in named.items()}
    file = io.BytesIO()
    np.savez_compressed(file, allow_pickle=False, header=np.frombuffer(text, np.uint8), **arrays)
    return _sealed(file.getvalue())


def unpack(saved: bytes, shape: Shape) -> Snapshot:
    """The parts of a snapshot; a ModelError says why it cannot be used."""
    body = saved[SEAL_BYTES:]
    # Without the seal, a changed byte shows up as any of a dozen exceptions of zipfile, or not at all.
    if saved != _sealed(body):
        raise ModelError(DAMAGED)
    try:
        with np.load(io.BytesIO(body), allow_pickle=False) as file:
            arrays = dict(file)
        header = json.loads(arrays.pop("header").tobytes())
        version = int(header["format"])
    except (ValueError, KeyError, TypeError, OSError, EOFError, BadZipFile) as error:
        raise ModelError(DAMAGED) from error
    if version > FORMAT:
        raise ModelError(
            f"The saved learner has format {version}, but this program reads up to {FORMAT}: a newer one has saved it. "
            "Use a newer program, or begin a new crawl without it."
        )
    features, dim, hidden = header["features"], header["dim"], tuple(header["hidden"])
    if (features, dim) != (shape.features, shape.dim):
        raise ModelError(
            f'The saved learner was taught the features "{features}" ({dim} numbers a link), but this crawl describes '
            f'links by "{shape.features}" ({shape.dim}). Give both the same features.set and features.site, or begin '
            "a new crawl without it."
        )
    if hidden != shape.hidden:
        raise ModelError(
            f"The saved learner has hidden layers of {hidden}, but this crawl's have {shape.hidden}. "
            "Set learn.hidden to the same, or begin a new crawl without it."
        )
    return Snapshot(header, arrays)


def _sealed(body: bytes) -> bytes:
    return blake2b(body, digest_size=SEAL_BYTES).digest() + body
