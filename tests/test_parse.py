"""Whatever a host sends becomes a Document."""

from __future__ import annotations

import time
from encodings.aliases import aliases

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tres_crawler.parse import MAX_ANCHOR_LENGTH, MAX_OUTLINKS, MAX_URL_LENGTH, decode, parse
from tres_crawler.records import Document, Fetched, Outlink
from tres_crawler.urls import canonical

URL = "http://a.test/folder/page"
CODECS = sorted({*aliases.values(), "idna", "punycode", "undefined", "unicode_escape", "raw_unicode_escape", "no-such"})


def fetched(body: str | bytes, content_type: str = "text/html") -> Fetched:
    sent = body.encode() if isinstance(body, str) else body
    return Fetched(URL, 200, content_type, sent, None, 0.1)


def parsed(body: str | bytes, content_type: str = "text/html") -> Document:
    return parse(fetched(body, content_type))


def links(html: str) -> list[str]:
    return [outlink.url for outlink in parsed(html).outlinks]


def anchors(html: str) -> list[str]:
    return [outlink.anchor for outlink in parsed(html).outlinks]


# ---- anything at all ----

TAGS = [b"<a href=", b"/x", b"'//b.test/?'", b">", b"</a>", b"<base href=", b"<meta name=robots content=", b"nofollow"]
TAGS += [b"<title>", b"<p>", b"<script>", b"<!--", b"-->", b"<svg>", b"<frameset>", b"<template>", b"<table>", b"&#x0;"]
TAGS += [
    b"<meta charset=",
    b"utf-16",
    b"utf-7",
    b"shift_jis",
    b"+2AA-",
    b"\x00",
    b"\xff\xfe",
    b"\xef\xbb\xbf",
    b" ",
    b"\n",
]
bodies = st.binary() | st.lists(st.sampled_from(TAGS) | st.binary(max_size=3), max_size=30).map(b"".join)
types = (
    st.sampled_from(["text/html", "text/plain", "application/xhtml+xml", "", "text/html; charset=utf-16"]) | st.text()
)


def check(document: Document) -> None:
    """What every document must be, so that later stages need not look."""
    for text in (document.title, document.text, *(outlink.anchor for outlink in document.outlinks)):
        assert text == " ".join(text.split())
    for text in (document.title, document.description, document.text):
        text.encode()  # no half of a surrogate pair, which no database takes
    found = [outlink.url for outlink in document.outlinks]
    assert found == [canonical(url) for url in found]
    assert len(found) == len(set(found)) <= MAX_OUTLINKS
    assert all(len(url) <= MAX_URL_LENGTH for url in found)
    assert all(len(outlink.anchor) <= MAX_ANCHOR_LENGTH for outlink in document.outlinks)


@settings(derandomize=True, database=None, deadline=None, max_examples=500)
@given(bodies, types)
def test_any_bytes_become_a_document(body: bytes, content_type: str) -> None:
    check(parsed(body, content_type))


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # unicode_escape warns of what the page holds
@pytest.mark.parametrize("kind", ["text/html", "text/plain"])
def test_any_charset_that_a_page_names_is_survived(kind: str) -> None:
    body = b"<p>caf\xc3\xa9 \\ud800 \\d +2AA- \xff\xfe \x1b$B</p>"
    trouble = {}
    for name in CODECS:
        try:
            check(parsed(body, f"{kind}; charset={name}"))
        except Exception as error:
            trouble[name] = repr(error)
    assert trouble == {}


@pytest.mark.parametrize(
    ("before", "after"), [("", ""), ("", "</div>" * 30_000), ("</b>" * 30_000, "")], ids=["open", "closed", "hidden"]
)
def test_a_page_of_nothing_but_nested_tags_does_not_stop_the_crawl(before: str, after: str) -> None:
    # Far below the limit of bytes. Parsing happens in the event loop: meanwhile nothing else does.
    started = time.perf_counter()
    check(parsed(before + "<div>" * 30_000 + "x" + after))
    assert time.perf_counter() - started < 1


# ---- text ----


def test_a_page_becomes_its_title_description_and_readable_text() -> None:
    document = parsed(
        """<html><head><title> Of
        courts </title><meta name="description" content="All about courts"><style>p {}</style></head>
        <body><script>var x</script><p>One<p>Two <!-- not this --><b>three</b></p>
        <noscript>four</noscript><template>five</template><svg><text>six</text></svg></body></html>"""
    )
    assert document == Document(URL, "Of courts", "All about courts", "One Two three", ())


@pytest.mark.parametrize("kind", ["text/plain", "text/plain; charset=utf-8", "Text/Plain"])
def test_plain_text_is_taken_as_it_is(kind: str) -> None:
    assert parsed("1 <b>2</b>\n\n<a href=/x>3", kind) == Document(URL, "", "", "1 <b>2</b> <a href=/x>3", ())


