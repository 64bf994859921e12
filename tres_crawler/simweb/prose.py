"""The original prose that pages are made of, by topic and pool (package data; see prose.card.json)."""

from __future__ import annotations

import json
import lzma
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from tres_crawler.simweb.chance import pick

PROSE_FILE = Path(__file__).parent / "prose.jsonl.xz"
NEUTRAL_TITLES = (
    "Notes from {city}",
    "A word to our readers",
    "House news for {month}",
    "What happened on {weekday}",
    "{first}'s page",
    "Greetings from {country}",
    "Small print, {year}",
    "From the office in {city}",
    "Thanks to {first} {last}",
    "Changes for {month} {year}",
    "{weekday} thoughts",
    "An apology and {number} corrections",
    "Letters, {month}",
    "Two weeks in {country}",
)
"""Titles of pages that are about nothing in particular."""
POOLS = ("train", "tune", "report")
_SLOT = re.compile(r"\{(\w+)\}")
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+(?=[A-Z{])")


@dataclass(frozen=True)
class Template:
    """A text with slots, cut at them once, so that filling it is a join."""

    parts: tuple[str, ...]
    slots: tuple[Sequence[str], ...]

    @classmethod
    def of(cls, text: str, values: Mapping[str, Sequence[str]]) -> Template:
        cut = _SLOT.split(text)
        return cls(tuple(cut[::2]), tuple(values[name] for name in cut[1::2]))

    def fill(self, number: int) -> str:
        """The text that belongs to `number`."""
        if not self.slots:
            return self.parts[0]
        said = [self.parts[0]]
        for at, values in enumerate(self.slots):
            said += (pick(values, number, at), self.parts[at + 1])
        return "".join(said)


@dataclass(frozen=True)
class Facet:
    """A part of a topic: what its pages, titles and links say."""

    name: str
    paragraphs: tuple[Template, ...]
    titles: tuple[Template, ...]
    slugs: tuple[str, ...]
    """One per title: its words without slots, as they stand in a URL."""
    anchors: tuple[Template, ...]
    sentences: tuple[Template, ...]
    """Single sentences with several slots."""
    pieces: tuple[Template, ...]
    """The paragraphs' sentences, to be put together anew."""


@dataclass(frozen=True)
class TopicProse:
    """All texts of one topic in one pool."""

    name: str
    facets: tuple[Facet, ...]
    headings: tuple[Template, ...]


@dataclass(frozen=True)
class Prose:
    """One pool: the topics, and what pages share whatever their topic."""

    topics: tuple[TopicProse, ...]
    common: Mapping[str, tuple[Template, ...]]
    neutral_titles: tuple[Template, ...]
    neutral_slugs: tuple[str, ...]
    foreign: Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]]
    """Titles and paragraphs by language."""


@cache
def load(pool: str) -> Prose:
    rows = _rows()
    shared = {row["name"]: row["values"] for row in rows if row["kind"] == "slot" and row["topic"] == "common"}
    shared |= {"year": [str(year) for year in range(1998, 2027)], "number": [str(n) for n in range(2, 97)]}
    topics = sorted({row["topic"] for row in rows} - {"common"})
    common: dict[str, list[Template]] = defaultdict(list)
    foreign: dict[str, tuple[list[str], list[str]]] = defaultdict(lambda: ([], []))
    for row in rows:
        # Short texts that all sites of the world share ("Home") have no pool and belong to all.
        if row.get("pool", pool) != pool:
            continue
        if row["kind"].startswith("foreign"):
            foreign[row["language"]][row["kind"] == "foreign"].append(row["text"])
        elif row["topic"] == "common" and row["kind"] != "slot":
            common[row["kind"]].append(Template.of(row["text"], shared))
    return Prose(
        topics=tuple(_topic(name, [r for r in rows if r["topic"] == name], shared, pool) for name in topics),
        neutral_titles=tuple(Template.of(text, shared) for text in NEUTRAL_TITLES),
        neutral_slugs=tuple(_slug(text) for text in NEUTRAL_TITLES),
        common={kind: tuple(texts) for kind, texts in common.items()},
        foreign={language: (tuple(titles), tuple(texts)) for language, (titles, texts) in sorted(foreign.items())},
    )


@cache
def _rows() -> list[dict[str, Any]]:
    with lzma.open(PROSE_FILE, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def _topic(name: str, rows: Sequence[Mapping[str, Any]], shared: Mapping[str, Sequence[str]], pool: str) -> TopicProse:
    values = dict(shared) | {row["name"]: row["values"] for row in rows if row["kind"] == "slot"}
    texts: dict[tuple[str, str], list[str]] = defaultdict(list)
    for row in rows:
        if row.get("pool") == pool:
            texts[row["kind"], row.get("facet", "")].append(row["text"])

    def templates(kind: str, facet: str) -> tuple[Template, ...]:
        return tuple(Template.of(text, values) for text in texts[kind, facet])

    facets = sorted({facet for kind, facet in texts if kind == "paragraph"})
    return TopicProse(
        name=name,
        facets=tuple(
            Facet(
                name=facet,
                paragraphs=templates("paragraph", facet),
                titles=templates("title", facet)
                or tuple(Template.of(a.capitalize(), values) for a in texts["anchor", facet]),
                slugs=tuple(_slug(text) for text in texts["title", facet] or texts["anchor", facet]),
                anchors=templates("anchor", facet),
                sentences=templates("template", facet),
                pieces=tuple(
                    Template.of(piece, values)
                    for text in texts["paragraph", facet]
                    for piece in _SENTENCE_END.split(text)
                ),
            )
            for facet in facets
        ),
        headings=templates("heading", ""),
    )


def _slug(title: str) -> str:
    return "-".join(re.findall(r"[a-z0-9]+", _SLOT.sub("", title).lower())[:7])
