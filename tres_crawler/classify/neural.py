"""A trained BiLSTM as a judge: readings → batches → probabilities, blended with the prior and with single words."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import torch

from tres_crawler.classify.model import pack
from tres_crawler.classify.network import Batch, BiLstm, Shape
from tres_crawler.classify.prior import Prior, sigmoid
from tres_crawler.classify.reading import Reading, centred
from tres_crawler.classify.student import Student
from tres_crawler.classify.svm import SvmModel
from tres_crawler.errors import ModelError
from tres_crawler.records import PageText
from tres_crawler.vectors import Floats

FACT_SCALE = np.array([0.5, 2.0, 0.5, 0.3, 3.0], dtype=np.float32)
"""Brings the prior's figures to about the size of the other inputs."""
MARKS = 2
FACTS = len(FACT_SCALE) + 1
BATCH = 64


@dataclass(frozen=True)
class Calibration:
    """From a network's logit to a probability: what it and single words add to the prior, temperature and offset."""

    trained_weight: float = 1.0
    prior_weight: float = 0.0
    temperature: float = 1.0
    offset: float = 0.0
    threshold: float = 0.5
    words_weight: float = 0.0
    words_centre: float = 0.0
    """Margin of words on pages that were not learned from, half-way between relevant and irrelevant ones."""

    def logits(self, trained: Floats, prior: Floats, words: Floats | None = None) -> Floats:
        blended = self.trained_weight * trained + self.prior_weight * prior
        if words is not None:
            blended = blended + self.words_weight * (words - self.words_centre)
        return ((blended + self.offset) / self.temperature).astype(np.float32)


class Inputs:
    """Turns readings into batches; keyword-aware networks see keywords, nearness and the prior's figures too."""

    def __init__(self, prior: Prior, keyword_aware: bool) -> None:
        self.prior = prior
        self.keyword_aware = keyword_aware

    @property
    def shape(self) -> Shape:
        dimensions = self.prior.reader.vectors.dimensions
        return Shape(dimensions, MARKS, FACTS) if self.keyword_aware else Shape(dimensions)

    def batch(self, readings: Sequence[Reading], is_anchor: Sequence[bool]) -> Batch:
        shape = self.shape
        lengths = [len(reading.rows) for reading in readings]
        padded = np.zeros((len(readings), max(1, *lengths), shape.dimensions + shape.marks), dtype=np.float32)
        for at, reading in enumerate(readings):
            padded[at, : len(reading.rows)] = self._words(reading)
        means = centred(np.stack([reading.whole for reading in readings]), self.prior.background.centre)
        return Batch(
            torch.from_numpy(padded),
            torch.tensor(lengths),
            torch.from_numpy(means),
            torch.from_numpy(self._facts(readings, is_anchor)),
        )

    def _words(self, reading: Reading) -> Floats:
        units = self.prior.reader.vectors.units(reading.rows)
        if not self.keyword_aware:
            return units
        is_keyword = np.fromiter(
            (row in self.prior.reader.keyword_rows for row in reading.rows), np.float32, len(units)
        )
        near = self.prior.word_nearness(units)
        return np.concatenate([units, is_keyword[:, None], near[:, None]], axis=1)

    def _facts(self, readings: Sequence[Reading], is_anchor: Sequence[bool]) -> Floats:
        if not self.keyword_aware:
            return np.zeros((len(readings), 0), dtype=np.float32)
        short = np.array(is_anchor, dtype=np.float32)[:, None]
        # Length and function words mean nothing for a few words out of a page.
        pages = (1 - short) * self.prior.features(readings) * FACT_SCALE
        return np.concatenate([pages, short], axis=1).astype(np.float32)


