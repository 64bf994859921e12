"""Options and helpers that several commands share."""

from __future__ import annotations

import asyncio
import json
import logging
import signal
import sys
from collections.abc import Coroutine
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer
import uvloop
from rich.console import Console

from tres_crawler.config import LogSettings, Settings
from tres_crawler.errors import NotFound
from tres_crawler.logs import Concerned
from tres_crawler.records import CrawlState
from tres_crawler.store.crawls import CrawlRecord
from tres_crawler.store.datadir import DataDir

T = TypeVar("T")

PIPE_WIDTH = 200
DEFAULT_DATA_DIR = Path("data")

DataDirOption = Annotated[Path, typer.Option("--data-dir", help="Folder that holds the database.", show_default=True)]
ConfigOption = Annotated[Path | None, typer.Option("--config", help="TOML file with settings.")]
CrawlArgument = Annotated[
    int, typer.Argument(metavar="ID", min=1, max=2**31 - 1, help="Number of the crawl; `tres crawls` lists them.")
]


def load_settings(config: Path | None) -> Settings:
    settings = Settings.load(config)
    set_up_logging(settings.log)
    return settings


def console() -> Console:
    """Standard output; in a pipe lines are not folded at a width nobody has."""
    return Console(width=None if sys.stdout.isatty() else PIPE_WIDTH)


def run(work: Coroutine[Any, Any, T]) -> T:
    """To its end; SIGTERM breaks it off as Ctrl-C does, so that processes it has started end with it."""
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        try:
            return runner.run(_cancellable(work))
        except asyncio.CancelledError:
            raise KeyboardInterrupt from None


async def _cancellable(work: Coroutine[Any, Any, T]) -> T:
    task = asyncio.current_task()
    assert task
    # Who ends otherwise, as a crawl does, puts a handler of its own in the place of this one.
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
    return await work


def readable(data_dir: Path, settings: Settings) -> DataDir:
    """A data directory to read beside whoever writes to it."""
    folder = DataDir(data_dir, settings.store.url)
    if not folder.exists():
        raise NotFound(f"There is no crawl in {data_dir}. Give the folder with --data-dir, or start one: tres crawl.")
    return folder


def shown_state(record: CrawlRecord, holder: dict[str, Any] | None) -> str:
    """The state as a person should read it: a crawl that nobody runs any more was interrupted."""
    active = record.state in (CrawlState.RUNNING, CrawlState.PAUSED)
    running_here = holder is not None and holder.get("crawl", record.id) == record.id
    return "interrupted" if active and not running_here else str(record.state)


class JsonFormatter(logging.Formatter):
    """One JSON object a line."""

    def format(self, record: logging.LogRecord) -> str:
        row = {
            "time": self.formatTime(record, "%Y-%m-%dT%H:%M:%S"),
            "level": record.levelname,
            "logger": record.name,
            "message": record.getMessage(),
            **getattr(record, "fields", {}),
        }
        if record.exc_info:
            row["traceback"] = self.formatException(record.exc_info)
        return json.dumps(row)


def set_up_logging(settings: LogSettings) -> None:
    handler = logging.StreamHandler()
    handler.addFilter(Concerned())
    if settings.format == "json":
        handler.setFormatter(JsonFormatter())
    else:
        handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s %(message)s%(about)s"))
    logging.basicConfig(level=settings.level.upper(), handlers=[handler], force=True)
    # It tells of every object it makes, which is not the crawl's story.
    logging.getLogger("gensim").setLevel(logging.WARNING)
