"""An address is known by how many pages name it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from tres_crawler.finds import BUCKETS, Finds, address_numbers

URLS = [f"https://a.test/page/{at}" for at in range(2_000)]


def named(finds: Finds, *urls: str) -> Sequence[float]:
    found: list[float] = finds.features(address_numbers(urls)).tolist()
    return found


def test_every_further_page_that_names_an_address_counts_for_less() -> None:
    finds = Finds()
    for times in range(3):
        finds.add(address_numbers(URLS[times:3]))
    assert named(finds, *URLS[:4]) == pytest.approx([1 / 2, 2 / 3, 3 / 4, 0])


def test_a_page_names_an_address_once_however_often_it_does() -> None:
    finds = Finds()
    finds.add(address_numbers([URLS[0]] * 5))
    assert named(finds, URLS[0]) == [0.5]


def test_an_address_that_is_named_everywhere_stays_at_the_top() -> None:
    finds = Finds()
    for _ in range(600):
        finds.add(address_numbers(URLS[:1]))
    assert named(finds, URLS[0]) == pytest.approx([255 / 256])


def test_addresses_are_told_apart_even_when_their_numbers_have_been_floats() -> None:
    numbers = address_numbers(URLS).astype(np.float32)
    finds = Finds()
    finds.add(address_numbers(URLS[:1_000]))
    others = finds.features(numbers[1_000:])
    assert finds.features(numbers[:1_000]).min() == 0.5
    assert np.count_nonzero(others) <= 2, f"some of 1,000 may share one of {BUCKETS:,} places with another"


def test_what_was_saved_of_a_page_counts_again() -> None:
    finds = Finds()
    finds.restore(address_numbers(URLS[:2]).tobytes())
    finds.restore(b"")
    assert named(finds, *URLS[:3]) == [0.5, 0.5, 0.0]
