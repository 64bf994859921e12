"""URLs that lead nowhere: refused for what they look like, or for what their like have turned out to be."""

from __future__ import annotations

import re
from collections import Counter, OrderedDict
from collections.abc import Iterable
from enum import StrEnum
from urllib.parse import unquote

from tres_crawler.urls import host_of, site_of

MAX_LENGTH = 2000
MAX_SEGMENTS = 20
MAX_PARAMETERS = 12
MAX_WORTHLESS = 20
"""Worthless pages in a row after which a pattern is closed."""
MAX_PATTERNS = 50_000
MAX_PATTERN_LENGTH = 300

FILES = frozenset(
    (
        *("avif", "bmp", "gif", "heic", "ico", "jpeg", "jpg", "png", "psd", "svg", "tif", "tiff", "webp"),
        *("aac", "flac", "m4a", "mid", "midi", "mp3", "oga", "ogg", "wav", "wma"),
        *("3gp", "avi", "flv", "m4v", "mkv", "mov", "mp4", "mpeg", "mpg", "ogv", "swf", "webm", "wmv"),
        *("7z", "bz2", "gz", "rar", "tar", "tgz", "xz", "zip", "zst"),
        *("apk", "deb", "dmg", "exe", "iso", "jar", "msi", "rpm"),
        *("doc", "docx", "odp", "ods", "odt", "pdf", "pps", "ppt", "pptx", "ps", "rtf", "xls", "xlsx"),
        *("djvu", "epub", "eps", "mobi"),
    )
)
"""Endings of addresses that do not lead to pages. Not among them: what is shown as a page often enough (.js, .xml)."""

# A UUID, a hexadecimal id, a long id of any letters and digits.
_ID = re.compile(
    r"(?<![0-9A-Za-z])(?:[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}"
    r"|(?=[A-Fa-f]*\d)(?=\d*[A-Fa-f])[0-9A-Fa-f]{8,}"
    r"|(?=[A-Za-z]*\d)(?=\d*[A-Za-z])[0-9A-Za-z]{20,})(?![0-9A-Za-z])"
)
_NUMBER = re.compile(r"\d+")


class Trap(StrEnum):
    """Why a URL is not worth a fetch."""

    LONG_URL = "long_url"
    LONG_PATH = "long_path"
    REPEATED_PATH = "repeated_path"
    LONG_QUERY = "long_query"
    FILE = "file"
    """A picture, a film, an archive, a document: nothing that is read here."""
    CLOSED_PATTERN = "closed_pattern"
    """For whoever counts what `PatternYield.closed` refuses."""


def refusal(url: str) -> Trap | None:
    """Why a canonical URL looks like a trap; None if it does not."""
    if len(url) > MAX_LENGTH:
        return Trap.LONG_URL
    page, _, query = url.partition("?")
    if query.count("&") >= MAX_PARAMETERS:
        return Trap.LONG_QUERY
    segments = [segment for segment in page.split("/")[3:] if segment]
    if len(segments) > MAX_SEGMENTS:
        return Trap.LONG_PATH
    if _repeats(segments):
        return Trap.REPEATED_PATH
    return Trap.FILE if _is_file(page.rpartition("/")[2]) else None


def pattern(url: str) -> str:
    """What a canonical URL has in common with others: its site, the words of its path, the names of its query.

    An id is written `@` and a number `#`.
    """
    page, _, query = url.partition("?")
    path = page.partition("//")[2].partition("/")[2]
    shape = _NUMBER.sub("#", _ID.sub("@", unquote(path)))
    names = "&".join([pair.partition("=")[0] for pair in query.split("&")])
    return f"{site_of(host_of(url))}/{shape}?{names}"[:MAX_PATTERN_LENGTH]


class PatternYield:
    """A pattern of URLs is closed while its last 20 pages have all been worthless.

    Its state follows from the pages recorded, in their order; `pages` are those of a crawl that goes on.
    """

    def __init__(self, pages: Iterable[tuple[str, bool]] = ()) -> None:
        # Apart, so that many patterns of one page each cannot push a closed one out.
        self._worthless: OrderedDict[str, int] = OrderedDict()
        self._closed: OrderedDict[str, int] = OrderedDict()
        for url, useful in pages:
            self.record(url, useful)

    def closed(self, url: str) -> bool:
        return bool(self._closed) and pattern(url) in self._closed

    def record(self, url: str, useful: bool) -> None:
        """Learn how a fetched page ended: useful, or a duplicate, nearly one, or empty."""
        kind = pattern(url)
        if useful:
            # Also opens it again: a page that was on its way when its pattern was closed has shown better.
            self._worthless.pop(kind, None)
            self._closed.pop(kind, None)
        elif kind not in self._closed:
            count = self._worthless.pop(kind, 0) + 1
            table = self._worthless if count < MAX_WORTHLESS else self._closed
            table[kind] = count
            if len(table) > MAX_PATTERNS:
                table.popitem(last=False)


def _is_file(last: str) -> bool:
    """Whether the end of a path is the name of a file; `File:Map.png` is that of a page about one."""
    name, _, ending = last.rpartition(".")
    return bool(name) and ending.lower() in FILES and ":" not in name


def _repeats(segments: list[str]) -> bool:
    """Whether a segment stands three times, or a run of segments twice in succession."""
    if len(set(segments)) == len(segments):
        return False
    # Short ones recur honestly: /2001/01/01/01/, /img/a/a/a/.
    if any(count > 2 and len(segment) > 2 for segment, count in Counter(segments).items()):
        return True
    size = len(segments)
    return any(
        segments[start : start + run] == segments[start + run : start + 2 * run]
        for run in range(2, size // 2 + 1)
        for start in range(size - 2 * run + 1)
    )
