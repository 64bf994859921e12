"""Topic files: what a person writes about a topic → Topic."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from tres_crawler.config import CrawlSettings, explain, nearest, read_toml
from tres_crawler.errors import TopicError
from tres_crawler.records import Topic
from tres_crawler.urls import canonical

KEYS = ("name", "keywords", "seeds", "examples", "crawl")
EXAMPLE_KEYS = ("relevant", "irrelevant")


def load_topic(path: Path) -> Topic:
    """The topic in a TOML file; every fault is told with the file and the key."""
    return parse_topic(read_toml(path, TopicError), str(path), default_name=path.stem)


def parse_topic(given: Mapping[str, Any], where: str, default_name: str = "") -> Topic:
    """A topic from the tables of a file or a request body; `where` names it in errors."""
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
    try:
        CrawlSettings(**crawl)
    except ValidationError as error:
        raise TopicError(f"{where}: {explain(error, CrawlSettings, 'crawl')}") from error
    return Topic(
        name=name.strip(),
        keywords=keywords,
        seeds=tuple(_seed(url, where) for url in seeds),
        relevant_examples=_texts(examples, "relevant", where),
        irrelevant_examples=_texts(examples, "irrelevant", where),
        crawl=dict(crawl),
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


def _table(given: Mapping[str, Any], key: str, where: str) -> Mapping[str, Any]:
    value = given.get(key, {})
    if not isinstance(value, dict):
        raise TopicError(f'{where}: "{key}" must be a table, written [{key}] on a line of its own.')
    return value


def _seed(url: str, where: str) -> str:
    known = canonical(url)
    if known is None:
        raise TopicError(f'{where}: seed "{url}" is not an http or https URL. Write it in full: "https://…".')
    return known
