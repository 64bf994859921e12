"""`tres export`: the pages of a crawl as a file."""

from __future__ import annotations

import csv
import json
from collections.abc import AsyncIterator
from enum import StrEnum
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
from tres_crawler.store import crawls, pages
from tres_crawler.store.database import Database

FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")


class Format(StrEnum):
    """Kinds of file."""

    JSONL = "jsonl"
    CSV = "csv"


def export(
    crawl_id: CrawlArgument,
    kind: Annotated[Format, typer.Option("--format", help="One JSON object a line, or a table.")] = Format.JSONL,
    output: Annotated[Path, typer.Option("-o", "--output", help="File to write.")] = Path("pages.jsonl"),
    data_dir: DataDirOption = DEFAULT_DATA_DIR,
    config: ConfigOption = None,
) -> None:
    """Write every page of a crawl to a file, in the order of fetching, also while it runs."""
    folder = readable(data_dir, load_settings(config))

    async def write() -> int:
        async with Database(folder.url, read_only=True) as database:
            await crawls.get(database, crawl_id)
            rows = pages.export(database, crawl_id)
            # Written beside and renamed at the end: the file is there whole, or as it was.
            partial = output.with_name(f".{output.name}.part")
            with partial.open("w", encoding="utf-8", newline="") as file:
                count = await (_jsonl(rows, file) if kind is Format.JSONL else _csv(rows, file))
            partial.replace(output)
            return count

    try:
        count = run(write())
    except OSError as error:
        raise ConfigError(f"{output} cannot be written: {error.strerror}. Give another with -o.") from error
    print(f"{count} pages in {output}")


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
