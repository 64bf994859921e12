"""The bytes of a page → its text."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator

import webencodings

from tres_crawler.parse.tags import attributes
from tres_crawler.records import Fetched

# Possessive: a hostile header must not make it try every way to share out the blanks.
_HEADER = re.compile(r"""(?:^|;)\s*+charset\s*+=\s*+["']?\s*+([\w.:-]+)""", re.IGNORECASE)
_CHARSET = re.compile(r"""charset\s*=\s*["']?\s*([\w.:-]+)""", re.IGNORECASE)
_COMMENT = re.compile(r"<!(?=--).*?(?:-->|\Z)", re.DOTALL)
# Possessive: a hostile head must not make it try every way to read the quotes.
_META = re.compile(r"""<meta[\s/]((?:=\s*"[^"]*"|=\s*'[^']*'|[^>])*+)>""", re.IGNORECASE)
_XML = re.compile(r"""\s*<\?xml[^>]*?\sencoding\s*=\s*["']([\w.:-]+)""")


def decode(fetched: Fetched) -> str:
    """The body as text, by the HTML standard: byte order mark, HTTP header, the page's own word, else the likeliest."""
    encoding = _declared(fetched) or _guessed(fetched.body)
    # In pieces, for the sake of the event loop; the decoder looks for the byte order mark itself.
    decoder = webencodings.IncrementalDecoder(encoding, "replace")
    pieces = [fetched.body[at : at + 500_000] for at in range(0, len(fetched.body), 500_000)]
    return "".join([*map(decoder.decode, pieces), decoder.decode(b"", final=True)])


def _declared(fetched: Fetched) -> webencodings.Encoding | None:
    header = _HEADER.search(fetched.content_type)
    encoding = webencodings.lookup(header[1]) if header else None
    if encoding:
        return encoding
    head = _COMMENT.sub("", fetched.body[:1024].decode("latin-1"))
    for label in _labels(head):
        encoding = webencodings.lookup(label)
        if encoding:
            # A page whose label could be read as ASCII is not in UTF-16, whatever it says.
            odd = {"utf-16le": "utf-8", "utf-16be": "utf-8", "x-user-defined": "windows-1252"}
            return webencodings.lookup(odd.get(encoding.name, encoding.name))
    return None


def _labels(head: str) -> Iterator[str]:
    for meta in _META.finditer(head):
        values = attributes(meta[1])
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
