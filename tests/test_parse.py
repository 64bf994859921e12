"""Whatever a host sends becomes a Document."""

from __future__ import annotations

import asyncio
import time
from encodings.aliases import aliases

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tres_crawler.parse import parse, parse_page
from tres_crawler.parse.charset import decode
from tres_crawler.parse.page import MAX_ABOUT_LENGTH, MAX_ANCHOR_LENGTH, MAX_OUTLINKS, MAX_URL_LENGTH, header_rules
from tres_crawler.parse.simplify import MAX_CHARS, SMALL_BYTES, SMALL_TAGS, is_harmless, simplified
from tres_crawler.records import Document, Fetched, Outlink
from tres_crawler.urls import canonical

URL = "http://a.test/folder/page"
CODECS = sorted({*aliases.values(), "idna", "punycode", "undefined", "unicode_escape", "raw_unicode_escape", "no-such"})


def fetched(body: str | bytes, content_type: str = "text/html", *headers: tuple[str, str]) -> Fetched:
    sent = body.encode() if isinstance(body, str) else body
    return Fetched(URL, 200, content_type, sent, None, 0.1, headers)


def parsed(body: str | bytes, content_type: str = "text/html", *headers: tuple[str, str]) -> Document:
    return parse(fetched(body, content_type, *headers))


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
    shown = (document.title, document.description, document.text, document.boilerplate, *document.headings)
    named = [text for outlink in document.outlinks for text in (outlink.anchor, outlink.context)]
    for text in (*shown, *named):
        assert text == " ".join(text.split())
    for text in (*shown, *named, document.language):
        text.encode()  # no half of a surrogate pair, which no database takes
    found = [outlink.url for outlink in document.outlinks]
    assert found == [canonical(url) for url in found]
    assert len(found) == len(set(found)) <= MAX_OUTLINKS
    assert all(len(url) <= MAX_URL_LENGTH for url in found)
    assert all(len(text) <= MAX_ANCHOR_LENGTH for text in named)
    assert document.canonical is None or document.canonical == canonical(document.canonical)
    assert not (document.nofollow and document.outlinks)


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


HARD = {
    "unclosed": "<div>" * 200_000,
    "closed in vain": "<div></b>" * 100_000,
    "closed out of sight": "<div><script></div></script>" * 30_000,
    "not quoted": '<div a=b="><div>' * 50_000,
    "not a comment": "<!--><div>" * 50_000,
    "misnested": "<span>" * 400 + "<div>" + "</span>" * 400 + "<a href=/x><div></a>" * 50_000,
    "attributes": "<p " + " ".join(f"a{number}" for number in range(100_000)) + ">x",
    "attributes with signs": "<p " + " ".join(f'a{number}=">"' for number in range(100_000)) + ">x",
    "reopened in each paragraph": "<p>" + "".join(f"<b a={n}>" for n in range(20_000)) + "</p>" + "<p>x" * 20_000,
    "tables": "<table><tr><td>" * 50_000,
    "open quotes": "<p a='" * 100_000,
    "open scripts": "<script>" * 100_000,
    "signs": "<" * 500_000,
    "links in links": "<a href=/x>" * 50_000,
    "headings": "<h1><p>" * 50_000,
    "names": "<" + "a" * 500_000,
}


@pytest.mark.parametrize("name", HARD)
def test_no_page_takes_more_than_linear_time(name: str) -> None:
    started = time.process_time()
    check(parsed(HARD[name]))
    assert time.process_time() - started < 3


@pytest.mark.parametrize(
    ("text", "harmless"),
    [
        ("<p>word <b>bold</b> <i class=icon></i>" * 400, True),
        ("<p>" + "".join(f"<b a={number}>" for number in range(500)) + "</p>" + "<p>x" * 500, False),
        ("<p " + "a=1 " * 3000 + ">" + "x" * 30_000, False),
        ("x" * 30_000 + "<p a='>' b>", False),
        ("<p>" * (SMALL_TAGS + 1), False),
        ("x" * (SMALL_BYTES + 1), False),
    ],
)
def test_pages_that_could_take_long_are_told_from_ordinary_ones(text: str, harmless: bool) -> None:
    assert is_harmless(text, text.count("<")) is harmless


@pytest.mark.parametrize("cut", range(0, 400, 7))
def test_a_page_may_end_anywhere(cut: int) -> None:
    page = """<!DOCTYPE html><html lang="de"><head><title>Über</title><meta name="robots" content="noindex">
    <base href="/b/"><link rel="canonical" href="/c"></head><body><nav><a href="/n">N</a></nav><main><h1>Höhe</h1>
    <p>vor <a href="x" title='t'><img alt="é"></a> nach</p><script>if (a < b) {}</script><!-- -- --></main></html>"""
    check(parsed(page.encode()[:cut]))
    check(parsed(page.encode()[:cut] * 200))


