"""robots.txt by the rules of RFC 9309: every case is named by the section that it follows from."""

from __future__ import annotations

import asyncio
import gzip
from contextlib import suppress
from itertools import pairwise
from typing import NamedTuple

import pytest

from tests.fetch.test_client import Loopback
from tests.fetch.test_robots import Shelf, allowed, at_once
from tests.site import SmallSite
from tres_crawler.config import FetchSettings
from tres_crawler.errors import FetchError
from tres_crawler.fetch.client import Client
from tres_crawler.fetch.robots import Robots
from tres_crawler.records import RobotsAnswer

NOON = 1_700_000_000.0
DAY = 24 * 3600.0
ALL = "User-agent: *\n"
OURS = "User-agent: tres_crawler\n"
NOTHING = "Disallow: /\n"
OTHERS = f"{ALL}Disallow: *.gif$\nDisallow: /shop/\nAllow: /news/\n\n"
TWO_PAGES = "Disallow:/\nAllow:/shop/a.html\nAllow:/shop/b.gif\n\n"
EXAMPLE = f"{OTHERS}User-agent: first\n{TWO_PAGES}"


class Case(NamedTuple):
    """What the RFC says of some paths, written with spaces between them, when a host has this file."""

    section: str
    what: str
    file: str | bytes
    allowed: str = ""
    refused: str = ""

    @property
    def name(self) -> str:
        return f"{self.section} {self.what}"


