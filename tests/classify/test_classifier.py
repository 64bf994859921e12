"""The judge at work: requests share batches, versions change between them, and the loop keeps turning."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Sequence

import numpy as np
import pytest

from tres_crawler.classify import classifier
from tres_crawler.classify.classifier import MOST_TOGETHER, Judge
from tres_crawler.records import PageText
from tres_crawler.vectors import Floats


class Counting:
    """Holds that a text's first figure is its probability; waits before each batch until it may go on."""

    kind = "counting"

    def __init__(self, threshold: float = 0.5, trouble: Exception | None = None) -> None:
        self.threshold = threshold
        self.trouble = trouble
        self.page_batches: list[list[str]] = []
        self.anchor_batches: list[list[str]] = []
        self.threads: set[str] = set()
        self.may_go_on = threading.Event()
        self.may_go_on.set()

    def pages(self, pages: Sequence[PageText]) -> Floats:
        assert self.may_go_on.wait(60)
        if self.trouble:
            raise self.trouble
        self.threads.add(threading.current_thread().name)
        self.page_batches.append([page.text for page in pages])
        return np.array([float(page.text) for page in pages], dtype=np.float32)

    def anchors(self, anchors: Sequence[str]) -> Floats:
        self.anchor_batches.append(sorted(anchors))
        return np.array([len(anchor) / 10 for anchor in anchors], dtype=np.float32)


def page(text: str) -> PageText:
    return PageText("", "", text)


@pytest.fixture
def model() -> Counting:
    return Counting()


@pytest.fixture
async def judge(model: Counting) -> AsyncIterator[Judge]:
    made = Judge(model, 3)
    yield made
    model.may_go_on.set()
    made.close()


async def test_a_judgement_tells_probability_label_and_version(judge: Judge) -> None:
    judged = await judge.judge(page("0.75"), ["abc", "", "abcde"])
    assert judged.page is not None
    assert (judged.page.probability, judged.page.relevant, judged.page.version) == (0.75, True, 3)
    assert judged.anchors.tolist() == pytest.approx([0.3, 0.0, 0.5])
    other = await judge.judge(page("0.25"))
    assert other.page is not None and not other.page.relevant
    assert len(other.anchors) == 0


async def test_a_page_at_the_threshold_is_relevant(judge: Judge, model: Counting) -> None:
    judged = await judge.judge(page("0.5"))
    assert judged.page is not None and judged.page.relevant


async def test_requests_that_arrive_together_are_judged_together(judge: Judge, model: Counting) -> None:
    texts = [f"{n / 100:.2f}" for n in range(80)]
    found = await asyncio.gather(*(judge.judge(page(text), [f"to {text}", "Home"]) for text in texts))
    assert [round(one.page.probability, 2) for one in found if one.page] == [float(text) for text in texts]
    assert [len(batch) for batch in model.page_batches] == [1, MOST_TOGETHER, MOST_TOGETHER, 80 - 1 - 2 * MOST_TOGETHER]
    assert [batch.count("Home") for batch in model.anchor_batches] == [1, 0, 0, 0], "judged once and kept"
    assert all(name.startswith("judge") for name in model.threads)


async def test_anchors_without_a_page_are_judged(judge: Judge, model: Counting) -> None:
    judged = await judge.judge(None, ["abc"])
    assert judged.page is None
    assert judged.anchors.tolist() == pytest.approx([0.3])
    assert model.page_batches == []


async def test_a_new_model_takes_over_between_two_batches(judge: Judge, model: Counting) -> None:
    strict = Counting(threshold=0.9)
    model.may_go_on.clear()
    first = asyncio.create_task(judge.judge(page("0.7"), ["Home"]))
    await asyncio.sleep(0)
    waiting = asyncio.create_task(judge.judge(page("0.8"), ["Home"]))
    await asyncio.sleep(0)
    judge.switch(strict, 4)
    model.may_go_on.set()
    by_old, by_new = (await first).page, (await waiting).page
    assert by_old is not None and (by_old.relevant, by_old.version) == (True, 3)
    assert by_new is not None and (by_new.relevant, by_new.version) == (False, 4)
    assert strict.anchor_batches == [["Home"]], "what the old model held of an anchor is not used"


async def test_many_pages_are_judged_in_order_and_let_others_in_between(judge: Judge, model: Counting) -> None:
    texts = [f"{n / 1000:.3f}" for n in range(200)]
    everything = asyncio.create_task(judge.judge_all([page(text) for text in texts]))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    await judge.judge(page("0.999"))
    assert not everything.done(), "a page of the running crawl need not wait for all of them"
    found = await everything
    assert [f"{one.probability:.3f}" for one in found] == texts
    assert await judge.judge_all([]) == []


async def test_trouble_reaches_those_who_asked_and_the_judge_goes_on(judge: Judge, model: Counting) -> None:
    model.trouble = RuntimeError("no such word")
    first, second = await asyncio.gather(judge.judge(page("0.1")), judge.judge(page("0.2")), return_exceptions=True)
    assert str(first) == str(second) == "no such word"
    model.trouble = None
    assert (await judge.judge(page("0.7"))).page is not None


async def test_one_who_no_longer_waits_does_not_disturb_the_others(judge: Judge, model: Counting) -> None:
    model.may_go_on.clear()
    tasks = [asyncio.create_task(judge.judge(page(f"0.{n}"))) for n in range(1, 6)]
    await asyncio.sleep(0)
    tasks[0].cancel()
    tasks[3].cancel()
    model.may_go_on.set()
    found = await asyncio.gather(*tasks, return_exceptions=True)
    assert [isinstance(one, asyncio.CancelledError) for one in found] == [True, False, False, True, False]


async def test_the_loop_turns_while_a_slow_model_works(judge: Judge, model: Counting) -> None:
    model.may_go_on.clear()
    asked = asyncio.create_task(judge.judge(page("0.5")))
    turns = 0
    for _ in range(1000):
        await asyncio.sleep(0)
        turns += 1
    assert not asked.done()
    model.may_go_on.set()
    await asked
    assert turns == 1000


async def test_closing_joins_the_thread(model: Counting) -> None:
    judge = Judge(model, 1)
    await judge.judge(page("0.5"))
    (name,) = model.threads
    assert name in {thread.name for thread in threading.enumerate()}
    judge.close()
    assert name not in {thread.name for thread in threading.enumerate() if thread.is_alive()}


async def test_the_anchors_that_are_kept_do_not_grow_without_end(
    judge: Judge, model: Counting, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(classifier, "KEPT_ANCHORS", 10)
    for start in range(0, 30, 6):
        anchors = ["a", *("x" * n for n in range(start, start + 6))]
        judged = await judge.judge(None, anchors)
        assert judged.anchors.tolist() == pytest.approx([len(anchor) / 10 for anchor in anchors])
        assert len(judge._anchors) <= 10


async def test_a_page_that_lists_the_right_words_and_says_nothing_is_not_relevant() -> None:
    class Sure:
        kind, threshold = "sure", 0.5

        def pages(self, pages: Sequence[PageText]) -> Floats:
            return np.full(len(pages), 0.98, np.float32)

        def anchors(self, anchors: Sequence[str]) -> Floats:
            return np.zeros(len(anchors), np.float32)

    judge = Judge(Sure(), 1)
    stuffed, told = await judge.judge_all([page("goal nets, " * 60), page("They put up goal nets. " * 60)])
    judge.close()
    assert (stuffed.relevant, told.relevant) == (False, True)
    assert stuffed.probability < 0.1 < told.probability
