"""The text of a page → the same made harmless, where building a tree from it could take long."""

from __future__ import annotations

import re
from collections import Counter

from tres_crawler.parse.tags import INLINE, UNREADABLE, attributes, names

SMALL_BYTES, SMALL_TAGS = 200_000, 2500
"""A page below both is parsed in place, within 50 ms."""
PLAIN_CHARS, PLAIN_TAGS = 30_000, 600
"""A page below both cannot take long, whatever is in it."""
MAX_CHARS, MAX_TAGS = 2_000_000, 100_000
"""What follows so many, scripts and the like not counted, is not read."""
MAX_DEPTH = 200
MAX_TAG_CHARS = 20_000

_TOKEN = re.compile(
    r"<(?:(/?)([a-z][^\s/>]{0,30}+)"  # whether an end, and of what
    r"""((?:[^>=]++|=\s*+(?:"[^"]*+"|'[^']*+')?+){0,5000}+)>?|[!?/]|)""",  # attributes; a comment; a mere sign
    re.IGNORECASE,
)
_NESTED = names(
    "div section main article nav header footer aside form h1 h2 h3 ul ol dl table menu fieldset details dialog"
)
_KEPT = names("div section main article nav header footer aside h1 h2 h3")
_SINGLE = frozenset({"meta", "link", "base", "html", "body", "img", "area"})
_NEEDED = names("href rel title alt aria-label class id role name content lang hidden style http-equiv property")


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
    values = attributes(rest[:MAX_TAG_CHARS])
    kept = [f' {name}="{value.replace(chr(34), "&quot;")}"' for name, value in values.items() if name in _NEEDED]
    return "".join(kept)


def _escaped(text: str) -> str:
    return text.replace("<", "&lt;") if "<" in text else text
