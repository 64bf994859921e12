"""Fetched → Document: title, main text kept apart from boilerplate, and outlinks with the words around them."""

from __future__ import annotations

import asyncio
import codecs
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import chain
from typing import NamedTuple

import webencodings
from selectolax.lexbor import LexborHTMLParser, LexborNode

from tres_crawler.records import Document, Fetched, Outlink
from tres_crawler.urls import canonical


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


AGENT = "tres_crawler"
MAX_URL_LENGTH = 2000
MAX_OUTLINKS = 2000
MAX_ANCHOR_LENGTH = 300
MAX_HEADINGS = 100
CONTEXT_WORDS = 8
SMALL_BYTES, SMALL_TAGS = 200_000, 2500
"""A page below both is parsed in place, within 50 ms."""
PLAIN_CHARS, PLAIN_TAGS = 30_000, 600
"""A page below both cannot take long, whatever is in it."""
MAX_CHARS, MAX_TAGS = 2_000_000, 100_000
"""What follows so many, scripts and the like not counted, is not read."""
MAX_DEPTH = 200
MAX_TAG_CHARS = 20_000
MAIN_SHARE = 0.05
"""A page with less of its words outside what looks like boilerplate, and no <main>, is kept whole."""

UNREADABLE = _names("script style noscript template iframe svg select textarea object noembed noframes xmp")
BOILERPLATE = frozenset({"nav", "footer", "aside"})
ROLES = {"navigation": "nav", "contentinfo": "footer", "complementary": "aside", "banner": "header", "main": "main"}
INLINE = _names(
    "a abbr b bdi bdo big cite code data em font i img ins kbd label mark q s samp small span strong sub sup time "
    "tt u var wbr"
)
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

    A thread is enough: Lexbor lets go of the interpreter lock while it builds the tree.
    """
    if len(fetched.body) < SMALL_BYTES and fetched.body.count(b"<") < SMALL_TAGS:
        return parse(fetched)
    return await asyncio.get_running_loop().run_in_executor(_WORKER, parse, fetched)


def parse(fetched: Fetched) -> Document:
    """Never fails: a page with nothing in it gives a Document with nothing in it."""
    text = decode(fetched)
    rules = header_rules(fetched.headers)
    if fetched.content_type.lower().startswith("text/plain"):
        words = _squeezed(text)
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


# ---- bytes to text ----

_CHARSET = re.compile(r"""charset\s*=\s*["']?\s*([\w.:-]+)""", re.IGNORECASE)
_COMMENT = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
_META = re.compile(r"<meta[\s/]([^>]*)>", re.IGNORECASE)
_XML = re.compile(r"""\s*<\?xml[^>]*?\sencoding\s*=\s*["']([\w.:-]+)""")
_ATTRIBUTE = re.compile(
    r"""(?<![^\s"'/])([a-z-]+)(?:\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>][^\s>]*)))?""", re.IGNORECASE
)


def decode(fetched: Fetched) -> str:
    """The body as text, by the HTML standard: byte order mark, HTTP header, the page's own word, else the likeliest."""
    encoding = _declared(fetched) or _guessed(fetched.body)
    # In pieces, for the sake of the event loop; the decoder looks for the byte order mark itself.
    decoder = webencodings.IncrementalDecoder(encoding, "replace")
    pieces = [fetched.body[at : at + 500_000] for at in range(0, len(fetched.body), 500_000)]
    return "".join([*map(decoder.decode, pieces), decoder.decode(b"", final=True)])


def _declared(fetched: Fetched) -> webencodings.Encoding | None:
    header = _CHARSET.search(fetched.content_type)
    encoding = webencodings.lookup(header[1]) if header else None
    if encoding:
        return encoding
    head = _COMMENT.sub("", fetched.body[:1024].decode("latin-1"))
    for label in _labels(head):
        encoding = webencodings.lookup(label)
        if encoding:
            # A page whose label could be read as ASCII is not in UTF-16, whatever it says.
            return webencodings.UTF8 if encoding.name.startswith("utf-16") else encoding
    return None


def _labels(head: str) -> Iterator[str]:
    for meta in _META.finditer(head):
        values = _attributes(meta[1])
        if "charset" in values:
            yield values["charset"].strip()
        elif values.get("http-equiv", "").strip().lower() == "content-type":
            found = _CHARSET.search(values.get("content", ""))
            if found:
                yield found[1]
    declaration = _XML.match(head)
    if declaration:
        yield declaration[1]


def _guessed(body: bytes) -> webencodings.Encoding:
    """UTF-8, also with its last letter cut off or a few bytes broken; else windows-1252, which fits any bytes."""
    sample = body[:500_000]
    try:
        text, read = codecs.utf_8_decode(sample, "strict", False)
        sound = read == len(sample) or not text.isascii()
    except UnicodeDecodeError:
        text = sample.decode("utf-8", "replace")
        sound = len(sample) - len(text) > 10 * text.count("\ufffd")
    return webencodings.UTF8 if sound else webencodings.lookup("windows-1252")


# ---- text to a tree that is safe to walk ----

