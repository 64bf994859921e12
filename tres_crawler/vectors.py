"""Word vectors: a file in any format that gensim reads → the vector of a word, a phrase or a text."""

from __future__ import annotations

import bz2
import gzip
import hashlib
import math
import os
import struct
import threading
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from tres_crawler.cards import checked
from tres_crawler.errors import ModelError
from tres_crawler.resources import shipped
from tres_crawler.text import words

if TYPE_CHECKING:
    from gensim.models import KeyedVectors

Floats = npt.NDArray[np.float32]
Rows = npt.NDArray[np.int32]

SHIPPED = "glove-100d.npz"
_OPEN: dict[str, Any] = {".gz": gzip.open, ".bz2": bz2.open}
FASTTEXT_MAGIC = 793712314
FUNCTION_ROWS = 150
"""The most frequent words of the vectors, whatever their language, carry grammar and no topic."""
COMMON_SHARE = 1e-3
"""Words about as frequent as this count half in the mean of a text; rarer ones nearly whole (Arora et al. 2017)."""
ENDINGS = (
    ("'s", ""),
    ("’s", ""),
    ("ies", "y"),
    ("es", ""),
    ("s", ""),
    ("ing", ""),
    ("ing", "e"),
    ("ed", ""),
    ("ed", "e"),
)
"""What an unknown word may end in, and what to try in its place."""


class Vectors:
    """Words as rows of one matrix, the most frequent first; a word that is not there is looked for in plainer forms."""

    def __init__(self, keyed: KeyedVectors, identity: str) -> None:
        self.keyed = keyed
        self.identity = identity
        """Differs for any two files, so that a judge trained on others can be refused."""
        self.matrix: Floats = keyed.vectors
        self._lengths: Floats = np.maximum(np.linalg.norm(self.matrix, axis=1), 1e-9).astype(np.float32)
        self._index: dict[str, int] = keyed.key_to_index
        self._found: dict[str, int] = {}
        count = len(self._index)
        ranks = np.arange(1, count + 1)
        # Zipf's law stands in for counts, which vector files do not carry.
        shares = 1.0 / (ranks * (math.log(count + 1) + 0.577))
        self.weights: Floats = (COMMON_SHARE / (COMMON_SHARE + shares)).astype(np.float32)

    @property
    def dimensions(self) -> int:
        return int(self.matrix.shape[1])

    def row(self, word: str) -> int:
        """The row of a word or of a plainer form of it; -1 if there is none."""
        known = self._index.get(word)
        if known is not None:
            return known
        known = self._found.get(word)
        if known is None:
            if len(self._found) > 200_000:
                self._found.clear()
            known = self._found[word] = self._look(word)
        return known

    def rows(self, tokens: Iterable[str]) -> Rows:
        """The rows of the tokens that have one."""
        found = (self.row(token) for token in tokens)
        return np.fromiter((row for row in found if row >= 0), dtype=np.int32)

    def units(self, rows: Rows) -> Floats:
        """The vectors of rows, each of length 1: (len(rows), dimensions)."""
        found: Floats = self.matrix[rows] / self._lengths[rows, None]
        return found

    def phrase(self, text: str) -> Floats | None:
        """The unit vector of a word or phrase; None if none of its words is known."""
        rows = self.rows(words(text))
        return unit(self.units(rows).mean(axis=0)) if len(rows) else None

    def mean(self, rows: Rows) -> Floats:
        """The mean vector of a text, frequent words counting little; zero for a text without known words."""
        if not len(rows):
            return np.zeros(self.dimensions, dtype=np.float32)
        weights = self.weights[rows]
        found: Floats = weights @ self.units(rows) / weights.sum()
        return found

    def _look(self, word: str) -> int:
        plain = word.lower()
        for form in self._forms(plain):
            if form in self._index:
                return self._index[form]
        return -1

    @staticmethod
    def _forms(word: str) -> Iterable[str]:
        yield word
        for ending, instead in ENDINGS:
            if word.endswith(ending) and len(word) - len(ending) >= 3:
                stem = word[: -len(ending)]
                yield stem + instead
                if instead == "" and len(stem) > 3 and stem[-1] == stem[-2]:
                    yield stem[:-1]


def unit(vector: Floats) -> Floats:
    length = float(np.linalg.norm(vector))
    return (vector / length).astype(np.float32) if length else vector.astype(np.float32)


