"""`tres export`: a crawl as a file."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

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
from tres_crawler.exports.export import Export
from tres_crawler.exports.formats import FILE_NAME, Format, counted
from tres_crawler.store.database import Database

FormatOption = Annotated[
    Format,
    typer.Option(
        "--format",
        help="Pages as JSON lines, table or Parquet; whole exchanges, gzipped (needs store.content=warc); a table of "
        "sites; a table of links.",
    ),
]
OutputOption = Annotated[
    Path | None,
    typer.Option("-o", "--output", help="File to write.  \\[default: pages.jsonl, sites.csv, … after the format]"),
]


def export(
    crawl_id: CrawlArgument,
    kind: FormatOption = Format.JSONL,
    output: OutputOption = None,
    after: Annotated[int, typer.Option(min=0, help="Begin after this number: the last one you have.")] = 0,
    limit: Annotated[int | None, typer.Option(min=1, help="How many numbers to go on.  \\[default: all]")] = None,
    data_dir: DataDirOption = DEFAULT_DATA_DIR,
    config: ConfigOption = None,
) -> None:
    """Write every page of a crawl to a file, in the order of fetching, also while it runs (docs/exports.md)."""
    folder = readable(data_dir, load_settings(config))
    target = output or Path(FILE_NAME[kind])
    if target.is_dir():
        raise ConfigError(f"{target} is a folder. Name a file with -o.")

    async def write() -> Export:
        async with Database(folder.url, read_only=True) as database:
            wanted = Export(database, folder.path, crawl_id, kind, after, limit)
            await wanted.check()
            # Written beside and renamed at the end: the file is there whole, or as it was.
            partial = target.with_name(f".{target.name}.part")
            try:
                with partial.open("wb") as file:
                    async for piece in wanted.pieces():
                        file.write(piece)
                partial.replace(target)
            finally:
                partial.unlink(missing_ok=True)
            return wanted

    try:
        written = run(write())
    except OSError as error:
        raise ConfigError(f"{target} cannot be written: {error.strerror}. Give another with -o.") from error
    if written.lost:
        print(
            f"tres: {written.lost} pages left out: their WARC files in {folder.path} are gone or damaged.",
            file=sys.stderr,
        )
    print(f"{counted(kind, written.rows)} in {target}")
