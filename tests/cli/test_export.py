"""`tres export` gives everything that was kept, whole, whatever happened to the crawl."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable
from pathlib import Path

import pytest
from warcio.archiveiterator import ArchiveIterator

from tests.commands import tres
from tests.store.test_content import a_document, a_page, warcio_check
from tres_crawler.records import Link, Outcome, Topic
from tres_crawler.store import crawls, links, pages
from tres_crawler.store.content import Content, open_content
from tres_crawler.store.database import Database
from tres_crawler.store.datadir import DataDir
from tres_crawler.store.pages import EXPORT_COLUMNS, PageRecord

TOPIC = Topic("sports", ("football",), ("http://a.test/",))


@pytest.fixture
async def crawl(tmp_path: Path) -> int:
    """A crawl that has not fetched anything, in the data directory `data`."""
    (tmp_path / "data").mkdir()
    async with Database(DataDir(tmp_path / "data").url) as database:
        crawl = await crawls.create(database, TOPIC, {}, "random", 1)
        await database.write(links.new_sites(crawl, [(1, "a.test")]), links.new_hosts(crawl, [(1, "a.test", 1)]))
    return crawl


async def save(folder: Path, crawl: int, kept: Content, numbers: Iterable[int]) -> None:
    """Save pages as the engine does; every third has no text."""
    async with Database(DataDir(folder).url) as database:
        for number in numbers:
            link = Link(number, f"http://a.test/{number}", 1, None, 0)
            page = PageRecord(number, link, link.url, 1, 1, Outcome.JUDGED, 1000.0 + number, title="=1+1")
            document = a_document(f"Text of page {number}, größer." if number % 3 else "")
            await database.write(
                links.new_links(crawl, [link]),
                *pages.new_page(crawl, page),
                *kept.keep(number, a_page(link.url, body=f"<p>Page {number}</p>".encode()), document),
            )


def exported_pages(path: Path) -> list[str]:
    with path.open("rb") as file:
        types = [(record.rec_type, record.rec_headers["WARC-Target-URI"]) for record in ArchiveIterator(file)]
    assert types[0] == ("warcinfo", None)
    return [url for kind, url in types if kind == "response" and ("request", url) in types]


async def test_an_exported_warc_is_accepted_by_warcio_and_holds_every_page(tmp_path: Path, crawl: int) -> None:
    data = tmp_path / "data"
    for numbers in (range(1, 8), range(8, 12)):
        kept = open_content("warc", crawl, data, max_file_bytes=2500)
        await save(data, crawl, kept, numbers)
        kept.close()
    assert len(list((data / "warc").iterdir())) > 2
    told = tres("export", str(crawl), "--format", "warc", "-o", "all.warc.gz", cwd=tmp_path)
    assert (told.returncode, told.stdout, told.stderr) == (0, "11 pages in all.warc.gz\n", "")
    assert warcio_check(tmp_path / "all.warc.gz") == (0, "")
    assert exported_pages(tmp_path / "all.warc.gz") == [f"http://a.test/{number}" for number in range(1, 12)]
    assert not list(tmp_path.glob(".*part"))


@pytest.mark.parametrize("torn_bytes", [40, 600])
async def test_a_crash_in_the_middle_of_a_page_leaves_no_trace_in_an_export(
    tmp_path: Path, crawl: int, torn_bytes: int
) -> None:
    data = tmp_path / "data"
    kept = open_content("warc", crawl, data)
    await save(data, crawl, kept, [1, 2])
    file = data / "warc" / "crawl-1-00001.warc.gz"
    whole = file.stat().st_size
    kept.keep(3, a_page("http://a.test/lost"), a_document())  # written, but the process dies before the commit
    kept.close()
    file.write_bytes(file.read_bytes()[: whole + torn_bytes])
    kept = open_content("warc", crawl, data)
    await save(data, crawl, kept, [3, 4])
    kept.close()
    told = tres("export", str(crawl), "--format", "warc", "-o", "all.warc.gz", cwd=tmp_path)
    assert (told.returncode, told.stderr) == (0, "")
    assert warcio_check(tmp_path / "all.warc.gz") == (0, "")
    assert exported_pages(tmp_path / "all.warc.gz") == [f"http://a.test/{number}" for number in range(1, 5)]


async def test_pages_whose_file_is_damaged_are_left_out_and_counted_aloud(tmp_path: Path, crawl: int) -> None:
    kept = open_content("warc", crawl, tmp_path / "data")
    await save(tmp_path / "data", crawl, kept, range(1, 5))
    kept.close()
    file = tmp_path / "data/warc/crawl-1-00001.warc.gz"
    file.write_bytes(file.read_bytes()[:-10])
    told = tres("export", str(crawl), "--format", "warc", cwd=tmp_path)
    assert (told.returncode, told.stdout) == (0, "3 pages in pages.warc.gz\n")
    assert "1 pages left out" in told.stderr
    assert warcio_check(tmp_path / "pages.warc.gz") == (0, "")


async def test_a_crawl_without_exchanges_names_the_setting_and_writes_nothing(tmp_path: Path, crawl: int) -> None:
    await save(tmp_path / "data", crawl, open_content("text", crawl, tmp_path), [1])
    (tmp_path / "all.warc.gz").write_bytes(b"from before")
    told = tres("export", str(crawl), "--format", "warc", "-o", "all.warc.gz", cwd=tmp_path)
    assert (told.returncode, told.stdout) == (2, "")
    assert told.stderr.startswith('tres: Crawl 1 has kept no exchanges. Set store.content = "warc"')
    assert (tmp_path / "all.warc.gz").read_bytes() == b"from before"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["all.warc.gz", "data"]


async def test_jsonl_has_the_text_where_texts_were_kept(tmp_path: Path, crawl: int) -> None:
    await save(tmp_path / "data", crawl, open_content("text", crawl, tmp_path), range(1, 251))
    assert tres("export", str(crawl), "-o", "pages.jsonl", cwd=tmp_path).stdout == "250 pages in pages.jsonl\n"
    rows = [json.loads(line) for line in (tmp_path / "pages.jsonl").read_text(encoding="utf-8").splitlines()]
    assert [row["number"] for row in rows] == list(range(1, 251))
    assert list(rows[0]) == [*EXPORT_COLUMNS, "text"]
    for row in rows:
        assert row["text"] == (f"Text of page {row['number']}, größer." if row["number"] % 3 else None)


async def test_other_exports_keep_their_columns(tmp_path: Path, crawl: int) -> None:
    await save(tmp_path / "data", crawl, open_content("none", crawl, tmp_path), [1])
    assert tres("export", str(crawl), cwd=tmp_path).returncode == 0
    assert list(json.loads((tmp_path / "pages.jsonl").read_text())) == list(EXPORT_COLUMNS)
    await save(tmp_path / "data", crawl, open_content("text", crawl, tmp_path), [2])
    assert tres("export", str(crawl), "--format", "csv", "-o", "pages.csv", cwd=tmp_path).returncode == 0
    with (tmp_path / "pages.csv").open(newline="") as file:
        head, first, second = csv.reader(file)
    assert head == list(EXPORT_COLUMNS)
    assert first[head.index("title")] == second[head.index("title")] == "'=1+1"


async def test_an_output_that_cannot_be_written_is_told(tmp_path: Path, crawl: int) -> None:
    kept = open_content("warc", crawl, tmp_path / "data")
    await save(tmp_path / "data", crawl, kept, [1])
    kept.close()
    told = tres("export", str(crawl), "--format", "warc", "-o", "nowhere/all.warc.gz", cwd=tmp_path)
    assert told.returncode == 2
    assert "nowhere/all.warc.gz cannot be written" in told.stderr
