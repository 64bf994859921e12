"""What is new in a text is found, shown, and measured."""

from __future__ import annotations

import pytest

from tres_crawler.recrawl.news import COMPARED_CHARACTERS, MOST_CHARACTERS, prints_of, share_gone, whats_new

BEFORE = " ".join(f"word{number}" for number in range(200))


def test_the_same_text_has_nothing_new_whatever_its_case_and_signs() -> None:
    news = whats_new(BEFORE.upper().replace(" ", ",\n"), prints_of(BEFORE))
    assert (news.share, news.changed, news.segments) == (0.0, False, ())


def test_added_words_are_found_and_shown_with_some_around_them() -> None:
    text = BEFORE.replace("word100 ", "word100 Fresh news from the court! ")
    news = whats_new(text, prints_of(BEFORE))
    assert news.changed
    assert news.added == "Fresh news from the court"
    assert news.share == pytest.approx(7 / 203)
    before, new, after = news.segments
    assert before == (False, " ".join(f"word{number}" for number in range(93, 101)))
    assert new[0]
    assert after == (False, " ".join(f"word{number}" for number in range(101, 109)))


def test_several_additions_are_shown_in_order() -> None:
    text = f"one two three {BEFORE} four five six"
    news = whats_new(text, prints_of(BEFORE))
    assert [words for is_new, words in news.segments if is_new] == ["one two three", "four five six"]


def test_one_changed_word_in_a_long_text_is_no_change() -> None:
    long = " ".join(f"w{number}" for number in range(1000))
    news = whats_new(long.replace("w500 ", "x500 "), prints_of(long))
    assert 0 < news.share < 0.01
    assert not news.changed


def test_words_that_went_are_nothing_new() -> None:
    news = whats_new(" ".join(BEFORE.split()[:150]), prints_of(BEFORE))
    assert not news.changed


def test_what_was_new_and_is_gone_is_told() -> None:
    was_new = prints_of("fresh news from the court today")
    assert share_gone(was_new, prints_of(f"{BEFORE} fresh news from the court today")) == 0
    assert share_gone(was_new, prints_of(BEFORE)) == 1
    assert share_gone(was_new, prints_of(f"{BEFORE} fresh news from the")) == 0.5
    assert share_gone(prints_of(""), prints_of(BEFORE)) == 0


def test_short_and_empty_texts_do_no_harm() -> None:
    assert whats_new("", prints_of(BEFORE)).share == 0
    assert whats_new("hello", prints_of("")).share == 1
    assert whats_new("hello", prints_of("hello")).share == 0
    assert whats_new("hello there", prints_of("hello")).added == "hello there"


def test_letters_that_change_their_length_in_lower_case_do_no_harm() -> None:
    news = whats_new("İstanbul İzmir and new words here", prints_of("İstanbul İzmir and"))
    assert news.added == "new words here"


def test_what_is_kept_to_be_shown_is_bounded() -> None:
    text = " ".join(f"new{number}" for number in range(5000))
    assert len(whats_new(text, prints_of(BEFORE)).added) <= MOST_CHARACTERS


def test_a_text_without_end_is_compared_by_its_beginning() -> None:
    text = "word " * (COMPARED_CHARACTERS // 5)
    assert not whats_new(text + "with an end that nobody reads", prints_of(text)).changed
