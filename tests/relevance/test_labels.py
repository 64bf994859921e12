"""What a person says of pages, in examples and by feedback, is learned and stands."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence

import numpy as np
import pytest
from sqlalchemy import select

from tests.conftest import MakeCrawl
from tests.relevance.food import QUICK, FoodWeb, check_whole, page_rows, told, topic, until
from tests.site import SmallSite
from tres_crawler import relevance as module
from tres_crawler.classify.apprentice import Job, train
from tres_crawler.classify.classifier import Judge
from tres_crawler.errors import NotFound
from tres_crawler.records import Judgement, PageText
from tres_crawler.relevance import Relevance
from tres_crawler.store.database import Database
from tres_crawler.store.judging import JudgedPage
from tres_crawler.store.tables import labels
from tres_crawler.vectors import Floats


async def test_examples_that_are_urls_are_fetched_first_and_labelled(
    site: SmallSite, web: FoodWeb, make_crawl: MakeCrawl, database: Database, jobs: list[Job]
) -> None:
    web.wide()
    named = topic(
        "a.test/", relevant_examples=("http://o3.test/",), irrelevant_examples=("http://f4.test/", "http://f5.test/")
    )
    crawl = await make_crawl(named, {"slots": 1}, relevance=QUICK, max_pages=80)
    summary = await crawl.run()
    assert set(site.paths()[:4]) == {"a.test/", "o3.test/", "f4.test/", "f5.test/"}
    rows = await page_rows(database)
    said = {row.page: row.relevant for row in await database.rows(select(labels))}
    assert said == {rows["o3.test/"].number: True, rows["f4.test/"].number: False, rows["f5.test/"].number: False}
    labelled = [example for example in jobs[0].examples if example.is_label]
    assert Counter(example.relevant for example in labelled) == {True: 1, False: 2}
    assert all(example.weight == 5.0 for example in labelled)
    assert [rows[f"{name}.test/"].relevant for name in ("o3", "f4", "f5")] == [True, False, False]
    await check_whole(database, crawl, summary)


async def test_feedback_retrains_while_the_crawl_goes_on_and_a_persons_word_stands(
    site: SmallSite, web: FoodWeb, make_crawl: MakeCrawl, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    web.wide()
    may_go_on = asyncio.Event()
    jobs: list[Job] = []

    async def beside(job: Job, is_awaited: bool = False) -> bytes:
        jobs.append(job)
        if len(jobs) > 1:
            await may_go_on.wait()
        return await asyncio.to_thread(train, job)

    monkeypatch.setattr(module, "train_beside", beside)
    for place in site.answers:
        site.answers[place][0].seconds = 0.05
    crawl = await make_crawl(topic("a.test/"), {"slots": 2}, relevance=QUICK, max_pages=80)
    running = asyncio.create_task(crawl.run())
    await until(lambda: crawl._relevance.judge.version == 2 and crawl.summary().pages > 24)
    for number in (2, 3):
        await crawl.feedback(number, relevant=False)
    await until(lambda: len(jobs) == 2)
    at_training = crawl.summary().pages
    await until(lambda: crawl.summary().pages >= at_training + 10)
    await crawl.feedback(4, relevant=False)
    crawl.pause()  # lest it is over before it has learned
    may_go_on.set()
    await until(lambda: crawl._relevance.judge.version == 4 and crawl._lessons.under_way is None)
    crawl.unpause()
    summary = await running
    learned = [sum(example.is_label for example in job.examples) for job in jobs]
    assert learned in ([0, 1, 3], [0, 2, 3]), "what is said while a judge is trained is learned by the next"
    await check_whole(database, crawl, summary)
    rows = {row.number: row for row in (await page_rows(database)).values()}
    assert [rows[number].relevant for number in (2, 3, 4)] == [False, False, False]
    assert [event["version"] for event in await told(database, "judge")] == [2, 3, 4]


@pytest.mark.parametrize("held", [0.9, 0.1])
async def test_a_persons_word_stands_against_a_judge_that_holds_the_contrary(held: float) -> None:
    class Stubborn:
        kind, threshold = "stubborn", 0.5

        def pages(self, pages: Sequence[PageText]) -> Floats:
            return np.full(len(pages), held, dtype=np.float32)

        anchors = pages

    def page(label: bool | None) -> JudgedPage:
        return JudgedPage(1, "http://a.test/", "a.test", 1, "", PageText("", "", "x"), Judgement(0.5, True, 1), label)

    judge = Judge(Stubborn(), 7)  # type: ignore[arg-type]  # judges pages only
    judged = await Relevance.rejudge(judge, [page(True), page(False), page(None)])
    judge.close()
    assert [new.relevant for _, new in judged] == [True, False, held > 0.5]
    assert {(round(new.probability, 2), new.version) for _, new in judged} == {(held, 7)}, "what the judge held is told"


async def test_feedback_for_a_page_that_is_unknown_or_was_not_judged_is_refused(
    site: SmallSite, web: FoodWeb, make_crawl: MakeCrawl, database: Database
) -> None:
    web.page("a.test/", True, ["b.test/"])
    crawl = await make_crawl(topic("a.test/"))
    await crawl.run()
    with pytest.raises(NotFound, match=f"Crawl {crawl.id} has no page 99"):
        await crawl.feedback(99, relevant=True)
    with pytest.raises(NotFound, match=r"Page 2 .* was not judged \(failed\)"):
        await crawl.feedback(2, relevant=True)
    assert await database.rows(select(labels)) == []
