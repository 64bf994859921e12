"""The schema. Times are Unix seconds; numbers count from 1 within one crawl and are given by the engine."""

from __future__ import annotations

from typing import Any

from sqlalchemy import (
    JSON,
    BigInteger,
    Boolean,
    Column,
    Double,
    Float,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    SmallInteger,
    String,
    Table,
    Text,
    UniqueConstraint,
)
from sqlalchemy.schema import SchemaItem

metadata = MetaData()


def _clustered(name: str, *parts: SchemaItem) -> Table:
    """A table that SQLite keeps sorted by its primary key, which saves a second B-tree; others ignore the word."""
    return Table(name, metadata, *parts, sqlite_with_rowid=False)


def _key(name: str) -> Column[Any]:
    return Column(name, Integer, primary_key=True, autoincrement=False)


def _flag(name: str) -> Column[Any]:
    return Column(name, Boolean, nullable=False, server_default="0")


crawls = Table(
    "crawls",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("topic", String(200), nullable=False),
    Column("topic_body", JSON, nullable=False),
    Column("settings", JSON, nullable=False),
    Column("policy", String(40), nullable=False),
    Column("random_seed", BigInteger, nullable=False),
    Column("state", String(20), nullable=False),
    Column("stop_reason", String(40)),
    Column("stop_detail", Text),
    Column("created_at", Double, nullable=False),
    Column("ended_at", Double),
    Column("seconds", Double, nullable=False, server_default="0"),
    Column("start_key", String(200)),
    Column("start_body", String(64)),
    Index("crawls_by_start_key", "start_key", unique=True),
    sqlite_autoincrement=True,  # the id of a deleted crawl is never given again
)

sites = _clustered(
    "sites",
    _key("crawl"),
    _key("number"),
    Column("name", String(255), nullable=False),
    UniqueConstraint("crawl", "name"),
)

hosts = _clustered(
    "hosts",
    _key("crawl"),
    _key("number"),
    Column("name", String(262), nullable=False),
    Column("site", Integer, nullable=False),
    UniqueConstraint("crawl", "name"),
)

# Every URL ever seen, waiting or not: a URL is placed once per crawl.
links = _clustered(
    "links",
    _key("crawl"),
    _key("number"),
    Column("url", Text, nullable=False),
    Column("url_key", BigInteger, nullable=False),
    Column("host", Integer, nullable=False),
    Column("source", Integer),
    Column("depth", SmallInteger, nullable=False),
    Column("anchor", Text, nullable=False),
    Column("features", LargeBinary),
    Column("state", String(12), nullable=False),
    Column("reason", Text),
    Column("attempts", SmallInteger, nullable=False, server_default="0"),
    Column("hops", SmallInteger, nullable=False, server_default="0"),
    Column("promise", Float, nullable=False, server_default="0"),
    UniqueConstraint("crawl", "url_key"),
)

# One row per page paid for from the budget, in the order of saving.
pages = _clustered(
    "pages",
    _key("crawl"),
    _key("number"),
    Column("link", Integer, nullable=False),
    Column("url", Text, nullable=False),
    Column("url_key", BigInteger, nullable=False),
    Column("host", Integer, nullable=False),
    Column("site", Integer, nullable=False),
    Column("outcome", String(12), nullable=False),
    Column("reason", Text),
    Column("status", SmallInteger),
    Column("title", Text, nullable=False, server_default=""),
    Column("text_key", BigInteger),
    Column("duplicate_of", Integer),
    Column("outlinks", Integer, nullable=False, server_default="0"),
    Column("probability", Double),
    _flag("relevant"),
    Column("judge_version", Integer),
    Column("reward", Double, nullable=False, server_default="0"),
    Column("value", Double),
    Column("leaf", Integer, nullable=False, server_default="0"),
    _flag("explored"),
    Column("fetched_at", Double, nullable=False),
    Column("simhash", BigInteger),
    Column("learner_version", Integer),
    Column("features", LargeBinary),
    Column("first_link", Integer),
    Column("new_links", Integer, nullable=False, server_default="0"),
    UniqueConstraint("crawl", "url_key"),
    Index("pages_by_site", "crawl", "site", "relevant"),
    Index("pages_by_link", "crawl", "link"),
)

# Every time a page was asked for and answered; the first visit is the one that made the page.
visits = Table(
    "visits",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("crawl", Integer, nullable=False),
    Column("page", Integer, nullable=False),
    Column("at", Double, nullable=False),
    Column("status", SmallInteger),
    Column("seconds", Double, nullable=False),
    Column("bytes", Integer, nullable=False),
    _flag("changed"),
    Index("visits_by_page", "crawl", "page", "at"),
)

# What a judge read of a page, so that another may read it again: title, description and the text's beginning.
readings = Table(
    "readings",
    metadata,
    _key("crawl"),
    _key("page"),
    Column("body", LargeBinary, nullable=False),
)

# Pages that came with the topic, labelled.
examples = Table(
    "examples",
    metadata,
    _key("crawl"),
    _key("number"),
    Column("relevant", Boolean, nullable=False),
    Column("source", Text, nullable=False),
    Column("body", LargeBinary, nullable=False),
)

# What a person said of a page; the newest counts.
labels = Table(
    "labels",
    metadata,
    _key("crawl"),
    _key("page"),
    Column("at", Double, primary_key=True),
    Column("relevant", Boolean, nullable=False),
)

