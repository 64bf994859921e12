"""What every judge promises, and how one is written down without pickle."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from tres_crawler.errors import ModelError
from tres_crawler.records import PageText
from tres_crawler.vectors import Floats

FORMAT = 1
META = "meta"


class Model(Protocol):
    """Holds a probability of being relevant for pages and for anchors; the same text always has the same."""

    @property
    def kind(self) -> str: ...

    @property
    def threshold(self) -> float:
        """A page is relevant from this probability on."""

    def pages(self, pages: Sequence[PageText]) -> Floats: ...

    def anchors(self, anchors: Sequence[str]) -> Floats: ...


def pack(meta: Mapping[str, Any], arrays: Mapping[str, npt.NDArray[Any]]) -> bytes:
    """A model as bytes: a NumPy archive with its description in it."""
    told = np.frombuffer(json.dumps({"format": FORMAT, **meta}).encode(), dtype=np.uint8)
    file = io.BytesIO()
    np.savez_compressed(file, **{META: told}, **arrays)  # type: ignore[arg-type]  # names are arrays, not options
    return file.getvalue()


def unpack(body: bytes, name: str) -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]]]:
    """Description and arrays; `name` says in errors which model it is."""
    try:
        with np.load(io.BytesIO(body), allow_pickle=False) as archive:
            arrays = {key: archive[key] for key in archive.files}
        meta = dict(json.loads(arrays.pop(META).tobytes()))
    except Exception as error:
        # A damaged archive fails in the ways of zip, of NumPy or of JSON.
        raise ModelError(f"{name} is damaged and cannot be read ({error}). Train it again.") from error
    if meta.get("format") != FORMAT:
        raise ModelError(
            f"{name} has format {meta.get('format')}, this version reads {FORMAT}. Use the version that wrote it, or "
            "train it again."
        )
    return meta, arrays
