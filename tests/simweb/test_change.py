"""Pages change by known processes, and say so truthfully."""

from __future__ import annotations

from itertools import pairwise

from tres_crawler.simweb.answers import answer, version
from tres_crawler.simweb.change import DAY_HOURS, Process, between, newest, processes
from tres_crawler.simweb.describe import split
from tres_crawler.simweb.model import Form, Page, Web
from tres_crawler.simweb.params import WebParams
from tres_crawler.simweb.server import SimServer
from tres_crawler.simweb.sites import Kind

WEB = Web(WebParams.of(sites=200, pages=4000, seed=2, changing=1.0, slowest_change=0.05, fastest_change=2.0))


def articles() -> list[Page]:
    return [page for page in WEB.all_pages() if page.form is Form.ARTICLE and WEB.sites[page.site].kind is Kind.TOPICAL]


def test_items_come_at_the_rate_of_their_process() -> None:
    for rate in (0.01, 0.3, 5.0):
        for phase in (None, 6.0):
            hours = 4000 / rate
            found = sum(1 for item in _until(Process(99, rate, phase), hours))
            assert abs(found - 4000) < 4 * 4000**0.5, (rate, phase)


def _until(process: Process, hours: float) -> list[float]:
    found = []
    for item in process.before(hours):
        if item.hours <= 0:
            break
        found.append(item.hours)
    return found


def test_seasonal_items_come_around_their_time_of_day() -> None:
    hours = [item % DAY_HOURS for item in _until(Process(7, 1.0, 6.0), 5000)]
    assert sum(0 <= hour < 12 for hour in hours) > 0.75 * len(hours)


def test_pages_of_a_group_change_together() -> None:
    together = 0
    by_site: dict[int, list[Page]] = {}
    for page in articles():
        if len(processes(WEB, page)) == 2:
            by_site.setdefault(page.site, []).append(page)
    for pages in by_site.values():
        for one, other in pairwise(pages):
            times = [{item.hours for item in between(WEB, page, 0, 200)} for page in (one, other)]
            together += bool(times[0] & times[1])
    assert together > 5


def test_what_is_shown_agrees_with_the_truth_about_changes() -> None:
    for page in articles()[:80]:
        shown, true = newest(WEB, page, 100.0), between(WEB, page, 0.0, 100.0)
        assert [item for item in reversed(shown) if item.hours > 0] == true[-len(shown) :][
            -len([i for i in shown if i.hours > 0]) :
        ]


def test_the_etag_changes_exactly_when_the_page_does() -> None:
    changed = 0
    for page in articles()[:120]:
        before, after = (answer(WEB, *split(WEB.url(page)), hours) for hours in (10.0, 11.0))
        has_new = bool(between(WEB, page, 10.0, 11.0))
        assert (before.body != after.body) == has_new
        assert (version(WEB, page, 10.0) != version(WEB, page, 11.0)) == has_new
        changed += has_new
    assert 10 < changed < 110


def test_some_sites_send_no_validators() -> None:
    sent = {bool(answer(WEB, site.host, "/").headers) for site in WEB.sites if site.kind is Kind.TOPICAL}
    assert sent == {True, False}


def test_a_conditional_request_is_answered_304_until_the_page_changes() -> None:
    page = max(articles(), key=lambda page: sum(process.rate for process in processes(WEB, page)))
    page = next(p for p in [page, *articles()] if WEB.sites[p.site].has_validators and not WEB.is_broken(p))
    host, path = split(WEB.url(page))
    server = SimServer(WEB, time_scale=3600.0)
    headers = dict(server.answer(host, path, {}).headers)
    asked = {"if-none-match": headers["ETag"]}
    assert server.answer(host, path, asked).status == 304
    assert server.answer(host, path, {"if-modified-since": headers["Last-Modified"]}).status == 304
    for odd in ("soon", "Mon, 1 Jan 99999999999999999999 00:00:00 GMT", "Mon, 1 Jan 2024 00:00:00 -0000"):
        assert server.answer(host, path, {"if-modified-since": odd}).status == 200
    server._started -= 3600 * 24
    assert server.hours > 1000
    assert server.answer(host, path, asked).status == 200
