"""The judge of a crawl through its versions: on the small web, with real training, real rows and real requests."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest
from sqlalchemy import select

from tests.conftest import MakeCrawl
from tests.relevance.food import QUICK, FoodWeb, check_whole, page_rows, told, topic, until
from tests.site import SmallSite
from tres_crawler import lessons
from tres_crawler import relevance as module
from tres_crawler.classify.apprentice import Job, train
from tres_crawler.crawl import Crawl
from tres_crawler.errors import ControlError, ModelError, NotFound
from tres_crawler.records import StopReason
from tres_crawler.relevance import Relevance, rejudge_at_rest
from tres_crawler.store import crawls
from tres_crawler.store.database import Database
from tres_crawler.store.tables import judgements, pages


async def test_the_most_promising_pages_are_fetched_first_and_no_more_before_the_judge_is_trained(
    site: SmallSite, web: FoodWeb, make_crawl: MakeCrawl, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    web.wide()
    fetched: list[list[str]] = []

    async def beside(job: Job, is_awaited: bool = False) -> bytes:
        fetched.append(site.paths())
        await asyncio.sleep(0.1)
        fetched.append(site.paths())
        return await asyncio.to_thread(train, job)

    monkeypatch.setattr(module, "train_beside", beside)
    crawl = await make_crawl(topic("a.test/"), {"slots": 4}, relevance=QUICK, max_pages=80, policy="breadth-first")
    summary = await crawl.run()
    assert (summary.pages, summary.stop_reason) == (80, StopReason.BUDGET)
    before, meanwhile = fetched
    assert len(before) == len(meanwhile) == 20, "nothing is fetched while the first judge is trained"
    assert all(place[0] == "f" for place in before[1:])
    after = site.paths()[20:]
    assert {place[0] for place in after} == {"f", "o"}, "then the policy offers by itself"
    assert set(after[:8]) <= {f"o{at}.test/" for at in range(12)}, "breadth-first: the oldest links"


async def test_a_new_judge_judges_what_is_stored_again_and_both_versions_are_kept(
    site: SmallSite, web: FoodWeb, make_crawl: MakeCrawl, database: Database, jobs: list[Job]
) -> None:
    web.wide(food=14, others=70)
    crawl = await make_crawl(topic("a.test/"), {"slots": 4}, relevance=QUICK, max_pages=60 + 20)
    summary = await crawl.run()
    await check_whole(database, crawl, summary)
    (event,) = await told(database, "judge")
    assert (event["version"], event["model"], event["is_agreement"]) == (2, "svm", True)
    assert event["labels"] == 0
    kept = await database.rows(select(judgements).order_by(judgements.c.page))
    assert {row.version for row in kept} == {1}
    assert len(kept) == 20
    rows = await page_rows(database)
    right = [row.relevant == (url[0] in "fa") for url, row in rows.items()]
    assert sum(right) / len(right) > 0.85
    assert jobs[0].seed == 1


async def test_a_network_is_trained_beside_the_crawl(
    site: SmallSite, web: FoodWeb, make_crawl: MakeCrawl, database: Database
) -> None:
    web.wide(food=14, others=70)
    crawl = await make_crawl(
        topic("a.test/"), {"slots": 4}, relevance={"model": "bilstm", "bootstrap_pages": 20}, max_pages=80
    )
    summary = await crawl.run()
    await check_whole(database, crawl, summary)
    (event,) = await told(database, "judge")
    assert event["model"] == "bilstm"
    again = await Relevance.open(database, crawl.id, topic("a.test/"), crawl._relevance._settings, 1)
    assert (again.judge.version, again.judge.model.kind) == (2, "bilstm")
    assert again.found_keywords == crawl._relevance.found_keywords != ()
    again.close()


async def test_with_too_few_relevant_pages_the_prior_stays_until_enough_are_found(
    site: SmallSite, web: FoodWeb, make_crawl: MakeCrawl, database: Database, jobs: list[Job]
) -> None:
    early = [f"f{at}.test/" for at in range(3)]
    later = [f"f{at}.test/" for at in range(10, 40)]
    others = [f"o{at}.test/" for at in range(40)]
    web.page("a.test/", True, [*early, *others])
    for name in (*early, *later, *others):
        web.page(name, name[0] == "f")
    web.page(others[-1], False, later)
    crawl = await make_crawl(topic("a.test/"), {"slots": 2}, relevance=QUICK, max_pages=80, policy="breadth-first")
    running = asyncio.create_task(crawl.run())
    await until(lambda: len(jobs) == 1)
    crawl.pause()  # lest it is over before it has learned
    await until(lambda: crawl._relevance.is_trained and crawl._lessons.under_way is None)
    crawl.unpause()
    summary = await running
    kept = await told(database, "judge kept")
    assert len(kept) > 1, "it was tried again"
    assert all(event["relevant_pages"] < 16 for event in kept)
    (event,) = await told(database, "judge")
    assert (event["version"], len(jobs)) == (2, 1)
    assert event["relevant"] >= 8
    await check_whole(database, crawl, summary)


async def test_a_training_that_fails_leaves_the_judge_in_place(
    web: FoodWeb, make_crawl: MakeCrawl, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def beside(job: Job, is_awaited: bool = False) -> bytes:
        raise ModelError("The judge could not be trained: no memory")

    monkeypatch.setattr(module, "train_beside", beside)
    web.wide()
    crawl = await make_crawl(topic("a.test/"), relevance=QUICK, max_pages=80)
    summary = await crawl.run()
    assert (summary.pages, summary.stop_reason) == (80, StopReason.BUDGET)
    assert (await told(database, "judge kept"))[0] == {"reason": "The judge could not be trained: no memory"}
    await check_whole(database, crawl, summary)


@pytest.mark.parametrize(
    ("relevance", "max_pages"),
    [({"model": "prior"}, 80), ({"model": "svm", "bootstrap_pages": 0}, 80), ({"model": "svm"}, 70)],
)
async def test_without_bootstrapping_the_prior_judges_throughout(
    web: FoodWeb,
    make_crawl: MakeCrawl,
    database: Database,
    jobs: list[Job],
    relevance: dict[str, Any],
    max_pages: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(lessons, "FIRST_REVIEW", 30)
    web.wide()
    summary = await (await make_crawl(topic("a.test/"), relevance=relevance, max_pages=max_pages)).run()
    assert (summary.pages, jobs) == (max_pages, [])
    assert {row.judge_version for row in (await page_rows(database)).values()} == {1}


async def test_a_judge_learns_again_when_the_crawl_has_met_more_and_once_only(
    site: SmallSite,
    web: FoodWeb,
    make_crawl: MakeCrawl,
    database: Database,
    jobs: list[Job],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(lessons, "FIRST_REVIEW", 30)
    web.wide()
    crawl = await make_crawl(topic("a.test/"), {"slots": 4}, relevance=QUICK, max_pages=80)
    running = asyncio.create_task(crawl.run())
    await until(lambda: len(jobs) == 2)
    crawl.pause()  # lest it is over before it has learned
    await until(lambda: crawl._lessons.under_way is None)
    crawl.suspend()
    await running
    assert jobs[0].pages == 20
    assert 60 <= jobs[1].pages < 70, "three times as many"
    assert len(jobs[1].examples) > len(jobs[0].examples)
    assert {row.judge_version for row in (await page_rows(database)).values()} == {3}
    again = await Crawl.load(database, crawl.id)
    assert not again._lessons._has_met_enough(), "after a restart it is not due again"
    assert (await again.run()).pages == 80


async def test_a_lesson_that_was_cut_off_is_taken_up_after_a_restart(
    web: FoodWeb, make_crawl: MakeCrawl, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lessons, "FIRST_REVIEW", 30)
    web.wide()
    asked: list[int] = []

    async def beside(job: Job, is_awaited: bool = False) -> bytes:
        asked.append(job.pages)
        if len(asked) == 2:
            crawl.suspend()
            await asyncio.Event().wait()
        return await asyncio.to_thread(train, job)

    monkeypatch.setattr(module, "train_beside", beside)
    crawl = await make_crawl(topic("a.test/"), {"slots": 1}, relevance=QUICK, max_pages=80)
    await crawl.run()
    await (await Crawl.load(database, crawl.id)).run()
    assert asked == [20, 60, 60]


async def test_a_lesson_that_fails_is_tried_again_soon(
    web: FoodWeb, make_crawl: MakeCrawl, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lessons, "FIRST_REVIEW", 30)
    web.wide()
    asked: list[int] = []

    async def beside(job: Job, is_awaited: bool = False) -> bytes:
        asked.append(job.pages)
        if len(asked) == 2:
            raise ModelError("The judge could not be trained: no room")
        return await asyncio.to_thread(train, job)

    monkeypatch.setattr(module, "train_beside", beside)
    crawl = await make_crawl(topic("a.test/"), {"slots": 1}, relevance=QUICK, max_pages=90)
    await crawl.run()
    assert asked == [20, 60, 80]


async def test_at_one_slot_a_crawl_waits_for_its_judge_so_that_a_seed_repeats_it(
    site: SmallSite, web: FoodWeb, make_crawl: MakeCrawl, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lessons, "FIRST_REVIEW", 30)
    web.wide()
    fetched: list[int] = []

    async def beside(job: Job, is_awaited: bool = False) -> bytes:
        fetched.append(len(site.paths()))
        await asyncio.sleep(0.1)
        fetched.append(len(site.paths()))
        return await asyncio.to_thread(train, job)

    monkeypatch.setattr(module, "train_beside", beside)
    crawl = await make_crawl(topic("a.test/"), {"slots": 1}, relevance=QUICK, max_pages=80)
    assert (await crawl.run()).pages == 80
    assert fetched == [20, 20, 60, 60]


async def test_a_judge_need_not_learn_again(
    web: FoodWeb, make_crawl: MakeCrawl, jobs: list[Job], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lessons, "FIRST_REVIEW", 30)
    web.wide()
    settings = {**QUICK, "relearn": False}
    assert (
        await (await make_crawl(topic("a.test/"), {"slots": 4}, relevance=settings, max_pages=80)).run()
    ).pages == 80
    assert len(jobs) == 1


async def test_a_crawl_can_begin_with_the_judge_of_another(
    site: SmallSite, web: FoodWeb, make_crawl: MakeCrawl, database: Database, jobs: list[Job]
) -> None:
    web.wide()
    teacher = await make_crawl(topic("a.test/"), relevance=QUICK, max_pages=80)
    await teacher.run()
    pupil = await make_crawl(topic("a.test/"), relevance=QUICK, max_pages=80, judge_from=teacher.id, policy="random")
    assert pupil._relevance.found_keywords == teacher._relevance.found_keywords
    summary = await pupil.run()
    assert (summary.pages, len(jobs)) == (80, 1), "nothing is trained twice"
    of_pupil = select(pages.c.url, pages.c.probability, pages.c.judge_version).where(pages.c.crawl == pupil.id)
    judged = await database.rows(of_pupil.order_by(pages.c.number))
    assert {row.judge_version for row in judged} == {2}, "from the first page on"
    held = {
        row.url: row.probability
        for row in await database.rows(select(pages.c.url, pages.c.probability).where(pages.c.crawl == teacher.id))
    }
    both = [row for row in judged if row.url in held]
    assert both and all(row.probability == pytest.approx(held[row.url]) for row in both)
    assert (await Crawl.load(database, pupil.id, {"max_pages": 90}))._relevance.judge.version == 2, "also after a kill"


async def test_a_judge_that_knows_many_pages_of_another_crawl_learns_from_this_one_all_the_same(
    web: FoodWeb, make_crawl: MakeCrawl, database: Database, jobs: list[Job], monkeypatch: pytest.MonkeyPatch
) -> None:
    web.wide()
    teacher = await make_crawl(topic("a.test/"), {"slots": 1}, relevance=QUICK, max_pages=80)
    await teacher.run()
    await rejudge_at_rest(database, await crawls.get(database, teacher.id))
    assert jobs[-1].pages == 80, "and the crawl itself would not learn the same again"
    monkeypatch.setattr(lessons, "FIRST_REVIEW", 30)
    assert not (await Crawl.load(database, teacher.id, {"max_pages": 90}))._lessons._has_met_enough()
    pupil = await make_crawl(topic("a.test/"), {"slots": 1}, relevance=QUICK, max_pages=40, judge_from=teacher.id)
    await pupil.run()
    assert jobs[-1].pages == 30


async def test_a_judge_that_does_not_fit_or_was_never_trained_is_refused(
    site: SmallSite, web: FoodWeb, make_crawl: MakeCrawl, database: Database, jobs: list[Job]
) -> None:
    web.wide()
    untrained = await make_crawl(topic("a.test/"), relevance={"model": "prior"}, max_pages=5)
    await untrained.run()
    with pytest.raises(ControlError, match=f"Crawl {untrained.id} has trained no judge"):
        await make_crawl(topic("a.test/"), judge_from=untrained.id)
    with pytest.raises(NotFound):
        await make_crawl(topic("a.test/"), judge_from=99)
    teacher = await make_crawl(topic("a.test/"), relevance=QUICK, max_pages=80)
    await teacher.run()
    with pytest.raises(ControlError, match="other keywords"):
        await make_crawl(replace(topic("a.test/"), name="trains", keywords=("railway",)), judge_from=teacher.id)
    assert len(await crawls.every(database)) == 2, "a refused crawl leaves nothing behind"
