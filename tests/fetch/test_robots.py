"""robots.txt as RFC 9309 asks: what an answer allows, how long it holds, and how the file is had."""

from __future__ import annotations

import pytest

from tests.site import Answer, SmallSite
from tres_crawler.config import FetchSettings
from tres_crawler.errors import BadStatus, TimedOut, Unreachable
from tres_crawler.fetch.client import Client
from tres_crawler.fetch.robots import Access, Robots
from tres_crawler.records import RobotsAnswer

NOON = 1_700_000_000.0
DAY = 24 * 3600.0


class Clock:
    """Time that passes only when told to."""

    now = NOON

    def __call__(self) -> float:
        return self.now


def robots_with(body: str | bytes, status: int = 200) -> Robots:
    content = body.encode() if isinstance(body, str) else body
    return Robots(Clock(), [RobotsAnswer("http://a.test", NOON, status, content)])


async def ask(site: SmallSite, url: str, **settings: object) -> tuple[Robots, RobotsAnswer]:
    robots = Robots(Clock())
    where = {"connect_to": f"127.0.0.1:{site.port}", **settings}
    async with Client(FetchSettings.model_validate(where)) as client:
        return robots, await robots.ask(client, url)


# ---- what an answer means ----


def test_a_host_that_was_never_asked_may_not_be_fetched_from() -> None:
    assert Robots(Clock()).access("http://a.test/") is Access.UNKNOWN


@pytest.mark.parametrize("status", [400, 401, 403, 404, 410, 451])
def test_a_client_error_means_that_there_are_no_rules(status: int) -> None:
    assert robots_with("User-agent: *\nDisallow: /", status).access("http://a.test/x") is Access.ALLOWED


def test_rules_hold_for_a_day_and_then_must_be_asked_for_again() -> None:
    clock = Clock()
    robots = Robots(clock, [RobotsAnswer("http://a.test", NOON, 200, b"User-agent: *\nDisallow: /x")])
    clock.now = NOON + DAY
    assert robots.access("http://a.test/x") is Access.DISALLOWED
    clock.now = NOON + DAY + 1
    assert robots.access("http://a.test/x") is Access.UNKNOWN


def test_rules_hold_for_scheme_host_and_port_together() -> None:
    robots = robots_with("User-agent: *\nDisallow:")
    assert robots.access("http://a.test/x?y#z") is Access.ALLOWED
    for other in ("https://a.test/x", "http://a.test:8080/x", "http://www.a.test/x"):
        assert robots.access(other) is Access.UNKNOWN


# ---- what the file says ----


def test_a_group_of_our_own_is_obeyed_in_place_of_the_one_for_everybody() -> None:
    robots = robots_with(
        "User-agent: *\nDisallow: /\n\n"
        "User-agent: OtherBot\nUser-agent: TRES_Crawler\nDisallow: /ours\n\n"
        "User-agent: tres_crawler\nDisallow: /ours-too\n"
    )
    assert robots.access("http://a.test/free") is Access.ALLOWED
    assert robots.access("http://a.test/ours") is Access.DISALLOWED
    assert robots.access("http://a.test/ours-too") is Access.DISALLOWED


def test_the_longest_rule_that_fits_decides() -> None:
    robots = robots_with("User-agent: *\nDisallow: /shop\nAllow: /shop/open\nDisallow: /*.pdf$\n")
    assert robots.access("http://a.test/shop/closed") is Access.DISALLOWED
    assert robots.access("http://a.test/shop/open/1") is Access.ALLOWED
    assert robots.access("http://a.test/doc.pdf") is Access.DISALLOWED
    assert robots.access("http://a.test/doc.pdf?view") is Access.ALLOWED


@pytest.mark.parametrize("bom", [b"", b"\xef\xbb\xbf"])
def test_a_byte_order_mark_does_not_hide_the_first_group(bom: bytes) -> None:
    assert robots_with(bom + b"User-agent: *\r\nDisallow: /\r\n").access("http://a.test/") is Access.DISALLOWED


