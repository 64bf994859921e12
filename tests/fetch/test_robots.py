"""robots.txt as RFC 9309 asks: what an answer allows, how long it holds, and how the file is had."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, nullcontext

import pytest

from tests.site import Answer, SmallSite
from tres_crawler.config import FetchSettings
from tres_crawler.errors import BadStatus, TimedOut, Unreachable
from tres_crawler.fetch.client import Client
from tres_crawler.fetch.robots import MOST_PARSED_BYTES, Robots
from tres_crawler.records import RobotsAnswer

NOON = 1_700_000_000.0
DAY = 24 * 3600.0


class Clock:
    """Time that passes only when told to."""

    now = NOON

    def __call__(self) -> float:
        return self.now


class Shelf:
    """Where answers are stored; notes which were looked for."""

    def __init__(self, *answers: RobotsAnswer) -> None:
        self.answers = {answer.origin: answer for answer in answers}
        self.looked_for: list[str] = []

    async def __call__(self, origin: str) -> RobotsAnswer | None:
        self.looked_for.append(origin)
        return self.answers.get(origin)


def robots_with(body: str | bytes, status: int = 200, clock: Clock | None = None) -> Robots:
    content = body.encode() if isinstance(body, str) else body
    return Robots(clock or Clock(), Shelf(RobotsAnswer("http://a.test", NOON, status, content)))


def at_once(_url: str) -> nullcontext[None]:
    """Every host is free."""
    return nullcontext()


async def allowed(robots: Robots, url: str) -> bool | None:
    """What is known of a URL without asking; None: nothing."""
    rules = await robots.rules(url)
    return rules.allow(url) if rules else None


async def delay_seconds(robots: Robots) -> float:
    rules = await robots.rules("http://a.test/")
    assert rules is not None
    return rules.delay_seconds


async def ask(site: SmallSite, url: str, **settings: object) -> tuple[Robots, RobotsAnswer]:
    robots = Robots(Clock())
    where = {"connect_to": f"127.0.0.1:{site.port}", **settings}
    async with Client(FetchSettings.model_validate(where)) as client:
        return robots, (await robots.ask(client, url, at_once)).answer


# ---- what an answer means ----


async def test_a_host_that_was_never_asked_may_not_be_fetched_from() -> None:
    assert await allowed(Robots(Clock()), "http://a.test/") is None


@pytest.mark.parametrize("status", [400, 401, 403, 404, 410, 451])
async def test_a_client_error_means_that_there_are_no_rules(status: int) -> None:
    assert await allowed(robots_with("User-agent: *\nDisallow: /", status), "http://a.test/x") is True


async def test_rules_hold_for_a_day_and_then_must_be_asked_for_again() -> None:
    clock = Clock()
    robots = robots_with("User-agent: *\nDisallow: /x", clock=clock)
    clock.now = NOON + DAY
    assert await allowed(robots, "http://a.test/x") is False
    clock.now = NOON + DAY + 1
    assert await allowed(robots, "http://a.test/x") is None


async def test_rules_from_the_future_do_not_hold_since_nobody_knows_how_old_they_are() -> None:
    clock = Clock()
    robots = robots_with("User-agent: *\nDisallow: /x", clock=clock)
    assert await allowed(robots, "http://a.test/x") is False
    clock.now = NOON - 1
    assert await allowed(robots, "http://a.test/x") is None


async def test_rules_hold_for_scheme_host_and_port_together() -> None:
    robots = robots_with("User-agent: *\nDisallow:")
    assert await allowed(robots, "http://a.test/x?y#z") is True
    for other in ("https://a.test/x", "http://a.test:8080/x", "http://www.a.test/x"):
        assert await allowed(robots, other) is None


# ---- what the file says ----


async def test_a_group_of_our_own_is_obeyed_in_place_of_the_one_for_everybody() -> None:
    robots = robots_with(
        "User-agent: *\nDisallow: /\n\n"
        "User-agent: OtherBot\nUser-agent: TRES_Crawler\nDisallow: /ours\n\n"
        "User-agent: tres_crawler\nDisallow: /ours-too\n"
    )
    assert await allowed(robots, "http://a.test/free") is True
    assert await allowed(robots, "http://a.test/ours") is False
    assert await allowed(robots, "http://a.test/ours-too") is False


async def test_the_longest_rule_that_fits_decides() -> None:
    robots = robots_with("User-agent: *\nDisallow: /shop\nAllow: /shop/open\nDisallow: /*.pdf$\n")
    assert await allowed(robots, "http://a.test/shop/closed") is False
    assert await allowed(robots, "http://a.test/shop/open/1") is True
    assert await allowed(robots, "http://a.test/doc.pdf") is False
    assert await allowed(robots, "http://a.test/doc.pdf?view") is True


@pytest.mark.parametrize("bom", [b"", b"\xef\xbb\xbf"])
async def test_a_byte_order_mark_does_not_hide_the_first_group(bom: bytes) -> None:
    assert await allowed(robots_with(bom + b"User-agent: *\r\nDisallow: /\r\n"), "http://a.test/") is False


async def test_bytes_that_are_no_text_do_not_hide_the_rules_around_them() -> None:
    assert await allowed(robots_with(b"# \xff\xfe\nUser-agent: *\nDisallow: /x\n"), "http://a.test/x") is False


async def test_the_crawl_delay_of_our_group_is_found() -> None:
    robots = robots_with("User-agent: *\nCrawl-delay: 30\n\nUser-agent: tres_crawler\nCrawl-delay: 2.5\n")
    assert await delay_seconds(robots) == 2.5
    assert await delay_seconds(robots_with("User-agent: *\nCrawl-delay: 30\n")) == 30
    assert await delay_seconds(robots_with("User-agent: *\nDisallow: /x\n")) == 0
    assert await delay_seconds(robots_with("User-agent: *\nCrawl-delay: inf\n")) == 0


# ---- what is kept in memory ----


def long_answers(count: int) -> list[RobotsAnswer]:
    """A few of them fill the memory that rules may take."""
    body = b"User-agent: *\nDisallow: /x\n#".ljust(MOST_PARSED_BYTES // 4, b"-")
    return [RobotsAnswer(f"http://h{number}.test", NOON, 200, body) for number in range(count)]


async def test_rules_that_were_not_used_for_long_make_room_and_are_read_again_from_where_they_are_stored() -> None:
    shelf = Shelf(*long_answers(6))
    robots = Robots(Clock(), shelf)
    for number in (0, 1, 2, 3, 0, 4, 5, 0, 5, 1):
        assert await allowed(robots, f"http://h{number}.test/x") is False
    assert shelf.looked_for == [f"http://h{number}.test" for number in (0, 1, 2, 3, 4, 5, 1)]


async def test_hosts_without_a_file_take_room_too() -> None:
    shelf = Shelf(*(RobotsAnswer(f"http://h{number}.test", NOON, 404, b"") for number in range(5000)))
    robots = Robots(Clock(), shelf)
    for origin in shelf.answers:
        assert await allowed(robots, f"{origin}/x") is True
    assert await allowed(robots, "http://h0.test/x") is True
    assert shelf.looked_for.count("http://h0.test") == 2


async def test_rules_that_are_nowhere_stored_must_be_asked_for_again_once_they_have_made_room(
    site: SmallSite,
) -> None:
    padding = "-" * (450 * 1024)
    robots = Robots(Clock())
    async with Client(FetchSettings(connect_to=f"127.0.0.1:{site.port}")) as client:
        for number in range(10):
            site.robots(f"h{number}.test", f"User-agent: *\nDisallow: /x\n#{padding}")
            await robots.ask(client, f"http://h{number}.test/", at_once)
    assert await allowed(robots, "http://h0.test/x") is None
    assert await allowed(robots, "http://h9.test/x") is False


# ---- how it is had ----


async def test_asking_fetches_and_keeps_the_file_of_the_urls_origin(site: SmallSite) -> None:
    site.robots("a.test", "User-agent: *\nDisallow: /x\n")
    robots, answer = await ask(site, "http://a.test/deep/page?q")
    assert answer == RobotsAnswer("http://a.test", NOON, 200, b"User-agent: *\nDisallow: /x\n")
    assert await allowed(robots, "http://a.test/x") is False
    assert await allowed(robots, "http://a.test/y") is True


async def test_a_redirect_of_the_file_is_followed_to_another_host_and_its_rules_hold_for_the_first(
    site: SmallSite,
) -> None:
    for hop in range(1, 6):
        site.redirect("a.test/robots.txt" if hop == 1 else f"hop{hop - 1}.test/", f"hop{hop}.test/")
    site.page("hop5.test/", text="\nUser-agent: *\nDisallow: /x\n")
    robots, answer = await ask(site, "http://a.test/")
    assert (answer.origin, answer.status) == ("http://a.test", 200)
    assert await allowed(robots, "http://a.test/x") is False
    assert await allowed(robots, "http://hop5.test/x") is None


async def test_a_file_that_many_are_sent_to_is_asked_for_once(site: SmallSite) -> None:
    for name in ("a.test", "b.test"):
        site.redirect(f"{name}/robots.txt", "files.test/robots.txt")
    site.robots("files.test", "User-agent: *\nDisallow: /x\n")
    robots = Robots(Clock())
    async with Client(FetchSettings(connect_to=f"127.0.0.1:{site.port}")) as client:
        for name in ("a.test", "b.test"):
            await robots.ask(client, f"http://{name}/", at_once)
            assert await allowed(robots, f"http://{name}/x") is False
    assert [one.host for one in site.asked] == ["a.test", "files.test", "b.test"]
    assert await allowed(robots, "http://files.test/x") is False


async def test_a_file_that_redirects_for_ever_is_taken_as_missing(site: SmallSite) -> None:
    site.redirect("a.test/robots.txt", "a.test/robots.txt")
    robots, _ = await ask(site, "http://a.test/")
    assert await allowed(robots, "http://a.test/x") is True
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
    assert await allowed(robots, "http://a.test/early") is False
    assert await allowed(robots, "http://a.test/late") is True


async def test_who_waits_for_a_robots_txt_whose_asker_leaves_on_the_way_asks_for_it(site: SmallSite) -> None:
    site.redirect("a.test/robots.txt", "b.test/robots.txt")
    site.robots("b.test", "User-agent: *\nDisallow: /x")
    between, may_go_on = asyncio.Event(), asyncio.Event()

    @asynccontextmanager
    async def slowly(url: str) -> AsyncIterator[None]:
        """A name that takes long to be looked up."""
        if "b.test" in url:
            between.set()
            await may_go_on.wait()
        yield

    robots, settings = Robots(Clock()), FetchSettings(connect_to=f"127.0.0.1:{site.port}")
    async with Client(settings) as second:
        async with Client(settings) as first:
            leaving = asyncio.create_task(robots.ask(first, "http://a.test/", slowly))
            await between.wait()
            waiting = asyncio.create_task(robots.ask(second, "http://a.test/", at_once))
            await asyncio.sleep(0)
            leaving.cancel()
        may_go_on.set()
        assert not (await waiting).allow("http://a.test/x")
