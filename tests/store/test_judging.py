"""What judges are trained on and what they held is kept, and the newest word counts."""

from __future__ import annotations

from typing import Any

import pytest
from sqlalchemy import select
from sqlalchemy.dialects import postgresql, sqlite

from tests.texts import COOKING, GARDEN
from tres_crawler.errors import NotFound
from tres_crawler.records import Example, Judgement, Link, Outcome, PageText, Topic
from tres_crawler.store import crawls, judging, links, pages
from tres_crawler.store.database import Change, Database
from tres_crawler.store.judging import KEPT_CHARACTERS, JudgedPage
from tres_crawler.store.pages import PageRecord
from tres_crawler.store.tables import judgements
from tres_crawler.store.tables import pages as page_table

TOPIC = Topic("food", ("soup",), ("http://a.test/",))


def saved_page(
    number: int, outcome: Outcome = Outcome.JUDGED, probability: float = 0.6, version: int = 1
) -> list[Change]:
    """A page of the second crawl on the only site there is, as a step saves it."""
    link = Link(number, f"http://a.test/{number}", 1, None, 0, anchor=f"to {number}")
    judged = Judgement(probability, probability >= 0.5, version) if outcome is Outcome.JUDGED else None
    record = PageRecord(
        number, link, link.url, 1, 1, outcome, 1e9, judgement=judged, reward=float(judged.relevant) if judged else 0.0
    )
    text = PageText(f"Title {number}", "A page", f"{COOKING} {number}")
    return [
        links.new_links(2, [link]),
        *pages.new_page(2, record),
        *([judging.new_reading(2, number, text)] if judged else []),
    ]


@pytest.fixture
async def filled(database: Database) -> Database:
    """Two crawls; the second has four pages, of which one failed."""
    for _ in range(2):
        await crawls.create(database, TOPIC, {}, "random", 1)
    await database.write(
        links.new_sites(2, [(1, "a.test")]),
        links.new_hosts(2, [(1, "a.test", 1)]),
    )
    for number in (1, 2, 4):
        await database.write(*saved_page(number, probability=number / 5))
    await database.write(*saved_page(3, Outcome.FAILED))
    return database


async def judged(database: Database, before_version: int | None = None) -> dict[int, JudgedPage]:
    return {page.number: page for page in await judging.judged_pages(database, 2, before_version)}


async def test_a_judged_page_comes_back_with_all_that_judging_it_again_takes(filled: Database) -> None:
    found = await judged(filled)
    assert list(found) == [1, 2, 4], "what failed was not judged"
    page = found[4]
    assert (page.url, page.site, page.anchor, page.label) == ("http://a.test/4", "a.test", "to 4", None)
    assert page.text == PageText("Title 4", "A page", f"{COOKING} 4")
    assert page.judgement == Judgement(0.8, True, 1)
    assert await judging.judged_pages(filled, 1) == []


async def test_the_newest_pages_come_back_and_those_with_a_label(filled: Database) -> None:
    async def newest(count: int) -> list[int]:
        return [page.number for page in await judging.judged_pages(filled, 2, newest=count)]

    assert (await newest(1), await newest(3), await newest(99)) == ([4], [2, 4], [1, 2, 4])
    await filled.write(judging.new_label(2, 1, False))
    assert await newest(1) == [1, 4]


async def test_of_an_endless_text_the_beginning_is_kept(filled: Database) -> None:
    await filled.write(
        links.new_links(2, [Link(9, "http://a.test/9", 1, None, 0)]),
        *saved_page(5)[:-1],
        judging.new_reading(2, 5, PageText("t" * 9000, "ü\ud800", "long " * 3_000_000)),
    )
    text = (await judged(filled))[5].text
    assert (len(text.title), len(text.text)) == (KEPT_CHARACTERS, KEPT_CHARACTERS)
    assert text.description == "ü\ud800", "even half a character comes back"


