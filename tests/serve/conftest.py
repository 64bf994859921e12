"""One service for all tests that only look, or ask for what is refused: crawl 1 has ended, crawl 2 is paused."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.commands import running_simweb
from tests.serve.service import Service, running_service, topic


@pytest.fixture(scope="session")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    folder = tmp_path_factory.mktemp("served")
    with (
        running_simweb(folder, "--sites", "200", "--pages", "3000") as web,
        running_service(folder, web, LEARN__EPSILON="0.2") as service,
    ):
        for crawl in (
            {"max_pages": 300, "policy": "tres", "seed": 4},
            {"max_pages": 3000, "policy": "breadth-first"},
        ):
            assert service.call("POST", "/api/v1/crawls", {"topic": topic(web), "crawl": crawl})[0] == 201
        service.wait_for(2, lambda now: now["pages"] > 5)
        service.call("POST", "/api/v1/crawls/2/pause")
        service.wait_for(1, lambda now: now["state"] == "finished")
        yield service