@settings(derandomize=True, database=None, deadline=None, max_examples=200)
@given(
    st.lists(
        st.sampled_from(TAGS) | st.sampled_from([b"<div>", b"</div>", b"<nav>", b"<h1>", b"</h1>", b"x "]), max_size=30
    )
)
def test_a_simplified_page_is_read_without_trouble_too(parts: list[bytes]) -> None:
    check(parsed(b"".join(parts) + b"<i></i>" * SMALL_TAGS))


def test_simplifying_changes_nothing_that_is_read() -> None:
    page = """<html lang=en><head><title>A < B</title><meta name=description content='say "hi"'><base href="/b/">
    <link rel=canonical href=c></head><body class=home><ul class="main-menu"><li><a href=/m>M</a></ul><div><h1>Head</h1>
    <p>some <b>words</b> before <a href="x?a=1&amp;b=2" rel=ugc>the <i>link</i></a> and after<p>next &lt; <a href=y><img
    alt="picture"></a></div><div hidden>secret</div><script>var x = "<p>no"</script><footer>Foot</footer></body>"""
    long = page.replace("</body>", f"<!--{'x' * SMALL_BYTES}--></body>")
    assert "secret" in simplified(long) and "var x" not in simplified(long)
    assert parsed(long) == parsed(page)
    assert parsed(page).text == "Head some words before the link and after next <"


async def test_a_large_page_does_not_hold_up_the_loop() -> None:
    page = "".join(f'<li><a href="/{number}">word {number}</a>' for number in range(200_000))
    task = asyncio.create_task(parse_page(fetched(page)))
    turns = 0
    while not task.done():
        await asyncio.sleep(0)
        turns += 1
    assert len((await task).outlinks) == MAX_OUTLINKS
    assert turns > 10


async def test_a_small_page_is_parsed_at_once() -> None:
    assert await parse_page(fetched("<p>x")) == parsed("<p>x")


# ---- text ----


def test_a_page_becomes_its_title_description_and_readable_text() -> None:
    document = parsed(
        """<html><head><title> Of
        courts </title><meta name="description" content="All about courts"><style>p {}</style></head>
        <body><script>var x</script><p>One<p>Two <!-- not this --><b>three</b></p>
        <noscript>four</noscript><template>five</template><svg><text>six</text></svg></body></html>"""
    )
    assert document == Document(URL, "Of courts", "All about courts", "One Two three", ())


def test_of_an_endless_title_or_description_the_beginning_is_kept() -> None:
    endless = "tennis " * 200_000
    document = parsed(f"<meta name=description content='{endless[:9000]}'><title>{endless}</title><p>x</p>")
    for cut in (document.title, document.description):
        assert endless.startswith(cut)
        assert MAX_ABOUT_LENGTH - 10 < len(cut) <= MAX_ABOUT_LENGTH


@pytest.mark.parametrize("kind", ["text/plain", "text/plain; charset=utf-8", "Text/Plain"])
def test_plain_text_is_taken_as_it_is(kind: str) -> None:
    assert parsed("1 <b>2</b>\n\n<a href=/x>3", kind) == Document(URL, "", "", "1 <b>2</b> <a href=/x>3", ())


def test_a_text_file_is_cut_where_a_page_would_be() -> None:
    assert len(parsed("word " * MAX_CHARS, "text/plain").text) <= MAX_CHARS


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
        ("text/html; charset=iso-8859-1", b"\xef\xbb\xbfcaf\xc3\xa9"),
        ("text/html; charset=utf-8", b"\xff\xfec\0a\0f\0\xe9\0"),
        ("text/html", b"\xfe\xff\0c\0a\0f\0\xe9"),
        ("text/html", b"<META content='text/html;charset=iso-8859-1' HTTP-EQUIV=content-type>caf\xe9"),
        ("text/html", b"<meta name=x content='charset=iso-8859-1'>caf\xc3\xa9"),
        ("text/html", b"<!-- <meta charset=iso-8859-1> -->caf\xc3\xa9"),
        ("text/html", b"<meta charset=utf-16>caf\xc3\xa9"),
        ("text/html", b"<meta charset=no-such><meta charset=iso-8859-1>caf\xe9"),
        ("application/xhtml+xml", b'<?xml version="1.0" encoding="ISO-8859-1"?><p>caf\xe9</p>'),
        ("text/html", b" " * 2000 + b"<meta charset=shift_jis>caf\xe9"),
        ("text/html", b"caf\xe9"),
    ],
)
def test_the_charset_is_that_of_the_mark_else_the_header_else_the_page_else_guessed(
    content_type: str, body: bytes
) -> None:
    assert parsed(body, content_type).text == "café"


