"""How fast the judge is beside a plain loop over the network, and what an event loop feels of it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from itertools import count
from statistics import median

import numpy as np
import torch

from tres_crawler.classify.classifier import Judge
from tres_crawler.classify.neural import NeuralModel
from tres_crawler.config import RelevanceSettings
from tres_crawler.experiments.relevance.options import Findings, Options
from tres_crawler.experiments.relevance.world import Worlds
from tres_crawler.experiments.report import Check, Say
from tres_crawler.records import PageText

BATCHES = (1, 16, 64, 256)
LOOP = "plain torch loop"
REPEAT = 3
TASKS = 32
ANCHORS_PER_PAGE = 60
TICK_SECONDS = 0.001
MOST_LAG_MS = 20.0


async def speed(options: Options, worlds: Worlds, say: Say) -> Findings:
    torch.set_num_threads(1)
    world, sizes = worlds[0], options.sizes
    kind = RelevanceSettings().model
    assert kind in ("bilstm", "kwbilstm")
    model = world.labelled(options.topics[0], sizes.labels[-1], kind)
    pages = [seen.page for seen in world.tested[: sizes.timed]]
    texts = [anchor.words for anchor in world.anchors[: 4 * sizes.timed]]
    rows = [*_rates(model, "pages", pages, say), *_rates(model, "anchors", texts, say)]
    lag = await _lag(model, pages, [anchor.words for anchor in world.anchors], sizes.seconds)
    say(f"event loop: p99 {lag['p99_ms']} ms late")
    p99 = lag["p99_ms"]
    assert isinstance(p99, float)
    return Findings([*rows, lag], [Check.at_most("p99 lag of the event loop, ms", p99, MOST_LAG_MS)])


# ---- rates ----


def _rates(
    model: NeuralModel, what: str, texts: Sequence[PageText] | Sequence[str], say: Say
) -> list[dict[str, object]]:
    """Texts a second of every way in turns; medians of the ratios within each turn."""
    ways: dict[tuple[str, int], Callable[[], object]] = {(LOOP, 1): lambda: _one_by_one(model, texts)}
    for judge in ("network", "student") if what == "anchors" else ("network",):
        for batch in BATCHES:
            ways[judge, batch] = lambda judge=judge, batch=batch: _together(model, judge, texts, batch)  # type: ignore[misc]  # mypy cannot see defaults
    found: dict[tuple[str, int], list[float]] = {way: [] for way in ways}
    for _ in range(REPEAT):
        for way, work in ways.items():
            started = time.perf_counter()
            work()
            found[way].append(len(texts) / (time.perf_counter() - started))
    rows: list[dict[str, object]] = []
    for (judge, batch), rates in found.items():
        ratio = median(mine / plain for mine, plain in zip(rates, found[LOOP, 1], strict=True))
        say(f"{what}, {judge}, {batch} at once: {median(rates):,.0f}/s")
        rows.append(
            {
                "part": "speed",
                "what": what,
                "judge": judge,
                "at_once": batch,
                "per_second": round(median(rates)),
                "times_plain_loop": round(ratio, 2),
            }
        )
    return rows


def _one_by_one(model: NeuralModel, texts: Sequence[PageText] | Sequence[str]) -> None:
    reader = model.inputs.prior.reader
    with torch.no_grad():
        for text in texts:
            is_anchor = isinstance(text, str)
            reading = reader.read_anchor(text) if isinstance(text, str) else reader.read(text)
            float(torch.sigmoid(model.network(model.inputs.batch([reading], [is_anchor])))[0])


def _together(model: NeuralModel, judge: str, texts: Sequence[PageText] | Sequence[str], batch: int) -> None:
    model.anchor_judge = judge
    for start in range(0, len(texts), batch):
        part = texts[start : start + batch]
        anchors = [text for text in part if isinstance(text, str)]
        pages = [text for text in part if not isinstance(text, str)]
        if anchors:
            model.anchors(anchors)
        if pages:
            model.pages(pages)


# ---- the event loop ----


async def _lag(
    model: NeuralModel, pages: Sequence[PageText], texts: Sequence[str], seconds: float
) -> dict[str, object]:
    """How late a short sleep ends while many tasks have pages and their anchors judged without a pause."""
    model.anchor_judge = "student"
    judge = Judge(model, version=2)
    ends = time.perf_counter() + seconds
    numbers = count()

    async def ask() -> None:
        while time.perf_counter() < ends:
            at = next(numbers)
            first = at * ANCHORS_PER_PAGE % max(1, len(texts) - ANCHORS_PER_PAGE)
            # Numbered, so that no anchor has been judged before.
            anchors = [f"{text} {at}" for text in texts[first : first + ANCHORS_PER_PAGE]]
            await judge.judge(pages[at % len(pages)], anchors)

    late: list[float] = []

    async def watch() -> None:
        while time.perf_counter() < ends:
            before = time.perf_counter()
            await asyncio.sleep(TICK_SECONDS)
            late.append(max(0.0, time.perf_counter() - before - TICK_SECONDS))

    try:
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(watch())
            for _ in range(TASKS):
                tasks.create_task(ask())
    finally:
        judge.close()
    judged = next(numbers)
    return {
        "part": "event loop",
        "tasks": TASKS,
        "pages_per_second": round(judged / seconds),
        "anchors_per_second": round(judged * ANCHORS_PER_PAGE / seconds),
        "median_ms": round(float(np.median(late)) * 1000, 2),
        "p99_ms": round(float(np.percentile(late, 99)) * 1000, 2),
        "largest_ms": round(max(late) * 1000, 2),
    }
