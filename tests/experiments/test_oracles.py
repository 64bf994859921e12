"""What knows the truth, beside what the web says."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path

import numpy as np
import pytest

from tres_crawler.experiments import oracles
from tres_crawler.experiments.cells import Cell
from tres_crawler.experiments.crawling import finished, served, started, topic_file, web_with
from tres_crawler.experiments.oracles import FallingFrontier, Oracle, TopicOracle, TruthfulModel
from tres_crawler.records import Offer, Outlink, PageText
from tres_crawler.simweb import truth
from tres_crawler.simweb.describe import resolve, split
from tres_crawler.simweb.links import links_of
from tres_crawler.simweb.model import Form, Page, Web
from tres_crawler.vectors import Floats


@pytest.fixture(scope="module")
def web() -> Web:
    return web_with("tune", 0, "games", 100)


class Halves:
    kind, threshold = "halves", 0.3

    def pages(self, pages: Sequence[PageText]) -> Floats:
        raise AssertionError("the truth needs no second opinion")

    def anchors(self, anchors: Sequence[str]) -> Floats:
        return np.full(len(anchors), 0.5, np.float32)


def test_a_truthful_judge_goes_by_the_address_and_leaves_anchors_to_the_other(web: Web) -> None:
    model = TruthfulModel(web, "games", Halves())
    urls = [web.seeds("games")[0], web.seeds("health")[0], "http://nowhere.example/"]
    # Words that lie about every page.
    pages = [PageText("chess", "", "a game of chess for players", url) for url in urls]
    assert model.pages(pages).tolist() == [1.0, 0.0, 0.0]
    assert model.anchors(["chess", "soup"]).tolist() == [0.5, 0.5]


def worths(oracle: Oracle, urls: Sequence[str]) -> list[float]:
    pages = oracle.describe([Outlink(url, "") for url in urls])
    return [oracle.worth(int(site), int(number)) for site, number in pages]


@pytest.fixture(scope="module")
def hub(web: Web) -> Page:
    """A page of another topic that names some of this one."""
    number = web.topic_names.index("games")
    pages = (web.page(site, 0) for site in web.sites)
    return next(
        page for page in pages if web.truth(page) != number and worths(Oracle(web, "games"), [web.url(page)])[0] > 0.02
    )


def test_the_oracle_puts_relevant_pages_first_then_pages_that_lead_to_them(web: Web, hub: Page) -> None:
    urls = [web.url(hub), web.seeds("games")[0], "http://nowhere.example/"]
    to_games, games, nowhere = worths(Oracle(web, "games"), urls)
    assert 2.0 > games >= 1.0 > to_games > 0.0 > nowhere


def test_what_the_oracle_has_is_worth_nothing_and_what_is_named_already_no_more_than_that(web: Web, hub: Page) -> None:
    oracle = Oracle(web, "games")
    frontier = FallingFrontier(oracle)
    seed = web.seeds("games")[0]

    def placed(link: int, url: str) -> Offer:
        return Offer(link, link, features=oracle.describe([Outlink(url, "")])[0])

    frontier.place([placed(1, seed), placed(2, seed), placed(3, web.url(hub))])
    order = []
    for _ in range(2):
        (best,) = frontier.offer()
        order.append(best.link)
        frontier.take(best)
    assert order == [1, 3], "the same page again is worth less than what leads to others"
    frontier.place([placed(4, web.url(hub))])
    assert frontier.offer()[0].value == 0.0
    other = Oracle(web, "games")
    waiting = FallingFrontier(other)
    waiting.place([Offer(1, 1, features=other.describe([Outlink(web.url(hub), "")])[0])])
    other.describe([Outlink(link.url, "") for link in links_of(web, hub)])
    assert waiting.offer()[0].value == 0.0, "all that it names is known by now"


def test_who_knows_only_topics_takes_dead_ends_for_what_they_seem(web: Web) -> None:
    number = web.topic_names.index("games")
    about = [page for page in web.all_pages() if page.subject == number]

    def some(form: Form, broken: bool = False) -> Page:
        return next(page for page in about if page.form is form and web.is_broken(page) is broken and page.number)

    sound = some(Form.ARTICLE)
    dead_ends = [some(Form.THIN), some(Form.COPY), some(Form.ARTICLE, broken=True)]
    told = [some(Form.FOREIGN), some(Form.STUFFED)]
    urls = [web.url(page) for page in (sound, *dead_ends, *told)]
    seeing, seeming = worths(Oracle(web, "games"), urls), worths(TopicOracle(web, "games"), urls)
    assert seeming[:4] == [1.0] * 4
    assert seeing[0] >= 1.0 > max(seeing[1], seeing[3])
    assert max(seeming[4:]) < 1.0


def test_who_knows_only_topics_goes_by_what_a_link_to_nowhere_promises(web: Web) -> None:
    number = web.topic_names.index("games")
    dead = [
        (web.url(page), link)
        for page in islice(web.all_pages(), 3000)
        for link in links_of(web, page)
        if not link.navigation and resolve(web, *split(link.url))[0] == "dead"
    ]

    def worth(kind: type[Oracle], source: str, url: str) -> float:
        oracle = kind(web, "games")
        return oracle.worth(*map(int, oracle.describe([Outlink(url, "")], source)[0]))

    on_topic = next((source, link.url) for source, link in dead if link.promise == number)
    others = next((source, link.url) for source, link in dead if link.promise != number)
    assert [worth(kind, *on_topic) for kind in (TopicOracle, Oracle)] == [1.0, -1.0]
    assert worth(TopicOracle, *others) == -1.0


def test_a_page_that_may_not_be_asked_for_is_nowhere_to_both(web: Web) -> None:
    number = web.topic_names.index("games")
    source, target = next(
        (page, other)
        for page in web.all_pages()
        for link in links_of(web, page)
        if link.promise == number and (other := web.find(*split(link.url))) and web.is_forbidden(other)
    )
    for kind in (Oracle, TopicOracle):
        oracle = kind(web, "games")
        row = oracle.describe([Outlink(web.url(target), "")], web.url(source))[0]
        assert oracle.worth(*map(int, row)) == -1.0


def test_cells_that_know_the_truth_are_run_by_the_experiments() -> None:
    plain = Cell(0, "games", "tres", 30, 1)
    assert not plain.knows_truth
    assert all(replace(plain, policy=policy).knows_truth for policy in oracles.ORACLES)
    assert replace(plain, judge="true").knows_truth


async def test_an_oracle_crawl_fetches_relevant_pages_and_little_else(web: Web, tmp_path: Path) -> None:
    log = tmp_path / "requests.jsonl"
    async with served(web.params, tmp_path, log) as address:
        command = [
            str(topic_file(web, "games", 1, tmp_path)),
            "--connect-to",
            address,
            "--data-dir",
            str(tmp_path / "d"),
        ]
        command += ["--pages", "30", "--seed", "1", "--policy", "oracle", "--family", "tune", "--web", "0"]
        cheap = (("fetch.slots", "4"), ("relevance.model", "prior"))
        summary = await finished(await started([*command, "--true-judge"], cheap, oracles.MODULE), "an oracle")
    assert (summary["pages"], summary["stop_reason"]) == (30, "budget")
    judged = truth.judge(web, truth.read_log(log)[1], "games")
    assert judged.harvest_rate > 0.8
    assert summary["relevant_pages"] == judged.relevant_pages, "the judge agrees with the server"
