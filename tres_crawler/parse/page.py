"""Fetched → Document: title, main text kept apart from boilerplate, and outlinks with the words around them."""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from itertools import chain
from typing import NamedTuple

from selectolax.lexbor import LexborHTMLParser, LexborNode

from tres_crawler.errors import FetchError
from tres_crawler.parse.charset import decode
from tres_crawler.parse.simplify import MAX_CHARS, SMALL_BYTES, SMALL_TAGS, is_harmless, simplified
from tres_crawler.parse.tags import INLINE, UNREADABLE
from tres_crawler.records import Document, Fetched, Outlink
from tres_crawler.urls import canonical

logger = logging.getLogger(__name__)

AGENT = "tres_crawler"
MAX_URL_LENGTH = 2000
MAX_OUTLINKS = 2000
MAX_ANCHOR_LENGTH = 300
MAX_ABOUT_LENGTH = 1000
"""Characters of a title and of a description that are kept."""
MAX_HEADINGS = 100
CONTEXT_WORDS = 8
MAIN_SHARE = 0.05
"""A page with less of its words outside what looks like boilerplate, and no <main>, is kept whole."""

BOILERPLATE = frozenset({"nav", "footer", "aside"})
ROLES = {"navigation": "nav", "contentinfo": "footer", "complementary": "aside", "banner": "header", "main": "main"}
_NAMED_BOILERPLATE = re.compile(
    r"(?<![^\s])(?!(?:has|with|no|without|is)[-_])(?:[\w-]*[-_])?"
    r"(?:nav|navbar|navigation|navmenu|topnav|menu|menubar|submenu|footer|sidebar|side-bar|breadcrumbs?|onetrust|gdpr)"
    r"(?![^\s_-])"
    r"|(?<![^\s])cookies?(?![^\s])"
    r"|cookie[s_-]*(?:banner|consent|notice|bar|law|policy|popup|message|dialog|modal|bot|alert|info|wall|overlay)",
    re.IGNORECASE,
)
_HIDDEN = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden", re.IGNORECASE)
_WORKER = ThreadPoolExecutor(1, "parse")  # starts its thread when first used


async def parse_page(fetched: Fetched) -> Document:
    """As `parse`, but a large page leaves the event loop to its other work.

    A thread is enough: Lexbor lets go of the interpreter lock while it builds the tree. Should it fail against all
    expectation, that is trouble with this page: whatever a host sends, no crawl ends by it.
    """
    try:
        if len(fetched.body) < SMALL_BYTES and fetched.body.count(b"<") < SMALL_TAGS:
            return parse(fetched)
        return await asyncio.get_running_loop().run_in_executor(_WORKER, parse, fetched)
    except Exception as error:
        logger.exception("%s could not be parsed", fetched.url)
        raise FetchError(fetched.url, f"page could not be read ({type(error).__name__})") from error


def parse(fetched: Fetched) -> Document:
    """Never fails: a page with nothing in it gives a Document with nothing in it."""
    text = decode(fetched)
    rules = header_rules(fetched.headers)
    if fetched.content_type.lower().startswith("text/plain"):
        words = _squeezed(text[:MAX_CHARS])
        return Document(fetched.url, "", "", words, (), noindex=_says(rules, "index"), nofollow=_says(rules, "follow"))
    page = _Page(text)
    rules |= page.rules
    nofollow = _says(rules, "follow")
    base = (canonical(page.base, fetched.url) if page.base else None) or fetched.url
    main, rest = page.texts()
    return Document(
        url=fetched.url,
        title=page.title,
        description=page.description,
        text=main,
        outlinks=() if nofollow else outlinks(page, base),
        boilerplate=rest,
        headings=page.kept_headings(),
        language=page.language,
        canonical=canonical(page.canonical, base) if page.canonical else None,
        noindex=_says(rules, "index"),
        nofollow=nofollow,
    )


# ---- the tree, read once ----


class _Found(NamedTuple):
    """A link as it was come upon: which pieces of text are its own, and which blocks they begin and end in."""

    href: str
    named: str
    """What its attributes and pictures call it."""
    first: int
    last: int
    block: int
    last_block: int
    boilerplate: bool


class _State(NamedTuple):
    """What holds inside an element, to be put back at its end."""

    tag: str
    boilerplate: bool
    strong: bool
    """Whether boilerplate by its tag and not by a name that its author gave it."""
    content: bool
    """Whether inside <main> or <article>."""


