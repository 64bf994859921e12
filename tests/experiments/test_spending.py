"""What the pages of a crawl were, on a web whose pages are all known."""

from __future__ import annotations

import pytest

from tres_crawler.experiments.spending import spent
from tres_crawler.simweb.describe import split
from tres_crawler.simweb.model import COPIES, Form, Page, Web
from tres_crawler.simweb.params import WebParams
from tres_crawler.simweb.truth import Request, judge

WEB = Web(WebParams(sites=200, pages=6000, seed=5))
TOPIC = "food"
FOOD = WEB.topic_names.index(TOPIC)


def fetched(page: Page, status: int = 200) -> Request:
    host, path = split(WEB.url(page))
    return Request(0.0, 0.1, host, path, status, conditional=False)


def first(form: Form, subject: int = FOOD) -> Page:
    return next(page for page in WEB.all_pages() if (page.form, page.subject) == (form, subject) and answers(page))


def answers(page: Page) -> bool:
    return not WEB.is_broken(page)


def kinds_of(*requests: Request) -> dict[str, int]:
    return {kind: count for kind, count in spent(WEB, requests, TOPIC).items() if count}


@pytest.mark.parametrize(
    ("page", "kind"),
    [
        (first(Form.ARTICLE), "relevant"),
        (first(Form.ARTICLE, FOOD + 1), "off_topic"),
        (first(Form.THIN), "thin_or_foreign"),
        (first(Form.STUFFED), "farms"),
        (first(Form.LISTING), "lists_and_gates"),
    ],
)
def test_a_page_is_of_one_kind(page: Page, kind: str) -> None:
    assert kinds_of(fetched(page)) == {kind: 1}


def test_a_copy_of_what_is_there_already_is_no_relevant_page_more() -> None:
    copy = next(p for p in WEB.all_pages() if p.form in COPIES and p.subject == FOOD and answers(p))
    original = WEB.shown(copy)
    assert kinds_of(fetched(copy)) == {"relevant": 1}
    assert kinds_of(fetched(original), fetched(copy)) == {"relevant": 1, "copies": 1}


def test_a_page_that_came_in_the_end_counts_and_robots_txt_and_redirects_do_not() -> None:
    page = first(Form.ARTICLE)
    host = WEB.sites[page.site].host
    around = [Request(0.0, 0.1, host, "/robots.txt", 200, False), Request(0.0, 0.1, host, "/go/1/3", 302, False)]
    assert kinds_of(*around, fetched(page, 500), fetched(page)) == {"relevant": 1}
    assert kinds_of(fetched(page, 500)) == {"errors": 1}
    assert kinds_of(Request(0.0, 0.1, host, "/read/none-99999/", 404, False)) == {"not_there": 1}
    assert kinds_of(Request(0.0, 0.1, host, "/files/1.pdf", 200, False)) == {"files_and_calendars": 1}


def test_a_page_that_was_looked_at_again_stays_what_it_was() -> None:
    page = first(Form.ARTICLE)
    assert kinds_of(fetched(page), fetched(page, 304)) == {"relevant": 1}
    assert kinds_of(fetched(page), fetched(page, 404)) == {"relevant": 1}


def test_lists_and_gates_count_for_the_topic_that_they_lead_to() -> None:
    assert kinds_of(fetched(first(Form.LISTING, FOOD + 1))) == {"off_topic": 1}
    for region in WEB.regions:
        expected = "lists_and_gates" if region.topic == FOOD else "off_topic"
        assert kinds_of(fetched(WEB.gate(region, 0))) == {expected: 1}
    assert {region.topic == FOOD for region in WEB.regions} == {True, False}


def test_kinds_add_up_to_the_pages_and_relevant_ones_are_those_of_the_truth() -> None:
    pages = [page for page in WEB.all_pages() if answers(page)][:3000]
    again = [fetched(page, status) for page in pages[::7] for status in (304, 500, 200)]
    requests = [*(fetched(page, (200, 200, 404, 500)[at % 4]) for at, page in enumerate(pages)), *again]
    found, truth = spent(WEB, requests, TOPIC), judge(WEB, requests, TOPIC)
    assert (sum(found.values()), found["relevant"]) == (truth.pages, truth.relevant_pages)
    assert truth.relevant_pages > 50
