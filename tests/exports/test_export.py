"""Every format holds the same crawl, can be had in parts, and hides nothing and no formula."""

from __future__ import annotations

import csv
import json
from collections.abc import AsyncIterator
from io import BytesIO, StringIO
from pathlib import Path

import pytest
from pyarrow import parquet
from warcio.archiveiterator import ArchiveIterator

from tests.store.test_content import a_document, a_page
from tres_crawler.exports.export import Export, safe_cell
from tres_crawler.exports.formats import COLUMNS, FILE_NAME, Format
from tres_crawler.records import Judgement, Link, LinkState, Outcome, Topic
from tres_crawler.store import crawls, links, pages
from tres_crawler.store.content import open_content
from tres_crawler.store.database import Database
from tres_crawler.store.datadir import DataDir
from tres_crawler.store.exporting import share_interval
from tres_crawler.store.pages import PageRecord

DOCS = Path(__file__).parents[2] / "docs" / "exports.md"
PAGES = 250
MOVED = 7
"""The page whose link was redirected."""


@pytest.fixture
async def database(tmp_path: Path) -> AsyncIterator[Database]:
    """A crawl of 250 pages over two sites: page n was found on page n - 1, every fifth is relevant."""
    async with Database(DataDir(tmp_path).url) as database:
        crawl = await crawls.create(database, Topic("sports", ("football",), ("http://a.test/1",)), {}, "random", 1)
        await database.write(
            links.new_sites(crawl, [(1, "a.test"), (2, "b.test"), (3, "never.test")]),
            links.new_hosts(crawl, [(1, "a.test", 1), (2, "www.b.test", 2), (3, "never.test", 3)]),
        )
        texts, exchanges = open_content("text", crawl, tmp_path), open_content("warc", crawl, tmp_path)
        for number in range(1, PAGES + 1):
            place = 1 if number % 2 else 2
            link = Link(
                number, f"http://{'a.test' if place == 1 else 'www.b.test'}/{number}", place, number - 1, number
            )
            if number == 1:
                link = Link(1, link.url, 1, None, 0)
            url = f"{link.url}/moved" if number == MOVED else link.url
            judgement = Judgement(number / 1000, not number % 5, 2)
            page = PageRecord(
                number,
                link,
                url,
                place,
                place,
                Outcome.JUDGED,
                1_700_000_000.25 + number,
                title="=1+1, “größer”",
                judgement=judgement,
                reward=float(judgement.relevant),
                value=0.5,
            )
            await database.write(
                links.new_links(crawl, [link], LinkState.FETCHED),
                *pages.new_page(crawl, page),
                *texts.keep(number, a_page(url), a_document(f"Text of page {number}.")),
                *exchanges.keep(number, a_page(url), a_document()),
            )
        waiting = Link(PAGES + 1, "http://never.test/", 3, PAGES, PAGES + 1, anchor="+more")
        await database.write(links.new_links(crawl, [waiting]))
        exchanges.close()
        yield database


async def exported(
    database: Database, folder: Path, kind: Format, after: int = 0, limit: int | None = None
) -> tuple[bytes, int]:
    wanted = Export(database, folder, 1, kind, after, limit)
    await wanted.check()
    return b"".join([piece async for piece in wanted.pieces()]), wanted.rows


async def test_pages_are_the_same_in_every_format(database: Database, tmp_path: Path) -> None:
    lines, _ = await exported(database, tmp_path, Format.JSONL)
    table, _ = await exported(database, tmp_path, Format.CSV)
    columns, _ = await exported(database, tmp_path, Format.PARQUET)
    warc, _ = await exported(database, tmp_path, Format.WARC)
    rows = [json.loads(line) for line in lines.splitlines()]
    cells = list(csv.DictReader(StringIO(table.decode(), newline="")))
    read = parquet.read_table(BytesIO(columns)).to_pylist()
    for kind, names in ((Format.JSONL, rows[0]), (Format.CSV, cells[0]), (Format.PARQUET, read[0])):
        assert tuple(names) == COLUMNS[kind]
    assert len(rows) == len(cells) == len(read) == PAGES
    urls = [row["url"] for row in rows]
    assert urls == [row["url"] for row in cells] == [row["url"] for row in read]
    records = ArchiveIterator(BytesIO(warc))
    assert urls == [record.rec_headers["WARC-Target-URI"] for record in records if record.rec_type == "response"]
    assert rows[4]["text"] == read[4]["text"] == "Text of page 5."
    assert (cells[4]["relevant"], read[4]["relevant"], read[4]["judge_version"]) == ("True", True, 2)
    assert read[4]["fetched_at"].timestamp() == rows[4]["fetched_at"] == 1_700_000_005.25


