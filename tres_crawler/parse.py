"""Fetched → Document: title, text, and outlinks with their anchors."""

from __future__ import annotations

import re

import webencodings
from selectolax.lexbor import LexborHTMLParser, LexborNode

from tres_crawler.records import Document, Fetched, Outlink
from tres_crawler.urls import canonical

MAX_URL_LENGTH = 2000
MAX_OUTLINKS = 2000
MAX_ANCHOR_LENGTH = 300
UNREADABLE = ["script", "style", "noscript", "template", "iframe", "svg"]
MAX_UNCLOSED = 5000
_NESTING = re.compile(
    r"</?(?!/?(?:a|title|meta|base|html|head|body|script|style|p|br|li)\b)[a-z][^>]*>?", re.IGNORECASE
)
_CHARSET = re.compile(rb"""charset\s*=\s*["']?\s*([\w-]+)""", re.IGNORECASE)


def parse(fetched: Fetched) -> Document:
    """Never fails: a page with nothing in it gives a Document with nothing in it."""
    text = decode(fetched)
    if fetched.content_type.lower().startswith("text/plain"):
        return Document(fetched.url, "", "", _squeezed(text), ())
    tree = LexborHTMLParser(flattened(text))
    base = tree.css_first("base[href]")
    base_url = canonical(_attribute(base, "href"), fetched.url) if base else None
    metas = {_attribute(node, "name").lower(): _attribute(node, "content") for node in tree.css("meta[name]")}
    title = tree.css_first("title")
    title_text = _squeezed(title.text()) if title else ""
    tree.strip_tags(UNREADABLE)
    outlinks = () if _forbids_following(tree) else _outlinks(tree, base_url or fetched.url)
    body = tree.body
    return Document(
        url=fetched.url,
        title=title_text,
        description=_squeezed(metas.get("description", "")),
        text=_squeezed(body.text(separator=" ")) if body else "",
        outlinks=outlinks,
    )


def decode(fetched: Fetched) -> str:
    """The body as text: byte order mark, else the HTTP header's charset, else the first kilobyte's, else UTF-8."""
    header = _CHARSET.search(fetched.content_type.encode("latin-1", "replace"))
    for found in (header, _CHARSET.search(fetched.body[:1024])):
        encoding = webencodings.lookup(found[1].decode("latin-1")) if found else None
        if encoding:
            break
    text: str = webencodings.decode(fetched.body, encoding or webencodings.UTF8, "replace")[0]
    return text


def flattened(text: str) -> str:
    """A page with thousands of tags that are never closed, without most of them.

    The time to build a tree grows with the square of its depth: 40,000 open tags take seconds.
    """
    if text.count("<") - 2 * text.count("</") < MAX_UNCLOSED:
        return text
    return _NESTING.sub(" ", text)


def _forbids_following(tree: LexborHTMLParser) -> bool:
    rules = [
        _attribute(node, "content") for node in tree.css("meta[name]") if _attribute(node, "name").lower() == "robots"
    ]
    words = {word.strip().lower() for rule in rules for word in rule.split(",")}
    return bool(words & {"nofollow", "none"})


def _outlinks(tree: LexborHTMLParser, base: str) -> tuple[Outlink, ...]:
    found: dict[str, Outlink] = {}
    for node in tree.css("a[href]"):
        if "nofollow" in _attribute(node, "rel").lower().split():
            continue
        url = canonical(_attribute(node, "href"), base)
        if url is None or len(url) > MAX_URL_LENGTH or url in found:
            continue
        found[url] = Outlink(url, _squeezed(node.text(separator=" "))[:MAX_ANCHOR_LENGTH])
        if len(found) == MAX_OUTLINKS:
            break
    return tuple(found.values())


def _attribute(node: LexborNode, name: str) -> str:
    return node.attributes.get(name) or ""


def _squeezed(text: str) -> str:
    return " ".join(text.split())