CASES = [
    # ---- lines and groups ----
    Case("2.1", "lines end with LF", "User-agent: *\nDisallow: /x\n", "/y", "/x"),
    Case("2.1", "lines end with CR LF", "User-agent: *\r\nDisallow: /x\r\n", "/y", "/x"),
    Case("2.1", "lines end with CR", "User-agent: *\rDisallow: /x\r", "/y", "/x"),
    Case("2.1", "the last line needs no end", "User-agent: *\nDisallow: /x", "/y", "/x"),
    Case("2.1", "no other sign ends a line", ALL + "Disallow: /x\x0cDisallow: /y", "/y"),
    Case("2.1", "an empty file has no rules", "", "/ /x"),
    Case("2.1", "a file of comments has no rules", "# User-agent: *\n# Disallow: /\n", "/ /x"),
    Case("2.1", "an empty line does not end a group", ALL + "\n\nDisallow: /x\n\nDisallow: /y", "/z", "/x /y"),
    Case("2.1", "an unknown line is passed over", ALL + "Colour: red\nwhatever\nDisallow: /x", "/y", "/x"),
    Case("2.1", "space around names and values does not count", " User-Agent :  * \n\tDisallow :\t/x \n", "/y", "/x"),
    Case("2.1", "the names of lines may be in any case", "USER-AGENT: *\ndisALLOW: /x\nallow: /x/y", "/x/y", "/x"),
    Case("2.1", "a rule before any group is passed over", "Disallow: /x\n" + ALL + "Disallow: /y", "/x", "/y"),
    Case("2.1", "several agents share the rules below", "User-agent: other\n" + OURS + "Disallow: /x", "/y", "/x"),
    Case("2.1", "an agent after a rule begins a new group", OURS + "Disallow: /x\n" + ALL + NOTHING, "/y", "/x"),
    # ---- which group is ours ----
    Case("2.2.1", "the token may be in any case", "User-agent: TRES_Crawler\nDisallow: /x", "/y", "/x"),
    Case("2.2.1", "our group goes before that of all", ALL + NOTHING + OURS + "Disallow: /x", "/y", "/x"),
    Case("2.2.1", "also when it comes first", OURS + "Disallow: /x\n" + ALL + NOTHING, "/y", "/x"),
    Case("2.2.1", "our group without rules allows", OURS + "\n" + OURS + "Disallow:\n" + ALL + NOTHING, "/ /x"),
    Case(
        "2.2.1",
        "our groups are combined",
        OURS + "Disallow: /x\n" + ALL + NOTHING + OURS + "Disallow: /y",
        "/",
        "/x /y",
    ),
    Case(
        "2.2.1",
        "the groups of all are combined",
        ALL + "Disallow: /x\n" + "User-agent: other\nAllow: /\n" + ALL + "Disallow: /y",
        "/",
        "/x /y",
    ),
    Case("2.2.1", "all means us when no group is ours", "User-agent: other\nAllow: /\n" + ALL + NOTHING, "", "/ /x"),
    Case("2.2.1", "no group for us means no rules", "User-agent: other\n" + NOTHING, "/ /x"),
    Case("2.2.1", "a longer token is another's", "User-agent: tres_crawler_news\n" + NOTHING, "/"),
    Case("2.2.1", "the end of our token is another's", "User-agent: crawler\n" + NOTHING, "/"),
    Case("2.2.1", "the beginning of our token is another's", "User-agent: tres\n" + NOTHING, "/"),
    Case(
        "2.2.1", "a version after the token", "User-agent: tres_crawler/1.0\nDisallow: /x\n" + ALL + NOTHING, "/y", "/x"
    ),
    Case(
        "2.2.1",
        "a version before CR",
        "User-agent: *\rAllow: /\rUser-agent: tres_crawler/1.0\rDisallow: /x\r",
        "/y",
        "/x",
    ),
    Case(
        "2.2.1",
        "our whole user agent",
        "User-agent: tres_crawler/1.0 (+https://me.test)\nDisallow: /x\n" + ALL,
        "/y",
        "/x",
    ),
    Case("2.2.1", "a comment after the token", "User-agent: tres_crawler # you\nDisallow: /x", "/y", "/x"),
    # ---- allow and disallow ----
    Case("2.2.2", "a path begins with the rule", ALL + "Disallow: /x", "/ /y /y/x /X", "/x /x/ /x.html /xyz /x?q"),
    Case("2.2.2", "the longest rule decides", ALL + "Disallow: /x\nAllow: /x/y\nDisallow: /x/y/z", "/x/y", "/x /x/y/z"),
    Case("2.2.2", "in any order of lines", ALL + "Allow: /x/y\nDisallow: /x/y/z\nDisallow: /x", "/x/y", "/x /x/y/z"),
    Case("2.2.2", "allow wins between equals", ALL + "Disallow: /x\nAllow: /x", "/x /x/y"),
    Case("2.2.2", "allow wins between equals in other words", ALL + "Allow: /x*\nDisallow: /x/", "/x/y"),
    Case("2.2.2", "what no rule fits is allowed", ALL + "Allow: /x", "/ /x /y"),
    Case("2.2.2", "an empty disallow allows", ALL + "Disallow:", "/ /x"),
    Case("2.2.2", "an empty allow says nothing", ALL + "Disallow: /x\nAllow:", "/y", "/x"),
    Case("2.2.2", "a rule of one stroke fits all", ALL + NOTHING, "", "/ /x /x?q"),
    Case("2.2.2", "robots.txt itself is allowed", ALL + NOTHING, "/robots.txt", "/robots.txt/x /x/robots.txt"),
    Case("2.2.2", "a query is part of the path", ALL + "Disallow: /x?q=1", "/x /x?q=2", "/x?q=1 /x?q=1&r"),
    Case("2.2.2", "an encoded letter is the letter", ALL + "Disallow: /%78/%62%61%7A", "/y", "/x/baz /%78/b%61z"),
    Case("2.2.2", "a letter in the rule fits the encoded one", ALL + "Disallow: /x/baz", "/y", "/x/%62%61%7A"),
    Case("2.2.2", "a foreign letter is its encoding", ALL + "Disallow: /ツ", "/", "/%E3%83%84 /%e3%83%84 /ツ"),
    Case("2.2.2", "an encoding is its foreign letter", ALL + "Disallow: /%e3%83%84", "/", "/%E3%83%84 /ツ"),
    Case("2.2.2", "an encoded stroke is not a stroke", ALL + "Disallow: /x/y", "/x%2Fy", "/x/y"),
    Case("2.2.2", "a reserved sign is its encoding", ALL + "Disallow: /x?u=https://y", "", "/x?u=https%3A%2F%2Fy"),
    Case("2.2.2", "a rule without a first stroke is none", ALL + "Disallow: x", "/x"),
    Case("2.2.2", "allowing a page says nothing of its folder", ALL + "Allow: /x/index.html\nDisallow: /x", "", "/x/"),
    # ---- special characters ----
    Case("2.2.3", "the rest of a line after # is a comment", ALL + "Disallow: /x # not /y\n#Disallow: /y", "/y", "/x"),
    Case("2.2.3", "a # needs no space before it", ALL + "Disallow: /x#y", "/", "/x /xz"),
    Case("2.2.3", "an encoded # is part of the rule", ALL + "Disallow: /x%23y", "/x", "/x%23y"),
    Case("2.2.3", "$ is the end", ALL + "Disallow: /x$", "/xy /x/ /x?q", "/x"),
    Case("2.2.3", "$ after a star", ALL + "Disallow: /*.gif$", "/a.gif?q /a.gifs", "/.gif /a.gif /a/b.gif"),
    Case("2.2.3", "$ elsewhere is itself", ALL + "Disallow: /x$y", "/x /xy", "/x$y /x%24y"),
    Case("2.2.3", "$ at the end is not itself", ALL + "Disallow: /x$", "/x$y"),
    Case("2.2.3", "an encoded $ is itself", ALL + "Disallow: /x%24", "/x", "/x$ /x%24y"),
    Case("2.2.3", "* is any signs, also none", ALL + "Disallow: /x*/z", "/x /xz /y/z", "/x/z /xy/z /x/y/z /x/z/1"),
    Case("2.2.3", "many stars are as one", ALL + "Disallow: /x**y***z", "/xy", "/xyz /x1y2z3"),
    Case("2.2.3", "a star at the end changes nothing", ALL + "Disallow: /x*", "/", "/x /xy"),
    Case("2.2.3", "an encoded * is itself", ALL + "Disallow: /x-%2A.html", "/x-y.html", "/x-*.html /x-%2A.html"),
    Case("2.2.3", "a star before the first stroke", ALL + "Disallow: *.gif", "/a.png", "/a.gif"),
    Case("2.2.3", "every other sign is itself", ALL + "Disallow: /x.(y|z)+[a]?", "/xy /x.y", "/x.(y|z)+[a]?q"),
    # ---- other records ----
    Case(
        "2.2.4",
        "a sitemap does not end a group",
        ALL + "Disallow: /x\nSitemap: http://a.test/s\nDisallow: /y",
        "/",
        "/x /y",
    ),
    Case(
        "2.2.4",
        "nor does it part agents",
        OURS + "Sitemap: http://a.test/s\nUser-agent: other\nDisallow: /x",
        "/y",
        "/x",
    ),
    Case("2.2.4", "a delay does not end a group", ALL + "Disallow: /x\nCrawl-delay: 9\nDisallow: /y", "/", "/x /y"),
    Case("2.2.4", "a delay does not part agents", OURS + "Crawl-delay: 9\nUser-agent: other\nDisallow: /x", "", "/x"),
    Case(
        "2.2.4",
        "an unknown record does not part agents",
        OURS + "Colour: red\nUser-agent: other\nDisallow: /x",
        "",
        "/x",
    ),
    # ---- errors in the file ----
    Case(
        "2.3.1.5",
        "rules around a broken line hold",
        ALL + "Disallow: /x\n:::\nDis\x00allow\n=\nDisallow: /y",
        "/",
        "/x /y",
    ),
    Case(
        "2.3.1.5",
        "bytes that are no UTF-8",
        b"# \xff\xfe\n\xff: \xff\nUser-agent: *\nDisallow: /x\xff\nDisallow: /y",
        "/x",
        "/y",
    ),
    Case("2.3.1.5", "a page in place of the file", "<!doctype html><title>Shop</title><p>User-agent: *", "/ /x"),
    Case("2.3.1.5", "a byte order mark", b"\xef\xbb\xbfUser-agent: *\nDisallow: /x", "/y", "/x"),
    Case("2.3.1.5", "a line without a colon is no rule", ALL + "Disallow /x", "/x"),
    Case("2.3.1.5", "a misspelt rule is no rule", ALL + "Dissallow: /x", "/x"),
    # ---- files like the RFC's examples, for us ----
    Case("5.1", "those without a group of their own", EXAMPLE, "/ /news/a /news/a.gif /a.gif?q", "/a.gif /shop/a"),
    Case("5.1", "one who may see two pages", OTHERS + OURS + TWO_PAGES, "/shop/a.html /shop/b.gif", "/ /shop/ /c.gif"),
    Case(
        "5.1", "two who share a group", EXAMPLE + OURS + "User-agent: other\nDisallow: /shop/a", "/ /c.gif", "/shop/a"
    ),
    Case("5.1", "one whose group is empty and ends the file", ALL + NOTHING + OURS, "/ /shop/a"),
    Case("5.2", "the longer rule wins", ALL + "Allow: /shop/a/\nDisallow: /shop/a/b.gif", "/shop/a/", "/shop/a/b.gif"),
]

