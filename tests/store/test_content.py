"""What is kept of a page can be had again, and no row points to what is not there."""

from __future__ import annotations

import subprocess
import sys
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from warcio.archiveiterator import ArchiveIterator

from tres_crawler.errors import StoreError
from tres_crawler.records import Document, Fetched
from tres_crawler.store import content
from tres_crawler.store.content import open_content
from tres_crawler.store.database import Change, Database

WARCIO = Path(sys.executable).with_name("warcio")
HTML = "text/html; charset=utf-8"


def a_page(
    url: str = "http://a.test/",
    status: int = 200,
    body: bytes = b"<p>Words of the page.</p>",
    headers: tuple[tuple[str, str], ...] = (("Content-Type", HTML),),
) -> Fetched:
    return Fetched(url, status, HTML, body, location=None, seconds=0.1, headers=headers)


def a_document(text: str = "Words of the page.") -> Document:
    return Document("http://a.test/", "Title", "", text, ())


def warcio_check(path: Path) -> tuple[int, str]:
    """What the real command says of a file: its exit code, and every complaint."""
    told = subprocess.run([WARCIO, "check", path], capture_output=True, text=True, timeout=60, check=False)
    return told.returncode, told.stdout + told.stderr


DOCUMENT = a_document()


def only_row(changes: Sequence[Change]) -> dict[str, Any]:
    (change,) = changes
    (row,) = change.rows
    return dict(row)


def records(path: Path) -> list[tuple[dict[str, str], Any, bytes]]:
    """Of every record of a file: its headers, those of HTTP, and its payload."""
    with path.open("rb") as file:
        return [
            (dict(record.rec_headers.headers), record.http_headers, record.raw_stream.read())
            for record in ArchiveIterator(file)
        ]


def files(folder: Path) -> list[str]:
    return sorted(path.name for path in (folder / "warc").iterdir())


# ---- nothing and texts ----


def test_without_content_nothing_is_kept_and_no_folder_made(tmp_path: Path) -> None:
    kept = open_content("none", 1, tmp_path)
    assert list(kept.keep(1, a_page(), DOCUMENT)) == []
    kept.close()
    assert list(tmp_path.iterdir()) == []


async def test_texts_come_back_as_they_were(database: Database, tmp_path: Path) -> None:
    kept = open_content("text", 1, tmp_path)
    texts = {1: "Größe, 漢字, \U0001f600", 2: "word " * 500_000, 3: "", 4: "lone \ud800 surrogate"}
    for page, text in texts.items():
        await database.write(*kept.keep(page, a_page(), a_document(text)))
    assert await content.has_texts(database, 1)
    assert not await content.has_texts(database, 2)
    assert await content.read_texts(database, 1, 1, 3) == {1: texts[1], 2: texts[2]}
    assert await content.read_texts(database, 1, 4, 9) == {4: "lone ? surrogate"}


def test_texts_take_less_room_than_they_are_long(tmp_path: Path) -> None:
    row = only_row(open_content("text", 1, tmp_path).keep(1, a_page(), a_document("one and the other " * 500)))
    assert len(row["body"]) < 200


# ---- WARC ----


def test_a_warc_file_opens_with_its_maker_and_holds_response_and_request(tmp_path: Path) -> None:
    kept = open_content("warc", 7, tmp_path, request_headers=[("User-Agent", "tres_crawler/1 (+me@a.test)")])
    kept.keep(1, a_page("https://user@a.test:8443/b/c?d=e", body=b"<p>hello</p>"), DOCUMENT)
    kept.close()
    assert files(tmp_path) == ["crawl-7-00001.warc.gz"]
    path = tmp_path / "warc/crawl-7-00001.warc.gz"
    (info, _, told), (response, answered, body), (request, asked, _) = records(path)
    assert path.read_bytes().count(b"\x1f\x8b\x08") == 3
    assert zlib.decompressobj(31).decompress(path.read_bytes()).startswith(b"WARC/1.1\r\n")
    assert (info["WARC-Type"], info["WARC-Filename"]) == ("warcinfo", path.name)
    assert b"software: tres_crawler/" in told
    assert (response["WARC-Type"], request["WARC-Type"]) == ("response", "request")
    assert response["WARC-Target-URI"] == request["WARC-Target-URI"] == "https://user@a.test:8443/b/c?d=e"
    assert request["WARC-Concurrent-To"] == response["WARC-Record-ID"]
    assert request["WARC-Date"] == response["WARC-Date"]
    assert {"WARC-Block-Digest", "WARC-Payload-Digest"} <= response.keys() & request.keys()
    assert (answered.protocol, answered.statusline, body) == ("HTTP/1.1", "200 OK", b"<p>hello</p>")
    assert (asked.protocol, asked.statusline) == ("GET", "/b/c?d=e HTTP/1.1")
    assert asked.headers == [("Host", "a.test:8443"), ("User-Agent", "tres_crawler/1 (+me@a.test)")]
    assert warcio_check(path) == (0, "")


