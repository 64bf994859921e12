"""`tres simweb`: a web of one's own, without the internet."""

from __future__ import annotations

import asyncio
import signal
import sys
from pathlib import Path
from typing import Annotated

import typer

from tres_crawler.cli.common import console, run
from tres_crawler.simweb import describe as description
from tres_crawler.simweb.model import Web
from tres_crawler.simweb.params import PRESETS, WebParams
from tres_crawler.simweb.server import RequestLog, SimServer
from tres_crawler.simweb.topics import write_topics


def simweb(
    sites: Annotated[int | None, typer.Option(help="How many sites.  \\[default: 2000]")] = None,
    pages: Annotated[int | None, typer.Option(help="How many pages over all sites.  \\[default: 100000]")] = None,
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port on the loopback; 0 takes a free one.")] = 8099,
    seed: Annotated[int | None, typer.Option(help="Another seed is another web.  \\[default: 1]")] = None,
    log: Annotated[Path | None, typer.Option(help="Write every request to this file (JSON lines).")] = None,
    write_topics_to: Annotated[
        Path | None, typer.Option("--write-topics", metavar="DIR", help="Write a topic file with a seed per topic.")
    ] = None,
    preset: Annotated[str, typer.Option(help=f"Kind of web: {', '.join(PRESETS)}.")] = "default",
    params: Annotated[Path | None, typer.Option(help="TOML file with parameters (docs/simweb.md lists them).")] = None,
    time_scale: Annotated[
        float, typer.Option(min=0, help="How much faster the web's time runs; 3600: an hour a second; 0: stands still.")
    ] = 0.0,
    prepare: Annotated[int, typer.Option(min=0, help="Make this many pages ahead, for speed runs.")] = 0,
    describe: Annotated[bool, typer.Option("--describe", help="Print what the web is like and end.")] = False,
    plots: Annotated[Path | None, typer.Option(metavar="DIR", help="With --describe: write pictures too.")] = None,
) -> None:
    """Serve a simulated web on one loopback port, whatever host is asked for.

    Crawl it with: tres crawl DIR/sports.toml --connect-to 127.0.0.1:PORT
    """
    web = Web(WebParams.of(preset, params, sites=sites, pages=pages, seed=seed))
    if write_topics_to and not write_topics(web, write_topics_to):
        print(
            "No topic file was written: no topic has a site on this web that would do as a seed. Raise --sites.",
            file=sys.stderr,
        )
    if describe or plots:
        _describe(web, plots)
        return
    run(_serve(web, port, log, time_scale, prepare))


def _describe(web: Web, plots: Path | None) -> None:
    out = console()
    if plots:
        description.make_folder(plots)
    found = description.describe(web)
    for table in description.tables(web, found):
        out.print(table)
    out.print("Parameters:", web.params.model_dump_json(), highlight=False, soft_wrap=True)
    for path in description.plot(web, found, plots) if plots else ():
        out.print(f"Picture: {path}", highlight=False)


async def _serve(web: Web, port: int, log: Path | None, time_scale: float, prepare: int) -> None:
    ended = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, ended.set)
    requests = RequestLog(log, web.params, time_scale) if log else None
    async with SimServer(web, port, requests, time_scale) as server:
        server.prepare(prepare)
        size = f"{web.params.sites} sites, {web.params.pages} pages"
        print(f"Simulated web: {size} on 127.0.0.1:{server.port}", flush=True)
        await ended.wait()
