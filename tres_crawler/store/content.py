"""What is kept of pages beside their figures: nothing, their text, or whole exchanges in WARC files."""

from __future__ import annotations

import asyncio
import re
import zlib
from collections.abc import AsyncIterator, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from http.client import responses
from io import BytesIO
from pathlib import Path
from typing import IO, Any, Literal, Protocol

from sqlalchemy import Table, insert, select
from warcio.recordbuilder import RecordBuilder
from warcio.statusandheaders import StatusAndHeaders
from warcio.timeutils import datetime_to_iso_date
from warcio.warcwriter import WARCWriter

from tres_crawler import __version__
from tres_crawler.errors import StoreError
from tres_crawler.records import Document, Fetched
from tres_crawler.store.database import Change, Database
from tres_crawler.store.tables import records, texts
from tres_crawler.urls import host_of

INSERT_TEXT = insert(texts)
INSERT_RECORD = insert(records)
WARC_VERSION = "WARC/1.1"
GZIP = 31
"""zlib's number for a gzip header and checksum."""
MAX_FILE_BYTES = 1_000_000_000
READ_CHUNK = 1000
OF_THE_WIRE = ("content-encoding", "content-length", "transfer-encoding")
"""Headers that speak of the body as it was sent; the one kept is decoded."""

Headers = Sequence[tuple[str, str]]


class Content(Protocol):
    """Keeps pages; belongs to one crawl and to the thread that made it."""

    def keep(self, page: int, fetched: Fetched, document: Document) -> Sequence[Change]:
        """Keep one page; the rows are to be committed with it. Raises a StoreError when the disk is full."""

    def close(self) -> None:
        """Let go of open files."""


def open_content(
    kind: Literal["none", "text", "warc"],
    crawl: int,
    folder: Path,
    request_headers: Headers = (),
    max_file_bytes: int = MAX_FILE_BYTES,
) -> Content:
    """The content of a crawl as `store.content` asks for it; WARC files go to `folder`/warc.

    `request_headers` are those sent with every request beside Host: an exchange does not bring them along.
    """
    if kind == "warc":
        return Warc(crawl, folder, request_headers, max_file_bytes)
    return Texts(crawl) if kind == "text" else Nothing()


class Nothing:
    """Keeps nothing."""

    def keep(self, page: int, fetched: Fetched, document: Document) -> Sequence[Change]:
        return ()

    def close(self) -> None:
        pass


class Texts:
    """Keeps the main text of every page that has one, in the database."""

    def __init__(self, crawl: int) -> None:
        self._crawl = crawl

    def keep(self, page: int, fetched: Fetched, document: Document) -> Sequence[Change]:
        if not document.text:
            return ()
        text = document.text.encode("utf-8", "replace")
        return [
            Change(INSERT_TEXT, [{"crawl": self._crawl, "page": page, "body": zlib.compress(text, _level(len(text)))}])
        ]

    def close(self) -> None:
        pass


class Warc:
    """Keeps exchanges in files that only one run ever writes, so a torn end can only be the end of a file.

    A row is handed out when the operating system has the bytes it points to.
    """

    def __init__(self, crawl: int, folder: Path, request_headers: Headers, max_file_bytes: int) -> None:
        self._crawl = crawl
        self._folder = _warc_folder(folder)
        self._request_headers = request_headers
        self._max_file_bytes = max_file_bytes
        self._file: IO[bytes] | None = None
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise _cannot_write(self._folder, error) from error

    def keep(self, page: int, fetched: Fetched, document: Document) -> Sequence[Change]:
        exchange = _exchange(fetched, self._request_headers)
        try:
            file = self._file_for(len(exchange))
            offset = file.tell()
            file.write(exchange)
            file.flush()
        except OSError as error:
            self.close()  # its end may be torn: whatever follows goes to a new file
            raise _cannot_write(self._folder, error) from error
        name = Path(file.name).name
        row = {"crawl": self._crawl, "page": page, "file": name, "offset": offset, "length": len(exchange)}
        return [Change(INSERT_RECORD, [row])]

    def close(self) -> None:
        file, self._file = self._file, None
        if file:
            with suppress(OSError):  # all that counts was flushed before
                file.close()

    def _file_for(self, length: int) -> IO[bytes]:
        if self._file and self._file.tell() + length > self._max_file_bytes:
            self.close()
        if not self._file:
            path = self._folder / f"crawl-{self._crawl}-{self._last_number() + 1:05}.warc.gz"
            self._file = path.open("xb")
            self._file.write(file_head(path.name, self._crawl))
        return self._file

    def _last_number(self) -> int:
        names = (path.name.partition(".")[0] for path in self._folder.glob(f"crawl-{self._crawl}-*.warc.gz"))
        numbers = (name.rpartition("-")[2] for name in names)
        return max((int(number) for number in numbers if number.isdecimal()), default=0)


# ---- reading ----


def remove_files(folder: Path, crawl: int) -> None:
    """Remove the WARC files of a crawl."""
    for path in _warc_folder(folder).glob(f"crawl-{crawl}-*.warc.gz"):
        path.unlink(missing_ok=True)


async def has_texts(database: Database, crawl: int) -> bool:
    return await _has_rows(database, texts, crawl)


async def has_exchanges(database: Database, crawl: int) -> bool:
    return await _has_rows(database, records, crawl)


