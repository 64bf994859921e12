"""The student judges anchors as its teacher would, at a fraction of the price."""

from __future__ import annotations

import numpy as np
import pytest

from tests.texts import FOOD_KEYWORDS
from tres_crawler.classify.prior import Prior, example_rows
from tres_crawler.classify.reading import Reading
from tres_crawler.classify.student import Student, teach
from tres_crawler.vectors import Floats, load_vectors


@pytest.fixture(scope="module")
def prior() -> Prior:
    return Prior(load_vectors(), FOOD_KEYWORDS)


@pytest.fixture(scope="module")
def readings(prior: Prior) -> list[Reading]:
    """A few words out of each shipped page, those of all topics mixed."""
    texts = [" ".join(page.text.split()[at % 7 :][:5]) for at, (_, page) in enumerate(example_rows())]
    return [prior.reader.read_anchor(texts[at]) for at in np.random.default_rng(1).permutation(len(texts))]


def teacher(prior: Prior, readings: list[Reading]) -> Floats:
    """A judge whose opinion is no line: the square of one direction and the sign of another."""
    means = np.stack([reading.mean for reading in readings]) - prior.background.centre
    found: Floats = (60 * means[:, 0] ** 2 + 3 * np.tanh(20 * means[:, 1]) - 1).astype(np.float32)
    return found


def test_the_student_repeats_its_teacher_on_texts_it_was_not_shown(prior: Prior, readings: list[Reading]) -> None:
    wanted = teacher(prior, readings)
    student = teach(prior, readings[:600], wanted[:600], seed=1)
    said = student.logits(prior, readings[600:])
    assert np.corrcoef(said, wanted[600:])[0, 1] > 0.9


def test_one_seed_makes_one_student(prior: Prior, readings: list[Reading]) -> None:
    wanted = teacher(prior, readings)

    def weights(seed: int) -> Student:
        return teach(prior, readings[:200], wanted[:200], seed)

    one, same, other = weights(1), weights(1), weights(2)
    assert all(np.array_equal(a, b) for a, b in zip(one.arrays, same.arrays, strict=True))
    assert not np.array_equal(one.arrays[0], other.arrays[0])


def test_what_a_student_says_of_an_anchor_does_not_depend_on_its_company(prior: Prior, readings: list[Reading]) -> None:
    student = teach(prior, readings[:200], teacher(prior, readings[:200]), seed=1)
    together = student.logits(prior, readings[:50])
    alone = [float(student.logits(prior, [reading])[0]) for reading in readings[:50]]
    assert np.allclose(together, alone, atol=1e-4)