class NeuralModel:
    """A network, the student that judges anchors in its place, and what it is blended with: the prior, single words.

    A network sees words as vectors, in which a neighbouring topic lies near; single words tell the two apart.
    """

    def __init__(
        self,
        network: BiLstm,
        inputs: Inputs,
        student: Student | None,
        calibration: Calibration,
        anchors: str = "student",
        words: SvmModel | None = None,
    ) -> None:
        self.kind: Literal["bilstm", "kwbilstm"] = "kwbilstm" if inputs.keyword_aware else "bilstm"
        self.network = network.eval()
        self.inputs = inputs
        self.student = student
        self.calibration = calibration
        self.anchor_judge = anchors
        self.words = words

    @property
    def threshold(self) -> float:
        return self.calibration.threshold

    def pages(self, pages: Sequence[PageText]) -> Floats:
        return sigmoid(self.page_margins(pages))

    def page_margins(self, pages: Sequence[PageText]) -> Floats:
        """Logits of the probabilities, which tell sure from surer where probabilities are all but 1."""
        prior = self.inputs.prior
        readings = [prior.reader.read(page) for page in pages]
        words = self.words.page_margins(pages) if self.words else None
        return self.calibration.logits(self.logits(readings, anchors=False), prior.logits(readings), words)

    def anchors(self, anchors: Sequence[str]) -> Floats:
        prior = self.inputs.prior
        readings = [prior.reader.read_anchor(anchor) for anchor in anchors]
        if not readings:
            return np.zeros(0, dtype=np.float32)
        by_student = self.anchor_judge == "student" and self.student is not None
        trained = self.student.logits(prior, readings) if by_student and self.student else self.logits(readings, True)
        return sigmoid(replace(self.calibration, offset=0.0).logits(trained, prior.anchor_logits(readings)))

    def logits(self, readings: Sequence[Reading], anchors: bool) -> Floats:
        """What the network alone says; texts of like length share a batch, so that little is padding."""
        found = np.zeros(len(readings), dtype=np.float32)
        order = np.argsort([len(reading.rows) for reading in readings], kind="stable")
        with torch.inference_mode():
            for start in range(0, len(order), BATCH):
                part = order[start : start + BATCH]
                batch = self.inputs.batch([readings[at] for at in part], [anchors] * len(part))
                found[part] = self.network(batch).numpy()
        return found

    def dump(self, **figures: Any) -> bytes:
        reader = self.inputs.prior.reader
        meta = {
            "kind": self.kind,
            "keywords": list(reader.keywords),
            "found": list(reader.found_keywords),
            "vectors": reader.vectors.identity,
            "shape": list(self.network.shape),
            "calibration": asdict(self.calibration),
            "student": self.student is not None,
            "words": self.words.state()[0] if self.words else None,
            "figures": figures,
        }
        arrays = {f"network.{name}": value.numpy() for name, value in self.network.state_dict().items()}
        if self.student:
            arrays |= {f"student.{at}": value for at, value in enumerate(self.student.arrays)}
        if self.words:
            arrays |= {f"words.{name}": value for name, value in self.words.state()[1].items()}
        return pack(meta, arrays)

    @classmethod
    def restore(
        cls, meta: Mapping[str, Any], arrays: Mapping[str, npt.NDArray[Any]], prior: Prior, anchors: str, name: str
    ) -> NeuralModel:
        inputs = Inputs(prior, meta["kind"] == "kwbilstm")
        shape = Shape(*meta["shape"])
        if shape._replace(hidden=0, dense=0) != inputs.shape._replace(hidden=0, dense=0):
            raise ModelError(f"{name} is made for inputs of shape {shape}, not {inputs.shape}. Train it again.")
        network = BiLstm(shape)
        weights = {key.removeprefix("network."): torch.from_numpy(value) for key, value in _of(arrays, "network.")}
        try:
            network.load_state_dict(weights)
        except RuntimeError as error:
            raise ModelError(f"{name} has weights of another shape than it says: {error}. Train it again.") from error
        student = Student(tuple(value for _, value in _of(arrays, "student."))) if meta["student"] else None
        if student and not student.fits(prior):
            raise ModelError(f"{name} has an anchor judge of another shape than its vectors. Train it again.")
        of_words = {key.removeprefix("words."): value for key, value in _of(arrays, "words.")}
        # Judges of earlier versions know no single words.
        words = SvmModel.restore(meta["words"], of_words) if meta.get("words") else None
        return cls(network, inputs, student, Calibration(**meta["calibration"]), anchors, words)


def _of(arrays: Mapping[str, npt.NDArray[Any]], prefix: str) -> Iterable[tuple[str, npt.NDArray[Any]]]:
    return [(key, value) for key, value in sorted(arrays.items()) if key.startswith(prefix)]
