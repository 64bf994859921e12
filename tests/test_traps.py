"""Traps are left early; honest archives are not."""

from __future__ import annotations

import random
from itertools import product

import pytest

from tres_crawler import traps
from tres_crawler.traps import PatternYield, Trap, pattern, refusal
from tres_crawler.urls import canonical


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("http://a.test/" + "x" * 2000, Trap.LONG_URL),
        ("http://a.test/?" + "&".join(f"f{number}=1" for number in range(13)), Trap.LONG_QUERY),
        ("http://a.test/" + "/".join(f"level{number}" for number in range(21)), Trap.LONG_PATH),
        ("http://a.test/news/x/news/y/news", Trap.REPEATED_PATH),
        ("http://a.test/en/shop/en/shop/", Trap.REPEATED_PATH),
        ("http://a.test/a/b/c/a/b/c", Trap.REPEATED_PATH),
        ("http://a.test/x/1/1/1/1", Trap.REPEATED_PATH),
        ("http://a.test/files/Map.JPG", Trap.FILE),
        ("http://a.test/report.v2.pdf?download=1", Trap.FILE),
        ("http://a.test/archive.tar.gz", Trap.FILE),
    ],
)
def test_a_url_that_looks_like_a_trap_is_refused_by_reason(url: str, reason: Trap) -> None:
    assert refusal(url) == reason


@pytest.mark.parametrize(
    "url",
    [
        "http://a.test/",
        "http://a.test/python/python/",
        "http://a.test/news/2024/news",
        "http://a.test/2001/01/01/01/",
        "http://a.test/en/shop/shoes/en/",
        "https://github.com/owner/project/blob/main/src/main/java/org/owner/project/Main.java",
        "http://a.test/?" + "&".join(f"f{number}=1" for number in range(12)),
        "http://a.test/view?file=map.pdf",
        "http://a.test/wiki/File:Map.png",
        "http://a.test/pdf",
        "http://a.test/.png",
        "http://a.test/map.png/",
        "http://a.test/index.html",
        "http://a.zip/",
        "http://a.test/" + "x" * 1986,
    ],
)
def test_an_honest_url_is_not_refused(url: str) -> None:
    assert refusal(url) is None


@pytest.mark.parametrize(
    ("url", "shape"),
    [
        ("http://www.a.test:8080/calendar/2026/11", "a.test/calendar/#/#?"),
        ("http://a.test/2024/05/story-1", "a.test/#/#/story-#?"),
        ("http://a.test/list.php?page=3&sort=up", "a.test/list.php?page&sort"),
        ("http://a.test/s/9f86d081884c7d65/x", "a.test/s/@/x?"),
        ("http://a.test/s/550e8400-e29b-41d4-a716-446655440000/x", "a.test/s/@/x?"),
        ("http://a.test/s/Xy7Kp2Lm9QwErTy8UiOp4A/x", "a.test/s/@/x?"),
        ("http://a.test/facade/deadbeef", "a.test/facade/deadbeef?"),
        ("http://a.test/%D0%9F%D1%80%D0%B8", "a.test/При?"),
    ],
)
def test_a_pattern_keeps_the_words_and_drops_the_values(url: str, shape: str) -> None:
    assert pattern(url) == shape


def calendar(count: int) -> list[str]:
    return [f"http://a.test/calendar/{2026 + month // 12}/{1 + month % 12}" for month in range(count)]


def test_a_calendar_without_end_is_closed_after_twenty_worthless_months() -> None:
    yields = PatternYield((url, False) for url in calendar(19))
    assert not yields.closed("http://a.test/calendar/2040/1")
    yields.record("http://a.test/calendar/2039/12", False)
    assert yields.closed("http://a.test/calendar/2040/1")
    assert not yields.closed("http://b.test/calendar/2040/1")
    assert not yields.closed("http://a.test/calendar/")


def test_a_calendar_that_was_useful_at_first_is_closed_where_it_runs_dry() -> None:
    yields = PatternYield((url, number < 6) for number, url in enumerate(calendar(26)))
    assert yields.closed("http://a.test/calendar/2040/1")


def test_copies_of_pages_under_ever_new_session_ids_are_closed() -> None:
    ids = [f"{random.Random(number).getrandbits(64):016x}" for number in range(21)]
    hidden = [f"http://a.test/s/{one}/index.html" for one in ids]
    yields = PatternYield((url, False) for url in hidden[:20])
    assert yields.closed(hidden[20])
    assert {canonical(f"http://a.test/index.html?sid={one}") for one in ids} == {"http://a.test/index.html"}


def test_an_honest_archive_is_never_closed() -> None:
    yields = PatternYield()
    rng = random.Random(1)
    for number in range(5000):
        url = f"http://a.test/{2000 + number // 240}/{1 + number // 20 % 12:02}/story-{number}"
        assert not yields.closed(url)
        yields.record(url, useful=rng.random() < 0.6)


def test_one_useful_page_opens_a_closed_pattern_again() -> None:
    yields = PatternYield((url, False) for url in calendar(25))
    yields.record("http://a.test/calendar/2030/1", True)
    assert not yields.closed("http://a.test/calendar/2030/2")


def test_the_same_pages_in_the_same_order_give_the_same_answers() -> None:
    rng = random.Random(2)
    pages = [(f"http://a.test/{rng.choice('abc')}/{number}", rng.random() < 0.05) for number in range(500)]
    yields = PatternYield()
    for url, useful in pages:
        yields.record(url, useful)
    again = PatternYield(pages)
    asked = [f"http://a.test/{letter}/1" for letter in "abc"]
    assert [yields.closed(url) for url in asked] == [again.closed(url) for url in asked]


def test_memory_is_bounded_and_a_flood_of_patterns_opens_no_closed_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(traps, "MAX_PATTERNS", 100)
    yields = PatternYield((url, False) for url in calendar(20))
    for word in map("".join, product("abcdefghij", repeat=3)):
        yields.record(f"http://a.test/{word}{'x' * 1000}", False)
    assert yields.closed("http://a.test/calendar/2040/1")
    assert len(yields._worthless) == 100
    assert max(map(len, yields._worthless)) == 300
