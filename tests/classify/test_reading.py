"""A page or an anchor as every judge sees it."""

from __future__ import annotations

import time

import numpy as np
import pytest

from tests.texts import COOKING, FOOD_KEYWORDS, GARDEN
from tres_crawler.classify.reading import MAX_CHARACTERS, MAX_TOKENS, Background, Reader, centred, topic_direction
from tres_crawler.records import PageText
from tres_crawler.vectors import FUNCTION_ROWS, Rows, Vectors, load_vectors


@pytest.fixture(scope="module")
def vectors() -> Vectors:
    return load_vectors()


@pytest.fixture(scope="module")
def reader(vectors: Vectors) -> Reader:
    return Reader(vectors, [*FOOD_KEYWORDS, "tomato sauce"], ["garlic", "olive oil"])


def words_of(reader: Reader, rows: Rows) -> list[str]:
    return [reader.vectors.keyed.index_to_key[row] for row in rows]


def test_the_words_are_those_of_title_description_and_text_in_order_without_function_words(reader: Reader) -> None:
    reading = reader.read(PageText("Soup of the day", "Garlic and zorblax", "The bread is baked in an oven."))
    assert words_of(reader, reading.rows) == ["soup", "garlic", "bread", "baked", "oven"]
    assert (reading.words, reading.known) == (7, 7)
    assert reading.function_share == pytest.approx(4 / 7)


def test_a_description_that_repeats_the_texts_beginning_is_read_once(reader: Reader) -> None:
    alone = reader.read(PageText("", "", COOKING))
    repeated = reader.read(PageText("", COOKING[:100].rpartition(" ")[0], COOKING))
    assert repeated.rows.tolist() == alone.rows.tolist()
    assert (repeated.kinds, repeated.hits) == (alone.kinds, alone.hits)


def test_keywords_and_phrases_are_counted_by_kind_and_by_use(reader: Reader) -> None:
    reading = reader.read(PageText("Bread", "", "Tomato sauce on bread. A tomato. Bread! Garlic."))
    assert reading.kinds == 3, "bread, sauce and tomato sauce; garlic was only found by expansion"
    assert reading.hits == 5
    marked = {reader.vectors.keyed.index_to_key[row] for row in reader.keyword_rows}
    assert {"bread", "garlic"} <= marked
    assert not {"tomato", "olive", "oil"} & marked, "no part of a phrase is a keyword by itself"


def test_an_endless_page_is_read_at_its_beginning_and_costs_no_more(reader: Reader) -> None:
    endless = PageText("soup " * 2_000_000, "", COOKING + " bread" * 2_000_000)
    started = time.perf_counter()
    reading = reader.read(endless)
    assert time.perf_counter() - started < 0.5
    assert len(reading.rows) == MAX_TOKENS
    assert reading.words <= MAX_CHARACTERS / 2


@pytest.mark.parametrize("page", [PageText("", "", ""), PageText("?!", "…", "¿ 😀 — ___")])
def test_a_page_without_words_is_a_reading_of_zeros(reader: Reader, page: PageText) -> None:
    reading = reader.read(page)
    assert (len(reading.rows), reading.kinds, reading.words, reading.function_share) == (0, 0, 0, 0.0)
    assert not reading.mean.any()
    assert not reader.read_anchor(page.text).mean.any()


def test_an_anchor_is_read_as_a_few_words_without_function_words(reader: Reader) -> None:
    reading = reader.read_anchor("The best Bread of all")
    assert words_of(reader, reading.rows) == ["best", "bread"]
    assert (reading.kinds, reading.hits, reading.known, reading.words) == (1, 1, 2, 5)
    assert (reading.rows >= FUNCTION_ROWS).all()


def test_the_same_page_always_gives_the_same_reading(reader: Reader, vectors: Vectors) -> None:
    page = PageText("Soup", "For everyone", COOKING)
    first, other = reader.read(page), Reader(vectors, reader.keywords, reader.found_keywords).read(page)
    assert first.rows.tolist() == other.rows.tolist()
    assert np.array_equal(first.mean, other.mean)


def test_cosines_are_measured_against_what_texts_have_in_common(vectors: Vectors, reader: Reader) -> None:
    texts = [COOKING, GARDEN, "The match was lost in the last minute and the coach resigned on Monday."]
    background = Background(vectors, [PageText("", "", text) for text in texts])
    lengths = np.linalg.norm(background.directions, axis=1)
    assert np.allclose(lengths, 1.0, atol=1e-5)
    topic = topic_direction(reader.keyword_vectors, background.centre)
    cooking, garden, sport = background.directions @ topic
    assert cooking > 0 > max(garden, sport), "texts about something else point away from the topic"


def test_a_text_without_words_has_no_direction() -> None:
    centre = np.ones(3, np.float32)
    assert not centred(np.zeros((2, 3), np.float32), centre).any()
    assert not centred(centre[None], centre).any()
