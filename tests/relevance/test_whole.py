"""Pages and judges fit together in the database at any moment, and odd pages do no harm."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from sqlalchemy import select

from tests.conftest import MakeCrawl
from tests.relevance.food import QUICK, FoodWeb, check_whole, page_rows, told, topic, until
from tests.site import Answer, SmallSite
from tres_crawler import relevance as module
from tres_crawler.classify.apprentice import Job
from tres_crawler.classify.classifier import Judge
from tres_crawler.crawl import Crawl
from tres_crawler.records import StopReason
from tres_crawler.relevance import Rejudged, Relevance
from tres_crawler.store.database import Database
from tres_crawler.store.judging import INSERT_SNAPSHOT, KIND, JudgedPage
from tres_crawler.store.tables import pages, snapshots


async def test_no_page_is_saved_with_a_version_before_that_version_is(
    site: SmallSite,
    web: FoodWeb,
    make_crawl: MakeCrawl,
    database: Database,
    jobs: list[Job],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    web.wide()
    for place in site.answers:
        site.answers[place][0].seconds = 0.1
    crawl = await make_crawl(topic("a.test/"), {"slots": 3}, relevance=QUICK, max_pages=80)
    judge_all = Judge.judge_all
    looked: list[tuple[set[int], set[int]]] = []

    async def slowly(self: Judge, texts: Any) -> Any:
        """While stored pages are judged again, the crawl saves new ones."""
        if (
            crawl._relevance.judge.version >= 2
            and not looked
            and crawl._lessons.under_way
            and not crawl.is_learning_topic
        ):
            crawl.unpause()
            saved = crawl.summary().pages
            await until(lambda: crawl.summary().pages >= saved + 6)
            await database.write()
            of_pages = {row.judge_version for row in await database.rows(select(pages.c.judge_version)) if row[0]}
            of_judges = {
                row.version for row in await database.rows(select(snapshots.c.version).where(snapshots.c.kind == KIND))
            }
            looked.append((of_pages, of_judges | {1}))
        return await judge_all(self, texts)

    monkeypatch.setattr(Judge, "judge_all", slowly)
    running = asyncio.create_task(crawl.run())
    await until(lambda: crawl._relevance.judge.version == 2 and crawl.summary().pages > 22)
    crawl.pause()  # lest it is over before it has learned
    await crawl.feedback(2, relevant=True)
    summary = await running
    ((of_pages, of_judges),) = looked
    assert of_pages <= of_judges
    await check_whole(database, crawl, summary)
    assert (await told(database, "judge"))[-1]["version"] == 3


@pytest.mark.parametrize("moment", ["training", "judging again", "saving"])
async def test_a_crawl_that_is_left_while_its_judge_is_made_goes_on_whole(
    site: SmallSite,
    web: FoodWeb,
    make_crawl: MakeCrawl,
    database: Database,
    jobs: list[Job],
    monkeypatch: pytest.MonkeyPatch,
    moment: str,
) -> None:
    web.wide()
    crawl = await make_crawl(topic("a.test/"), {"slots": 3}, relevance=QUICK, max_pages=80)
    queue = database.queue

    async def left_in_training(job: Job, is_awaited: bool = False) -> bytes:
        crawl.suspend()
        await asyncio.Event().wait()
        raise AssertionError

    async def left_in_judging(judge: Judge, found: Sequence[JudgedPage]) -> list[Rejudged]:
        crawl.suspend()
        await asyncio.Event().wait()
        raise AssertionError

    def left_in_saving(changes: Any) -> asyncio.Future[None]:
        committed = queue(changes)
        if any(change.statement is INSERT_SNAPSHOT for change in changes):
            crawl.suspend()
            asyncio.get_running_loop().call_soon(crawl._lessons.cancel)
        return committed

    with monkeypatch.context() as patch:
        if moment == "training":
            patch.setattr(module, "train_beside", left_in_training)
        elif moment == "judging again":
            patch.setattr(Relevance, "rejudge", staticmethod(left_in_judging))
        else:
            patch.setattr(database, "queue", left_in_saving)
        left = await crawl.run()
    assert left.pages == 20
    assert left.stop_reason is None
    await check_whole(database, crawl, left)
    resumed = await Crawl.load(database, crawl.id)
    assert replace(resumed.summary(), seconds=0, pages_per_second=0) == replace(left, seconds=0, pages_per_second=0)
    summary = await resumed.run()
    assert (summary.pages, summary.stop_reason) == (80, StopReason.BUDGET)
    await check_whole(database, resumed, summary)
    assert [event["version"] for event in await told(database, "judge")] == [2]
    assert len(set(site.paths())) == len(site.paths()) == 80


async def test_odd_pages_have_a_clear_outcome(
    site: SmallSite, web: FoodWeb, make_crawl: MakeCrawl, database: Database, jobs: list[Job]
) -> None:
    web.wide()
    odd = ("f-empty.test/", "f-german.test/", "f-endless.test/", "f-huge.test/", "f-signs.test/")
    web.page("a.test/", True, [*odd, *site.answers])
    german = "Die Suppe wird langsam gekocht und mit frischem Brot serviert, dazu passt ein kleiner Salat. " * 5
    site.answers["f-empty.test/"] = [Answer(200, "<title></title>")]
    site.answers["f-german.test/"] = [Answer(200, f"<title>Suppe</title><p lang=de>{german}</p>")]
    site.answers["f-endless.test/"] = [Answer(200, f"<p>{'a soup and a bread ' * 240_000}</p>")]
    site.answers["f-huge.test/"] = [Answer(200, "<p>" + "soup " * 2_000_000)]
    site.answers["f-signs.test/"] = [Answer(200, "<p>?!… ### 😀</p>")]
    crawl = await make_crawl(topic("a.test/"), relevance=QUICK, max_pages=90)
    summary = await crawl.run()
    assert (summary.pages, summary.stop_reason) == (90, StopReason.BUDGET)
    rows = await page_rows(database)
    outcome = {url: (row.outcome, row.relevant) for url, row in rows.items() if url in odd}
    assert outcome == {
        "f-empty.test/": ("empty", False),
        "f-german.test/": ("judged", False),
        "f-endless.test/": ("judged", outcome["f-endless.test/"][1]),
        "f-huge.test/": ("failed", False),
        "f-signs.test/": ("judged", False),
    }
    await check_whole(database, crawl, summary)
