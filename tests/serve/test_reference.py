"""The estimate of a random crawl's harvest undoes the crawl's own choice of links."""

from __future__ import annotations

import random

from tres_crawler.serve.reference import reference


def test_it_finds_the_share_among_all_links_from_pages_chosen_by_promise() -> None:
    rng = random.Random(3)
    links = [rng.random() ** 3 for _ in range(4000)]
    truth = sum(links) / len(links)
    chosen = sorted(links, reverse=True)[:700] + rng.sample(links, 300)
    pages = [(promise, rng.random() < promise) for promise in chosen]
    harvested = sum(hit for _, hit in pages) / len(pages)
    estimate = reference(links, pages)
    assert estimate is not None
    assert harvested > 2 * truth, "the crawl itself does far better"
    assert estimate.low <= truth <= estimate.high
    assert abs(estimate.harvest_rate - truth) < 0.05


def test_parts_without_pages_count_with_those_above_so_that_it_leans_high() -> None:
    links = [0.1] * 900 + [0.9] * 100
    estimate = reference(links, [(0.9, True)] * 30 + [(0.9, False)] * 30)
    assert estimate is not None
    assert estimate.harvest_rate == 0.5


def test_of_few_pages_nothing_is_said() -> None:
    assert reference([0.5] * 100, [(0.5, True)] * 19) is None
    assert reference([], [(0.5, True)] * 100) is None
