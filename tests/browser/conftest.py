"""One simulated web, one service and one browser for all tests of the dashboard."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright

from tests.commands import RunningWeb, running_simweb
from tests.serve.service import Service, running_service

CHROMIUM = next(
    (path for name in ("chromium", "chromium-browser", "google-chrome") if (path := shutil.which(name))), None
)
DESKTOP = {"width": 1280, "height": 900}
PATIENCE = 60_000
"""Milliseconds that an element may take to appear on a busy machine."""


@pytest.fixture(scope="package")
def web(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningWeb]:
    with running_simweb(tmp_path_factory.mktemp("web"), "--sites", "300", "--pages", "9000") as web:
        yield web


@pytest.fixture(scope="package")
def service(web: RunningWeb, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    folder = tmp_path_factory.mktemp("served")
    with running_service(folder, web, FETCH__DELAY_SECONDS="0.05", SERVE__TOPICS_DIR=str(folder)) as service:
        yield service


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    if CHROMIUM is None:
        pytest.skip("There is no Chromium here; on Debian: apt-get install chromium.")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def context(browser: Browser) -> Iterator[BrowserContext]:
    context = browser.new_context(viewport=DESKTOP, accept_downloads=True)  # type: ignore[arg-type]
    context.set_default_timeout(PATIENCE)
    expect.set_options(timeout=PATIENCE)
    yield context
    context.close()


@pytest.fixture
def page(context: BrowserContext, complaints: list[str]) -> Page:
    """A tab whose every complaint fails the test: errors of scripts, of the console, of the security policy."""
    page = context.new_page()
    page.on("console", lambda told: complaints.append(told.text) if told.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: complaints.append(str(error)))
    return page


@pytest.fixture
def complaints() -> Iterator[list[str]]:
    told: list[str] = []
    yield told
    assert told == []


@pytest.fixture
def pictures() -> Path:
    """Where pictures of the views go; not kept in the repository."""
    folder = Path(__file__).parents[2] / "build" / "pictures"
    folder.mkdir(parents=True, exist_ok=True)
    return folder