def test_headers_tell_of_the_body_that_is_kept_not_of_the_one_sent(tmp_path: Path) -> None:
    sent = (
        ("content-type", "text/html"),
        ("content-encoding", "br"),
        ("Content-Length", "12"),
        ("Transfer-Encoding", "chunked"),
        ("X-Other", "1"),
        ("x-other", "2"),
    )
    kept = open_content("warc", 1, tmp_path)
    kept.keep(1, a_page(body=b"x" * 300, headers=sent), DOCUMENT)
    kept.close()
    _, answered, _ = records(tmp_path / "warc/crawl-1-00001.warc.gz")[1]
    assert answered.headers == [
        ("content-type", "text/html"),
        ("X-Other", "1"),
        ("x-other", "2"),
        ("Content-Length", "300"),
    ]


@pytest.mark.parametrize(
    "fetched",
    [
        a_page(headers=(("X-Odd", "caf\udce9 Größe; a=\udcff"), ("X-Two", "a\r\nWARC/1.1\r\n\r\nb"))),
        a_page(headers=(("X-Long", "x" * 32_000), ("X-Empty", ""))),
        a_page(status=299, body=b""),
        a_page(headers=(), body=b"\r\n\r\nWARC/1.1\r\nWARC-Type: response\r\n\r\n\0\xff"),
        a_page(body=bytes(range(256)) * 2000),
        a_page(body=b"\x1f\x8b\x08 no gzip " * 200_000),
    ],
    ids=["not ascii", "long", "no body", "no headers", "binary", "large"],
)
def test_whatever_a_server_answers_can_be_read_again(fetched: Fetched, tmp_path: Path) -> None:
    kept = open_content("warc", 1, tmp_path)
    kept.keep(1, fetched, DOCUMENT)
    kept.keep(2, a_page(), DOCUMENT)
    kept.close()
    path = tmp_path / "warc/crawl-1-00001.warc.gz"
    assert warcio_check(path) == (0, "")
    found = records(path)
    assert [headers["WARC-Type"] for headers, _, _ in found] == ["warcinfo", *["response", "request"] * 2]
    _, answered, body = found[1]
    assert body == fetched.body
    assert int(answered.statusline.split()[0]) == fetched.status
    assert answered.get_header("Content-Type", "") == fetched.content_type or fetched.headers


def test_the_bytes_are_there_before_the_row_is(tmp_path: Path) -> None:
    kept = open_content("warc", 1, tmp_path)
    for page in range(1, 4):
        row = only_row(kept.keep(page, a_page(body=b"a" * page), DOCUMENT))
        assert row["page"] == page
        assert (tmp_path / "warc" / row["file"]).stat().st_size == row["offset"] + row["length"]
    kept.close()


def test_a_full_file_is_followed_by_the_next(tmp_path: Path) -> None:
    noise = bytes(range(256)) * 40
    kept = open_content("warc", 1, tmp_path, max_file_bytes=3000)
    rows = [only_row(kept.keep(page, a_page(body=noise[page:]), DOCUMENT)) for page in range(1, 9)]
    kept.close()
    assert files(tmp_path) == sorted({row["file"] for row in rows})
    assert 1 < len(files(tmp_path)) < len(rows)
    for name in files(tmp_path):
        assert (tmp_path / "warc" / name).stat().st_size <= 3000
        assert warcio_check(tmp_path / "warc" / name) == (0, "")