def test_bytes_that_are_no_text_do_not_hide_the_rules_around_them() -> None:
    assert robots_with(b"# \xff\xfe\nUser-agent: *\nDisallow: /x\n").access("http://a.test/x") is Access.DISALLOWED


def test_the_crawl_delay_of_our_group_is_found() -> None:
    robots = robots_with("User-agent: *\nCrawl-delay: 30\n\nUser-agent: tres_crawler\nCrawl-delay: 2.5\n")
    assert robots.delay_seconds("http://a.test/x") == 2.5
    assert robots_with("User-agent: *\nCrawl-delay: 30\n").delay_seconds("http://a.test/") == 30
    assert robots_with("User-agent: *\nDisallow: /x\n").delay_seconds("http://a.test/") == 0
    assert robots_with("User-agent: *\nCrawl-delay: inf\n").delay_seconds("http://a.test/") == 0
    assert robots.delay_seconds("http://never-asked.test/") == 0


# ---- how it is had ----


async def test_asking_fetches_and_keeps_the_file_of_the_urls_origin(site: SmallSite) -> None:
    site.robots("a.test", "User-agent: *\nDisallow: /x\n")
    robots, answer = await ask(site, "http://a.test/deep/page?q")
    assert answer == RobotsAnswer("http://a.test", NOON, 200, b"User-agent: *\nDisallow: /x\n")
    assert robots.access("http://a.test/x") is Access.DISALLOWED
    assert robots.access("http://a.test/y") is Access.ALLOWED


async def test_a_redirect_of_the_file_is_followed_to_another_host_and_its_rules_hold_for_the_first(
    site: SmallSite,
) -> None:
    for hop in range(1, 6):
        site.redirect("a.test/robots.txt" if hop == 1 else f"hop{hop - 1}.test/", f"hop{hop}.test/")
    site.page("hop5.test/", text="\nUser-agent: *\nDisallow: /x\n")
    robots, answer = await ask(site, "http://a.test/")
    assert (answer.origin, answer.status) == ("http://a.test", 200)
    assert robots.access("http://a.test/x") is Access.DISALLOWED
    assert robots.access("http://hop5.test/x") is Access.UNKNOWN


async def test_a_file_that_redirects_for_ever_is_taken_as_missing(site: SmallSite) -> None:
    site.redirect("a.test/robots.txt", "a.test/robots.txt")
    robots, _ = await ask(site, "http://a.test/")
    assert robots.access("http://a.test/x") is Access.ALLOWED
    assert len(site.asked) == 6


@pytest.mark.parametrize("status", [429, 500, 503])
async def test_a_host_in_trouble_says_for_how_long_its_file_cannot_be_had(site: SmallSite, status: int) -> None:
    site.answers["a.test/robots.txt"] = [Answer(status, headers={"Retry-After": "120"})]
    with pytest.raises(BadStatus) as trouble:
        await ask(site, "http://a.test/")
    assert (trouble.value.status, trouble.value.wait_seconds) == (status, 120.0)


async def test_the_file_of_a_host_that_answers_too_late_or_not_at_all_cannot_be_had(site: SmallSite) -> None:
    site.page("a.test/robots.txt", seconds=0.5)
    with pytest.raises(TimedOut):
        await ask(site, "http://a.test/", timeout_seconds=0.05)
    with pytest.raises(Unreachable):
        await ask(site, "http://a.test/", connect_to="127.0.0.1:1")


@pytest.mark.parametrize("max_body_bytes", [5_000_000, 1000])
async def test_the_first_500_kib_of_a_file_count_whatever_the_limit_for_pages(
    site: SmallSite, max_body_bytes: int
) -> None:
    early = "User-agent: *\nDisallow: /early\n"
    padding = "# nothing to see here\n" * (500 * 1024 // 22)
    site.robots("a.test", f"{early}{padding}Disallow: /late\n")
    robots, answer = await ask(site, "http://a.test/", max_body_bytes=max_body_bytes)
    assert answer.status == 200
    assert robots.access("http://a.test/early") is Access.DISALLOWED
    assert robots.access("http://a.test/late") is Access.ALLOWED
