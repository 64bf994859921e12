"""How a running crawl shows itself: a live panel on a terminal, plain lines in a pipe, nothing with --json."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import asdict

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.panel import Panel
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from tres_crawler.crawl import Crawl
from tres_crawler.records import STOP_ADVICE, StopReason, Summary

REFRESH_SECONDS = 0.25
LINE_EVERY_SECONDS = 2.0
LEARNING = "training the judge on the first pages …"


@asynccontextmanager
async def shown(crawl: Crawl, console: Console | None) -> AsyncIterator[None]:
    """Show the crawl until the block ends; `console` None shows nothing."""
    if console is None:
        yield
        return
    work = _live(crawl, console) if console.is_terminal else _lines(crawl, console)
    task = asyncio.create_task(work)
    try:
        yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


def figures(now: Summary) -> Table:
    """The figures of a crawl as a small table."""
    table = Table.grid(padding=(0, 3))
    rows: Mapping[str, str] = {
        "harvest rate": f"{now.harvest_rate:.1%}  ({now.relevant_pages:,} of {now.pages:,} pages)",
        "sites": f"{now.relevant_sites:,} relevant of {now.sites:,}",
        "speed": f"{now.pages_per_second:,.1f} pages/s over {now.seconds:,.0f} s",
        "waiting": f"{now.waiting:,} links in {now.leaves:,} {'leaf' if now.leaves == 1 else 'leaves'}",
        "lost": f"{now.failed:,} failed, {now.duplicates:,} duplicates",
    }
    for name, value in rows.items():
        table.add_row(Text(name, style="dim"), value)
    return table


def print_end(console: Console, now: Summary, detail: str | None) -> None:
    """The closing words: what was found, why it stopped, what to do."""
    reason = StopReason(now.stop_reason) if now.stop_reason else None
    console.print(Panel(figures(now), title=Text(f"crawl {now.crawl_id}: {now.topic}, {now.policy}"), expand=False))
    console.print(f"Stopped: {reason or 'not yet'}." + (f" {detail}" if detail else ""), highlight=False, markup=False)
    if reason and STOP_ADVICE[reason]:
        console.print(STOP_ADVICE[reason], highlight=False, markup=False)


def print_json(now: Summary) -> None:
    print(json.dumps(asdict(now)))


def _doing(crawl: Crawl) -> str:
    return LEARNING if crawl.is_learning_topic else crawl.latest_url


async def _live(crawl: Crawl, console: Console) -> None:
    bar = Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(40),
        TaskProgressColumn(),
        TimeElapsedColumn(),
        console=console,
    )
    progress = bar.add_task(f"{crawl.record.topic.name} ({crawl.record.policy})", total=crawl.settings.max_pages)

    def view() -> RenderableType:
        now = crawl.summary()
        bar.update(progress, completed=now.pages)
        latest = Text(_doing(crawl), style="cyan", no_wrap=True, overflow="ellipsis")
        return Panel(Group(bar, figures(now), latest), title=f"tres crawl {crawl.id}", width=min(console.width, 90))

    with Live(view(), console=console, auto_refresh=False, transient=True) as live:
        while True:
            await asyncio.sleep(REFRESH_SECONDS)
            live.update(view(), refresh=True)


async def _lines(crawl: Crawl, console: Console) -> None:
    while True:
        await asyncio.sleep(LINE_EVERY_SECONDS)
        now = crawl.summary()
        console.print(
            f"pages {now.pages}/{crawl.settings.max_pages}  harvest {now.harvest_rate:.1%}  "
            f"relevant sites {now.relevant_sites}  {now.pages_per_second:.1f} pages/s  waiting {now.waiting}"
            + (f"  {LEARNING}" if crawl.is_learning_topic else ""),
            highlight=False,
            soft_wrap=True,
        )
