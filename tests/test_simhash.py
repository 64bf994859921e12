"""Near copies are found among many hashes, and quickly."""

from __future__ import annotations

import time
from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from tres_crawler.simhash import NEAR, NearDuplicates, distance, simhash

hashes = st.integers(-(2**63), 2**63 - 1)


def flipped(hash: int, bits: list[int]) -> int:
    for bit in bits:
        hash ^= -(1 << 63) if bit == 63 else 1 << bit
    return hash


def prose(rng: Random, count: int) -> list[str]:
    return [f"word{rng.randrange(3000)}" for _ in range(count)]


@settings(derandomize=True, database=None, deadline=None)
@given(st.text())
def test_any_text_has_a_hash_that_a_database_takes(text: str) -> None:
    assert -(2**63) <= simhash(text) < 2**63


def test_the_hash_is_the_same_in_every_process() -> None:
    assert simhash("The same words, always.") == simhash("the SAME words always") == 2695287264117538764
    assert simhash("") == simhash("...") == 0


def test_a_text_with_a_few_words_changed_is_near_and_another_text_is_far() -> None:
    rng = Random(1)
    text = prose(rng, 2000)
    changed = [*text[:1000], "another", *text[1001:]]
    assert distance(simhash(" ".join(text)), simhash(" ".join(changed))) <= NEAR
    assert distance(simhash(" ".join(text)), simhash(" ".join(prose(rng, 2000)))) > 15


def test_the_order_of_words_counts() -> None:
    text = prose(Random(2), 300)
    assert distance(simhash(" ".join(text)), simhash(" ".join(reversed(text)))) > NEAR


@settings(derandomize=True, database=None, deadline=None)
@given(hashes, st.lists(st.integers(0, 63), unique=True, max_size=6))
def test_a_hash_is_found_when_at_most_three_bits_differ(hash: int, bits: list[int]) -> None:
    seen = NearDuplicates()
    seen.add(hash, 7)
    other = flipped(hash, bits)
    assert distance(hash, other) == len(bits)
    assert seen.find(other) == (7 if len(bits) <= NEAR else None)


def test_the_first_page_with_a_hash_is_the_one_that_is_named() -> None:
    seen = NearDuplicates()
    seen.add(5, 1)
    seen.add(5, 2)
    seen.add(4, 3)
    assert (seen.find(5), seen.find(4), len(seen)) == (1, 3, 2)


def test_one_among_a_hundred_thousand_is_found_in_far_less_than_a_millisecond() -> None:
    rng = Random(3)
    seen = NearDuplicates()
    known = [rng.getrandbits(64) - 2**63 for _ in range(100_000)]
    for number, hash in enumerate(known):
        seen.add(hash, number)
    asked = [flipped(hash, rng.sample(range(64), 3)) for hash in known[:1000]]
    strangers = [rng.getrandbits(64) - 2**63 for _ in range(1000)]
    started = time.process_time()
    found = [seen.find(hash) for hash in asked + strangers]
    assert (time.process_time() - started) / len(found) < 0.0002
    assert found == [*range(1000), *[None] * 1000]