def load_vectors(path: str = "") -> Vectors:
    """The vectors of a file, or those that travel with the package; unpacked once, then mapped into memory."""
    if not path:
        file = shipped("models") / SHIPPED
        return _mapped(file, checked(file)["sha256"])
    file = Path(path)
    try:
        known = file.stat()
    except OSError as error:
        raise ModelError(f"The word vectors {path} cannot be read: {error.strerror}. See relevance.vectors.") from error
    told = f"{file.resolve()} {known.st_size} {known.st_mtime_ns}"
    return _mapped(file, hashlib.sha256(told.encode()).hexdigest())


def _mapped(file: Path, identity: str) -> Vectors:
    """From the cache if it is there, else read and put there; where nothing can be cached, kept in memory."""
    # gensim takes a second to import, which commands that judge nothing need not wait for.
    from gensim.models import KeyedVectors

    folder = _cache_folder()
    matrix_path, words_path = folder / f"{identity[:32]}.npy", folder / f"{identity[:32]}.txt"
    try:
        named = words_path.read_text(encoding="utf-8").split("\n")
        matrix = np.load(matrix_path, mmap_mode="r")
        if matrix.ndim != 2 or len(named) != len(matrix):
            raise ValueError("what a power cut left of a cache is no cache")
    except (OSError, ValueError, EOFError):
        named, matrix = _read(file)
        try:
            folder.mkdir(parents=True, exist_ok=True)
            _write(matrix_path, lambda part: np.save(part, matrix))
            _write(words_path, lambda part: part.write("\n".join(named).encode()))
            matrix = np.load(matrix_path, mmap_mode="r")
        except OSError:
            pass
    keyed = KeyedVectors(matrix.shape[1])
    keyed.index_to_key = named
    keyed.key_to_index = {word: row for row, word in enumerate(named)}
    keyed.vectors = matrix
    return Vectors(keyed, identity)


def _cache_folder() -> Path:
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "tres_crawler"


def _write(path: Path, fill: Any) -> None:
    """Whole or not at all: another process, or another crawl of this one, may do the same at the same time."""
    part = path.with_name(f"{path.name}.{os.getpid()}.{threading.get_ident()}")
    try:
        with part.open("wb") as file:
            fill(file)
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def _read(file: Path) -> tuple[list[str], Floats]:
    try:
        if file.suffix == ".npz":
            return _read_shipped(file)
        keyed = _read_keyed(file)
        named, matrix = list(keyed.index_to_key), np.asarray(keyed.vectors, dtype=np.float32)
        if matrix.ndim != 2 or not matrix.size or len(named) != len(matrix):
            raise ValueError(f"{len(named)} words, vectors of shape {matrix.shape}")
    except ModelError:
        raise
    except Exception as error:
        # gensim fails in as many ways as there are files that are not vectors.
        raise ModelError(
            f"{file} holds no word vectors that gensim reads ({error}). Give a word2vec, GloVe or fastText file."
        ) from error
    return named, matrix


def _read_shipped(file: Path) -> tuple[list[str], Floats]:
    with np.load(file) as packed:
        codes, scale = packed["codes"], packed["scale"]
        named = packed["words"].tobytes().decode("utf-8").split("\n")[:-1]
    if codes.ndim != 2 or scale.shape != codes.shape[:1] or len(named) != len(codes):
        raise ModelError(f"The word vectors {file.name} are of another shape than expected. Install the package again.")
    return named, codes.astype(np.float32) * scale[:, None]


def _read_keyed(file: Path) -> Any:
    from gensim.models import KeyedVectors
    from gensim.models.fasttext import load_facebook_vectors

    if file.suffix in (".kv", ".model"):
        saved = KeyedVectors.load(str(file), mmap="r")
        return getattr(saved, "wv", saved)  # a whole model has its vectors inside
    with _OPEN.get(file.suffix, open)(file, "rb") as start:
        head = start.read(4096)
    if len(head) >= 4 and struct.unpack("<i", head[:4])[0] == FASTTEXT_MAGIC:
        return load_facebook_vectors(str(file))
    first, _, rest = head.partition(b"\n")
    has_header = len(first.split()) == 2
    return KeyedVectors.load_word2vec_format(
        str(file), binary=has_header and _is_binary(rest), no_header=not has_header
    )


def _is_binary(rest: bytes) -> bool:
    line = rest.partition(b"\n")[0]
    try:
        parts: Sequence[str] = line.decode("utf-8").split()
        [float(part) for part in parts[1:5]]
    except ValueError:
        return True
    return False
