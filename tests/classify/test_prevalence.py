"""How many pages are relevant is told from the logits of a judge that never saw a label."""

from __future__ import annotations

import numpy as np
import pytest

from tres_crawler.classify.prevalence import MOST_SHARE, USUAL_SHARE, prevalence
from tres_crawler.vectors import Floats


def logits(share: float, count: int = 40_000, seed: int = 1) -> tuple[Floats, Floats]:
    """What a judge that is right at the usual share says of pages, and which of them are relevant."""
    rng = np.random.default_rng(seed)
    relevant = rng.random(count) < share
    evidence = np.where(relevant, rng.normal(3.0, np.sqrt(6.0), count), rng.normal(-3.0, np.sqrt(6.0), count))
    usual = np.log(USUAL_SHARE / (1 - USUAL_SHARE))
    return (evidence + usual).astype(np.float32), relevant.astype(np.float32)


@pytest.mark.parametrize("share", [0.03, 0.08, 0.25, 0.35])
def test_the_share_is_found_and_moved_logits_are_right_again(share: float) -> None:
    said, relevant = logits(share)
    found = prevalence(said)
    assert found.share == pytest.approx(share, abs=0.01)
    probabilities = 1 / (1 + np.exp(-(said + found.shift)))
    for low in np.arange(0, 1, 0.2):
        inside = (probabilities >= low) & (probabilities < low + 0.2)
        assert abs(probabilities[inside].mean() - relevant[inside].mean()) < 0.05, f"{low:.1f}: as often as it says"


def test_a_crawl_that_begins_amid_relevant_pages_is_not_taken_to_stay_there() -> None:
    assert prevalence(logits(0.95)[0]).share == MOST_SHARE


def test_one_page_tells_next_to_nothing() -> None:
    assert 0.1 < prevalence(np.array([-9.0], np.float32)).share < prevalence(np.array([9.0], np.float32)).share < 0.5


def test_without_pages_the_share_is_what_a_crawl_is_expected_to_meet() -> None:
    assert prevalence(np.zeros(0, np.float32)).share == pytest.approx(0.2)
