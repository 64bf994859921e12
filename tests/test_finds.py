"""Links and sites are known by the pages that name them."""

from __future__ import annotations

import numpy as np
import pytest

from tres_crawler.finds import BUCKETS, NAME, Finds, Floats, address_numbers, names_of

URLS = [f"https://a.test/page/{at}" for at in range(2_000)]
HERE, THERE, ELSEWHERE = 1, 2, 3


def name(finds: Finds, *urls: str, relevant: bool = False, look: float = 0.0, new: int = 0) -> None:
    """A page of `HERE` names links to `THERE`."""
    count = len(urls)
    finds.add(names_of(urls, np.full(count, THERE, np.int64), np.full(count, look, np.float32), new), HERE, relevant)


def links(finds: Finds, *urls: str, look: float = 0.0) -> Floats:
    return finds.of_links(address_numbers(urls), np.full(len(urls), look, np.float32))


def site(finds: Finds, number: int, share: float = 0.5) -> list[float]:
    found: list[float] = finds.of_sites(np.array([number], np.int64), share)[0].tolist()
    return found


def test_every_further_page_that_names_an_address_counts_for_less() -> None:
    finds = Finds()
    for times in range(3):
        name(finds, *URLS[times:3])
    assert links(finds, *URLS[:4])[:, 0] == pytest.approx([1 / 2, 2 / 3, 3 / 4, 0])


def test_an_address_that_is_new_with_a_page_has_not_been_found_again() -> None:
    finds = Finds()
    name(finds, *URLS[:3], new=2, look=0.8)
    assert links(finds, *URLS[:3])[:, 0].tolist() == [0, 0, 0.5]


def test_relevant_pages_that_name_an_address_are_counted_apart() -> None:
    finds = Finds()
    name(finds, *URLS[:2], relevant=True)
    name(finds, *URLS[1:3])
    assert links(finds, *URLS[:3])[:, 1].tolist() == [0.5, 0.5, 0]


def test_a_link_is_as_good_as_the_best_of_its_anchors() -> None:
    finds = Finds()
    name(finds, URLS[0], look=0.9)
    name(finds, URLS[0], look=0.1)
    assert links(finds, *URLS[:2], look=0.4)[:, 2] == pytest.approx([0.9, 0.4], abs=0.002)


def test_an_address_that_is_named_everywhere_stays_at_the_top() -> None:
    finds = Finds()
    for _ in range(600):
        name(finds, URLS[0], relevant=True)
    assert links(finds, URLS[0])[0, :2] == pytest.approx([255 / 256] * 2)


def test_a_site_is_what_the_pages_of_other_sites_that_name_it_are() -> None:
    finds = Finds()
    assert site(finds, THERE)[0] == 0.5, "nothing is known: as relevant as pages are on the whole"
    for relevant in (True, True, False):
        name(finds, *URLS[:5], relevant=relevant)
    assert site(finds, THERE)[0] == pytest.approx(2.5 / 4), "however many of its links a page has"
    finds.add(names_of(URLS[:1], np.array([THERE]), np.zeros(1, np.float32), 0), THERE, relevant=True)
    assert site(finds, THERE)[0] == pytest.approx(2.5 / 4), "its own pages have no say"


def test_a_site_looks_as_the_anchors_of_all_links_to_it_do() -> None:
    finds = Finds()
    name(finds, *URLS[:3], look=1.0, new=3)
    name(finds, URLS[0], look=0.2)
    assert site(finds, ELSEWHERE)[1] == pytest.approx(0.8, abs=0.002), "the mean of all where none is known"
    finds.add(names_of(URLS[:1], np.array([ELSEWHERE]), np.zeros(1, np.float32), 1), HERE, relevant=False)
    assert site(finds, ELSEWHERE)[1] == pytest.approx(0.32, abs=0.002)


def test_addresses_are_told_apart_even_when_their_numbers_have_been_floats() -> None:
    numbers = address_numbers(URLS).astype(np.float32)
    finds, nothing = Finds(), np.zeros(1_000, np.float32)
    name(finds, *URLS[:1_000])
    others = finds.of_links(numbers[1_000:], nothing)[:, 0]
    assert finds.of_links(numbers[:1_000], nothing)[:, 0].min() == 0.5
    assert np.count_nonzero(others) <= 2, f"some of 1,000 may share one of {BUCKETS:,} places with another"


def test_what_was_saved_of_a_page_counts_again() -> None:
    before, after = Finds(), Finds()
    saved = names_of(URLS[:9], np.arange(9), np.linspace(0, 1, 9, dtype=np.float32), 4)
    before.add(saved, HERE, relevant=True)
    after.add(np.frombuffer(saved.tobytes(), NAME), HERE, relevant=True)
    after.add(np.frombuffer(b"", NAME), HERE, relevant=True)
    assert np.array_equal(links(before, *URLS[:10]), links(after, *URLS[:10]))
    assert [site(before, at) for at in range(10)] == [site(after, at) for at in range(10)]


def test_a_page_that_turns_out_irrelevant_is_as_if_it_had_never_been_thought_relevant() -> None:
    pages = [names_of(URLS[at : at + 9], np.arange(9) % 4, np.ones(9, np.float32), 4) for at in range(300)]
    ever, never = Finds(), Finds()
    for at, names in enumerate(pages):
        ever.add(names, HERE, relevant=True)
        never.add(names, HERE, relevant=at % 2 == 0)
    for names in pages[1::2]:
        ever.judge(names, HERE, relevant=False)
    assert np.array_equal(links(ever, *URLS[:310]), links(never, *URLS[:310]))
    assert [site(ever, at) for at in range(5)] == [site(never, at) for at in range(5)]
