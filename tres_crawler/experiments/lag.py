"""How long the event loop of a crawl keeps its other work waiting, with the learner at work and without."""

from __future__ import annotations

import asyncio
import tempfile
import time
from pathlib import Path

import numpy as np

from tres_crawler.config import CrawlSettings, FetchSettings, LearnSettings, Settings
from tres_crawler.crawl import Crawl
from tres_crawler.experiments.cells import FAMILY
from tres_crawler.experiments.crawling import CAP, served, topic_file, web_with
from tres_crawler.founding import create_crawl
from tres_crawler.store.database import Database
from tres_crawler.store.datadir import DataDir
from tres_crawler.topic import load_topic

NAP_SECONDS = 0.01


async def loop_lag(web: int, topic: str, pages: int, steps_per_page: float) -> dict[str, float]:
    """A crawl in this process beside a task that naps and notes by how much it overslept, in milliseconds."""
    with tempfile.TemporaryDirectory(prefix="tres-lag-") as scratch:
        folder = Path(scratch)
        crawled = web_with(FAMILY, web, topic, pages)
        async with served(crawled.params, folder, folder / "requests.jsonl") as address:
            settings = Settings.model_construct(
                fetch=FetchSettings(delay_seconds=0.0, connect_to=address),
                crawl=CrawlSettings(max_pages=pages, max_per_site=CAP, policy="tres", seed=1),
                learn=LearnSettings(steps_per_page=steps_per_page),
            )
            wanted = load_topic(topic_file(crawled, topic, 1, folder))
            with DataDir(folder / "data") as data:
                async with Database(data.url) as database:
                    crawl = await Crawl.load(database, await create_crawl(database, wanted, settings))
                    lags: list[float] = []
                    napping = asyncio.create_task(_nap(lags))
                    summary = await crawl.run()
                    napping.cancel()
    middle, high = np.percentile(lags, [50, 99])
    figures = {"p50_ms": middle, "p99_ms": high, "max_ms": max(lags), "pages_per_second": summary.pages_per_second}
    return {name: round(float(value), 1) for name, value in figures.items()}


async def _nap(lags: list[float]) -> None:
    while True:
        before = time.perf_counter()
        await asyncio.sleep(NAP_SECONDS)
        lags.append(1000 * (time.perf_counter() - before - NAP_SECONDS))
