"""What a crawl has seen: every URL, every text, and which kinds of URL have proved worthless (TRES: the closure)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from tres_crawler.records import Document, Outcome
from tres_crawler.simhash import NearDuplicates, simhash
from tres_crawler.text import fingerprint
from tres_crawler.traps import PatternYield, Trap, refusal

SHORTEST_TEXT = 200
"""Characters below which a text is too short for its near copies to be told from others."""


@dataclass(frozen=True, slots=True)
class Fingerprints:
    """A text by which its copies are known again."""

    exact: int
    near: int | None

    @classmethod
    def of(cls, text: str) -> Fingerprints:
        return cls(fingerprint(text), simhash(text) if len(text) >= SHORTEST_TEXT else None)


@dataclass(frozen=True, slots=True)
class SavedPage:
    """What must be known of a page again when its crawl goes on."""

    number: int
    url: str
    outcome: Outcome
    relevant: bool
    exact: int | None
    near: int | None
    """None where there is hardly any text."""

    @property
    def is_useful(self) -> bool:
        return self.outcome is Outcome.JUDGED and (self.relevant or self.near is not None)


@dataclass(frozen=True, slots=True)
class Copy:
    """A page says what another has said: its number, where known, and how that was seen."""

    original: int | None
    reason: str


class Seen:
    """A URL is placed once; a text earns once."""

    def __init__(self) -> None:
        self._urls: set[int] = set()
        self._fetched: set[int] = set()
        self._texts: dict[int, int | None] = {}
        self._near = NearDuplicates()
        self._patterns = PatternYield()

    def restore(self, placed: Iterable[int]) -> None:
        """URLs with these fingerprints are known already."""
        self._urls.update(placed)

    def add(self, url: str) -> bool:
        """Whether `url` is new; from now on it is not."""
        key = fingerprint(url)
        if key in self._urls:
            return False
        self._urls.add(key)
        return True

    def forget(self, url: str) -> None:
        """`url` is to be placed after all."""
        self._urls.discard(fingerprint(url))

    def knows(self, url: str) -> bool:
        return fingerprint(url) in self._urls

    def refusal(self, url: str) -> Trap | None:
        """Why a URL is not worth a fetch, if so."""
        return refusal(url) or (Trap.CLOSED_PATTERN if self._patterns.closed(url) else None)

    def copy_of(self, document: Document, prints: Fingerprints) -> Copy | None:
        """Whether a document repeats a fetched page; from now on its own text is known too."""
        if prints.exact in self._texts:
            return Copy(self._texts[prints.exact], "copy")
        near = self._near.find(prints.near) if prints.near is not None else None
        if near is not None:
            return Copy(near, "near copy")
        named = document.canonical
        if named and named != document.url and fingerprint(named) in self._fetched:
            return Copy(None, "names a fetched page as its original")
        self._texts[prints.exact] = None
        return None

    def remember(self, page: SavedPage) -> None:
        """A page has been fetched and numbered."""
        key = fingerprint(page.url)
        self._urls.add(key)
        self._fetched.add(key)
        if page.outcome is not Outcome.FAILED:
            self._patterns.record(page.url, page.is_useful)
        if page.outcome is Outcome.JUDGED:
            if page.exact is not None:
                self._texts[page.exact] = page.number
            if page.near is not None:
                self._near.add(page.near, page.number)
