"""`tres demo`: a simulated web, the service that crawls it, and its dashboard; or one crawl, shown here."""

from __future__ import annotations

import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from tres_crawler.cli.common import console, load_settings, run
from tres_crawler.cli.crawling import run_crawl
from tres_crawler.cli.service import run_service
from tres_crawler.config import Settings
from tres_crawler.crawl import Crawl
from tres_crawler.errors import TresError
from tres_crawler.founding import create_crawl
from tres_crawler.simweb import truth
from tres_crawler.simweb.model import Web
from tres_crawler.simweb.params import WebParams
from tres_crawler.store.database import Database
from tres_crawler.topic import load_topic

DELAY_SECONDS = 0.05
BUDGETS = {"sports": 3000, "food": 600, "hardware": 600}
"""The crawls of the demo and their pages; these names stand for the shipped topics, whose seeds are on the real web."""


def demo(
    pages: Annotated[
        int | None, typer.Option(min=1, help="No dashboard: crawl so many pages, show how it goes, and end.")
    ] = None,
    host: Annotated[str | None, typer.Option(help="Address of the dashboard.  \\[default: 127.0.0.1]")] = None,
    port: Annotated[int | None, typer.Option(help="Port of the dashboard.  \\[default: 8000]")] = None,
    web_port: Annotated[
        int, typer.Option(min=0, max=65535, help="Loopback port of the simulated web; crawls remember it.")
    ] = 8099,
    data_dir: Annotated[Path, typer.Option(help="Folder that holds the demo's database.")] = Path("demo-data"),
) -> None:
    """Start a simulated web, crawls of it, and the dashboard that shows them; no internet needed."""
    settings = load_settings(None)
    with tempfile.TemporaryDirectory() as scratch:
        if pages is None:
            settings = settings.replaced("serve", {"host": host, "port": port, "topics_dir": scratch})
            _show(settings, data_dir, web_port, Path(scratch))
        else:
            _crawl(settings.replaced("crawl", {"max_pages": pages}), data_dir, Path(scratch))


def _show(settings: Settings, data_dir: Path, web_port: int, topics: Path) -> None:
    def tell(address: str) -> None:
        print(f"Dashboard: {address}/", flush=True)
        print(f"Crawls of {', '.join(BUDGETS)} are under way; more can be started there.", flush=True)
        print(f"Ctrl-C stops it. What was found stays in {data_dir}; the next demo goes on with it.", flush=True)

    with tempfile.TemporaryDirectory() as written, _running_web(web_port, Path(written)) as address:
        for name, budget in BUDGETS.items():
            topic = (Path(written) / f"{name}.toml").read_text(encoding="utf-8")
            (topics / f"{name}.toml").write_text(f"{topic}[crawl]\nmax_pages = {budget}\n", encoding="utf-8")
        # The server gives the signal that ended it back: the simulated web is still to be stopped.
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda *_: sys.exit())
        run_service(_on(address, settings), data_dir, tell)


def _crawl(settings: Settings, data_dir: Path, scratch: Path) -> None:
    out = console()
    log = scratch / "requests.jsonl"
    with _running_web(0, scratch, "--log", str(log)) as address:
        code = run(_run_crawl(scratch / "sports.toml", _on(address, settings), data_dir))
    params, requests = truth.read_log(log)
    judged = truth.judge(Web(params), requests, "sports")
    out.print(
        f"By the server's own truth: {judged.harvest_rate:.1%} of {judged.pages:,} pages relevant, "
        f"{judged.relevant_sites:,} relevant sites, {judged.disallowed_requests} requests against robots.txt.",
        highlight=False,
    )
    raise typer.Exit(code)


async def _run_crawl(topic_file: Path, settings: Settings, data_dir: Path) -> int:
    topic = load_topic(topic_file)

    async def start(database: Database) -> Crawl:
        return await Crawl.load(database, await create_crawl(database, topic, settings))

    return await run_crawl(data_dir, settings, start, as_json=False)


def _on(address: str, settings: Settings) -> Settings:
    return settings.replaced("fetch", {"connect_to": address, "delay_seconds": DELAY_SECONDS})


@contextmanager
def _running_web(port: int, topics: Path, *options: str) -> Iterator[str]:
    """The address of a simulated web in a process of its own, which has written its topic files."""
    size = WebParams.of()
    print(f"Starting a simulated web of {size.sites:,} sites and {size.pages:,} pages …", flush=True)
    command = [sys.executable, "-m", "tres_crawler", "simweb", "--port", str(port), "--write-topics", str(topics)]
    # In a session of its own: Ctrl-C is for the crawls, whose last fetches it still answers.
    with subprocess.Popen([*command, *options], stdout=subprocess.PIPE, text=True, start_new_session=True) as web:
        try:
            assert web.stdout is not None
            address = web.stdout.readline().rpartition(" ")[2].strip()
            if not address:
                raise TresError("The simulated web did not start, for the reason above; --web-port takes another port.")
            yield address
        finally:
            web.terminate()