def test_bytes_that_do_not_fit_the_charset_are_replaced() -> None:
    assert decode(fetched(b"caf\xe9!", "text/html; charset=utf-8")) == "caf\ufffd!"


def test_a_page_in_utf_8_stays_so_when_a_few_bytes_are_broken_or_cut_off() -> None:
    assert decode(fetched("éü".encode()[:-1])) == "é\ufffd"
    assert decode(fetched("é".encode() * 50 + b"\xff!")) == "é" * 50 + "\ufffd!"


def test_a_long_page_is_decoded_across_its_pieces() -> None:
    assert decode(fetched("x" + "é" * 400_000, "text/html; charset=utf-8")) == "x" + "é" * 400_000


# ---- main text and boilerplate ----


def test_boilerplate_is_kept_apart_from_the_main_text() -> None:
    document = parsed("""<header>Name <nav>Home</nav></header><div class="breadcrumbs">You are here</div>
        <main><article><header><h1>Title</h1></header><p>Words</p><footer>Tags</footer></article></main>
        <aside>Advert</aside><div id=side_menu>More</div><footer>Imprint<div class=cookie-bar>We use</div></footer>""")
    assert document.text == "Title Words"
    assert document.boilerplate == "Name Home You are here Tags Advert More Imprint We use"
    assert document.headings == ("Title",)


@pytest.mark.parametrize(
    "opening",
    [
        "<div class='nav'>",
        "<div class='site-nav dark'>",
        "<div id='Footer'>",
        "<ul class='menu_top'>",
        "<div class='left-sidebar'>",
        "<div id=CybotCookiebotDialog>",
        "<div class=cookies>",
        "<div role=navigation>",
        "<p class=breadcrumb>",
    ],
)
def test_boilerplate_is_known_by_its_name(opening: str) -> None:
    document = parsed(f"<p>one two three {opening}four")
    assert (document.text, document.boilerplate) == ("one two three", "four")


@pytest.mark.parametrize(
    "opening",
    [
        "<body class='menu-open cookie-consent'>",
        "<main class=sidebar>",
        "<div class=sidebar-layout><main>",
        "<div id=nav><article>",
        "<header><main>",
        "<nav><div role=main>",
        "<article class='tag-cookies menu'>",
        "<div class='has-sidebar'>",
        "<div class='with-menu'>",
        "<div class='navy canvas footers unmenued'>",
        "<div class='post tag-cookies'>",
    ],
)
def test_the_content_is_never_taken_for_boilerplate(opening: str) -> None:
    assert parsed(f"{opening}<p>words").text == "words"
    assert parsed(f"<p>other</p>{opening}<p>words").text == "other words"


def test_a_page_that_would_be_nearly_all_boilerplate_is_kept_whole() -> None:
    document = parsed("<p>Skip</p><div class=menu><h2>Dishes</h2><a href=/soup>soup</a> " + "of the day " * 20)
    assert document.text.startswith("Skip Dishes soup of the day")
    assert (document.boilerplate, document.headings) == ("", ("Dishes",))
    assert not document.outlinks[0].navigation


def test_what_readers_do_not_see_is_left_out_with_its_links() -> None:
    assert parsed("<div hidden>a <a href=/x>x</a></div><a href=/t style='display: none'>trap</a><p>b").outlinks == ()
    assert parsed("<div hidden>a</div><p style='visibility:hidden'>b</p>c<select><option>d</select>").text == "c"


def test_headings_language_and_canonical_are_found() -> None:
    document = parsed("""<html lang=" pt-BR "><base href=/b/><link rel="Canonical nofollow" href="c#d">
        <h1>One <b>1</b></h1><h2><a href=x>Two</a></h2><h2> </h2><h3>Three</h3><h4>Four</h4>""")
    assert document.headings == ("One 1", "Two", "Three")
    assert document.language == "pt-BR"
    assert document.canonical == "http://a.test/b/c"
    assert parsed("<link rel=canonical href='mailto:x'>").canonical is None


# ---- links ----


def test_outlinks_are_canonical_and_named_once_with_their_first_words() -> None:
    html = """<a href="../one">First <b>one</b></a><a href="/one#part">again</a><a href=" //b.test/?x ">b</a>
    <a href="mailto:x@y.z">mail</a><a href="javascript:1">js</a><a name="x">no link</a><a href="http://">bad</a>
    <a href="two"><img alt="a picture"></a>"""
    assert [(outlink.url, outlink.anchor) for outlink in parsed(html).outlinks] == [
        ("http://a.test/one", "First one"),
        ("http://b.test/?x", "b"),
        ("http://a.test/folder/two", "a picture"),
    ]


