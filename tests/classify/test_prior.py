"""The keyword judge says what its docstring promises."""

from __future__ import annotations

import pytest

from tres_crawler.classify.prior import SMOOTHING_WORDS, VERSION, KeywordJudge
from tres_crawler.records import Document, Judgement

KEYWORDS = ["tennis", "coach", "match point"]


async def judged(text: str, title: str = "", description: str = "", keywords: list[str] = KEYWORDS) -> Judgement:
    return await KeywordJudge(keywords).judge(Document("http://a.test/", title, description, text, ()))


def filled(hits: str, length: int) -> str:
    """A text of `length` words that begins with `hits`."""
    return " ".join(hits.split() + ["other"] * (length - len(hits.split())))


async def test_one_keyword_in_a_hundred_words_is_the_even_case() -> None:
    even = await judged(filled("tennis", 100 - SMOOTHING_WORDS))
    assert even == Judgement(probability=0.5, relevant=True, version=VERSION)
    assert not (await judged(filled("tennis", 101 - SMOOTHING_WORDS))).relevant


async def test_a_page_without_keywords_has_no_chance() -> None:
    nothing = Judgement(probability=0.0, relevant=False, version=VERSION)
    assert await judged(filled("football", 500)) == nothing
    assert await judged("") == nothing
    assert await judged("tennis", keywords=["!"]) == nothing


async def test_different_keywords_weigh_more_than_one_repeated() -> None:
    assert (await judged(filled("tennis coach", 200))).probability > (
        await judged(filled("tennis tennis", 200))
    ).probability


async def test_more_hits_weigh_more_and_more_words_weigh_less() -> None:
    once, twice = await judged(filled("tennis", 200)), await judged(filled("tennis tennis", 200))
    longer = await judged(filled("tennis", 400))
    assert 1 >= twice.probability > once.probability > longer.probability > 0


async def test_the_title_counts_more_than_the_description_and_that_like_the_text() -> None:
    text = filled("", 200)
    in_title = await judged(text, title="Tennis")
    in_description = await judged(text, description="TENNIS")
    assert in_title.probability > in_description.probability
    assert in_description == await judged(filled("tennis", 201))


@pytest.mark.parametrize(
    ("title", "description", "text"),
    [("point of the match", "", ""), ("the match", "point", ""), ("", "the match", "point"), ("", "", "point, match")],
)
async def test_a_phrase_counts_only_where_it_stands_whole(title: str, description: str, text: str) -> None:
    assert (await judged("match point")).probability > 0
    assert (await judged(text, title, description)).probability == 0
