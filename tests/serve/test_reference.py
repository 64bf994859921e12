"""The guess of a random crawl's harvest knows all links by their texts, and nothing of which were fetched."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from tests.commands import running_simweb
from tests.serve.service import running_service, topic
from tres_crawler.serve.reference import LEAST_LINKS, reference


def test_it_is_what_the_texts_of_links_promise_with_the_range_of_real_crawls() -> None:
    rng = random.Random(3)
    looks = [rng.random() ** 3 for _ in range(4000)]
    estimate = reference(looks)
    assert estimate is not None
    assert estimate.harvest_rate == pytest.approx(0.25, abs=0.02)
    assert (estimate.low, estimate.high) == (0.3 * estimate.harvest_rate, 1.3 * estimate.harvest_rate)
    assert reference([0.9] * 1000).high == 1.0  # type: ignore[union-attr]


def test_of_few_links_nothing_is_said() -> None:
    assert reference([0.5] * (LEAST_LINKS - 1)) is None


def test_a_focused_crawl_and_a_random_one_of_the_same_web_come_to_the_same_guess(tmp_path: Path) -> None:
    with (
        running_simweb(tmp_path, "--sites", "150", "--pages", "3000") as web,
        running_service(tmp_path, web, RELEVANCE__MODEL="prior", CRAWL__MAX_PAGES="200") as service,
    ):
        guesses = []
        for crawl, policy in enumerate(("tres", "random"), 1):
            service.call("POST", "/api/v1/crawls", {"topic": topic(web), "crawl": {"policy": policy, "seed": 1}})
            harvest = service.wait_for(crawl, lambda now: now["state"] == "finished")["harvest_rate"]
            guesses.append((harvest, service.get(f"/{crawl}/metrics")["random_reference"]["harvest_rate"]))
    (focused, by_focused), (drawn, by_drawn) = guesses
    assert focused > 1.5 * drawn
    assert by_focused == pytest.approx(by_drawn, rel=0.3)
