"""The SVM of the comparison keeps the same promises as the network."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.svm import LinearSVC

from tests.texts import COOKING, GARDEN, made_examples
from tres_crawler.classify.classifier import restore_model
from tres_crawler.classify.model import pack, unpack
from tres_crawler.classify.svm import SvmModel
from tres_crawler.errors import ModelError
from tres_crawler.records import Example, PageText
from tres_crawler.text import words
from tres_crawler.vectors import Vectors

PAGES = [PageText("", "", COOKING), PageText("Minutes", "", GARDEN), PageText("", "", "")]


@pytest.fixture
def model() -> SvmModel:
    found = SvmModel.fit(made_examples(60))
    found.slope, found.intercept, found.threshold = 2.0, -0.3, 0.4
    return found


def test_a_judge_is_the_same_after_it_was_written_down(model: SvmModel, vectors: Vectors) -> None:
    after = restore_model(model.dump(examples=60), vectors, "student", "Judge 2")
    assert np.array_equal(model.pages(PAGES), after.pages(PAGES))
    assert np.array_equal(model.anchors(["soup", "", "a train"]), after.anchors(["soup", "", "a train"]))
    assert (after.kind, after.threshold) == ("svm", 0.4)


def test_margins_are_those_of_scikit_learn() -> None:
    examples = made_examples(60)
    texts = [example.page.text for example in examples] + [COOKING, GARDEN, "Soup soup SOUP and zorblax", ""]
    counted = TfidfVectorizer(tokenizer=words, token_pattern=None, sublinear_tf=True)
    by_hand = counted.fit_transform([f"{e.page.title}\n{e.page.description}\n{e.page.text}" for e in examples])
    svm = LinearSVC(class_weight="balanced", random_state=0).fit(by_hand, [e.relevant for e in examples])
    assert np.allclose(
        SvmModel.fit(examples).margins(texts), svm.decision_function(counted.transform(texts)), atol=1e-5
    )


def test_examples_without_a_word_are_refused() -> None:
    with pytest.raises(ModelError, match="None of the examples has a word"):
        SvmModel.fit([Example(PageText("", "", "…"), bool(at % 2)) for at in range(10)])


def test_words_decide_and_unknown_ones_say_nothing(model: SvmModel) -> None:
    soup, train, unknown, empty = model.anchors(["soup garlic", "train station", "zorblax", ""])
    assert soup > unknown == empty > train
    assert len(model.pages([])) == len(model.anchors([])) == 0


def test_an_example_that_weighs_more_moves_the_border() -> None:
    examples = made_examples(40)
    disputed = PageText("", "", "marzipan " * 20)
    both = [Example(disputed, True, weight=5.0), Example(disputed, False, weight=0.1)]
    other = [Example(disputed, True, weight=0.1), Example(disputed, False, weight=5.0)]
    assert SvmModel.fit([*examples, *both]).pages([disputed])[0] > 0.5
    assert SvmModel.fit([*examples, *other]).pages([disputed])[0] < 0.5


@pytest.mark.parametrize(
    "change",
    [
        {"weights": np.ones(3, np.float32)},
        {"idf": np.ones(3, np.float32)},
        {"weights": None},
        {"idf": np.array(["one", "two"])},
    ],
)
def test_a_judge_of_another_shape_is_refused_by_name(model: SvmModel, vectors: Vectors, change: dict[str, Any]) -> None:
    meta, arrays = unpack(model.dump(), "Judge 2")
    changed = {key: value for key, value in {**arrays, **change}.items() if value is not None}
    with pytest.raises(ModelError, match="Judge 2 lacks a part or has one of another kind"):
        restore_model(pack(meta, changed), vectors, "student", "Judge 2")


def test_a_judge_with_weights_that_are_no_numbers_is_refused(model: SvmModel, vectors: Vectors) -> None:
    meta, arrays = unpack(model.dump(), "Judge 2")
    for name in ("weights", "idf"):
        damaged = {**arrays, name: np.full_like(arrays[name], np.nan)}
        with pytest.raises(ModelError, match=r"Judge 2 .*a word whose weight is no number"):
            restore_model(pack(meta, damaged), vectors, "student", "Judge 2")
    with pytest.raises(ModelError, match=r"Judge 2 .*'far'"):
        restore_model(pack({**meta, "offset": "far"}, arrays), vectors, "student", "Judge 2")


def test_a_long_description_counts_no_more_than_is_kept_of_it(model: SvmModel) -> None:
    """What is judged now and what is judged again from the database is the same page."""
    kept = PageText("soup " * 800, "garlic " * 571, COOKING)
    stuffed = PageText(kept.title + "train station " * 900, kept.description[:4000] + "train " * 9000, COOKING)
    assert model.page_margins([stuffed]) == model.page_margins([PageText(kept.title, kept.description[:4000], COOKING)])


def test_who_only_judges_does_not_wait_for_scikit_learn() -> None:
    told = subprocess.run(
        [
            sys.executable,
            "-c",
            "import sys, tres_crawler.relevance, tres_crawler.classify.neural; print('sklearn' in sys.modules)",
        ],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    assert told.stdout == "False\n"
