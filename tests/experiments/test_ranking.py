"""Scores of waiting links are judged by where the links lead."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np

from tres_crawler.experiments.afterwards import KnownLinks
from tres_crawler.experiments.focused import telling_apart
from tres_crawler.experiments.plan import Plan
from tres_crawler.experiments.ranking import BEST, best_of, ranking, true_shares
from tres_crawler.simweb.describe import split
from tres_crawler.simweb.model import Web
from tres_crawler.simweb.params import family

COLUMNS = ("anchor_probability", "site_share", "word_probability")


def links_of(web: Web, topic: str) -> KnownLinks:
    """Three pages of each of a thousand sites; the learner knows the truth, words are noise, all are placed alike."""
    chosen = [web.page(site, at) for site in web.sites[:1000] for at in range(min(3, site.size))]
    urls = [web.url(page) for page in chosen]
    true = np.array([web.topic_of(*split(url)) == topic for url in urls], np.float32)
    noise = np.random.default_rng(1).random((len(urls), 3), np.float32)
    noise[:, 1] = true
    return KnownLinks(
        urls=urls,
        waiting=np.arange(len(urls)) > 0,
        sites=np.array([page.site for page in chosen]),
        promises=-true,
        columns=COLUMNS,
        features=noise,
        values=true,
    )


def test_the_best_links_of_a_good_score_lead_to_relevant_pages() -> None:
    web = Web(family("tune", 0))
    known = links_of(web, "games")
    found = ranking(known, web, "games")
    assert found["waiting"] == len(known.urls) - 1
    assert found["relevant"] == known.values[1:].sum() > BEST[0], "else this says nothing"
    best = found["best"]
    assert best["value"][0] == best["site_share"][0] == 1.0
    assert best["promise"][0] == 0.0
    assert best["word_probability"][0] < 0.7
    assert best["value there"][0] > 0.8
    assert best["taught"][0] > 0.8, "one feature tells the truth, of sites that it was not taught on too"


def test_nothing_is_told_of_a_crawl_that_has_left_no_link() -> None:
    web = Web(family("tune", 0))
    known = links_of(web, "games")
    assert ranking(replace(known, waiting=np.zeros(len(known.urls), bool)), web, "games") == {}


async def test_a_crawl_that_was_kept_without_a_ranking_is_left_out(tmp_path: Path) -> None:
    plan = Plan(lambda _: None, pages=30, seeds=1, keep=tmp_path)
    first, second = plan.cells()
    told = {"ranking": {"waiting": 9, "relevant": 3, "best": {"value": [0.5, 0.4, 0.3]}}}
    summary = {"topic": "games", "harvest": 0.1, "relevant_sites": 1}
    for cell, more in ((first, told), (second, {})):
        (tmp_path / f"{cell.name}.json").write_text(json.dumps({"figures": {**summary, **more}}))
    report = await telling_apart(plan)
    assert [(row["score"], row["best_50"]) for row in report.rows] == [("value", "50.0")]
    assert report.settings["waiting"] == "9"


def test_shares_of_the_best_count_from_the_top() -> None:
    score = np.arange(1000.0)
    assert best_of(score, score >= 900) == [1.0, 0.5, 0.2]
    assert best_of(-score, score >= 900) == [0.0, 0.0, 0.0]


def test_the_true_share_of_a_site_is_that_of_all_its_links() -> None:
    true = np.array([True, False, False, True])
    assert true_shares(true, np.array([3, 3, 1, 7])).tolist() == [0.5, 0.5, 0.0, 1.0]
