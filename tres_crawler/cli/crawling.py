"""`tres crawl`, `tres resume`, `tres stop`."""

from __future__ import annotations

import asyncio
import os
import signal
import time
import urllib.error
import urllib.request
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from tres_crawler.cli.common import (
    DEFAULT_DATA_DIR,
    ConfigOption,
    CrawlArgument,
    DataDirOption,
    console,
    load_settings,
    readable,
    run,
    shown_state,
)
from tres_crawler.cli.display import print_end, print_json, shown
from tres_crawler.config import Settings, overlaid
from tres_crawler.crawl import Crawl
from tres_crawler.errors import ControlError
from tres_crawler.examples import read_examples
from tres_crawler.fetch.client import request_headers
from tres_crawler.founding import create_crawl
from tres_crawler.records import CrawlState, StopReason
from tres_crawler.store import crawls
from tres_crawler.store.content import Content, open_content
from tres_crawler.store.database import Database
from tres_crawler.store.datadir import DataDir
from tres_crawler.topic import find_topic

STOP_WAIT_SECONDS = 60.0

PagesOption = Annotated[int | None, typer.Option("--pages", help="Page budget.")]
PerSiteOption = Annotated[
    str | None, typer.Option(metavar="M|M:K", help="Most pages of one site; 5:2 falls from 5 to 2; or none.")
]
RecrawlOption = Annotated[
    str | None,
    typer.Option(
        metavar="MODE", help="Visit known pages again: off, share (of the fetches), or monitor (also afterwards)."
    ),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON summary at the end and nothing else.")]


def crawl(
    topic: Annotated[str, typer.Argument(metavar="TOPIC", help="A topic file (TOML), or the name of a shipped topic.")],
    pages: PagesOption = None,
    max_per_site: PerSiteOption = None,
    policy: Annotated[
        str | None,
        typer.Option(help="Which link comes next: tres, best-first, or one to compare with (docs/papers.md)."),
    ] = None,
    data_dir: DataDirOption = DEFAULT_DATA_DIR,
    connect_to: Annotated[
        str | None, typer.Option(metavar="HOST:PORT", help="Send every connection there (for a simulated web).")
    ] = None,
    policy_from: Annotated[
        int | None, typer.Option(metavar="ID", min=1, help="Begin with what another crawl in the data dir has learned.")
    ] = None,
    judge_from: Annotated[
        int | None, typer.Option(metavar="ID", min=1, help="Begin with the judge of another crawl in the data dir.")
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Seed of the random draws.")] = None,
    recrawl: RecrawlOption = None,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Crawl a topic from its seeds until the page budget is spent.

    Ctrl-C finishes the fetches under way and saves; a second one leaves at once. Either way `tres resume` goes on.
    """
    wanted = find_topic(topic)
    examples = read_examples(wanted)
    settings = load_settings(config).replaced("crawl", wanted.crawl)
    given = {"max_pages": pages, "max_per_site": max_per_site, "policy": policy, "seed": seed}
    settings = settings.replaced("crawl", given).replaced("fetch", {"connect_to": connect_to})
    if recrawl:
        settings.replaced("recrawl", {"mode": recrawl})
        wanted = replace(wanted, recrawl={**wanted.recrawl, "mode": recrawl})

    async def start(database: Database) -> Crawl:
        number = await create_crawl(database, wanted, settings, examples, policy_from, judge_from)
        return await Crawl.load(database, number, content=content_of(number, data_dir, settings))

    raise typer.Exit(run(run_crawl(data_dir, settings, start, as_json)))


def resume(
    crawl_id: CrawlArgument,
    pages: PagesOption = None,
    max_per_site: PerSiteOption = None,
    recrawl: RecrawlOption = None,
    data_dir: DataDirOption = DEFAULT_DATA_DIR,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Go on with a crawl that was stopped or interrupted, with the settings it began with.

    --pages gives it a new budget and --max-per-site a new cap; a finished crawl needs one of them to have more to do,
    or `--recrawl monitor` to watch what it found.
    """
    settings = load_settings(config)
    readable(data_dir, settings)

    async def go_on(database: Database) -> Crawl:
        record = await crawls.get(database, crawl_id)
        changed = {"max_pages": pages, "max_per_site": max_per_site}
        overlaid(settings.crawl, "crawl", changed)
        overlaid(settings.recrawl, "recrawl", {"mode": recrawl})
        if record.stop_reason is StopReason.NO_SEED:
            raise ControlError(f"Crawl {crawl_id} never got past its seeds. Mend the topic and start a new one.")
        if record.state is CrawlState.FINISHED and not any(changed.values()) and recrawl != "monitor":
            raise ControlError(
                f"Crawl {crawl_id} is finished ({record.stop_reason}). Raise its budget with --pages, or its cap with "
                "--max-per-site, to go on; or watch what it found with --recrawl monitor."
            )
        content = content_of(crawl_id, data_dir, settings)
        return await Crawl.load(database, crawl_id, changed, content, recrawl={"mode": recrawl})

    raise typer.Exit(run(run_crawl(data_dir, settings, go_on, as_json)))


def stop(crawl_id: CrawlArgument, data_dir: DataDirOption = DEFAULT_DATA_DIR, config: ConfigOption = None) -> None:
    """Stop a crawl, also one that another process runs; `tres resume` goes on with it."""
    settings = load_settings(config)
    folder = readable(data_dir, settings)
    holder = folder.holder()
    record = run(_record(folder, crawl_id))
    state = shown_state(record, holder)
    if state not in (CrawlState.RUNNING, CrawlState.PAUSED, "interrupted"):
        raise ControlError(f"Crawl {crawl_id} is {state} already ({record.stop_reason}); there is nothing to stop.")
    go_on = f"tres resume {crawl_id} --data-dir {data_dir}"
    if holder and holder.get("url"):
        place = f"{holder['url']}/api/v1/crawls/{crawl_id}"
        _ask_service(f"{place}/stop", settings.serve.token or _left_token(data_dir))
        go_on = f"POST {place}/resume, or Resume on the dashboard"
    elif holder and holder.get("crawl") == crawl_id:
        os.kill(int(holder["pid"]), signal.SIGINT)
        _wait_until_left(folder, holder)
    elif holder:
        raise ControlError(
            f"Process {holder.get('pid')} uses {data_dir} for something else ({holder.get('doing')}), so crawl "
            f"{crawl_id}, which is {state}, cannot be marked as stopped now. Try again when it has ended."
        )
    else:
        run(_mark_stopped(folder, crawl_id))
    print(f"Crawl {crawl_id} is stopped. Go on with: {go_on}")


def content_of(crawl: int, data_dir: Path, settings: Settings) -> Content:
    """Where the pages of a crawl are kept, as the settings ask for."""
    return open_content(settings.store.content, crawl, data_dir, request_headers(settings.fetch))


async def run_crawl(
    data_dir: Path, settings: Settings, load: Callable[[Database], Awaitable[Crawl]], as_json: bool
) -> int:
    """Run a crawl to its end and report it; returns the exit code."""
    out = None if as_json else console()
    with DataDir(data_dir, settings.store.url) as folder:
        async with Database(folder.url) as database:
            crawl = await load(database)
            folder.tell(doing=f"crawl {crawl.id}", crawl=crawl.id)
            stop_on_ctrl_c(crawl)
            async with shown(crawl, out):
                summary = await crawl.run()
    if out is None:
        print_json(summary)
    else:
        print_end(out, summary, crawl.stop_detail)
        out.print(f"Look again with: tres status {crawl.id} --data-dir {data_dir}", highlight=False)
    failed = summary.stop_reason in (StopReason.NO_SEED, StopReason.FAILED)
    if failed and out is None:
        typer.echo(f"tres: {crawl.stop_detail}", err=True)
    return int(failed)


def stop_on_ctrl_c(crawl: Crawl) -> None:
    """The first signal lets steps in flight finish; the second leaves at once, losing nothing that was saved."""

    def interrupted() -> None:
        if crawl.state in (CrawlState.RUNNING, CrawlState.PAUSED):
            crawl.stop()
        else:
            os._exit(130)

    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, interrupted)


async def _record(folder: DataDir, crawl_id: int) -> crawls.CrawlRecord:
    async with Database(folder.url, read_only=True) as database:
        return await crawls.get(database, crawl_id)


async def _mark_stopped(folder: DataDir, crawl_id: int) -> None:
    with folder:
        async with Database(folder.url) as database:
            await database.write(crawls.state_change(crawl_id, CrawlState.STOPPED, StopReason.STOPPED))


def _wait_until_left(folder: DataDir, holder: dict[str, Any]) -> None:
    deadline = time.monotonic() + STOP_WAIT_SECONDS
    while (now := folder.holder()) is not None and now.get("pid") == holder["pid"]:
        if time.monotonic() > deadline:
            raise ControlError(f"Process {holder['pid']} has not ended after {STOP_WAIT_SECONDS:g} s; look at it.")
        time.sleep(0.1)


def _left_token(data_dir: Path) -> str:
    """The token that the entry point of the container has made, if it did."""
    try:
        return (data_dir / "token").read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError):
        return ""


def _ask_service(url: str, token: str) -> None:
    request = urllib.request.Request(url, method="POST")
    if token:
        request.add_header("Authorization", f"Bearer {token}")
    # It is on this machine, or this machine's neighbour: whatever proxy stands before the web has no part in it.
    direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        direct.open(request, timeout=STOP_WAIT_SECONDS).close()
    except urllib.error.HTTPError as error:
        told = error.read().decode(errors="replace")
        raise ControlError(f"The service refused to stop the crawl ({error.code}): {told}") from error
    except OSError as error:
        raise ControlError(f"The service at {url} does not answer: {error}.") from error