async def test_the_newest_label_of_a_page_counts(filled: Database) -> None:
    for relevant in (False, False, True):
        await filled.write(judging.new_label(2, 1, relevant))
    await filled.write(judging.new_label(2, 2, False), judging.new_label(1, 4, False))
    found = await judged(filled)
    assert {number: page.label for number, page in found.items()} == {1: True, 2: False, 4: None}
    assert await judging.label_count(filled, 2) == 2
    assert await judging.label_count(filled, 1) == 1


async def test_a_label_for_a_page_that_is_not_there_or_was_not_judged_is_refused(filled: Database) -> None:
    await judging.judged_page(filled, 2, 4)
    with pytest.raises(NotFound, match="Crawl 2 has no page 77"):
        await judging.judged_page(filled, 2, 77)
    with pytest.raises(NotFound, match="Crawl 1 has no page 1"):
        await judging.judged_page(filled, 1, 1)
    with pytest.raises(NotFound, match=r"Page 3 of crawl 2 was not judged \(failed\)"):
        await judging.judged_page(filled, 2, 3)


async def test_the_newest_version_is_the_one_that_judges(filled: Database) -> None:
    assert await judging.newest_version(filled, 2) is None
    for version in (2, 3, 10):
        await filled.write(judging.new_version(2, version, b"weights %d" % version))
    await filled.write(judging.new_version(1, 99, b"of another crawl"))
    assert await judging.newest_version(filled, 2) == (10, b"weights 10")


async def test_a_new_judgement_takes_the_place_of_the_old_one_which_is_kept(filled: Database) -> None:
    before = await judged(filled)
    for version in (2, 3):
        now = await judged(filled)
        again = [(now[1], Judgement(0.9, True, version)), (now[4], Judgement(0.1 * version, False, version))]
        await filled.write(*judging.judged_again(2, again))
    after = await judged(filled)
    assert after[1].judgement == Judgement(0.9, True, 3)
    assert after[4].judgement == Judgement(0.1 * 3, False, 3)
    assert after[2] == before[2]
    kept = await filled.rows(select(judgements).order_by(judgements.c.page, judgements.c.version))
    assert [(row.page, row.version, row.probability, row.relevant) for row in kept] == [
        (1, 1, 0.2, False),
        (1, 2, 0.9, True),
        (4, 1, 0.8, True),
        (4, 2, pytest.approx(0.2), False),
    ]
    rewards = await filled.rows(select(page_table.c.number, page_table.c.reward).order_by(page_table.c.number))
    assert [tuple(row) for row in rewards] == [(1, 1.0), (2, 0.0), (3, 0.0), (4, 0.0)]
    assert list(await judged(filled, before_version=3)) == [2]


async def test_examples_come_back_as_labels_in_their_order(database: Database) -> None:
    crawl = await crawls.create(database, TOPIC, {}, "random", 1)
    given = [
        Example(PageText("", "", COOKING), True, group="a.txt"),
        Example(PageText("", "", GARDEN), False, group="b"),
    ]
    await database.write(judging.new_examples(crawl, given))
    assert await judging.given_examples(database, crawl) == given
    assert all(example.is_label for example in await judging.given_examples(database, crawl))
    await database.write(judging.new_examples(crawl, []))


@pytest.mark.parametrize("dialect", [postgresql.dialect(), sqlite.dialect()])  # type: ignore[no-untyped-call]
def test_every_statement_can_be_said_to_other_databases(dialect: Any) -> None:
    for name in ("INSERT_READING", "INSERT_EXAMPLE", "INSERT_LABEL", "INSERT_SNAPSHOT", "INSERT_JUDGEMENT"):
        assert str(getattr(judging, name).compile(dialect=dialect)).startswith("INSERT INTO")
    said = str(judging.SET_JUDGEMENT.compile(dialect=dialect))
    assert said.startswith("UPDATE pages SET")
    assert "OR REPLACE" not in said