_TOKEN = re.compile(
    r"<(?:(/?)([a-z][^\s/>]{0,30}+)"  # whether an end, and of what
    r"""((?:[^>=]++|=\s*+(?:"[^"]*+"|'[^']*+')?+){0,5000}+)>?|[!?/]|)""",  # attributes; a comment; a mere sign
    re.IGNORECASE,
)
_NESTED = _names(
    "div section main article nav header footer aside form h1 h2 h3 ul ol dl table menu fieldset details dialog"
)
_KEPT = _names("div section main article nav header footer aside h1 h2 h3")
_SINGLE = frozenset({"meta", "link", "base", "html", "body", "img", "area"})
_NEEDED = _names("href rel title alt aria-label class id role name content lang hidden style http-equiv property")


# A tag too long, or one that does not end with the next ">".
_LONG_TAG = re.compile(r"""<[a-z][^>]{10000}|=\s*+(?:"[^">]*+>|'[^'>]*+>)""", re.IGNORECASE)
# Tags that are opened again in every paragraph until they are closed; those closed at once are harmless.
_REOPENED = re.compile(
    r"<(b|big|code|em|font|i|nobr|s|small|strike|strong|tt|u)(?=[\s/>])(?![^<>]*+>[^<>]*+</\1>)", re.IGNORECASE
)
MAX_REOPENED = 150_000


def is_harmless(text: str, tags: int) -> bool:
    """Whether the parser cannot take long; most pages need not be simplified."""
    if len(text) <= PLAIN_CHARS and tags <= PLAIN_TAGS:
        return True
    if len(text) > SMALL_BYTES or tags > SMALL_TAGS or _LONG_TAG.search(text):
        return False
    return tags * sum(1 for _ in _REOPENED.finditer(text)) <= MAX_REOPENED


def simplified(text: str) -> str:
    """A page with only the tags that matter here, balanced and not deep, and only the attributes that are read.

    The time to build a tree grows with the square of its depth, of the attributes of one tag, and of the unclosed
    <b>s: a page of 300 KB can take ten seconds. What is written here is all that the parser sees, so that no tag can
    be hidden from the count.
    """
    out: list[str] = []
    opened: list[str] = []
    counts: Counter[str] = Counter()
    at = 0
    for _ in range(MAX_TAGS):
        token = _TOKEN.search(text, at)
        if token is None:
            out.append(_escaped(text[at:]))
            break
        out.append(_escaped(text[at : token.start()]))
        at = token.end()
        end, name, rest = token.groups()
        name = name and name.lower()
        if name is None:
            if len(token[0]) == 1:
                out.append("&lt;")
            else:
                at = _after_comment(text, token.start())
        elif end:
            out.append(_closed(name, opened, counts))
        elif name in UNREADABLE or name == "title":
            start, at = at, _end_of(name, text, at)
            if name == "title":
                out.append(f"<title>{_escaped(text[start:at])}</title>")
        elif name in _NESTED:
            if len(opened) < MAX_DEPTH:
                opened.append(name)
                counts[name] += 1
                out.append(f"<{_short(name)}{_needed(rest)}>")
        elif name == "a" or name in _SINGLE:
            out.append(f"<{name}{_needed(rest)}>")
        else:
            out.append(" " if name in INLINE else "<p>")
    return "".join(out)[:MAX_CHARS]


def _closed(name: str, opened: list[str], counts: Counter[str]) -> str:
    if name == "a":
        return "</a>"
    if not counts[name]:
        return " " if name in INLINE or name in _NESTED else "</p>"
    ends = []
    while True:
        last = opened.pop()
        counts[last] -= 1
        ends.append(f"</{_short(last)}>")
        if last == name:
            return "".join(ends)


def _short(name: str) -> str:
    return name if name in _KEPT else "div"


def _after_comment(text: str, start: int) -> int:
    if not text.startswith("<!--", start):
        end = text.find(">", start)
        return end + 1 if end >= 0 else len(text)
    end = text.find("-->", start + 2)  # <!--> is a whole comment
    return end + 3 if end >= 0 else len(text)


def _end_of(name: str, text: str, at: int) -> int:
    end = re.compile(f"</(?i:{name})").search(text, at)
    return end.start() if end else len(text)


def _needed(rest: str) -> str:
    if not rest:
        return ""
    values = _attributes(rest[:MAX_TAG_CHARS])
    kept = [f' {name}="{value.replace(chr(34), "&quot;")}"' for name, value in values.items() if name in _NEEDED]
    return "".join(kept)


def _attributes(rest: str) -> dict[str, str]:
    """By name, the first of each, as browsers take them."""
    values: dict[str, str] = {}
    for name, double, single, bare in _ATTRIBUTE.findall(rest):
        values.setdefault(name.lower(), double or single or bare)
    return values


def _escaped(text: str) -> str:
    return text.replace("<", "&lt;") if "<" in text else text


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
            self.title = self.title or _squeezed(node.text())
        elif tag == "base":
            self.base = self.base or href
        elif tag == "link":
            if not self.canonical and "canonical" in (values.get("rel") or "").lower().split():
                self.canonical = href
        else:
            name, content = (values.get("name") or "").strip().lower(), values.get("content") or ""
            if name == "description":
                self.description = self.description or _squeezed(content)
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


def header_rules(headers: Iterable[tuple[str, str]]) -> set[str]:
    """The rules of X-Robots-Tag for everyone or for us; a name before a colon says for whom the next ones are."""
    rules = set()
    for name, value in headers:
        if name.lower() != "x-robots-tag":
            continue
        ours = True
        for part in value.lower().split(","):
            before, colon, after = part.partition(":")
            if colon and before.strip() not in _WITH_VALUE:
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