def test_a_link_without_words_is_called_what_its_picture_or_title_says() -> None:
    assert anchors("<img alt=other><a href=/x title=T> <img alt='' title=P></a>") == ["P"]
    assert anchors("<a href=/x title=T><img src=p></a>") == ["T"]
    assert anchors("<a href=/x aria-label=L></a><img alt=other>") == ["L"]
    assert anchors("<a href=/x title=T>words<img alt=P></a>") == ["words"]
    assert anchors("<map><area href=/x alt=North></map>") == ["North"]
    assert anchors("<a href=/x></a><p><a href=/x>words</a>") == ["words"]


def test_the_context_of_a_link_is_a_few_words_of_its_block() -> None:
    html = "<p>other</p><p>0 1 2 3 4 5 <b>6 7 8</b> <a href=/x>words</a>, a b c <i>d</i> e f g h i</p><p>other</p>"
    assert parsed(html).outlinks == (Outlink("http://a.test/x", "words", "1 2 3 4 5 6 7 8 , a b c d e f g"),)
    cards = "<div>before <a href=/x><h3>Title</h3><p>Text</p></a> after</div>"
    assert parsed(cards).outlinks == (Outlink("http://a.test/x", "Title Text", "before after"),)


def test_links_of_navigation_are_marked_and_yield_to_the_same_link_in_the_content() -> None:
    html = "<nav><a href=/n>N</a><a href=/x>X</a></nav><p>see <a href=/x>this</a></p><footer><a href=/f>F</a></footer>"
    assert [(outlink.anchor, outlink.navigation) for outlink in parsed(html).outlinks] == [
        ("N", True),
        ("this", False),
        ("F", True),
    ]


def test_of_too_many_links_those_in_the_content_are_kept() -> None:
    menu = "".join(f"<a href=/n{number}>n</a>" for number in range(MAX_OUTLINKS))
    found = parsed(f"<nav>{menu}</nav><main><a href=/x>x</a></main>").outlinks
    assert len(found) == MAX_OUTLINKS
    assert found[-1] == Outlink("http://a.test/x", "x")


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


def test_an_advertisement_is_not_followed_but_what_a_user_wrote_is() -> None:
    assert links("<a rel=sponsored href=/x>x</a><a rel=ugc href=/y>y</a>") == ["http://a.test/y"]


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
    assert (document.text, document.outlinks, document.nofollow) == ("words", (), True)


@pytest.mark.parametrize("rules", ["noarchive", "index, follow", "max-image-preview:none", ""])
def test_other_robots_rules_leave_the_links(rules: str) -> None:
    assert links(f'<meta name="robots" content="{rules}"><a href="/x">x</a>') == ["http://a.test/x"]


def test_meta_rules_for_us_count_and_those_for_others_do_not() -> None:
    assert parsed('<meta name="Tres_Crawler" content="noindex">').noindex
    document = parsed('<meta name="googlebot" content="none"><a href="/x">x</a>')
    assert not document.noindex
    assert not document.nofollow
    assert parsed('<meta name="robots" content="noindex"><a href="/x">x</a>').outlinks


@pytest.mark.parametrize(
    ("values", "rules"),
    [
        (["noindex"], {"noindex"}),
        (["NoIndex, nofollow"], {"noindex", "nofollow"}),
        (["TRES_crawler: noindex, nofollow"], {"noindex", "nofollow"}),
        (["googlebot: noindex, nofollow"], set()),
        (["googlebot: noindex", "nofollow"], {"nofollow"}),
        (["googlebot: noindex, tres_crawler: none"], {"none"}),
        (["max-snippet: 5, noindex"], {"max-snippet: 5", "noindex"}),
        (
            ["unavailable_after: Wed, 03 Jan 2024 15:00:00 GMT, noindex"],
            {"unavailable_after: wed", "03 jan 2024 15:00:00 gmt", "noindex"},
        ),
        (["googlebot: unavailable_after: Wednesday, 03-Jan-24 15:00:00 GMT, noindex"], set()),
        (["360spider: noindex, nofollow"], set()),
    ],
)
def test_the_rules_of_the_header_are_those_for_all_and_for_us(values: list[str], rules: set[str]) -> None:
    assert header_rules([("X-Robots-TAG", value) for value in values] + [("Server", "none")]) == rules


@pytest.mark.parametrize("kind", ["text/html", "text/plain"])
def test_the_rules_of_the_header_hold_for_every_kind_of_page(kind: str) -> None:
    document = parsed("<a href=/x>x</a>", kind, ("X-Robots-Tag", "none"))
    assert (document.noindex, document.nofollow, document.outlinks) == (True, True, ())
