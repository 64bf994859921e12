"""`tres export`: the pages of a crawl as a file."""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import AsyncIterator
from enum import StrEnum
from io import TextIOWrapper
from pathlib import Path
from typing import IO, Annotated, Any

import typer

from tres_crawler.cli.common import (
    DEFAULT_DATA_DIR,
    ConfigOption,
    CrawlArgument,
    DataDirOption,
    load_settings,
    readable,
    run,
)
from tres_crawler.errors import ConfigError
from tres_crawler.store import content, crawls, pages
from tres_crawler.store.database import Database

FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")
TEXTS_AT_ONCE = 100


class Format(StrEnum):
    """Kinds of file."""

    JSONL = "jsonl"
    CSV = "csv"
    WARC = "warc"


FormatOption = Annotated[
    Format,
    typer.Option(
        "--format", help="One JSON object a line, a table, or the whole exchanges, gzipped (needs store.content=warc)."
    ),
]
OutputOption = Annotated[
    Path | None,
    typer.Option("-o", "--output", help="File to write.  [default: pages.jsonl, pages.csv or pages.warc.gz]"),
]


def export(
    crawl_id: CrawlArgument,
    kind: FormatOption = Format.JSONL,
    output: OutputOption = None,
    data_dir: DataDirOption = DEFAULT_DATA_DIR,
    config: ConfigOption = None,
) -> None:
    """Write every page of a crawl to a file, in the order of fetching, also while it runs."""
    folder = readable(data_dir, load_settings(config))
    target = output or Path("pages.warc.gz" if kind is Format.WARC else f"pages.{kind}")
    if target.is_dir():
        raise ConfigError(f"{target} is a folder. Name a file with -o.")

    async def write() -> int:
        async with Database(folder.url, read_only=True) as database:
            await crawls.get(database, crawl_id)
            if kind is Format.WARC and not await content.has_exchanges(database, crawl_id):
                raise ConfigError(
                    f'Crawl {crawl_id} has kept no exchanges. Set store.content = "warc" (or TRES_STORE__CONTENT=warc) '
                    "before crawling; what was fetched without it is not there to be exported."
                )
            # Written beside and renamed at the end: the file is there whole, or as it was.
            partial = target.with_name(f".{target.name}.part")
            try:
                with partial.open("wb") as file:
                    if kind is Format.WARC:
                        count = await _warc(database, crawl_id, folder.path, target.name, file)
                    else:
                        count = await _lines(database, crawl_id, kind, file)
                partial.replace(target)
            finally:
                partial.unlink(missing_ok=True)
            return count

    try:
        count = run(write())
    except OSError as error:
        raise ConfigError(f"{target} cannot be written: {error.strerror}. Give another with -o.") from error
    print(f"{count} pages in {target}")


async def _warc(database: Database, crawl: int, folder: Path, name: str, file: IO[bytes]) -> int:
    count = lost = 0
    file.write(content.file_head(name, crawl))
    async for exchange in content.exchanges(database, crawl, folder):
        if exchange is None:
            lost += 1
        else:
            file.write(exchange)
            count += 1
    if lost:
        print(f"tres: {lost} pages left out: their WARC files in {folder} are gone or damaged.", file=sys.stderr)
    return count


async def _lines(database: Database, crawl: int, kind: Format, file: IO[bytes]) -> int:
    rows = pages.export(database, crawl)
    with TextIOWrapper(file, encoding="utf-8", newline="") as lines:
        return await (_csv(rows, lines) if kind is Format.CSV else _jsonl(_with_text(rows, database, crawl), lines))


async def _with_text(
    rows: AsyncIterator[dict[str, Any]], database: Database, crawl: int
) -> AsyncIterator[dict[str, Any]]:
    """The rows with the column `text`, if this crawl kept any text."""
    kept = await content.has_texts(database, crawl)
    async for some in _batches(rows):
        # Asked for after the rows, so that a running crawl cannot show a page before its text.
        texts = await content.read_texts(database, crawl, some[0]["number"], some[-1]["number"]) if kept else {}
        for row in some:
            yield {**row, "text": texts.get(row["number"])} if kept else row


async def _batches(rows: AsyncIterator[dict[str, Any]]) -> AsyncIterator[list[dict[str, Any]]]:
    batch = []
    async for row in rows:
        batch.append(row)
        if len(batch) == TEXTS_AT_ONCE:
            yield batch
            batch = []
    if batch:
        yield batch


async def _jsonl(rows: AsyncIterator[dict[str, Any]], file: IO[str]) -> int:
    count = 0
    async for row in rows:
        file.write(json.dumps(row, ensure_ascii=False) + "\n")
        count += 1
    return count


async def _csv(rows: AsyncIterator[dict[str, Any]], file: IO[str]) -> int:
    writer = csv.DictWriter(file, pages.EXPORT_COLUMNS)
    writer.writeheader()
    count = 0
    async for row in rows:
        writer.writerow({name: _safe(value) for name, value in row.items()})
        count += 1
    return count


def _safe(value: object) -> object:
    """A cell that no spreadsheet takes for a formula."""
    return f"'{value}" if isinstance(value, str) and value.startswith(FORMULA_STARTS) else value