INTENDED = {
    "2.1 no other sign ends a line": "protego also ends lines at form feeds and their like; such files are not met",
    "2.2.1 the beginning of our token is another's": "protego: whoever writes `tres` may well mean us",
    "2.2.2 a reserved sign is its encoding": "protego keeps / and %2F apart in a query too",
    "2.2.2 allowing a page says nothing of its folder": "protego takes index.html for its folder too",
    "2.2.3 $ at the end is not itself": "protego also reads the $ as a letter, for owners who forgot to encode it",
    "2.2.4 a delay does not part agents": "Crawl-delay is a rule to us: a group of nothing else is whole",
    "2.2.4 an unknown record does not part agents": "protego takes any named line for a rule",
    "2.3.1.5 a line without a colon is no rule": "protego reads it as its owner meant it",
    "2.3.1.5 a misspelt rule is no rule": "protego reads it as its owner meant it",
}
"""Cases in which we differ from the RFC, and why."""


class Clock:
    """Time that passes only when told to."""

    now = NOON

    def __call__(self) -> float:
        return self.now


def known(file: str | bytes, clock: Clock | None = None) -> Robots:
    body = file.encode() if isinstance(file, str) else file
    return Robots(clock or Clock(), Shelf(RobotsAnswer("http://a.test", NOON, 200, body)))


