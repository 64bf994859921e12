"""Words, fingerprints and phrases as every stage counts them."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tres_crawler.text import PhraseFinder, fingerprint, has_sentences, words


def test_words_are_lower_case_and_free_of_signs() -> None:
    assert words("The Café's 2nd-best, e-mail_list: 100%!") == [
        "the",
        "café's",
        "2nd",
        "best",
        "e",
        "mail",
        "list",
        "100",
    ]
    assert words("Don’t 'quote' ÄRGER 東京") == ["don’t", "quote", "ärger", "東京"]
    assert words(" \n…—!? ") == []


def test_a_fingerprint_never_changes() -> None:
    # Databases hold it: another value would make every known URL and text unknown.
    assert fingerprint("http://a.test/") == 392543177127010321
    assert fingerprint("") == -1970711489451281740


@settings(derandomize=True, database=None, deadline=None)
@given(st.text(st.characters()), st.text(st.characters()))
def test_a_fingerprint_tells_any_texts_apart_and_fits_a_database(one: str, other: str) -> None:
    assert (fingerprint(one) == fingerprint(other)) is (one == other)
    assert -(2**63) <= fingerprint(one) < 2**63


def test_phrases_are_counted_wherever_they_stand() -> None:
    finder = PhraseFinder(["Query Planner", "query", "b-tree", "lock", "!"])
    found = finder.count(words("The query planner: a query, a B-tree, and QUERY planner; planner query"))
    assert found == {("query", "planner"): 2, ("query",): 4, ("b", "tree"): 1}


def test_a_phrase_given_twice_is_counted_once() -> None:
    assert PhraseFinder(["Tennis", "tennis"]).count(["tennis"]) == {("tennis",): 1}


phrases = st.lists(st.sampled_from("abc"), min_size=1, max_size=3).map(" ".join)


@settings(derandomize=True, database=None, deadline=None, max_examples=300)
@given(st.lists(phrases, max_size=6, unique=True), st.lists(st.sampled_from("abc"), max_size=12))
def test_one_pass_finds_what_looking_everywhere_finds(sought: list[str], tokens: list[str]) -> None:
    text = tuple(tokens)
    everywhere = {
        phrase: sum(text[at : at + len(phrase)] == phrase for at in range(len(text)))
        for phrase in (tuple(words(one)) for one in sought)
    }
    assert PhraseFinder(sought).count(tokens) == {phrase: count for phrase, count in everywhere.items() if count}


PROSE = "The match was over before it had begun. Nobody in the ground could say why they had come at all. "
KEYWORDS = "football boots, goal nets, match tickets, league tables, transfer rumours, corner flags, "
RESULTS = "Rovers 2 United 1, City 0 Albion 0, Town 3 Wanderers 3, "


@pytest.mark.parametrize(
    ("text", "says_something"),
    [
        (PROSE * 20, True),
        (PROSE.replace(".", "") * 20, True),  # words that hold others together
        ("Zwölf Boxkämpfer jagen Viktor quer über den großen Sylter Deich. " * 20, True),  # sentences
        ("今日はいい天気です。" * 40, True),
        ("आज मौसम बहुत अच्छा है और हम बाहर जाते हैं। " * 20, True),
        ("วันนี้ อากาศ ดี มาก เรา ไป ข้างนอก กัน " * 20, True),  # a script without ends
        (KEYWORDS, True),  # a line or two
        ("", True),
        (KEYWORDS * 10, False),
        (RESULTS * 10, False),
        (f"Welcome to our site. {KEYWORDS * 30}", False),
        (f"{KEYWORDS * 3} {PROSE * 3}", True),
    ],
)
def test_a_text_says_something_unless_it_is_a_long_list_of_words(text: str, says_something: bool) -> None:
    assert has_sentences(text) is says_something
