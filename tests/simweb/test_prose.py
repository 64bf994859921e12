"""The prose: enough of it, in many voices, and never the same paragraph in two pools."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from itertools import combinations

import pytest

from tres_crawler.simweb.params import TOPICS
from tres_crawler.simweb.prose import POOLS, PROSE_FILE, _rows, load
from tres_crawler.text import words

LARGE = {"sports", "food", "hardware", "computers", "health", "recreation", "games"}
SMALL = {"arts", "business", "news", "reference", "science", "society"}
LONG_KINDS = ("paragraph", "template", "background", "comment", "ad", "foreign")
MISLEADING = {"court": "sports", "java": "computers", "apple": "food", "pitch": "sports"}


def shingles(text: str, length: int = 8) -> set[tuple[str, ...]]:
    found = words(text)
    return {tuple(found[at : at + length]) for at in range(len(found) - length + 1)}


def test_every_topic_has_enough_varied_paragraphs() -> None:
    paragraphs = [row for row in _rows() if row["kind"] == "paragraph"]
    count = Counter(row["topic"] for row in paragraphs)
    assert set(count) == LARGE | SMALL
    assert all(count[topic] >= 100 for topic in LARGE)
    assert all(count[topic] >= 40 for topic in SMALL)
    for topic in count:
        voices = {row["voice"] for row in paragraphs if row["topic"] == topic}
        assert voices == {"news", "review", "howto", "forum", "product", "blog", "reference"}
    assert all(40 <= len(row["text"].split()) <= 100 for row in paragraphs)


def test_a_pool_shows_thousands_of_words_of_a_large_topic_and_a_thousand_of_a_small_one() -> None:
    for topic in LARGE | SMALL:
        for pool in POOLS:
            used = {
                word
                for row in _rows()
                if row["topic"] == topic and row.get("pool", pool) == pool
                for word in words(row.get("text", "") or " ".join(row["values"]))
            }
            assert len(used) >= (2000 if topic in LARGE else 1000), (topic, pool, len(used))


@pytest.mark.parametrize("kind", LONG_KINDS)
def test_pools_share_no_long_text_not_even_in_part(kind: str) -> None:
    by_pool = {pool: set[tuple[str, ...]]() for pool in POOLS}
    for row in _rows():
        if row["kind"] == kind:
            by_pool[row["pool"]] |= shingles(row["text"])
    assert all(by_pool.values())
    for one, other in combinations(POOLS, 2):
        shared = by_pool[one] & by_pool[other]
        assert not shared, f"{one} and {other} share {shared}"


def test_only_short_texts_belong_to_all_pools() -> None:
    shared = {row["kind"] for row in _rows() if "pool" not in row}
    assert shared == {"slot", "nav", "footer", "cookie", "generic_anchor", "parked", "error", "sitename"}


def test_a_pool_loads_its_own_texts_only() -> None:
    for kind in ("background", "comment", "ad"):
        shown = [{template.parts for template in load(pool).common[kind]} for pool in POOLS]
        assert all(len(texts) >= 50 for texts in shown)
        assert not any(one & other for one, other in combinations(shown, 2))


def test_some_words_mislead() -> None:
    for word, owner in MISLEADING.items():
        topics = {row["topic"] for row in _rows() if row["kind"] == "paragraph" and word in words(row["text"])}
        assert len(topics - {owner}) >= 1, f"{word} stands only in {owner}"


def test_neighbouring_topics_overlap_more_than_distant_ones() -> None:
    used = {
        topic: {
            word
            for row in _rows()
            if row["topic"] == topic and row["kind"] == "paragraph"
            for word in words(row["text"])
        }
        for topic in LARGE
    }

    def overlap(one: str, other: str) -> float:
        return len(used[one] & used[other]) / len(used[one] | used[other])

    assert overlap("hardware", "computers") > overlap("hardware", "food")
    assert overlap("food", "health") > overlap("food", "computers")


def test_every_slot_is_filled_in_every_pool() -> None:
    for pool in POOLS:
        prose = load(pool)
        for topic in prose.topics:
            for facet in topic.facets:
                for template in (*facet.paragraphs, *facet.titles, *facet.anchors, *facet.sentences, *facet.pieces):
                    assert "{" not in template.fill(7)


def test_the_parameters_know_all_topics() -> None:
    assert tuple(topic.name for topic in load("train").topics) == TOPICS


def test_the_card_fits_the_file() -> None:
    card = json.loads(PROSE_FILE.with_name("prose.card.json").read_text())
    assert card["sha256"] == hashlib.sha256(PROSE_FILE.read_bytes()).hexdigest()
    assert card["licence"] == "CC0-1.0"