async def test_sites_come_with_their_evidence(database: Database, tmp_path: Path) -> None:
    table, count = await exported(database, tmp_path, Format.SITES)
    first, second = csv.DictReader(StringIO(table.decode(), newline=""))
    assert count == 2, "a site of which nothing was fetched is no finding"
    assert tuple(first) == COLUMNS[Format.SITES]
    assert (first["site"], first["pages"], first["relevant_pages"], first["relevant_share"]) == (
        "a.test",
        "125",
        "25",
        "0.2",
    )
    assert second["best_url"] == "http://www.b.test/250"
    assert float(first["share_low"]) < 0.2 < float(first["share_high"])


async def test_the_graph_has_every_link_and_follows_redirects(database: Database, tmp_path: Path) -> None:
    table, count = await exported(database, tmp_path, Format.GRAPH)
    edges = {int(row["number"]): row for row in csv.DictReader(StringIO(table.decode(), newline=""))}
    assert tuple(edges[2]) == COLUMNS[Format.GRAPH]
    assert count == PAGES, "all links but the seed"
    assert (edges[2]["source"], edges[2]["target"]) == ("http://a.test/1", "http://www.b.test/2")
    assert edges[MOVED]["target"] == edges[MOVED + 1]["source"] == "http://a.test/7/moved"
    assert edges[MOVED]["target_page"] == edges[MOVED + 1]["source_page"] == "7"
    last = edges[PAGES + 1]
    assert (last["target"], last["target_page"], last["state"], last["anchor"]) == (
        "http://never.test/",
        "",
        "waiting",
        "'+more",
    )


@pytest.mark.parametrize("kind", [Format.JSONL, Format.CSV, Format.SITES, Format.GRAPH])
async def test_a_broken_transfer_goes_on_after_the_last_number_it_has(
    database: Database, tmp_path: Path, kind: Format
) -> None:
    whole, count = await exported(database, tmp_path, kind)
    cut = 1 if kind is Format.SITES else 130
    begun, before = await exported(database, tmp_path, kind, limit=cut)
    rest, behind = await exported(database, tmp_path, kind, after=cut)
    assert begun + rest == whole
    assert (before + behind, before > 0, behind > 0) == (count, True, True)


async def test_parts_of_parquet_and_warc_are_files_of_their_own(database: Database, tmp_path: Path) -> None:
    middle, _ = await exported(database, tmp_path, Format.PARQUET, after=100, limit=50)
    assert parquet.read_table(BytesIO(middle)).column("number").to_pylist() == list(range(101, 151))
    empty, _ = await exported(database, tmp_path, Format.PARQUET, after=PAGES)
    assert parquet.read_table(BytesIO(empty)).num_rows == 0
    warc, count = await exported(database, tmp_path, Format.WARC, after=100, limit=50)
    assert [record.rec_type for record in ArchiveIterator(BytesIO(warc))].count("response") == count == 50


async def test_a_large_parquet_file_leaves_in_groups(
    database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tres_crawler.exports.parquet.GROUP_ROWS", 100)
    pieces = [piece async for piece in Export(database, tmp_path, 1, Format.PARQUET).pieces()]
    assert len(pieces) == 3
    assert parquet.ParquetFile(BytesIO(b"".join(pieces))).num_row_groups == 3


@pytest.mark.parametrize("start", ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "\n=1", "＝1", "＠a"])
def test_no_cell_starts_a_formula(start: str) -> None:
    assert safe_cell(start) == f"'{start}"


def test_numbers_and_plain_text_are_left_as_they_are() -> None:
    assert [safe_cell(value) for value in (-1.5, None, True, "a = b", "")] == [-1.5, None, True, "a = b", ""]


def test_the_interval_of_a_share_narrows_with_evidence() -> None:
    assert share_interval(0, 10) == pytest.approx((0.0, 0.2775), abs=1e-4)
    assert share_interval(50, 100) == pytest.approx((0.4038, 0.5962), abs=1e-4)
    assert share_interval(3, 3)[1] == 1.0
    assert share_interval(0, 0) == (0.0, 1.0)


def test_every_column_is_documented_in_order() -> None:
    text = DOCS.read_text()
    for section, kind in (("Pages", Format.PARQUET), ("Sites", Format.SITES), ("Links", Format.GRAPH)):
        table = text.partition(f"## {section}")[2].partition("\n## ")[0]
        named = [line.split("`")[1] for line in table.splitlines() if line.startswith("| `")]
        assert tuple(named) == COLUMNS[kind], section
    assert all(f"`{kind}`" in text and FILE_NAME[kind] in text for kind in Format)
