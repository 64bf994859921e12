"""The judge at work: pages and anchors that arrive together are judged together, in a thread beside the event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np

from tres_crawler.classify.model import Model, unpack
from tres_crawler.classify.prior import Prior
from tres_crawler.classify.svm import SvmModel
from tres_crawler.errors import ModelError
from tres_crawler.records import Judgement, PageText
from tres_crawler.text import has_sentences
from tres_crawler.vectors import Floats, Vectors

MOST_TOGETHER = 32
"""Requests that share a batch; what is left waits for the next, so that nobody waits long."""
TRUST_IN_LISTS = 0.1
KEPT_ANCHORS = 50_000
"""Anchors whose judgement is kept: "Home" and "Next" stand on every page."""


class Judged(NamedTuple):
    """A page's judgement, if there was a page, and the probability of each anchor."""

    page: Judgement | None
    anchors: Floats


@dataclass(frozen=True)
class _Request:
    page: PageText | None
    anchors: Sequence[str]
    answer: asyncio.Future[Judged]


def restore_model(body: bytes, vectors: Vectors, anchors: str, name: str) -> Model:
    """A trained model from its bytes; one that does not fit the vectors is refused by `name`."""
    meta, arrays = unpack(body, name)
    try:
        if meta["kind"] == "svm":
            return SvmModel.restore(meta, arrays)
        if meta["vectors"] != vectors.identity:
            raise ModelError(
                f"{name} was trained with other word vectors. Set relevance.vectors to those, or train it again."
            )
        # torch takes seconds to import, which a crawl with the prior alone need not wait for.
        from tres_crawler.classify.neural import NeuralModel

        prior = Prior(vectors, meta["keywords"], meta["found"])
        return NeuralModel.restore(meta, arrays, prior, anchors, name)
    except (KeyError, TypeError, ValueError) as error:
        raise ModelError(f"{name} lacks a part or has one of another kind ({error!r}). Train it again.") from error


class Judge:
    """Every judgement tells the version of the model that made it; a new model takes over between two batches."""

    def __init__(self, model: Model, version: int) -> None:
        self.model = model
        self.version = version
        self._waiting: list[_Request] = []
        self._busy = False
        self._anchors: dict[str, float] = {}
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="judge")

    def switch(self, model: Model, version: int) -> None:
        self.model, self.version = model, version
        self._anchors = {}

    async def judge(self, page: PageText | None, anchors: Sequence[str] = ()) -> Judged:
        answer: asyncio.Future[Judged] = asyncio.get_running_loop().create_future()
        self._waiting.append(_Request(page, anchors, answer))
        self._go_on()
        return await answer

    async def judge_all(self, pages: Sequence[PageText]) -> list[Judgement]:
        """Many pages, as when they are judged again; those of a running crawl come in between."""
        judged = []
        for start in range(0, len(pages), MOST_TOGETHER):
            part = await asyncio.gather(*(self.judge(page) for page in pages[start : start + MOST_TOGETHER]))
            judged += [found.page for found in part if found.page]
        return judged

    def close(self) -> None:
        """Joins the thread: a torch thread that outlives the interpreter aborts it."""
        self._thread.shutdown()

    def _go_on(self) -> None:
        if self._busy or not self._waiting:
            return
        self._busy = True
        batch, self._waiting = self._waiting[:MOST_TOGETHER], self._waiting[MOST_TOGETHER:]
        work = asyncio.get_running_loop().run_in_executor(
            self._thread, _judge, self.model, self.version, batch, self._anchors
        )
        work.add_done_callback(lambda done: self._answer(batch, done))

    def _answer(self, batch: Sequence[_Request], done: asyncio.Future[list[Judged]]) -> None:
        self._busy = False
        trouble = done.exception()
        for at, request in enumerate(batch):
            if request.answer.done():
                continue
            if trouble:
                request.answer.set_exception(trouble)
            else:
                request.answer.set_result(done.result()[at])
        self._go_on()


def _judge(model: Model, version: int, batch: Sequence[_Request], known: dict[str, float]) -> list[Judged]:
    """In the judge's thread, which alone touches `known`."""
    pages = [request.page for request in batch if request.page]
    probabilities = map(partial(_trusted, model.threshold), pages, model.pages(pages).tolist() if pages else ())
    new = list({anchor for request in batch for anchor in request.anchors} - known.keys())
    if len(known) + len(new) > KEPT_ANCHORS:
        known.clear()
        new = list({anchor for request in batch for anchor in request.anchors})
    if new:
        known.update(zip(new, model.anchors(new).tolist(), strict=True))
    return [
        Judged(
            _judgement(next(probabilities), model.threshold, version) if request.page else None,
            np.array([known[anchor] for anchor in request.anchors], dtype=np.float32),
        )
        for request in batch
    ]


def _trusted(threshold: float, page: PageText, probability: float) -> float:
    """What is left of the probability of a page: little of one that lists words and says nothing.

    A model sees which words a page has, and a link farm has all the right ones.
    """
    return probability if has_sentences(page.text) else TRUST_IN_LISTS * min(probability, threshold)


def _judgement(probability: float, threshold: float, version: int) -> Judgement:
    return Judgement(probability, probability >= threshold, version)
