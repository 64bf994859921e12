"""The kinds of export, and what a program that receives one wants to know."""

from __future__ import annotations

from enum import StrEnum

from tres_crawler.store.exporting import EDGE_COLUMNS, SITE_COLUMNS
from tres_crawler.store.pages import EXPORT_COLUMNS


class Format(StrEnum):
    """Kinds of file."""

    JSONL = "jsonl"
    CSV = "csv"
    PARQUET = "parquet"
    WARC = "warc"
    SITES = "sites"
    GRAPH = "graph"


COLUMNS: dict[Format, tuple[str, ...]] = {
    Format.JSONL: (*EXPORT_COLUMNS, "text"),
    Format.CSV: EXPORT_COLUMNS,
    Format.PARQUET: (*EXPORT_COLUMNS, "text"),
    Format.SITES: SITE_COLUMNS,
    Format.GRAPH: EDGE_COLUMNS,
}
"""Names and order are a promise: columns may be added at the end, none is renamed or moved."""

FILE_NAME: dict[Format, str] = {
    Format.JSONL: "pages.jsonl",
    Format.CSV: "pages.csv",
    Format.PARQUET: "pages.parquet",
    Format.WARC: "pages.warc.gz",
    Format.SITES: "sites.csv",
    Format.GRAPH: "graph.csv",
}

MEDIA_TYPE: dict[Format, str] = {
    Format.JSONL: "application/x-ndjson",
    Format.CSV: "text/csv; charset=utf-8",
    Format.PARQUET: "application/vnd.apache.parquet",
    Format.WARC: "application/gzip",
    Format.SITES: "text/csv; charset=utf-8",
    Format.GRAPH: "text/csv; charset=utf-8",
}


def counted(kind: Format, rows: int) -> str:
    """A number of rows, in words."""
    return f"{rows} {'sites' if kind is Format.SITES else 'links' if kind is Format.GRAPH else 'pages'}"
