"""A folder of labelled text, which stays where it is → examples of one topic beside all others."""

from __future__ import annotations

import json
import lzma
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, zip_longest
from pathlib import Path
from random import Random
from typing import Any

from tres_crawler.errors import ConfigError
from tres_crawler.explaining import nearest
from tres_crawler.records import Example, PageText

NEGATIVES_PER_POSITIVE = 4
LEAST_PER_CLASS = 25
"""Five in each of five folds."""


@dataclass(frozen=True)
class Source:
    """One file of the folder, and how its rows become pages."""

    share: float
    """Of the relevant pages of a topic, where the file has so many."""
    group: str | None = None
    """The column that tells which rows were written by one hand; None: every row stands for itself."""
    has_titles: bool = True
    """A book's title stands on all its rows and a file name is no title: such titles are left out."""
    counterpart: str = ""
    """The file that lends irrelevant rows to one that has none of its own."""


SOURCES: Mapping[str, Source] = {
    "gutenberg_paragraphs": Source(0.45, "source", has_titles=False),
    "wikitext2_paragraphs": Source(0.25, "title"),
    "foldoc": Source(0.30),
    "link_lists": Source(0.30, "list"),
    "hardware_prose": Source(0.30, "source", has_titles=False, counterpart="wikitext2_paragraphs"),
    "sib200_eng": Source(0.10),
    "wordnet_glosses": Source(0.15),
}
"""Recipes are left out: they are all of one topic, in a form that nothing else has."""


class Folder:
    """Rows of the files in SOURCES by file; what is missing or of another form is refused by name."""

    def __init__(self, path: Path) -> None:
        if not path.is_dir():
            raise ConfigError(f"There is no folder {path}. Give the one with the labelled text as --data.")
        self.path = path
        files = {name: path / f"{name}.jsonl.xz" for name in SOURCES}
        missing = [file.name for file in files.values() if not file.is_file()]
        if missing:
            raise ConfigError(f"{path} lacks {', '.join(missing)}.")
        self.rows = {name: _read(file, SOURCES[name]) for name, file in files.items()}
        self.topics = sorted({row["topic"] for rows in self.rows.values() for row in rows})

    def examples(self, topic: str, relevant: int, seed: int = 0) -> list[Example]:
        """About `relevant` relevant pages and four times as many others, file by file from the same files.

        Both are spread evenly over books, lists and repositories, the others over topics too.
        """
        named = {name.lower(): name for name in self.topics}
        if topic.lower() not in named:
            raise ConfigError(f'{self.path} has no rows of topic "{topic}".{nearest(topic.lower(), named)}')
        wanted, rng = named[topic.lower()], Random(seed)
        taken: set[str] = set()
        found: list[Example] = []
        for name, count in self._shares(wanted, relevant).items():
            mine = self._drawn(name, count, rng, [wanted], taken)
            others = [other for other in self.topics if other != wanted]
            lent = SOURCES[name].counterpart or name
            theirs = self._drawn(lent, NEGATIVES_PER_POSITIVE * len(mine), rng, others, taken)
            found += [_example(SOURCES[name], name, row, True) for row in mine]
            found += [_example(SOURCES[lent], lent, row, False) for row in theirs]
        for label in (True, False):
            if sum(example.relevant is label for example in found) < LEAST_PER_CLASS:
                raise ConfigError(
                    f"{self.path} has fewer than {LEAST_PER_CLASS} rows {'of' if label else 'beside'} {topic}."
                )
        return found

    def _shares(self, topic: str, relevant: int) -> dict[str, int]:
        """How many relevant rows each file gives: by its share among the files that have any."""
        has = {name: sum(row["topic"] == topic for row in rows) for name, rows in self.rows.items()}
        total = sum(SOURCES[name].share for name, count in has.items() if count) or 1.0
        return {name: min(count, round(relevant * SOURCES[name].share / total)) for name, count in has.items() if count}

    def _drawn(
        self, name: str, count: int, rng: Random, topics: Sequence[str], taken: set[str]
    ) -> list[Mapping[str, Any]]:
        """At most `count` rows of these topics, in turns one of each topic and within it one of each group."""
        column = SOURCES[name].group or "id"
        by_topic: dict[str, dict[str, list[Mapping[str, Any]]]] = defaultdict(lambda: defaultdict(list))
        for row in self.rows[name]:
            if row["topic"] in topics and row["id"] not in taken:
                by_topic[row["topic"]][row[column]].append(row)
        queues = []
        for topic in sorted(by_topic):
            groups = [rng.sample(rows, len(rows)) for _, rows in sorted(by_topic[topic].items())]
            rng.shuffle(groups)
            queues.append(_in_turns(groups))
        chosen = _in_turns(queues)[:count]
        taken.update(row["id"] for row in chosen)
        return chosen


def _read(file: Path, source: Source) -> list[Mapping[str, Any]]:
    needed = {"id", "topic", "title", "text", *([source.group] if source.group else [])}
    rows = []
    try:
        with lzma.open(file, "rt", encoding="utf-8") as lines:
            for number, line in enumerate(lines, 1):
                row = json.loads(line)
                lacking = sorted(name for name in needed if not isinstance(row.get(name), str))
                if lacking:
                    raise ConfigError(f"{file}, line {number}: no text in column {', '.join(lacking)}.")
                rows.append(row)
    except (OSError, EOFError, lzma.LZMAError, ValueError, AttributeError) as error:
        raise ConfigError(f"{file} is not JSON lines packed by xz: {error}.") from error
    return rows


def _example(source: Source, name: str, row: Mapping[str, Any], relevant: bool) -> Example:
    page = PageText(row["title"] if source.has_titles else "", "", row["text"])
    return Example(page, relevant, group=f"{name} {row[source.group or 'id']}")


def _in_turns(queues: Iterable[Sequence[Mapping[str, Any]]]) -> list[Mapping[str, Any]]:
    return [row for row in chain.from_iterable(zip_longest(*queues)) if row is not None]