async def asked(address: str, **settings: object) -> bool | None:
    """Whether a.test allows /x when its file is had over HTTP; None if it cannot be had."""
    robots = Robots(Clock())
    async with Client(FetchSettings.model_validate({"connect_to": address, **settings})) as client:
        with suppress(FetchError):
            await robots.ask(client, "http://a.test/x", at_once)
    return await allowed(robots, "http://a.test/x")


async def asked_at(site: SmallSite, **settings: object) -> bool | None:
    return await asked(f"127.0.0.1:{site.port}", **settings)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
async def test_a_file_is_read_as_the_rfc_says(case: Case) -> None:
    robots = known(case.file)
    expected = dict.fromkeys(case.allowed.split(), True) | dict.fromkeys(case.refused.split(), False)
    found = {path: await allowed(robots, f"http://a.test{path}") for path in expected}
    assert expected
    assert (found == expected) is (case.name not in INTENDED), found


def test_every_intended_difference_is_a_case_and_no_name_is_used_twice() -> None:
    names = [case.name for case in CASES]
    assert len(names) == len(set(names))
    assert INTENDED.keys() <= set(names)


# ---- how the file is had ----


async def test_2_3_1_1_a_file_that_is_had_is_obeyed(site: SmallSite) -> None:
    site.robots("a.test", ALL + "Disallow: /x")
    assert await asked_at(site) is False


@pytest.mark.parametrize("kind", ["text/html", "application/octet-stream", ""])
async def test_2_3_1_1_a_file_of_another_type_is_obeyed_too(site: SmallSite, kind: str) -> None:
    site.robots("a.test", ALL + "Disallow: /x")
    site.answers["a.test/robots.txt"][0].headers["Content-Type"] = kind
    assert await asked_at(site) is False


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_2_3_1_2_every_kind_of_redirect_is_followed(site: SmallSite, status: int) -> None:
    site.redirect("a.test/robots.txt", "a.test/moved")
    site.answers["a.test/robots.txt"][0].status = status
    site.page("a.test/moved", text=f"\n{ALL}Disallow: /x\n")
    assert await asked_at(site) is False


