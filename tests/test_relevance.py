"""The judge of a crawl through its versions: on the small web, with real training, real rows and real requests."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from random import Random
from typing import Any

import numpy as np
import pytest
from sqlalchemy import select

from tests.conftest import MakeCrawl
from tests.site import Answer, SmallSite
from tres_crawler import relevance as module
from tres_crawler.classify.apprentice import Job, train
from tres_crawler.classify.classifier import Judge
from tres_crawler.crawl import Crawl
from tres_crawler.errors import ControlError, ModelError, NotFound
from tres_crawler.records import Judgement, PageText, StopReason, Summary, Topic
from tres_crawler.relevance import Rejudged, Relevance
from tres_crawler.simweb import prose
from tres_crawler.store import crawls
from tres_crawler.store.database import Database
from tres_crawler.store.judging import INSERT_SNAPSHOT, KIND, JudgedPage
from tres_crawler.store.tables import events, judgements, labels, pages, snapshots
from tres_crawler.vectors import Floats

KEYWORDS = ("recipe", "cooking", "baking", "bread", "soup", "kitchen", "flavour", "dish", "ingredients", "dinner")
QUICK = {"model": "svm", "bootstrap_pages": 20}
Training = Callable[[Job], Awaitable[bytes]]


def topic(*seeds: str, **others: Any) -> Topic:
    return Topic("food", KEYWORDS, tuple(f"http://{seed}" for seed in seeds), **others)


class FoodWeb:
    """Pages about food and about anything else, each on a host of its own, on the small site."""

    def __init__(self, site: SmallSite) -> None:
        self.site = site
        self._rng = Random(3)
        topics = prose.load("tune").topics
        self._food = [topic for topic in topics if topic.name == "food"]
        self._others = [topic for topic in topics if topic.name != "food"]

    def page(self, at: str, is_food: bool, links: Sequence[str] = ()) -> None:
        """A link to a host whose name begins with f says that it is about food."""
        topic = self._rng.choice(self._food if is_food else self._others)
        paragraphs = [part for facet in topic.facets for part in facet.paragraphs]
        text = "".join(f"<p>{part.fill(self._rng.randrange(999))}</p>" for part in self._rng.sample(paragraphs, 5))
        anchors = "".join(
            f'<li><a href="http://{link}">{"Soup recipe and bread" if link[0] == "f" else "Railway timetable"} {at}</a>'
            for at, link in enumerate(links)
        )
        self.site.answers[at] = [Answer(200, f"<title>{at}</title><article>{text}</article><nav>{anchors}</nav>")]

    def wide(self, food: int = 45, others: int = 55) -> None:
        """One page that links to all others, which are food and not in turn; some links to food mislead."""
        names = [
            name for at in range(60) for name in (f"o{at}.test/" * (at < others), f"f{at}.test/" * (at < food)) if name
        ]
        self.page("a.test/", True, names)
        for name in names:
            self.page(name, name[0] == "f" and not name.startswith(("f3", "f7", "f11", "f15")))


@pytest.fixture
def web(site: SmallSite) -> FoodWeb:
    return FoodWeb(site)


@pytest.fixture
def jobs(monkeypatch: pytest.MonkeyPatch) -> list[Job]:
    """Every job that was trained, in this process."""
    found: list[Job] = []

    async def beside(job: Job) -> bytes:
        found.append(job)
        return await asyncio.to_thread(train, job)

    monkeypatch.setattr(module, "train_beside", beside)
    return found


async def told(database: Database, kind: str) -> list[dict[str, Any]]:
    found = await database.rows(select(events.c.detail).where(events.c.kind == kind).order_by(events.c.id))
    return [row.detail for row in found]


async def page_rows(database: Database) -> dict[str, Any]:
    found = await database.rows(select(pages).order_by(pages.c.number))
    return {row.url.removeprefix("http://"): row for row in found}


async def check_whole(database: Database, crawl: Crawl, summary: Summary) -> None:
    """Figures are those of the database, and every judgement is of a judge that was saved, the newest."""
    await database.write()  # what was queued before is saved by now
    counted = await crawls.summary(database, await crawls.get(database, crawl.id))
    assert replace(summary, seconds=0, pages_per_second=0) == replace(counted, seconds=0, pages_per_second=0)
    saved = {
        row.version for row in await database.rows(select(snapshots.c.version).where(snapshots.c.kind == KIND))
    } | {1}
    judged = {row.judge_version for row in (await page_rows(database)).values() if row.outcome == "judged"}
    earlier = {row.version for row in await database.rows(select(judgements.c.version))}
    assert judged == {max(saved)}
    assert earlier <= saved
    assert all(row.relevant == (row.reward > 0) for row in (await page_rows(database)).values())


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(15):
        while not condition():
            await asyncio.sleep(0.005)


# ---- bootstrapping ----


async def test_the_most_promising_pages_are_fetched_first_and_no_more_before_the_judge_is_trained(
    site: SmallSite, web: FoodWeb, make_crawl: MakeCrawl, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    web.wide()
    fetched: list[list[str]] = []

    async def beside(job: Job) -> bytes:
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
    (kept,) = await told(database, "judge kept")
    assert kept["relevant_pages"] < 8
    (event,) = await told(database, "judge")
    assert (event["version"], len(jobs)) == (2, 1)
    assert event["relevant"] >= 8
    await check_whole(database, crawl, summary)


async def test_a_training_that_fails_leaves_the_judge_in_place(
    web: FoodWeb, make_crawl: MakeCrawl, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def beside(job: Job) -> bytes:
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
    web: FoodWeb, make_crawl: MakeCrawl, database: Database, jobs: list[Job], relevance: dict[str, Any], max_pages: int
) -> None:
    web.wide()
    summary = await (await make_crawl(topic("a.test/"), relevance=relevance, max_pages=max_pages)).run()
    assert (summary.pages, jobs) == (max_pages, [])
    assert {row.judge_version for row in (await page_rows(database)).values()} == {1}


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


# ---- examples and feedback ----


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

    async def beside(job: Job) -> bytes:
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


# ---- whole at any moment ----


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

    async def left_in_training(job: Job) -> bytes:
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


# ---- bad pages ----


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
