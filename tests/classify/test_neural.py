"""A trained network comes back from its bytes as it was, or is refused by name."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.texts import COOKING, GARDEN, made_examples
from tres_crawler.classify.classifier import restore_model
from tres_crawler.classify.model import META, pack, unpack
from tres_crawler.classify.neural import NeuralModel
from tres_crawler.classify.prior import Prior
from tres_crawler.classify.training import Fitted, fit
from tres_crawler.errors import ModelError
from tres_crawler.records import PageText
from tres_crawler.vectors import Vectors, load_vectors

PAGES = [
    PageText("", "", COOKING),
    PageText("Minutes", "", GARDEN),
    PageText("", "", ""),
    PageText("Soup", "", "Salt."),
]
ANCHORS = ["garlic soup", "read more", "", "the railway station"]
NAME = "Judge 7 of crawl 3"


@pytest.fixture(scope="module")
def body(trained: Fitted) -> bytes:
    return trained.model.dump(examples=100)


def rewritten(body: bytes, change: Callable[[dict[str, Any], dict[str, Any]], object]) -> bytes:
    """The same model with something about its description or its arrays changed."""
    meta, arrays = unpack(body, NAME)
    change(meta, arrays)
    format_ = meta.pop("format")
    packed = pack(meta, arrays)
    return packed if format_ == 1 else _with_format(packed, format_)


def _with_format(body: bytes, number: int) -> bytes:
    meta, arrays = unpack(body, NAME)
    return pack({**meta, "format": number}, arrays)


def test_a_judge_of_an_earlier_version_knows_no_single_words_and_still_judges(body: bytes, vectors: Vectors) -> None:
    def earlier(meta: dict[str, Any], arrays: dict[str, Any]) -> None:
        del meta["words"], meta["calibration"]["words_weight"], meta["calibration"]["words_centre"]
        for name in [name for name in arrays if name.startswith("words.")]:
            del arrays[name]

    now, before = (restore_model(kept, vectors, "student", NAME) for kept in (body, rewritten(body, earlier)))
    assert isinstance(now, NeuralModel) and isinstance(before, NeuralModel)
    assert (now.words is None, before.words is None) == (False, True)
    assert before.pages(PAGES).tolist() != now.pages(PAGES).tolist()
    assert before.anchors(ANCHORS).tolist() == now.anchors(ANCHORS).tolist()


@pytest.mark.parametrize("judge", ["student", "network"])
def test_a_judge_is_the_same_after_it_was_written_down(
    trained: Fitted, body: bytes, vectors: Vectors, judge: str
) -> None:
    before = trained.model
    assert isinstance(before, NeuralModel)
    before.anchor_judge = judge
    after = restore_model(body, vectors, judge, NAME)
    assert np.array_equal(before.pages(PAGES), after.pages(PAGES))
    assert np.array_equal(before.anchors(ANCHORS), after.anchors(ANCHORS))
    assert (after.kind, after.threshold) == (before.kind, before.threshold)
    before.anchor_judge = "student"


def test_a_plain_network_is_written_down_too(food: Prior, vectors: Vectors) -> None:
    before = fit("bilstm", made_examples(30), food, seed=1, refit=False).model
    after = restore_model(before.dump(), vectors, "student", NAME)
    assert after.kind == "bilstm"
    assert np.array_equal(before.pages(PAGES), after.pages(PAGES))


def test_what_is_known_of_a_judge_is_in_its_bytes(body: bytes, vectors: Vectors, food: Prior) -> None:
    meta, _ = unpack(body, NAME)
    assert meta["figures"] == {"examples": 100}
    assert meta["vectors"] == vectors.identity
    assert (meta["keywords"], meta["found"]) == (list(food.reader.keywords), ["garlic"])


def test_a_page_has_the_same_probability_in_any_company(trained: Fitted) -> None:
    pages = [*PAGES, *(example.page for example in made_examples(150, seed=3))]
    together = trained.model.pages(pages)
    alone = [float(trained.model.pages([page])[0]) for page in pages[:20]]
    assert np.allclose(together[:20], alone, atol=1e-5)
    assert len(trained.model.pages([])) == len(trained.model.anchors([])) == 0


def test_a_judge_of_other_vectors_is_refused_by_name(body: bytes, tmp_path: Path) -> None:
    path = tmp_path / "other.txt"
    rng = np.random.default_rng(1)
    path.write_text("200 100\n" + "".join(f"w{n} {' '.join(map(str, rng.normal(size=100)))}\n" for n in range(200)))
    with pytest.raises(ModelError, match=f"{NAME} was trained with other word vectors"):
        restore_model(body, load_vectors(str(path)), "student", NAME)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda meta, arrays: meta.update(shape=[50, 2, 6, 64, 32]), "made for inputs of shape"),
        (lambda meta, arrays: meta.update(shape=[100, 2, 6, 48, 32]), "weights of another shape"),
        (lambda meta, arrays: meta.update(kind="bilstm"), "made for inputs of shape"),
        (lambda meta, arrays: arrays.pop("network.out.bias"), "weights of another shape"),
        (lambda meta, arrays: meta.pop("calibration"), "lacks a part"),
        (lambda meta, arrays: meta.update(calibration={"warmth": 3}), "lacks a part"),
        (lambda meta, arrays: arrays.pop("student.2"), "anchor judge of another shape"),
        (lambda meta, arrays: arrays.update({"student.0": arrays["student.0"][1:]}), "anchor judge of another shape"),
    ],
)
def test_a_judge_of_another_shape_is_refused_by_name(
    body: bytes, vectors: Vectors, change: Callable[[dict[str, Any], dict[str, Any]], object], told: str
) -> None:
    with pytest.raises(ModelError, match=f"{NAME}.*{told}"):
        restore_model(rewritten(body, change), vectors, "student", NAME)


def test_a_judge_of_a_newer_format_is_refused_by_name(body: bytes, vectors: Vectors) -> None:
    newer = rewritten(body, lambda meta, arrays: meta.update(format=2))
    with pytest.raises(ModelError, match=f"{NAME} has format 2, this version reads 1"):
        restore_model(newer, vectors, "student", NAME)


def test_damaged_bytes_are_refused_by_name(body: bytes, vectors: Vectors) -> None:
    flipped = bytearray(body)
    flipped[len(body) // 2] ^= 0xFF
    for damaged in (b"", b"junk", body[:-200], body[: len(body) // 2], bytes(flipped)):
        with pytest.raises(ModelError, match=f"{NAME} is damaged"):
            restore_model(damaged, vectors, "student", NAME)


@pytest.mark.parametrize("told", ["[]", "3", "null", "{"])
def test_a_description_that_is_none_is_damage_too(told: str, tmp_path: Path) -> None:
    path = tmp_path / "m.npz"
    np.savez(path, **{META: np.frombuffer(told.encode(), dtype=np.uint8)})  # type: ignore[arg-type]  # as in pack
    with pytest.raises(ModelError, match=NAME):
        unpack(path.read_bytes(), NAME)


class Trap:
    """Anyone who unpickles this has lost."""

    def __reduce__(self) -> tuple[Any, ...]:
        return (pytest.fail, ("it was unpickled",))


def test_nothing_is_ever_unpickled(vectors: Vectors, tmp_path: Path) -> None:
    array = np.empty(1, dtype=object)
    array[0] = Trap()
    path = tmp_path / "m.npz"
    meta = np.frombuffer(json.dumps({"format": 1, "kind": "svm"}).encode(), dtype=np.uint8)
    np.savez(path, **{META: meta, "idf": array})  # type: ignore[arg-type]  # as in pack
    for body in (path.read_bytes(), pickle.dumps(Trap())):
        with pytest.raises(ModelError, match=f"{NAME} is damaged"):
            restore_model(body, vectors, "student", NAME)