@pytest.mark.parametrize(
    ("hops", "expected"),
    [(1, False), (5, False), (6, True)],
    ids=["one", "five", "six: as if there were no file"],
)
async def test_2_3_1_2_five_redirects_are_followed_also_to_other_hosts(
    site: SmallSite, hops: int, expected: bool | None
) -> None:
    places = ["a.test/robots.txt", *(f"hop{number}.test/robots.txt" for number in range(1, hops + 1))]
    for place, following in pairwise(places):
        site.redirect(place, following)
    site.page(places[-1], text=f"\n{ALL}Disallow: /x\n")
    assert await asked_at(site) is expected


@pytest.mark.parametrize(("status", "expected"), [(404, True), (503, None)])
async def test_2_3_1_2_what_stands_behind_a_redirect_counts(
    site: SmallSite, status: int, expected: bool | None
) -> None:
    site.redirect("a.test/robots.txt", "b.test/robots.txt")
    site.error("b.test/robots.txt", status)
    assert await asked_at(site) is expected


@pytest.mark.parametrize("status", [400, 401, 403, 404, 410, 418, 451, 499])
async def test_2_3_1_3_without_a_file_all_is_allowed(site: SmallSite, status: int) -> None:
    site.robots("a.test", ALL + NOTHING, status)
    assert await asked_at(site) is True


async def test_2_3_1_3_intended_too_many_requests_is_no_permission(site: SmallSite) -> None:
    # The RFC counts 429 among the 4xx; a host that asks for less is better left alone for a while.
    site.robots("a.test", "", 429)
    assert await asked_at(site) is None


@pytest.mark.parametrize("status", [500, 501, 502, 503, 504, 599])
async def test_2_3_1_4_a_server_error_forbids_all(site: SmallSite, status: int) -> None:
    site.robots("a.test", ALL + "Allow: /", status)
    assert await asked_at(site) is None


async def test_2_3_1_4_no_connection_forbids_all() -> None:
    assert await asked("127.0.0.1:1") is None


async def test_2_3_1_4_no_answer_in_time_forbids_all(site: SmallSite) -> None:
    site.page("a.test/robots.txt", seconds=0.5)
    assert await asked_at(site, timeout_seconds=0.05) is None


async def test_2_3_1_4_an_answer_that_breaks_off_forbids_all(site: SmallSite) -> None:
    site.robots("a.test", ALL)
    site.answers["a.test/robots.txt"][0].headers["Content-Length"] = "1000"
    assert await asked_at(site, timeout_seconds=0.2) is None


# ---- how long and how much ----


@pytest.mark.parametrize(("seconds", "expected"), [(0, False), (DAY, False), (DAY + 1, None)])
async def test_2_4_a_file_is_kept_for_a_day_and_no_longer(seconds: float, expected: bool | None) -> None:
    clock = Clock()
    robots = known(ALL + "Disallow: /x", clock)
    clock.now += seconds
    assert await allowed(robots, "http://a.test/x") is expected


def long_file(size: int) -> bytes:
    rule = b"\nDisallow: /x\n"
    head = ALL.encode() + b"#"
    return head + b"-" * (size - len(head) - len(rule)) + rule


@pytest.mark.parametrize(
    ("size", "expected"),
    [(500 * 1024, False), (510 * 1024, True)],
    ids=["the last rule within", "the last rule beyond"],
)
async def test_2_5_the_first_500_kib_are_read(site: SmallSite, size: int, expected: bool | None) -> None:
    site.robots("a.test", long_file(size).decode())
    assert await asked_at(site) is expected


@pytest.mark.parametrize(
    ("size", "expected"),
    [
        (500 * 1024, False),
        (510 * 1024, True),
    ],
)
async def test_2_5_the_first_500_kib_of_a_compressed_file_are_read(size: int, expected: bool | None) -> None:
    loopback = Loopback()
    loopback.says(gzip.compress(long_file(size)), "Content-Encoding: gzip", kind="text/plain")
    async with await asyncio.start_server(loopback.serve, "127.0.0.1", 0) as server:
        loopback.port = server.sockets[0].getsockname()[1]
        assert await asked(loopback.address) is expected
