"""One URL, one form; one host, one site."""

from __future__ import annotations

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.conformance.urls import measure
from tres_crawler.urls import UrlRules, canonical, host_of, site_of

PIECES = ["http:", "https:", "ftp:", "//", "/", "?", "#", "@", ":", ":80", ":443", "%", "%2F", "%3f", "[::1]", "[", "]"]
PIECES += ["..", ".", "\\", " ", "\t", "\n", "a.test", "EXAMPLE.com", "münchen.de", "1.2.3", "0x7f.1", "xn--", "&a=b"]
PIECES += ["%2", "%34", "%41", "%2e", "%7E", "%c3", "utm_x=1", "&", ";", ";jsessionid=1", "sid=0a1b2c3d4e", ".", "u:p@"]
messy = st.lists(st.sampled_from(PIECES) | st.text(max_size=3), max_size=12).map("".join)
urls = st.text() | messy | messy.map("http://".__add__) | messy.map("http://a.test/".__add__)


@settings(derandomize=True, database=None, deadline=None, max_examples=1000)
@given(urls, st.none() | urls)
@example("http://a.test/??", None)
@example("http://a.test/\ud800", None)
@example("http://a.test/%%341", None)
@example("http://a.test/%4%31", None)
@example("http://a.test/a/b/..;jsessionid=1/c", None)
@example("http://a.test../", None)
@example("http://./", None)
def test_the_canonical_form_of_anything_is_its_own_canonical_form(url: str, base: str | None) -> None:
    form = canonical(url, base)
    if form is not None:
        assert canonical(form) == form
        assert canonical(form, "http://elsewhere.test/x") == form
        assert form.startswith(("http://", "https://"))
        assert "#" not in form
        assert host_of(form)
        assert site_of(host_of(form))


@pytest.mark.parametrize(
    ("url", "form"),
    [
        ("HTTP://Example.COM:80/a/../b/./c", "http://example.com/b/c"),
        ("https://example.com:443", "https://example.com/"),
        ("https://example.com:8443/", "https://example.com:8443/"),
        ("  http://a.test/\n", "http://a.test/"),
        ("http://a.test/x#part", "http://a.test/x"),
        ("http://a.test/x?", "http://a.test/x"),
        ("http://a.test/x?#part?", "http://a.test/x"),
        ("http://a.test/x?b=2&a=1", "http://a.test/x?b=2&a=1"),
        ("http://münchen.de/straße", "http://xn--mnchen-3ya.de/stra%C3%9Fe"),
        ("http://a.test/%7Eme/%c3%a9?q=%61%2b%2F", "http://a.test/~me/%C3%A9?q=a%2B%2F"),
        ("http://a.test/100%/%zz", "http://a.test/100%/%zz"),
        ("http://me:secret@a.test/@me", "http://a.test/@me"),
        ("http://a.test./x", "http://a.test/x"),
        ("http://a.test.:8080/x.", "http://a.test:8080/x."),
    ],
)
def test_spellings_that_mean_the_same_have_one_form(url: str, form: str) -> None:
    assert canonical(url) == form


def test_a_question_mark_inside_a_query_is_part_of_it() -> None:
    assert canonical("http://a.test/ask?q=why?") == "http://a.test/ask?q=why?"
    assert canonical("http://a.test/ask??#x") == "http://a.test/ask??"


@pytest.mark.parametrize(
    ("url", "form"),
    [
        ("/x?utm_source=a&id=1&UTM_Medium=b", "/x?id=1"),
        ("/x?id=1&gclid=Cj0&z=2&fbclid=IwAR0", "/x?id=1&z=2"),
        ("/x?utm_source=a", "/x"),
        ("/x?%75tm_source=a", "/x"),
        ("/x?a=1&&b=2&gclid", "/x?a=1&&b=2"),
        ("/x?utm=1&nutm_source=2&gclidx=3", "/x?utm=1&nutm_source=2&gclidx=3"),
        ("/x?PHPSESSID=42&id=1", "/x?id=1"),
        ("/x;jsessionid=A1.node7/y;v=2?id=1", "/x/y;v=2?id=1"),
        ("/x;JSESSIONID=A1", "/x"),
        ("/forum?t=7&sid=0123456789abcdef0123456789abcdef", "/forum?t=7"),
        ("/x?sessionid=550e8400-e29b-41d4-a716-446655440000", "/x"),
        ("/x?sid=20240514", "/x?sid=20240514"),
        ("/x?sid=politics&session=4b", "/x?sid=politics&session=4b"),
    ],
)
def test_who_came_from_where_and_in_which_session_is_left_out(url: str, form: str) -> None:
    assert canonical(url, "http://a.test/") == f"http://a.test{form}"