@pytest.mark.parametrize("body", [b"", b" \n", b"<html></html>", b"<frameset><frame src=x></frameset>", b"<script>x"])
def test_a_page_with_nothing_in_it_is_a_document_with_nothing_in_it(body: bytes) -> None:
    assert parsed(body) == Document(URL, "", "", "", ())


@pytest.mark.parametrize(
    ("content_type", "body"),
    [
        ("text/html; charset=ISO-8859-1", b'<meta charset="utf-8">caf\xe9'),
        ('text/html; charset="windows-1252"', b"caf\xe9"),
        ("text/html", b"<meta charset=iso-8859-1>caf\xe9"),
        ("text/html", b'<meta http-equiv="Content-Type" content="text/html; charset=iso-8859-1">caf\xe9'),
        ("text/html", b"caf\xc3\xa9"),
        ("text/html; charset=no-such", b"caf\xc3\xa9"),
        ("text/html", b"\xef\xbb\xbfcaf\xc3\xa9"),
    ],
)
def test_the_charset_is_that_of_the_header_else_of_the_page_else_utf_8(content_type: str, body: bytes) -> None:
    assert parsed(body, content_type).text == "café"


def test_bytes_that_fit_no_charset_are_replaced() -> None:
    assert decode(fetched(b"caf\xe9!")) == "caf\ufffd!"


# ---- links ----


def test_outlinks_are_canonical_and_named_once_with_their_first_words() -> None:
    html = """<a href="../one">First <b>one</b></a><a href="/one#part">again</a><a href=" //b.test/?x ">b</a>
    <a href="mailto:x@y.z">mail</a><a href="javascript:1">js</a><a name="x">no link</a><a href="http://">bad</a>
    <a href="two"><img alt="a picture"></a>"""
    assert parsed(html).outlinks == (
        Outlink("http://a.test/one", "First one"),
        Outlink("http://b.test/?x", "b"),
        Outlink("http://a.test/folder/two", ""),
    )


def test_the_base_of_a_page_moves_its_links_unless_it_is_nonsense() -> None:
    assert links('<base href="/other/"><a href="x">x</a>') == ["http://a.test/other/x"]
    assert links('<base href="http://b.test"><a href="x">x</a>') == ["http://b.test/x"]
    assert links('<base href="javascript:1"><a href="x">x</a>') == ["http://a.test/folder/x"]


def test_the_words_of_an_anchor_are_those_that_a_reader_sees() -> None:
    assert anchors('<a href="/x"><h3>Title</h3><p>Summary</p></a>') == ["Title Summary"]
    assert anchors('<a href="/x">one<br>two</a>') == ["one two"]
    assert anchors('<a href="/x"><style>.a {}</style>words<script>var x</script></a>') == ["words"]


def test_long_urls_are_left_out_and_long_anchors_and_lists_cut() -> None:
    fits = "/" + "u" * (MAX_URL_LENGTH - len("http://a.test/"))
    assert links(f'<a href="{fits}">x</a><a href="{fits}u">x</a>') == ["http://a.test" + fits]
    assert anchors(f'<a href="/x">{"w" * 1000}</a>') == ["w" * MAX_ANCHOR_LENGTH]
    many = links("".join(f'<a href="/{number}">x</a>' for number in range(MAX_OUTLINKS + 5)))
    assert many == [f"http://a.test/{number}" for number in range(MAX_OUTLINKS)]


def test_a_link_marked_nofollow_is_not_followed() -> None:
    assert links('<a rel="external NoFollow" href="/x">x</a><a rel="nofollower" href="/y">y</a>') == ["http://a.test/y"]


@pytest.mark.parametrize(
    "meta",
    [
        '<meta name="robots" content="nofollow">',
        '<meta name="robots" content="noindex, NoFollow">',
        '<meta name="robots" content="none">',
        '<META NAME="ROBOTS" CONTENT="NOINDEX,NOFOLLOW">',
        '<meta name="robots" content="noarchive"><meta name="robots" content="nofollow">',
    ],
)
def test_a_page_whose_robots_rule_says_nofollow_has_no_outlinks(meta: str) -> None:
    document = parsed(f'<head>{meta}</head><a href="/x">words</a>')
    assert (document.text, document.outlinks) == ("words", ())


@pytest.mark.parametrize("rules", ["noarchive", "index, follow", "max-image-preview:none", ""])
def test_other_robots_rules_leave_the_links(rules: str) -> None:
    assert links(f'<meta name="robots" content="{rules}"><a href="/x">x</a>') == ["http://a.test/x"]