class _Page:
    """All that one walk through the tree finds."""

    def __init__(self, text: str) -> None:
        tags = text.count("<")
        if not is_harmless(text, tags):
            text = simplified(text)
            tags = text.count("<")
        self.title = self.description = self.language = self.base = self.canonical = ""
        self.rules: set[str] = set()
        self.links: list[_Found] = []
        self.headings: list[tuple[int, int]] = []
        self._pieces: list[list[str]] = []
        self._blocks: list[int] = []
        self._boilerplate: list[bool] = []
        self._block = 0
        self._marked = False
        self._link: tuple[dict[str, str | None], int, int] | None = None
        self._pictures: list[str] = []
        root = LexborHTMLParser(text).root
        if root is not None:
            # A tree has a few nodes for each tag; unclosed <b>s in each of many paragraphs make it square.
            self._walk(root, 5 * tags + 100)
        self.whole = self._is_whole()

    def _walk(self, root: LexborNode, most: int) -> None:
        node: LexborNode | None = root
        states: list[_State] = []
        state = _State("", False, False, False)
        for _ in range(most):
            assert node is not None
            tag = node.tag or ""
            inner = None
            if tag == "-text":
                self._read(node.text_content or "", state)
            elif not tag.startswith("-"):
                inner = self._enter(node, tag, state)
            child = node.first_child if inner else None
            if inner and child is not None:
                states.append(state)
                state, node = inner, child
                continue
            if inner:
                self._leave(inner)
            while (after := node.next) is None:
                if not states:
                    return
                self._leave(state)
                state = states.pop()
                node = node.parent
                assert node is not None
            node = after

    def _read(self, text: str, state: _State) -> None:
        words = text.split()
        if words:
            self._pieces.append(words)
            self._blocks.append(self._block)
            self._boilerplate.append(state.boilerplate)
            self._marked = self._marked or state.content

    def _enter(self, node: LexborNode, tag: str, state: _State) -> _State | None:
        """What holds inside the element; None where there is nothing to read in it."""
        if tag in UNREADABLE:
            return None
        values = node.attributes
        if tag in _ABOUT:
            self._about(node, tag, values)
            return None
        if tag == "html":
            self.language = (values.get("lang") or "").strip()[:35]
        elif tag in ("a", "area"):
            self._link = (values, len(self._pieces), self._block)
            if values.get("alt"):
                self._pictures.append(values["alt"] or "")
        elif tag == "img" and self._link:
            self._pictures.append(values.get("alt") or values.get("title") or "")
        elif tag in ("h1", "h2", "h3"):
            self.headings.append((len(self._pieces), -1))
        if tag not in INLINE:
            self._block += 1
        inner = _inside(tag, values, state)
        if inner is None and tag == "a":
            self._link, self._pictures = None, []
        return inner

    def _leave(self, state: _State) -> None:
        tag = state.tag
        if tag in ("a", "area"):
            self._end_link(state)
        elif tag in ("h1", "h2", "h3"):
            self._end_heading()
        if tag not in INLINE:
            self._block += 1

    def _about(self, node: LexborNode, tag: str, values: dict[str, str | None]) -> None:
        """What the page says of itself; of most things the first word counts."""
        href = (values.get("href") or "").strip()
        if tag == "title":
            self.title = self.title or _squeezed(node.text())[:MAX_ABOUT_LENGTH].rstrip()
        elif tag == "base":
            self.base = self.base or href
        elif tag == "link":
            if not self.canonical and "canonical" in (values.get("rel") or "").lower().split():
                self.canonical = href
        else:
            name, content = (values.get("name") or "").strip().lower(), values.get("content") or ""
            if name == "description":
                self.description = self.description or _squeezed(content)[:MAX_ABOUT_LENGTH].rstrip()
            elif name in ("robots", AGENT):
                self.rules |= {word.strip().lower() for word in content.split(",")}

    def _end_link(self, state: _State) -> None:
        if self._link is None:
            return
        values, first, block = self._link
        named = next(filter(None, [*self._pictures, values.get("title"), values.get("aria-label")]), "")
        rel = (values.get("rel") or "").lower().split()
        href = values.get("href")
        # An advertisement earns nothing and its visit is charged to someone; "ugc" only says who wrote the link.
        if href is not None and "nofollow" not in rel and "sponsored" not in rel:
            last = len(self._pieces)
            self.links.append(_Found(href, named, first, last, block, self._block, state.boilerplate))
        self._link = None
        self._pictures = []

    def _end_heading(self) -> None:
        first, last = self.headings[-1]
        if last < 0:
            self.headings[-1] = (first, len(self._pieces))

    def _is_whole(self) -> bool:
        if self._marked:
            return False
        rest = sum(len(words) for words, apart in zip(self._pieces, self._boilerplate, strict=True) if apart)
        total = sum(map(len, self._pieces))
        return total - rest <= MAIN_SHARE * total

    def texts(self) -> tuple[str, str]:
        """Main text and boilerplate."""
        if self.whole:
            return _joined(self._pieces), ""
        pieces = list(zip(self._pieces, self._boilerplate, strict=True))
        main = _joined(words for words, apart in pieces if not apart)
        return main, _joined(words for words, apart in pieces if apart)

    def kept_headings(self) -> tuple[str, ...]:
        """Of the main text, each with words."""
        found = [
            _joined(self._pieces[first:last])[:MAX_ANCHOR_LENGTH].rstrip()
            for first, last in self.headings[: 10 * MAX_HEADINGS]
            if last > first and (self.whole or not self._boilerplate[first])
        ]
        return tuple(found[:MAX_HEADINGS])

    def anchor(self, link: _Found) -> str:
        """The words that a reader clicks on, else what a picture or the link itself is called."""
        words = _joined(self._pieces[link.first : min(link.last, link.first + MAX_ANCHOR_LENGTH)])
        return (words or _squeezed(link.named))[:MAX_ANCHOR_LENGTH].rstrip()

    def context(self, link: _Found) -> str:
        """A few words before the link and after it, of its own block."""
        pieces, blocks = self._pieces, self._blocks
        before: list[str] = []
        at = link.first - 1
        while at >= 0 and blocks[at] == link.block and len(before) < CONTEXT_WORDS:
            before[:0] = pieces[at][-CONTEXT_WORDS:]
            at -= 1
        after: list[str] = []
        at = link.last
        while at < len(pieces) and blocks[at] == link.last_block and len(after) < CONTEXT_WORDS:
            after += pieces[at][:CONTEXT_WORDS]
            at += 1
        return " ".join(before[-CONTEXT_WORDS:] + after[:CONTEXT_WORDS])[:MAX_ANCHOR_LENGTH].rstrip()


