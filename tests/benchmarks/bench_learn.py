"""What describing, valuing and learning cost: `pytest tests/benchmarks/bench_learn.py -o python_files='bench_*.py' -s`.

On two shared cores: 60 links described in 0.3 ms, 2,500 valued in 0.8 ms, a gradient step in 1.3 ms, a full snapshot of
20,000 transitions in 0.6 s (1.2 s on busy cores); loop lag p99 0.2 ms without training, 1.3 ms beside it at 85 pages/s.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

import numpy as np

from tres_crawler.config import FeatureSettings, LearnSettings
from tres_crawler.features import Describer, Known, PathState
from tres_crawler.learn.ddqn import Ddqn
from tres_crawler.learn.replay import Transition
from tres_crawler.learn.worker import Trainer
from tres_crawler.records import Outlink

DIM = 14
RNG = np.random.default_rng(1)


def transition(page: int) -> Transition:
    """With the outlinks of a usual page."""
    row, sample = RNG.random((2, DIM), np.float32)
    return Transition(page, row, float(RNG.random() < 0.3), RNG.random((page % 61, DIM), np.float32), sample)


def filled(pages: int) -> Ddqn:
    made = Ddqn(LearnSettings(), "extended", DIM)
    for page in range(pages):
        made.remember(transition(page))
    return made


def median_ms(work: Callable[[], object], times: int = 200) -> float:
    took = []
    for _ in range(times):
        begun = time.perf_counter()
        work()
        took.append(time.perf_counter() - begun)
    return float(np.median(took)) * 1e3


def test_describing_the_links_of_a_page_takes_well_under_a_millisecond() -> None:
    describer = Describer(FeatureSettings(set="extended"), ["football", "world cup", "goal", "league", "stadium"])
    links = [
        Outlink(
            f"https://www.site{at % 9}.test/section-{at}/an-article_about-{at}.html?id={at}", f"some words of it {at}"
        )
        for at in range(60)
    ]
    sites, chances, known = np.arange(60) % 9, RNG.random(60, np.float32), Known()
    took = median_ms(lambda: describer.describe(PathState.of(None, True), links, chances, sites, known))
    print(f"60 links described: {took:.2f} ms")
    assert took < 1


def test_valuing_the_offers_of_2500_leaves_takes_about_a_millisecond() -> None:
    weights, offers = filled(1).weights(), RNG.random((2_500, DIM), np.float32)
    took = median_ms(lambda: weights.values(offers))
    print(f"2,500 links valued: {took:.2f} ms")
    assert took < 3


def test_a_gradient_step_takes_milliseconds_and_a_snapshot_of_a_full_replay_about_a_second() -> None:
    made = filled(20_000)
    step, snapshot = median_ms(lambda: made.train(1)), median_ms(made.snapshot, 3)
    print(f"gradient step: {step:.2f} ms")
    print(f"snapshot: {snapshot:.0f} ms, {len(made.snapshot()) / 1e6:.1f} MB")
    assert step < 10
    assert snapshot < 5_000


async def lag_ms(trained: bool, seconds: float = 4.0) -> float:
    """99th percentile of how late the loop is, with a page remembered every ten milliseconds or so."""
    late: list[float] = []
    news = [transition(page) for page in range(1_000)]
    async with Trainer(filled(5_000)) as trainer:
        end = time.perf_counter() + seconds
        while time.perf_counter() < end:
            begun = time.perf_counter()
            await asyncio.sleep(0.002)
            late.append(time.perf_counter() - begun - 0.002)
            if trained and len(late) % 5 == 0:
                trainer.remember(news[len(late) // 5 % len(news)])
        if trained:
            assert trainer.weights.version > 0
    return float(np.percentile(late, 99)) * 1e3


async def test_the_loop_hardly_feels_the_learner() -> None:
    without, beside = await lag_ms(False), await lag_ms(True)
    print(f"loop lag p99: {without:.2f} ms without training, {beside:.2f} ms beside it")
    assert beside < without + 10
