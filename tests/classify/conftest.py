"""What the tests of judges share: a topic, and judges that were trained on a small world."""

from __future__ import annotations

import pytest

from tests.texts import FOOD_KEYWORDS, made_examples
from tres_crawler.classify.prior import Prior
from tres_crawler.classify.training import Fitted, fit
from tres_crawler.vectors import Vectors, load_vectors


@pytest.fixture(scope="session")
def vectors() -> Vectors:
    return load_vectors()


@pytest.fixture(scope="session")
def food(vectors: Vectors) -> Prior:
    return Prior(vectors, FOOD_KEYWORDS, ["garlic"])


@pytest.fixture(scope="session")
def trained(food: Prior) -> Fitted:
    """A keyword-aware network; it has a student too."""
    return fit("kwbilstm", made_examples(100), food, seed=1)