def test_what_is_left_out_can_be_chosen() -> None:
    rules = UrlRules(dropped=("Ref", "x-*"), sessions=())
    url = "http://a.test/?utm_source=a&ref=b&x-y=c&sid=0a1b2c3d4e"
    assert canonical(url, rules=rules) == "http://a.test/?utm_source=a&sid=0a1b2c3d4e"


@pytest.mark.parametrize(
    "url", ["", "/x", "//a.test/", "a.test", "mailto:a@b.c", "javascript:1", "ftp://a/", "http://", "http://a b/"]
)
def test_what_is_not_a_whole_http_url_has_no_form(url: str) -> None:
    assert canonical(url) is None


@pytest.mark.parametrize(
    ("href", "form"),
    [
        ("c", "http://a.test/x/c"),
        ("../c?d", "http://a.test/c?d"),
        ("/c", "http://a.test/c"),
        ("?d", "http://a.test/x/y?d"),
        ("#part", "http://a.test/x/y?z"),
        ("", "http://a.test/x/y?z"),
        ("//b.test", "http://b.test/"),
        ("https://b.test/c", "https://b.test/c"),
        ("mailto:a@b.c", None),
    ],
)
def test_a_reference_is_read_from_where_it_stands(href: str, form: str | None) -> None:
    assert canonical(href, "http://a.test/x/y?z") == form


@pytest.mark.parametrize(
    ("url", "host"),
    [
        ("http://www.example.com/a@b/", "www.example.com"),
        ("http://example.com:8080/", "example.com:8080"),
        ("http://me:secret@example.com/", "example.com"),
        ("http://[::1]:8080/", "[::1]:8080"),
    ],
)
def test_a_host_is_what_is_asked(url: str, host: str) -> None:
    assert host_of(url) == host


@pytest.mark.parametrize(
    ("host", "site"),
    [
        ("example.com", "example.com"),
        ("a.b.example.com:8080", "example.com"),
        ("www.example.co.uk", "example.co.uk"),
        ("news.site12.test", "site12.test"),
        ("localhost:80", "localhost"),
        ("127.0.0.1:80", "127.0.0.1"),
        ("127.0.0.2", "127.0.0.2"),
        ("[::1]:8080", "::1"),
        ("[2001:DB8::0:1]", "2001:db8::1"),
        ("www.example.com.", "example.com"),
        ("www.example.com.:8080", "example.com"),
        ("127.0.0.1.", "127.0.0.1"),
        ("co.uk", "co.uk"),
        ("me.github.io", "github.io"),
        ("a.blogspot.co.uk", "blogspot.co.uk"),
    ],
)
def test_a_site_is_the_registrable_domain(host: str, site: str) -> None:
    assert site_of(host) == site


@pytest.mark.parametrize(
    ("host", "site"),
    [
        ("www.me.github.io", "me.github.io"),
        ("github.io", "github.io"),
        ("www.example.com", "example.com"),
        ("127.0.0.1", "127.0.0.1"),
    ],
)
def test_with_private_suffixes_the_homes_under_one_roof_are_sites(host: str, site: str) -> None:
    assert site_of(host, private_suffixes=True) == site


def test_conformance_tells_passes_from_intended_differences_and_failures() -> None:
    parts = {"username": "", "password": "", "hostname": "b", "pathname": "/c", "search": "", "protocol": "http:"}
    counts = measure(
        [
            "a heading",
            {"input": "c", "base": "http://b/", "href": "http://b/c", "hash": "", **parts},
            {"input": "c#d", "base": "http://b/", "href": "http://b/c#d", "hash": "#d", **parts},
            {"input": "e", "base": "http://b/", "href": "http://b/c", "hash": "", **parts},
            {"input": "http://b b/", "base": None, "failure": True},
            {"input": "mailto:a", "base": None, "href": "mailto:a", **parts, "protocol": "mailto:"},
        ]
    )
    assert counts.cases == 4
    assert counts.passed == 2
    assert counts.intended == {("fragment",): 1}
    assert [case["input"] for case in counts.failures] == ["e"]
