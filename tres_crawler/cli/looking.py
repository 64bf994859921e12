"""`tres crawls`, `tres status`, `tres db`: they read, beside whatever runs."""

from __future__ import annotations

import asyncio
import time
from dataclasses import asdict
from typing import Annotated, Any

import typer
from rich.markup import escape
from rich.table import Table

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
from tres_crawler.cli.display import print_end
from tres_crawler.freshness import Freshness, NewsItem, freshness
from tres_crawler.records import Summary
from tres_crawler.store import crawls, links, migrate
from tres_crawler.store.database import Database
from tres_crawler.store.datadir import DataDir

TROUBLES = ("quarantine", "host given up")
"""Events about hosts that a person should see."""
NEXT_VISITS = 5
"""Next visits and news that are shown."""
SHOWN_CHARACTERS = 160
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON.")]

db = typer.Typer(help="Look after the database.", no_args_is_help=True)


def list_crawls(
    data_dir: DataDirOption = DEFAULT_DATA_DIR, config: ConfigOption = None, as_json: JsonOption = False
) -> None:
    """List the crawls in a data directory."""
    folder = readable(data_dir, load_settings(config))
    holder = folder.holder()

    async def read() -> list[tuple[crawls.CrawlRecord, Summary]]:
        async with Database(folder.url, read_only=True) as database:
            records = await crawls.every(database)
            return [(record, await crawls.summary(database, record)) for record in records]

    found = run(read())
    out = console()
    if as_json:
        out.print_json(data=[{"state": shown_state(r, holder), **asdict(s)} for r, s in found])
        return
    table = Table("id", "topic", "policy", "state", "pages", "harvest", "relevant sites", "started")
    for record, summary in found:
        started = time.strftime("%Y-%m-%d %H:%M", time.localtime(record.created_at))
        figures = (f"{summary.pages:,}", f"{summary.harvest_rate:.1%}", f"{summary.relevant_sites:,}", started)
        table.add_row(str(record.id), escape(record.topic.name), record.policy, shown_state(record, holder), *figures)
    out.print(table)


def status(
    crawl_id: CrawlArgument,
    data_dir: DataDirOption = DEFAULT_DATA_DIR,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show the figures of one crawl, running or ended."""
    folder = readable(data_dir, load_settings(config))

    async def read() -> tuple[Any, ...]:
        async with Database(folder.url, read_only=True) as database:
            record = await crawls.get(database, crawl_id)
            figures = await crawls.summary(database, record)
            troubled = {kind: await crawls.troubled_hosts(database, crawl_id, kind) for kind in TROUBLES}
            judge = await crawls.newest_event(database, crawl_id, "judge")
            known = await freshness(database, record, time.time(), NEXT_VISITS)
            return record, figures, await links.refusals(database, crawl_id), troubled, judge, known

    record, summary, refused, troubled, judge, known = run(read())
    state = shown_state(record, folder.holder())
    out = console()
    if as_json:
        told = {"refused": refused, "hosts": troubled, "judge": judge, "recrawl": asdict(known)}
        out.print_json(data={"state": state, **asdict(summary), **told})
        return
    out.print(f"State: {state}.", highlight=False)
    print_end(out, summary, record.stop_detail)
    out.print(f"Judge: {_judge_told(judge)}", highlight=False, markup=False)
    for reason, count in refused.items():
        out.print(f"{count:,} links refused: {reason}", highlight=False, markup=False)
    for kind, hosts in troubled.items():
        for host, why in hosts.items():
            out.print(f"{kind}: {host} ({why})", highlight=False, markup=False)
    for line in _freshness_told(known):
        out.print(line, highlight=False, markup=False)


def _freshness_told(known: Freshness) -> list[str]:
    """The known pages in a few lines; none where none was ever visited again."""
    if known.mode == "off" and not known.visits:
        return []
    fresh = "" if known.fresh is None else f", {known.fresh:.0%} fresh by estimate"
    found = "" if known.changes_per_100_visits is None else f", {known.changes_per_100_visits:.1f} changes per 100"
    lines = [
        f"Recrawl ({known.mode}, {known.policy}): {known.sources:,} sources, {known.due:,} due{fresh}; "
        f"{known.visits:,} visits{found}."
    ]
    lines += [f"{count:,} sources retired: {reason}" for reason, count in known.retired.items()]
    for visit in known.next:
        index = "" if visit.index is None else f" [index {visit.index:.4f}]"
        lines.append(f"next: {visit.url}{index} {visit.why}")
    return lines + [f"new: {item.url}: {_words(item)}" for item in known.news]


def _words(item: NewsItem) -> str:
    new = " … ".join(" ".join(words.split()) for is_new, words in item.segments if is_new)
    return new if len(new) <= SHOWN_CHARACTERS else new[:SHOWN_CHARACTERS] + "…"


def _judge_told(judge: dict[str, Any] | None) -> str:
    if not judge:
        return "keywords and word vectors."
    learned = (
        f"{judge['model']}, version {judge['version']}, from {judge['examples']} pages ({judge['labels']} labelled)"
    )
    if judge.get("is_agreement", True):
        return f"{learned}; precision and recall unknown without labels."
    return f"{learned}; on held-out labels precision {judge['precision']:.2f}, recall {judge['recall']:.2f}."


@db.command("upgrade")
def upgrade(data_dir: DataDirOption = DEFAULT_DATA_DIR, config: ConfigOption = None) -> None:
    """Bring the database to the schema of this version (`tres crawl` and `tres serve` do so by themselves)."""
    with DataDir(data_dir, load_settings(config).store.url) as folder:
        before, after = migrate.upgrade(folder.url)
    print(f"Schema {after}" + (", as before." if before == after else f" (was {before or 'empty'})."))


@db.command("check")
def check(data_dir: DataDirOption = DEFAULT_DATA_DIR, config: ConfigOption = None) -> None:
    """Say whether the database fits this version; changes nothing."""
    folder = readable(data_dir, load_settings(config))
    migrate.check(folder.url)
    asyncio.run(_count(folder))


async def _count(folder: DataDir) -> None:
    async with Database(folder.url, read_only=True) as database:
        print(f"The schema fits. {len(await crawls.every(database))} crawls.")
