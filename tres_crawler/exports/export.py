"""One export under way: rows of the store → the bytes of a file, piece by piece."""

from __future__ import annotations

import csv
import json
from collections.abc import AsyncIterator, Iterable
from io import StringIO
from pathlib import Path
from typing import Any

from tres_crawler.errors import ConfigError
from tres_crawler.exports.formats import COLUMNS, FILE_NAME, Format
from tres_crawler.exports.parquet import ParquetPieces
from tres_crawler.store import content, crawls, exporting, pages
from tres_crawler.store.database import Database

Rows = AsyncIterator[dict[str, Any]]

PIECE_ROWS = 100
"""Few enough that encoding them, texts included, does not hold up the event loop."""
FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")
"""What a spreadsheet may take for the beginning of a formula, the wide forms of East Asian keyboards included."""


class Export:
    """Numbers `after` + 1 to `after` + `limit` of a crawl in one format, also while it runs.

    Pages, sites and links are numbered as they are found and never renumbered, so what a broken transfer has not
    brought can be asked for again from the last number that it has.
    """

    def __init__(
        self, database: Database, folder: Path, crawl: int, kind: Format, after: int = 0, limit: int | None = None
    ) -> None:
        self._database = database
        self._folder = folder
        self._crawl = crawl
        self._kind = kind
        self._after = after
        self._until = None if limit is None else after + limit
        self.rows = 0
        """How many have been given so far."""
        self.lost = 0
        """Exchanges left out because their bytes are gone or damaged."""

    async def check(self) -> None:
        """Raise why there is nothing that could be exported, if so."""
        await crawls.get(self._database, self._crawl)
        if self._kind is Format.WARC and not await content.has_exchanges(self._database, self._crawl):
            raise ConfigError(
                f'Crawl {self._crawl} has kept no exchanges. Set store.content = "warc" (or TRES_STORE__CONTENT=warc) '
                "before crawling; what was fetched without it is not there to be exported."
            )

    async def pieces(self) -> AsyncIterator[bytes]:
        """The file, in pieces to be written one after the other."""
        kind = self._kind
        if kind is Format.WARC:
            pieces = self._warc()
        elif kind is Format.PARQUET:
            pieces = self._parquet()
        elif kind is Format.JSONL:
            pieces = self._jsonl()
        else:
            pieces = self._csv()
        async for piece in pieces:
            yield piece

    async def _warc(self) -> AsyncIterator[bytes]:
        yield content.file_head(FILE_NAME[self._kind], self._crawl)
        wanted = content.exchanges(self._database, self._crawl, self._folder, self._after, self._until)
        async for exchange in wanted:
            if exchange is None:
                self.lost += 1
            else:
                self.rows += 1
                yield exchange

    async def _jsonl(self) -> AsyncIterator[bytes]:
        kept = await content.has_texts(self._database, self._crawl)
        async for batch in self._pages(with_text=kept):
            yield "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in batch).encode()

    async def _csv(self) -> AsyncIterator[bytes]:
        columns = COLUMNS[self._kind]
        # What follows an earlier part is appended to it, so only the first part has the line of names.
        if not self._after:
            yield _table([dict(zip(columns, columns, strict=True))], columns)
        async for batch in self._batches(self._table_rows()):
            yield _table(batch, columns)

    async def _parquet(self) -> AsyncIterator[bytes]:
        writer = ParquetPieces(COLUMNS[self._kind])
        async for batch in self._pages(with_text=True):
            if piece := await writer.add(batch):
                yield piece
        yield await writer.end()

    def _table_rows(self) -> Rows:
        read = {Format.CSV: pages.export, Format.SITES: exporting.sites_of, Format.GRAPH: exporting.edges_of}
        return read[self._kind](self._database, self._crawl, self._after, self._until)

    async def _pages(self, with_text: bool) -> AsyncIterator[list[dict[str, Any]]]:
        rows = pages.export(self._database, self._crawl, self._after, self._until)
        async for batch in self._batches(rows):
            if with_text:
                # Asked for after the rows, so that a running crawl cannot show a page before its text.
                first, last = batch[0]["number"], batch[-1]["number"]
                texts = await content.read_texts(self._database, self._crawl, first, last)
                batch = [{**row, "text": texts.get(row["number"])} for row in batch]
            yield batch

    async def _batches(self, rows: Rows) -> AsyncIterator[list[dict[str, Any]]]:
        batch = []
        async for row in rows:
            batch.append(row)
            if len(batch) == PIECE_ROWS:
                self.rows += len(batch)
                yield batch
                batch = []
        if batch:
            self.rows += len(batch)
            yield batch


def _table(rows: Iterable[dict[str, Any]], columns: Iterable[str]) -> bytes:
    text = StringIO(newline="")
    writer = csv.DictWriter(text, list(columns))
    writer.writerows({name: safe_cell(value) for name, value in row.items()} for row in rows)
    return text.getvalue().encode()


def safe_cell(value: object) -> object:
    """A cell that no spreadsheet takes for a formula."""
    return f"'{value}" if isinstance(value, str) and value.startswith(FORMULA_STARTS) else value
