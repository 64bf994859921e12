"""Links whose words have paid before look good; nothing else does."""

from __future__ import annotations

import numpy as np
import pytest

from tres_crawler.records import Outlink
from tres_crawler.wording import NO_WORD, WORDS, Floats, Wording, word_numbers

RECIPES = [f"https://food.test/recipes/soup-number-{at}.html" for at in range(20)]
NEWS = [f"https://daily.test/news/council-meeting-{at}.html" for at in range(20)]


def row(url: str, anchor: str = "", with_host: bool = True) -> Floats:
    found: Floats = word_numbers([Outlink(url, anchor)], with_host)[0]
    return found


def taught(pages: int = 20) -> Wording:
    found = Wording()
    for good, bad in zip(RECIPES[:pages], NEWS[:pages], strict=True):
        found.learn(row(good, "soup"), relevant=True)
        found.learn(row(bad, "report"), relevant=False)
    return found


def of(known: Wording, url: str, anchor: str = "", with_host: bool = True) -> float:
    return float(known.probabilities(row(url, anchor, with_host)[None])[0])


def test_before_it_has_learned_anything_it_cannot_tell() -> None:
    assert of(Wording(), "https://food.test/recipes/", "soup") == 0.5


def test_words_of_the_path_the_anchor_and_the_host_each_tell_something() -> None:
    known = taught()
    assert of(known, "https://new.test/recipes/bread") > 0.6 > 0.4 > of(known, "https://new.test/news/bread")
    assert of(known, "https://new.test/", "soup") > 0.6 > 0.4 > of(known, "https://new.test/", "report")
    assert of(known, "https://food.test/a") > 0.6 > 0.4 > of(known, "https://daily.test/a")


def test_unknown_words_tell_nothing_beside_how_often_links_pay_at_all() -> None:
    assert of(taught(), "https://elsewhere.example/qqq", "zzz") == pytest.approx(0.5, abs=0.1)
    rarely = Wording()
    for at in range(40):
        rarely.learn(row(f"https://s{at}.test/p{at}", f"w{at}"), relevant=at % 10 == 0)
    assert of(rarely, "https://elsewhere.example/qqq", "zzz") < 0.4


def test_more_pages_make_it_surer() -> None:
    assert 0.5 < of(taught(1), RECIPES[0], "soup") < of(taught(20), RECIPES[0], "soup") < 1


def test_the_same_pages_in_the_same_order_teach_the_same() -> None:
    links = word_numbers(Outlink(url, "") for url in (*RECIPES, *NEWS))
    assert np.array_equal(taught().probabilities(links), taught().probabilities(links))


def test_the_host_can_be_left_out() -> None:
    assert np.array_equal(row("https://a.test/x", "y", with_host=False), row("https://b.test/x", "y", False))


def test_a_link_of_a_thousand_words_counts_as_one_of_a_few() -> None:
    long = row("https://a.test/" + "-".join(f"word{at}" for at in range(1000)), "an anchor")
    assert (long != NO_WORD).sum() == WORDS
    assert 0.5 < of(taught(), "https://food.test/" + "-".join(f"word{at}" for at in range(1000))) < 1


def test_a_link_is_never_certain_however_often_its_words_have_paid() -> None:
    known = Wording()
    for _ in range(5000):
        known.learn(row(RECIPES[0], "soup"), relevant=True)
    assert 0.9 < of(known, RECIPES[0], "soup") < 1