_ABOUT = frozenset({"title", "base", "link", "meta"})
_TELLING = BOILERPLATE | {"header", "main", "article", "html", "body"}


def _inside(tag: str, values: dict[str, str | None], state: _State) -> _State | None:
    """Whether boilerplate begins or ends here; None for what readers do not see."""
    if not values and tag not in _TELLING:
        return _State(tag, state.boilerplate, state.strong, state.content)
    role = (values.get("role") or "").strip().lower()
    kind = ROLES.get(role, tag)
    if kind == "main" or (kind == "article" and not state.strong):
        return _State(tag, False, False, True)
    if tag in ("html", "body"):
        return _State(tag, False, False, False)
    if "hidden" in values or _HIDDEN.search(values.get("style") or ""):
        return None
    if kind in BOILERPLATE:
        return _State(tag, True, True, state.content)
    # In an article, <header> holds the article's own title.
    if state.boilerplate or (kind == "header" and not state.content):
        return _State(tag, True, state.strong, state.content)
    names = f"{values.get('class') or ''} {values.get('id') or ''}"[:300]
    return _State(tag, len(names) > 1 and bool(_NAMED_BOILERPLATE.search(names)), False, state.content)


def outlinks(page: _Page, base: str) -> tuple[Outlink, ...]:
    """Each URL once, as it stands in the content if it does; when there are too many, those of the content are kept."""
    found: dict[str, tuple[int, Outlink]] = {}
    for navigation in (False, True):
        for at, link in enumerate(page.links):
            if (link.boilerplate and not page.whole) is not navigation:
                continue
            if len(found) == MAX_OUTLINKS:
                break
            url = canonical(link.href, base)
            if url is None or len(url) > MAX_URL_LENGTH:
                continue
            # A picture that links to what the words below it link to: the words say more.
            if url not in found or (not found[url][1].anchor and page.anchor(link)):
                place = found[url][0] if url in found else at
                found[url] = (place, Outlink(url, page.anchor(link), page.context(link), navigation))
    return tuple(outlink for _, outlink in sorted(found.values(), key=lambda pair: pair[0]))


# ---- rules for robots ----

_WITH_VALUE = frozenset({"unavailable_after", "max-snippet", "max-image-preview", "max-video-preview"})
_HOUR = re.compile(r"\s\d{1,2}\Z")
"""Ends what stands before a colon in a date; a date may have commas, as rules have between them."""


def header_rules(headers: Iterable[tuple[str, str]]) -> set[str]:
    """The rules of X-Robots-Tag for everyone or for us; a name before a colon says for whom the next ones are."""
    rules = set()
    for name, value in headers:
        if name.lower() != "x-robots-tag":
            continue
        ours = True
        for part in value.lower().split(","):
            before, colon, after = part.partition(":")
            if colon and before.strip() not in _WITH_VALUE and not _HOUR.search(before):
                ours = before.strip() == AGENT
                part = after
            if ours:
                rules.add(part.strip())
    return rules


def _says(rules: set[str], what: str) -> bool:
    return bool(rules & {f"no{what}", "none"})


def _joined(pieces: Iterable[list[str]]) -> str:
    return " ".join(chain.from_iterable(pieces))


def _squeezed(text: str) -> str:
    return " ".join(text.split())
