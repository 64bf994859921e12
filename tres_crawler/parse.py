"""Fetched → Document: title, text, and outlinks with their anchors."""

from __future__ import annotations

import re

from selectolax.lexbor import LexborHTMLParser, LexborNode

from tres_crawler.records import Document, Fetched, Outlink
from tres_crawler.urls import canonical

MAX_URL_LENGTH = 2000
MAX_OUTLINKS = 2000
MAX_ANCHOR_LENGTH = 300
UNREADABLE = ["script", "style", "noscript", "template", "iframe", "svg"]
_CHARSET = re.compile(rb"""charset\s*=\s*["']?\s*([\w-]+)""", re.IGNORECASE)


def parse(fetched: Fetched) -> Document:
    """Never fails: a page with nothing in it gives a Document with nothing in it."""
    text = decode(fetched)
    if fetched.content_type.startswith("text/plain"):
        return Document(fetched.url, "", "", " ".join(text.split()), ())
    tree = LexborHTMLParser(text)
    base = tree.css_first("base[href]")
    base_url = canonical(_attribute(base, "href"), fetched.url) if base else None
    robots = tree.css_first("meta[name=robots]")
    rules = _attribute(robots, "content").lower() if robots else ""
    outlinks = () if "nofollow" in rules or "none" in rules else _outlinks(tree, base_url or fetched.url)
    description = tree.css_first("meta[name=description]")
    title = tree.css_first("title")
    title_text = _squeezed(title.text()) if title else ""
    tree.strip_tags(UNREADABLE)
    body = tree.body
    return Document(
        url=fetched.url,
        title=title_text,
        description=_attribute(description, "content") if description else "",
        text=_squeezed(body.text(separator=" ")) if body else "",
        outlinks=outlinks,
    )


def decode(fetched: Fetched) -> str:
    """The body as text: charset of the HTTP header, else of the first kilobyte, else UTF-8."""
    found = _CHARSET.search(fetched.content_type.encode("latin-1", "replace")) or _CHARSET.search(fetched.body[:1024])
    name = found[1].decode("ascii", "replace") if found else "utf-8"
    try:
        return fetched.body.decode(name, "replace")
    except LookupError:
        return fetched.body.decode("utf-8", "replace")


def _outlinks(tree: LexborHTMLParser, base: str) -> tuple[Outlink, ...]:
    found: dict[str, Outlink] = {}
    for node in tree.css("a[href]"):
        if "nofollow" in _attribute(node, "rel").lower().split():
            continue
        url = canonical(_attribute(node, "href"), base)
        if url is None or len(url) > MAX_URL_LENGTH or url in found:
            continue
        found[url] = Outlink(url, _squeezed(node.text())[:MAX_ANCHOR_LENGTH])
        if len(found) == MAX_OUTLINKS:
            break
    return tuple(found.values())


def _attribute(node: LexborNode, name: str) -> str:
    return node.attributes.get(name) or ""


def _squeezed(text: str) -> str:
    return " ".join(text.split())