async def read_texts(database: Database, crawl: int, first: int, last: int) -> dict[int, str]:
    """The kept texts of a range of pages, by page."""
    found = await database.rows(
        select(texts.c.page, texts.c.body).where(texts.c.crawl == crawl, texts.c.page.between(first, last))
    )
    return {row.page: zlib.decompress(row.body).decode() for row in found}


async def exchanges(
    database: Database, crawl: int, folder: Path, after: int = 0, until: int | None = None
) -> AsyncIterator[bytes | None]:
    """Kept exchanges as their compressed records, by page; None for one whose bytes are gone or damaged."""
    query = select(records).where(records.c.crawl == crawl).order_by(records.c.page).limit(READ_CHUNK)
    if until is not None:
        query = query.where(records.c.page <= until)
    while chunk := await database.rows(query.where(records.c.page > after)):
        for row in chunk:
            yield await asyncio.to_thread(_read, _warc_folder(folder) / row.file, row.offset, row.length)
        after = chunk[-1].page


async def _has_rows(database: Database, table: Table, crawl: int) -> bool:
    return bool(await database.rows(select(table.c.page).where(table.c.crawl == crawl).limit(1)))


def _read(path: Path, offset: int, length: int) -> bytes | None:
    try:
        with path.open("rb") as file:
            file.seek(offset)
            exchange = file.read(length)
    except OSError:
        return None
    return exchange if len(exchange) == length and _is_whole(exchange) else None


def _is_whole(exchange: bytes) -> bool:
    """Whether every record can be unpacked to its end and has the checksum it was written with.

    A power cut may lose bytes that the index, synced at another moment, already points to.
    """
    while exchange:
        record = zlib.decompressobj(GZIP)
        try:
            record.decompress(exchange)
        except zlib.error:
            return False
        if not record.eof:
            return False
        exchange = record.unused_data
    return True


# ---- records ----


class _HttpHeaders(StatusAndHeaders):  # type: ignore[misc]  # warcio has no types
    """Keeps the bytes a server sent, where warcio would rewrite what is not ASCII, or fail."""

    def to_ascii_bytes(self, filter_func: Any = None) -> bytes:
        text: str = self.to_str(filter_func)
        return text.encode("utf-8", "surrogateescape") + b"\r\n"


def file_head(name: str, crawl: int) -> bytes:
    """The record that opens a file and says who made it."""
    told = {
        "software": f"tres_crawler/{__version__}",
        "format": "WARC File Format 1.1",
        "conformsTo": "https://iipc.github.io/warc-specifications/specifications/warc-format/warc-1.1/",
        "isPartOf": f"crawl-{crawl}",
    }
    return _packed(RecordBuilder(WARC_VERSION).create_warcinfo_record(name, told))


def _exchange(fetched: Fetched, request_headers: Headers) -> bytes:
    """A response record and its request record, each compressed alone."""
    builder = RecordBuilder(WARC_VERSION)
    began = datetime.now(UTC).replace(tzinfo=None) - timedelta(seconds=fetched.seconds)
    named = {"WARC-Date": datetime_to_iso_date(began, use_micros=True)}
    response = builder.create_warc_record(
        fetched.url,
        "response",
        payload=BytesIO(fetched.body),
        length=len(fetched.body),
        http_headers=_response_headers(fetched),
        warc_headers_dict=named,
    )
    request = builder.create_warc_record(
        fetched.url,
        "request",
        http_headers=_request_headers(fetched.url, request_headers),
        warc_headers_dict=named | {"WARC-Concurrent-To": response.rec_headers.get_header("WARC-Record-ID")},
    )
    return _packed(response) + _packed(request)


def _response_headers(fetched: Fetched) -> StatusAndHeaders:
    headers = fetched.headers or (("Content-Type", fetched.content_type),)
    kept = [(name, _one_line(value)) for name, value in headers if name.lower() not in OF_THE_WIRE]
    kept.append(("Content-Length", str(len(fetched.body))))
    return _HttpHeaders(f"{fetched.status} {responses.get(fetched.status, '')}", kept, protocol="HTTP/1.1")


def _request_headers(url: str, headers: Headers) -> StatusAndHeaders:
    target = url.partition("//")[2].partition("/")[2]
    return _HttpHeaders(f"GET /{target} HTTP/1.1", [("Host", host_of(url)), *headers], is_http_request=True)


def _one_line(value: str) -> str:
    return re.sub(r"[\r\n]+", " ", value)


def _packed(record: Any) -> bytes:
    plain = BytesIO()
    WARCWriter(plain, gzip=False).write_record(record)
    return zlib.compress(plain.getvalue(), _level(plain.tell()), GZIP)


def _level(size: int) -> int:
    """How hard to compress: the event loop waits for it, and is to wait less than 50 ms, also for 5 MB."""
    if size < 300_000:
        return 6
    return 1 if size < 1_000_000 else 0


def _warc_folder(folder: Path) -> Path:
    return folder / "warc"


def _cannot_write(folder: Path, error: OSError) -> StoreError:
    return StoreError(
        f"The WARC files in {folder} cannot be written: {error.strerror or error}. What was saved before is whole. "
        "Make room on the disk or mend its rights, then resume the crawl, by `tres resume` or in its service."
    )
