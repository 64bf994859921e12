"""How a crawl really went, worked out by hand for small logs of a small fixed web."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tres_crawler.simweb.model import Web
from tres_crawler.simweb.params import WebParams
from tres_crawler.simweb.truth import Request, Truth, harvest_over_time, judge, judge_hosts, pages_of, read_log


class FixedWeb(Web):
    """Five pages on three sites, with the truth about them written down; one is a copy."""

    def __init__(self) -> None:
        self.topics = {
            ("www.tennis.test", "/"): "sports",
            ("www.tennis.test", "/cups"): "sports",
            ("news.tennis.test", "/"): "sports",
            ("mirror.test", "/tennis"): "sports",
            ("soup.test", "/"): "food",
        }

    def topic_of(self, host: str, path: str) -> str | None:
        return self.topics.get((host, path))

    def content_of(self, host: str, path: str) -> tuple[int, int] | None:
        return (hash("www.tennis.test"), hash("/")) if host == "mirror.test" else (hash(host), hash(path))

    def robots(self, host: str) -> tuple[int, str]:
        return (200, "User-agent: *\nDisallow: /private\nCrawl-delay: 2\n") if host == "soup.test" else (404, "")


def asked(url: str, at: float = 0.0, seconds: float = 0.1, status: int = 200, conditional: bool = False) -> Request:
    parts = urlsplit(f"http://{url}")
    return Request(at, at + seconds, parts.netloc, parts.path, status, conditional)


def truth_of(*requests: Request) -> Truth:
    return judge(FixedWeb(), requests, "sports")


def test_harvest_counts_relevant_pages_among_all_addresses_asked_for() -> None:
    found = truth_of(
        asked("www.tennis.test/robots.txt"),
        asked("www.tennis.test/"),
        asked("www.tennis.test/go/3", status=302),
        asked("www.tennis.test/cups"),
        asked("news.tennis.test/"),
        asked("soup.test/"),
        asked("soup.test/gone", status=404),
    )
    assert (found.pages, found.relevant_pages, found.harvest_rate) == (5, 3, 0.6)
    assert (found.sites, found.relevant_sites) == (2, 1)
    assert found.robots_requests == 1


def test_a_crawl_that_asked_for_nothing_found_nothing() -> None:
    found = truth_of()
    assert (found.pages, found.harvest_rate, found.smallest_gap_seconds, found.largest_concurrency) == (0, 0.0, None, 0)


def test_a_page_asked_for_twice_is_a_repeat_and_counts_once_but_the_retry_of_a_failure_is_none() -> None:
    found = truth_of(
        asked("www.tennis.test/robots.txt"),
        asked("www.tennis.test/", status=500),
        asked("www.tennis.test/", status=503),
        asked("www.tennis.test/"),
        asked("soup.test/"),
        asked("soup.test/"),
        asked("soup.test/"),
        asked("www.tennis.test/gone", status=404),
        asked("www.tennis.test/gone", status=404),
        asked("www.tennis.test/robots.txt"),
    )
    assert (found.pages, found.relevant_pages, found.repeats) == (3, 1, 3)


def test_a_page_stays_relevant_when_it_is_found_unchanged_and_a_conditional_visit_is_no_repeat() -> None:
    found = truth_of(
        asked("www.tennis.test/"),
        asked("www.tennis.test/", status=304, conditional=True),
        asked("www.tennis.test/cups", status=500),
        asked("www.tennis.test/cups"),
        asked("www.tennis.test/", status=200, conditional=True),
    )
    assert (found.pages, found.relevant_pages, found.repeats) == (2, 2, 0)
    assert truth_of(asked("www.tennis.test/"), asked("www.tennis.test/")).repeats == 1


def test_a_copy_adds_no_page_but_its_site() -> None:
    requests = [asked("www.tennis.test/"), asked("mirror.test/tennis"), asked("soup.test/")]
    for order in (requests, requests[::-1]):
        found = truth_of(*order)
        assert (found.pages, found.relevant_pages, found.relevant_sites) == (3, 1, 2)


def test_harvest_over_time_ends_where_the_whole_crawl_does() -> None:
    requests = [
        asked("www.tennis.test/", status=500),
        asked("soup.test/"),
        asked("www.tennis.test/"),
        asked("soup.test/"),
        asked("www.tennis.test/robots.txt"),
        asked("mirror.test/tennis"),
        asked("www.tennis.test/cups"),
    ]
    rows = list(harvest_over_time(FixedWeb(), requests, "sports", every=2))
    assert rows == [(2, 1, 1), (4, 2, 2)]
    found = truth_of(*requests)
    assert (found.pages, found.relevant_pages, found.relevant_sites) == rows[-1]
    assert list(harvest_over_time(FixedWeb(), requests, "sports", every=3)) == [(3, 1, 2), (4, 2, 2)]
    assert list(harvest_over_time(FixedWeb(), [], "sports")) == []


def test_requests_sooner_than_the_crawl_delay_asks_are_counted_for_their_host() -> None:
    requests = [
        asked("soup.test/robots.txt", at=0.0),
        asked("soup.test/", at=0.5),
        asked("soup.test/1", at=2.52),
        asked("soup.test/2", at=3.5),
        asked("www.tennis.test/", at=3.0),
        asked("www.tennis.test/cups", at=3.2),
    ]
    hosts = judge_hosts(FixedWeb(), requests)
    assert (hosts["soup.test"].crawl_delay_seconds, hosts["soup.test"].hasty_requests) == (2.0, 1)
    assert (hosts["www.tennis.test"].crawl_delay_seconds, hosts["www.tennis.test"].hasty_requests) == (None, 0)
    assert hosts["soup.test"].smallest_gap_seconds == pytest.approx(0.4)
    assert hosts["soup.test"].median_gap_seconds == pytest.approx(0.88)
    assert (hosts["soup.test"].requests, hosts["soup.test"].largest_concurrency) == (4, 1)
    assert truth_of(*requests).hasty_requests == 1


def test_requests_against_robots_txt_are_counted_whatever_they_were_answered() -> None:
    found = truth_of(
        asked("soup.test/private/1"),
        asked("soup.test/private/2", status=404),
        asked("soup.test/private/go", status=302),
        asked("soup.test/robots.txt"),
        asked("soup.test/public"),
        asked("www.tennis.test/private/1"),
    )
    assert found.disallowed_requests == 3


def test_hosts_that_were_asked_for_a_page_before_robots_txt_are_counted() -> None:
    found = truth_of(
        asked("soup.test/robots.txt"),
        asked("soup.test/"),
        asked("news.tennis.test/robots.txt"),
        asked("news.tennis.test/"),
        asked("www.tennis.test/"),
        asked("www.tennis.test/robots.txt"),
    )
    assert found.hosts_without_robots_first == 1


def test_the_smallest_gap_runs_from_the_end_of_a_request_to_the_next_on_the_same_host() -> None:
    found = truth_of(
        asked("soup.test/", at=10.0, seconds=0.5),
        asked("www.tennis.test/", at=10.6),
        asked("soup.test/1", at=12.0, seconds=0.25),
        asked("soup.test/2", at=13.0),
    )
    assert found.smallest_gap_seconds == pytest.approx(0.75)
    assert truth_of(asked("soup.test/"), asked("www.tennis.test/", at=1)).smallest_gap_seconds is None


def test_requests_that_overlap_on_one_host_have_a_gap_below_zero() -> None:
    slow, quick = asked("soup.test/slow", at=0, seconds=5), asked("soup.test/quick", at=1, seconds=1)
    gap = truth_of(quick, slow).smallest_gap_seconds  # logged when they ended
    assert gap is not None
    assert gap < 0


def test_concurrency_is_the_most_requests_under_way_at_once_on_one_host() -> None:
    found = truth_of(
        asked("soup.test/1", at=0, seconds=3),
        asked("soup.test/2", at=1, seconds=3),
        asked("soup.test/3", at=2, seconds=1),
        asked("soup.test/4", at=3.5, seconds=1),
        *(asked(f"{host}.test/", at=0, seconds=9) for host in "abcdef"),
    )
    assert found.largest_concurrency == 3


def test_requests_one_right_after_the_other_are_not_concurrent() -> None:
    assert truth_of(asked("soup.test/1", at=0, seconds=1), asked("soup.test/2", at=1)).largest_concurrency == 1


def test_pages_are_all_requests_but_robots_txt_and_redirects() -> None:
    page, error = asked("soup.test/"), asked("soup.test/x", status=404)
    others = [asked("soup.test/robots.txt"), asked("soup.test/go/1", status=301), asked("soup.test/go/2", status=308)]
    assert list(pages_of([page, *others, error])) == [page, error]


def write_log(path: Path, params: WebParams, *requests: Request) -> None:
    lines = [{"web": params.model_dump()}, *(request._asdict() for request in requests)]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))


def test_a_log_is_read_back_with_its_web_and_without_a_line_that_is_still_being_written(tmp_path: Path) -> None:
    log, params = tmp_path / "log.jsonl", WebParams(sites=3, pages=30, seed=9)
    requests = [asked("soup.test/"), asked("soup.test/2", at=1)]
    write_log(log, params, *requests)
    with log.open("a") as lines:
        lines.write('{"arrived": 12.0, "finis')
    assert read_log(log) == (params, requests)


def test_the_command_prints_the_truth_of_a_log_as_json(tmp_path: Path) -> None:
    log, params = tmp_path / "log.jsonl", WebParams(sites=400, pages=8000, seed=9)
    seed = urlsplit(Web(params).seeds("sports")[0])
    write_log(log, params, asked(f"{seed.netloc}/robots.txt"), asked(f"{seed.netloc}/", at=1), asked("nowhere.test/x"))
    command = [sys.executable, "-m", "tres_crawler.simweb.truth", str(log), "sports"]
    printed = json.loads(subprocess.run(command, capture_output=True, timeout=60, check=True).stdout)
    assert (printed["topic"], printed["pages"], printed["relevant_pages"]) == ("sports", 2, 1)
    assert printed["harvest_rate"] == 0.5
    assert printed["web"]["sites"] == 400
    assert "over_time" not in printed and "hosts" not in printed
    more = [*command, "--over-time", "1", "--hosts"]
    printed = json.loads(subprocess.run(more, capture_output=True, timeout=60, check=True).stdout)
    assert [row["pages"] for row in printed["over_time"]] == [1, 2]
    assert printed["hosts"][seed.netloc]["requests"] == 2