# What earlier versions of the judge held of a page; `pages` has what the newest holds.
judgements = _clustered(
    "judgements",
    _key("crawl"),
    _key("page"),
    _key("version"),
    Column("probability", Double, nullable=False),
    Column("relevant", Boolean, nullable=False),
)

# The main text of pages, as UTF-8 compressed by zlib. Not clustered: SQLite keeps long rows better by rowid.
texts = Table(
    "texts",
    metadata,
    _key("crawl"),
    _key("page"),
    Column("body", LargeBinary, nullable=False),
)

# Where the response and request record of a page stand, one after the other, in the WARC files.
records = _clustered(
    "records",
    _key("crawl"),
    _key("page"),
    Column("file", String(100), nullable=False),
    Column("offset", BigInteger, nullable=False),
    Column("length", Integer, nullable=False),
)

# The Tree-Frontier: nodes that have split. Every judge has a tree of its own, since rewards are its word.
nodes = _clustered(
    "nodes",
    _key("crawl"),
    _key("tree"),
    _key("number"),
    Column("feature", SmallInteger, nullable=False),
    Column("threshold", Double, nullable=False),
    Column("left", Integer, nullable=False),
    Column("right", Integer, nullable=False),
)

experiences = _clustered(
    "experiences",
    _key("crawl"),
    _key("page"),
    Column("features", LargeBinary, nullable=False),
    Column("reward", Double, nullable=False),
)

# What each page names, by which its links and sites are known again (finds.py).
finds = _clustered("finds", _key("crawl"), _key("page"), Column("names", LargeBinary, nullable=False))

# Weights of learner and classifier as they were published.
snapshots = Table(
    "snapshots",
    metadata,
    _key("crawl"),
    Column("kind", String(20), primary_key=True),
    _key("version"),
    Column("at", Double, nullable=False),
    Column("body", LargeBinary, nullable=False),
)

# Relevant pages worth visiting again, and what visits have told of each (recrawl/estimate.py).
sources = _clustered(
    "sources",
    _key("crawl"),
    _key("page"),
    Column("added_at", Double, nullable=False),
    Column("retired_at", Double),
    Column("retired_reason", Text),
    Column("etag", Text),
    Column("last_modified", Text),
    Column("tried_at", Double, nullable=False, server_default="0"),
    Column("visited_at", Double, nullable=False, server_default="0"),
    Column("changed_at", Double),
    Column("missing", SmallInteger, nullable=False, server_default="0"),
    *(
        Column(name, Double, nullable=False, server_default="0")
        for name in (
            "changes",
            "exposure",
            "rate",
            "square",
            "worth",
            "found",
            "seconds",
            "bytes",
            "visits",
            "truths",
            "lies",
            "utility",
            "cost",
        )
    ),
    Column("stated_at", Double),
    Column("memory", Double),
    Column("due_at", Double),
)

# The text of a source as it was last seen, as hashes of its runs of words, and the words that were new then.
prints = Table(
    "prints",
    metadata,
    _key("crawl"),
    _key("page"),
    Column("body", LargeBinary, nullable=False),
    Column("added", LargeBinary, nullable=False),
)

# What was new on a source when a visit found it changed.
news = Table(
    "news",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("crawl", Integer, nullable=False),
    Column("page", Integer, nullable=False),
    Column("at", Double, nullable=False),
    Column("share", Double, nullable=False),
    Column("value", Double, nullable=False),
    Column("segments", JSON, nullable=False),
    Index("news_by_crawl", "crawl", "id"),
)

# The schedule of a crawl as a whole.
recrawls = Table(
    "recrawls",
    metadata,
    _key("crawl"),
    Column("price", Double, nullable=False),
    Column("faded", Double, nullable=False),
    Column("faded_exposure", Double, nullable=False),
    Column("visits", Integer, nullable=False),
    Column("changes", Integer, nullable=False),
    Column("troubles", Integer, nullable=False),
)

# The newest answer to GET /robots.txt of every origin; shared by all crawls, since a host's rules do not depend on
# who asks.
robots = Table(
    "robots",
    metadata,
    Column("origin", String(300), primary_key=True),
    Column("fetched_at", Double, primary_key=True),
    Column("status", SmallInteger, nullable=False),
    Column("body", LargeBinary, nullable=False),
)

metric_points = _clustered(
    "metric_points",
    _key("crawl"),
    _key("pages"),
    Column("at", Double, nullable=False),
    Column("seconds", Double, nullable=False),
    Column("relevant_pages", Integer, nullable=False),
    Column("sites", Integer, nullable=False),
    Column("relevant_sites", Integer, nullable=False),
    Column("failed", Integer, nullable=False),
    Column("duplicates", Integer, nullable=False),
    Column("waiting", Integer, nullable=False),
    Column("leaves", Integer, nullable=False),
)

events = Table(
    "events",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("crawl", Integer, nullable=False),
    Column("at", Double, nullable=False),
    Column("kind", String(40), nullable=False),
    Column("detail", JSON, nullable=False),
    Index("events_by_crawl", "crawl", "id"),
)

# Up to which event each address has been told.
webhooks = Table(
    "webhooks",
    metadata,
    Column("url", String(2000), primary_key=True),
    Column("event", Integer, nullable=False),
)
