"""What knows the truth, beside what the web says."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tres_crawler.experiments import oracles
from tres_crawler.experiments.cells import Cell
from tres_crawler.experiments.crawling import finished, served, started, topic_file, web_with
from tres_crawler.experiments.oracles import MOST_OUTLINKS, Oracle, TruthfulModel
from tres_crawler.records import Outlink, PageText
from tres_crawler.simweb import truth
from tres_crawler.simweb.model import Web
from tres_crawler.vectors import Floats

LOOKS = np.zeros(0, np.float32)


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


def test_the_oracle_puts_relevant_pages_first_then_pages_that_lead_to_them_and_nothing_twice(web: Web) -> None:
    oracle = Oracle(web, "games")
    number = web.topic_names.index("games")
    gate = web.url(web.gate(web.regions_of_topic[number][0], 0))
    urls = [web.seeds("health")[0], gate, web.seeds("games")[0], "http://nowhere.example/", web.seeds("games")[0]]
    scores = oracle.score(None, [Outlink(url, "") for url in urls], LOOKS)  # type: ignore[arg-type]  # any page will do
    health, to_games, games, nowhere, again = scores.tolist()
    assert games >= 1.0 > to_games
    assert 1.0 > health >= 0.0 > nowhere
    assert again == pytest.approx(games - 1.0)
    assert max(scores) < 1.0 + MOST_OUTLINKS


def test_cells_that_know_the_truth_are_run_by_the_experiments() -> None:
    plain = Cell(0, "games", "tres", 30, 1)
    assert not plain.knows_truth
    assert replace(plain, policy="oracle").knows_truth
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