def test_a_page_larger_than_a_file_gets_one_for_itself(tmp_path: Path) -> None:
    kept = open_content("warc", 1, tmp_path, max_file_bytes=100)
    for page in (1, 2):
        kept.keep(page, a_page(), DOCUMENT)
    kept.close()
    assert files(tmp_path) == ["crawl-1-00001.warc.gz", "crawl-1-00002.warc.gz"]


def test_every_run_begins_a_new_file_and_touches_no_old_one(tmp_path: Path) -> None:
    for run in (1, 2):
        for crawl in (1, 11):
            kept = open_content("warc", crawl, tmp_path)
            row = only_row(kept.keep(run, a_page(), DOCUMENT))
            assert row["file"] == f"crawl-{crawl}-0000{run}.warc.gz"
            kept.close()
    (tmp_path / "warc/crawl-1-00001.warc.gz").unlink()
    (tmp_path / "warc/crawl-1-copy.warc.gz").touch()
    kept = open_content("warc", 1, tmp_path)
    assert only_row(kept.keep(3, a_page(), DOCUMENT))["file"] == "crawl-1-00003.warc.gz"
    kept.close()


def test_a_run_that_keeps_nothing_leaves_no_file(tmp_path: Path) -> None:
    open_content("warc", 1, tmp_path).close()
    assert files(tmp_path) == []


def test_a_folder_that_cannot_be_made_is_told_at_once(tmp_path: Path) -> None:
    (tmp_path / "warc").write_text("in the way")
    with pytest.raises(StoreError, match=r"WARC files in .*warc cannot be written: File exists"):
        open_content("warc", 1, tmp_path)


FULL_DISK = """
import resource, signal, sys
from pathlib import Path
from tests.store.test_content import a_document, a_page
from tres_crawler.errors import StoreError
from tres_crawler.store.content import open_content

signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
kept = open_content("warc", 1, Path(sys.argv[1]))
kept.keep(1, a_page(), a_document())
resource.setrlimit(resource.RLIMIT_FSIZE, (2000, resource.RLIM_INFINITY))
try:
    kept.keep(2, a_page(body=bytes(range(256)) * 20_000), a_document())
except StoreError as error:
    print(error)
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
(change,) = kept.keep(3, a_page(), a_document())
kept.close()
print(change.rows[0]["file"])
"""


def test_after_a_full_disk_nothing_is_added_behind_the_torn_end(tmp_path: Path) -> None:
    told = subprocess.run(
        [sys.executable, "-c", FULL_DISK, str(tmp_path)], capture_output=True, text=True, timeout=60, check=True
    )
    trouble, name = told.stdout.splitlines()
    assert "cannot be written: File too large" in trouble
    assert name == "crawl-1-00002.warc.gz"
    assert (tmp_path / "warc/crawl-1-00001.warc.gz").stat().st_size == 2000
    assert warcio_check(tmp_path / "warc" / name) == (0, "")


async def test_exchanges_come_in_the_order_of_pages_without_those_that_are_damaged(
    database: Database, tmp_path: Path
) -> None:
    rows = {}
    for pages in ((1, 2, 3, 4), (6, 5)):
        kept = open_content("warc", 1, tmp_path)
        for page in pages:
            changes = kept.keep(page, a_page(f"http://a.test/{page}"), DOCUMENT)
            rows[page] = only_row(changes)
            await database.write(*changes)
        kept.close()
    old, new = (tmp_path / "warc" / name for name in files(tmp_path))
    damaged = bytearray(old.read_bytes())
    damaged[rows[2]["offset"] + 100] ^= 1
    old.write_bytes(damaged[:-5])
    found = [exchange async for exchange in content.exchanges(database, 1, tmp_path)]
    assert [exchange is not None for exchange in found] == [True, False, True, False, True, True]
    plain = [zlib.decompressobj(31).decompress(exchange) for exchange in found if exchange]
    for page, text in zip((1, 3, 5, 6), plain, strict=True):
        assert f"WARC-Target-URI: http://a.test/{page}\r\n".encode() in text
    new.unlink()
    found = [exchange async for exchange in content.exchanges(database, 1, tmp_path)]
    assert [exchange is not None for exchange in found] == [True, False, True, False, False, False]
