"""Topic files: what a person writes about a topic → Topic."""

from __future__ import annotations

import glob
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from tres_crawler.config import CrawlSettings, RecrawlSettings
from tres_crawler.errors import TopicError
from tres_crawler.explaining import explain, nearest, read_toml
from tres_crawler.records import Topic
from tres_crawler.resources import shipped
from tres_crawler.urls import canonical

KEYS = ("name", "keywords", "seeds", "pin", "ban", "examples", "crawl", "recrawl")
EXAMPLE_KEYS = ("relevant", "irrelevant")
SHIPPED_EXAMPLES = "shipped:"
"""How a topic names examples that travel with the package."""


def load_topic(path: Path) -> Topic:
    """The topic in a TOML file; every fault is told with the file and the key."""
    return parse_topic(read_toml(path, TopicError), str(path), default_name=path.stem, folder=path.parent)


def shipped_topics() -> dict[str, Path]:
    """The ready-made topics, by name."""
    return {path.stem: path for path in sorted((shipped("models") / "topics").glob("*.toml"))}


def find_topic(name: str) -> Topic:
    """A topic file by its path, or a shipped topic by its name."""
    path, ready_made = Path(name), shipped_topics()
    if not path.exists() and not path.suffix:
        if name in ready_made:
            return load_topic(ready_made[name])
        raise TopicError(
            f'There is no topic "{name}". Give the path of a TOML file (docs/topics.md shows one) or a shipped topic: '
            f"{', '.join(ready_made)}."
        )
    return load_topic(path)


def is_url(example: str) -> bool:
    return example.startswith(("http://", "https://"))


def parse_topic(given: Mapping[str, Any], where: str, default_name: str = "", folder: Path | None = None) -> Topic:
    """A topic from the tables of a file or a request body; `where` names it in errors.

    Example files are looked for in `folder`; without one, as in a request, files cannot be named at all.
    """
    _known_keys(given, KEYS, where, "")
    name = given.get("name", default_name)
    if not isinstance(name, str) or not name.strip():
        raise TopicError(f'{where}: "name" must be a text such as "databases".')
    keywords = _texts(given, "keywords", where)
    seeds = _texts(given, "seeds", where)
    if not keywords:
        raise TopicError(f'{where}: "keywords" is empty. Give at least one word that pages of the topic use.')
    if not seeds:
        raise TopicError(f'{where}: no seeds. Give at least one URL: seeds = ["https://www.example.org/"].')
    examples = _table(given, "examples", where)
    _known_keys(examples, EXAMPLE_KEYS, where, "examples.")
    crawl = _table(given, "crawl", where)
    recrawl = _table(given, "recrawl", where)
    for name_of, model, values in (("crawl", CrawlSettings, crawl), ("recrawl", RecrawlSettings, recrawl)):
        try:
            model(**values)
        except ValidationError as error:
            raise TopicError(f"{where}: {explain(error, model, name_of)}") from error
    return Topic(
        name=name.strip(),
        keywords=keywords,
        seeds=tuple(parse_seed(url, where) for url in seeds),
        relevant_examples=_examples(examples, "relevant", where, folder),
        irrelevant_examples=_examples(examples, "irrelevant", where, folder),
        pin=_texts(given, "pin", where),
        ban=_texts(given, "ban", where),
        crawl=dict(crawl),
        recrawl=dict(recrawl),
    )


def _known_keys(given: Mapping[str, Any], valid: Any, where: str, prefix: str) -> None:
    for key in given:
        if key not in valid:
            raise TopicError(f'{where}: Unknown key "{prefix}{key}".{nearest(key, valid)}')


def _texts(given: Mapping[str, Any], key: str, where: str) -> tuple[str, ...]:
    value = given.get(key, [])
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise TopicError(f'{where}: "{key}" must be a list of texts, such as {key} = ["…", "…"].')
    return tuple(item.strip() for item in value if item.strip())


def _examples(given: Mapping[str, Any], key: str, where: str, folder: Path | None) -> tuple[str, ...]:
    """URLs in canonical form, and patterns of files in full, so that they mean the same wherever the crawl runs."""
    found = []
    for example in _texts(given, key, where):
        if is_url(example):
            known = canonical(example)
            if known is None:
                raise TopicError(f'{where}: example "{example}" is not an http or https URL.')
            found.append(known)
        elif example.startswith(SHIPPED_EXAMPLES):
            found.append(example)
        elif folder is None:
            raise TopicError(f'{where}: example "{example}" is a file, which only a topic file may name. Give a URL.')
        else:
            found.append(str(Path(glob.escape(str(folder.resolve()))) / example))
    return tuple(found)


def _table(given: Mapping[str, Any], key: str, where: str) -> Mapping[str, Any]:
    value = given.get(key, {})
    if not isinstance(value, dict):
        raise TopicError(f'{where}: "{key}" must be a table, written [{key}] on a line of its own.')
    return value


def parse_seed(url: str, where: str) -> str:
    """A seed in canonical form; `where` names it in errors."""
    known = canonical(url)
    if known is None:
        raise TopicError(f'{where}: seed "{url}" is not an http or https URL. Write it in full: "https://…".')
    return known
