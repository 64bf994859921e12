"""What the tests of a crawl's judge share."""

from __future__ import annotations

import asyncio

import pytest

from tests.relevance.food import FoodWeb
from tests.site import SmallSite
from tres_crawler import relevance as module
from tres_crawler.classify.apprentice import Job, train


@pytest.fixture
def web(site: SmallSite) -> FoodWeb:
    return FoodWeb(site)


@pytest.fixture
def jobs(monkeypatch: pytest.MonkeyPatch) -> list[Job]:
    """Every job that was trained, in this process."""
    found: list[Job] = []

    async def beside(job: Job, is_awaited: bool = False) -> bytes:
        found.append(job)
        return await asyncio.to_thread(train, job)

    monkeypatch.setattr(module, "train_beside", beside)
    return found
