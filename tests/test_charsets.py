"""The charset of a page by the order of the HTML standard, and labels by the Encoding standard."""

from __future__ import annotations

import time
from typing import NamedTuple

import pytest
from webencodings.labels import LABELS

from tres_crawler.parse import parse
from tres_crawler.parse.charset import decode
from tres_crawler.records import Fetched

LATIN = b"caf\xe9"
UTF8 = b"caf\xc3\xa9"
MISREAD = "cafÃ©"
"""UTF-8 read as windows-1252."""


class Case(NamedTuple):
    """The text that the standard finds in a page, or behind the last tag of its head."""

    kind: str
    what: str
    body: bytes
    text: str = "café"
    content_type: str = "text/html"

    @property
    def name(self) -> str:
        return f"{self.kind}: {self.what}"


def http(label: str) -> str:
    return f"text/html; charset={label}"


def meta(label: str) -> bytes:
    return f"<meta charset={label}>".encode()


def wide(text: str, order: str, mark: bytes = b"") -> bytes:
    return mark + text.encode(f"utf-16-{order}")


CASES = [
    Case("mark", "UTF-8", b"\xef\xbb\xbf" + UTF8),
    Case("mark", "UTF-8 over header", b"\xef\xbb\xbf" + UTF8, content_type=http("windows-1252")),
    Case("mark", "UTF-8 over meta", b"\xef\xbb\xbf" + meta("windows-1252") + UTF8),
    Case("mark", "UTF-16, low byte first", wide("café", "le", b"\xff\xfe")),
    Case("mark", "UTF-16, high byte first", wide("café", "be", b"\xfe\xff")),
    Case("mark", "UTF-16 over header", wide("café", "le", b"\xff\xfe"), content_type=http("utf-8")),
    Case("mark", "UTF-16 of the other order than the header's", wide("é", "be", b"\xfe\xff"), "é", http("utf-16le")),
    Case("mark", "UTF-16 over meta", wide("<meta charset=utf-8>café", "be", b"\xfe\xff")),
    Case("mark", "that of UTF-32 is that of UTF-16", b"\xff\xfe\0\0x\0\0\0", "\0x\0"),
    Case("mark", "half of one is none", b"\xef\xbb caf\xe9", "ï» café", http("windows-1252")),
    Case("mark", "not at the beginning is none", b" \xef\xbb\xbfx", " ï»¿x", http("windows-1252")),
    Case("header", "plain", LATIN, content_type="text/html;charset=windows-1252"),
    Case("header", "quoted", LATIN, content_type='text/html; charset="windows-1252"'),
    Case("header", "in capitals", LATIN, content_type="Text/HTML; CHARSET=Windows-1252"),
    Case("header", "after another parameter", LATIN, content_type="text/html; version=1; charset=windows-1252"),
    Case("header", "over meta", meta("utf-8") + LATIN, content_type=http("windows-1252")),
    Case("header", "over what the bytes look like", UTF8, MISREAD, http("windows-1252")),
    Case("header", "the first of two", LATIN, content_type=http("windows-1252; charset=utf-8")),
    Case("header", "unknown label, then meta", meta("windows-1251") + b"\xe4\xe0", "да", http("no-such")),
    Case("header", "unknown label, then guess", UTF8, content_type=http("no-such")),
    Case("header", "empty label, then meta", meta("windows-1251") + b"\xe4\xe0", "да", "text/html; charset="),
    Case("header", "UTF-16 without a mark", wide("café", "le"), content_type=http("utf-16")),
    Case("header", "UTF-16, high byte first, without a mark", wide("café", "be"), content_type=http("utf-16be")),
    Case("header", "of plain text", LATIN, content_type="text/plain; charset=windows-1252"),
    Case("header", "single quotes are part of the label", UTF8, content_type=http("'windows-1252'")),
    Case("header", "another parameter that ends in the word", UTF8, content_type="text/html; x-charset=windows-1252"),
    Case("meta", "charset", meta("windows-1251") + b"\xe4\xe0", "да"),
    Case("meta", "charset in double quotes", b'<meta charset="windows-1251">\xe4\xe0', "да"),
    Case("meta", "charset in single quotes", b"<meta charset='windows-1251' >\xe4\xe0", "да"),
    Case("meta", "charset with space around", b"<meta\n charset = ' windows-1251 ' />\xe4\xe0", "да"),
    Case("meta", "in capitals", b"<META CHARSET=WINDOWS-1251>\xe4\xe0", "да"),
    Case("meta", "a stroke for a space", b"<meta/charset=windows-1251>\xe4\xe0", "да"),
    Case(
        "meta", "http-equiv", b"<meta http-equiv=Content-Type content='text/html; charset=windows-1251'>\xe4\xe0", "да"
    ),
    Case(
        "meta",
        "http-equiv last",
        b'<meta content="text/html;charset=windows-1251" http-equiv=content-type>\xe4\xe0',
        "да",
    ),
    Case(
        "meta",
        "http-equiv, quotes within",
        b"<meta http-equiv=content-type content='x; charset = \"windows-1251\"'>\xe4\xe0",
        "да",
    ),
    Case(
        "meta",
        "http-equiv without a type",
        b"<meta http-equiv=content-type content=charset=windows-1251>\xe4\xe0",
        "да",
    ),
    Case("meta", "content without http-equiv says nothing", b"<meta content='text/html; charset=windows-1251'>" + UTF8),
    Case(
        "meta", "another http-equiv says nothing", b"<meta http-equiv=refresh content='0; charset=windows-1251'>" + UTF8
    ),
    Case(
        "meta",
        "charset over http-equiv in one tag",
        b"<meta http-equiv=content-type content='x;charset=windows-1251' charset=windows-1252>" + LATIN,
    ),
    Case("meta", "the first of two", meta("windows-1252") + meta("windows-1251") + LATIN),
    Case("meta", "the first of two attributes", b"<meta charset=windows-1252 charset=windows-1251>" + LATIN),
    Case("meta", "unknown label, then the next", meta("no-such") + meta("windows-1252") + LATIN),
    Case("meta", "unknown label, then guess", meta("no-such") + UTF8),
    Case("meta", "empty label, then guess", b'<meta charset="">' + UTF8),
    Case("meta", "UTF-16 is UTF-8", meta("utf-16") + UTF8),
    Case("meta", "UTF-16, high byte first, is UTF-8", meta("utf-16be") + UTF8),
    Case("meta", "x-user-defined is windows-1252", meta("x-user-defined") + LATIN),
    Case("meta", "within a comment says nothing", b"<!-- " + meta("windows-1251") + b" -->" + UTF8),
    Case(
        "meta",
        "within an open comment says nothing",
        b"<!-- " + meta("windows-1251") + LATIN,
        "<!-- <meta charset=windows-1251>café",
    ),
    Case("meta", "after a comment", b"<!-- x -->" + meta("windows-1251") + b"\xe4\xe0", "да"),
    Case(
        "meta",
        "after the shortest comment",
        b"<!-->" + meta("windows-1251") + b"\xe4\xe0<!-- -->",
        "<!--><meta charset=windows-1251>да<!-- -->",
    ),
    Case("meta", "within an attribute says nothing", b"<p title='" + meta("windows-1251") + b"'>" + UTF8),
    Case("meta", "a sign > within an attribute", b"<meta name='a>b' charset=windows-1251>\xe4\xe0", "да"),
    Case("meta", "within a script counts", b"<script>" + meta("windows-1251") + b"</script>\xe4\xe0", "да"),
    Case("meta", "another tag that begins so", b"<metal charset=windows-1251>" + UTF8),
    Case("meta", "another attribute that ends so", b"<meta data-charset=windows-1251>" + UTF8),
    Case("meta", "just within 1024 bytes", b" " * (1024 - 28) + meta("windows-1251").rjust(28) + b"\xe4\xe0", "да"),
    Case("meta", "cut by the limit of 1024 bytes", b" " * (1025 - 28) + meta("windows-1251").rjust(28) + UTF8),
    Case("meta", "beyond 1024 bytes says nothing", b" " * 1024 + meta("windows-1251") + UTF8),
    Case("xml", "declaration", b'<?xml version="1.0" encoding="windows-1251"?>\xe4\xe0', "да", "application/xhtml+xml"),
    Case("xml", "declaration of an HTML page", b"<?xml version='1.0' encoding = 'windows-1251' ?>\xe4\xe0", "да"),
    Case(
        "xml",
        "header over declaration",
        b'<?xml version="1.0" encoding="windows-1251"?>' + UTF8,
        content_type=http("utf-8"),
    ),
    Case("xml", "meta over declaration", b'<?xml version="1.0" encoding="windows-1251"?>' + meta("utf-8") + UTF8),
    Case("xml", "unknown label", b'<?xml version="1.0" encoding="no-such"?>' + UTF8),
    Case("xml", "UTF-16 is UTF-8", b'<?xml version="1.0" encoding="utf-16"?>' + UTF8),
    Case("xml", "not at the beginning says nothing", b' <?xml version="1.0" encoding="windows-1251"?>' + UTF8),
    Case("xml", "written in UTF-16, low byte first", wide("<?xml version='1.0'?>café", "le")),
    Case("xml", "written in UTF-16, high byte first", wide("<?xml version='1.0'?>café", "be")),
    Case("label", "utf8", UTF8, content_type=http("UTF8")),
    Case("label", "latin1 is windows-1252", b"\x80 caf\xe9", "€ café", http("latin1")),
    Case("label", "iso-8859-1 is windows-1252", b"\x93caf\xe9\x94", "“café”", http("iso-8859-1")),
    Case("label", "ascii is windows-1252", LATIN, content_type=http("us-ascii")),
    Case("label", "iso-8859-9 is windows-1254", b"\xfe\x80", "ş€", http("iso-8859-9")),
    Case("label", "iso-8859-15", b"\xa4", "€", http("iso-8859-15")),
    Case("label", "tis-620 is windows-874", b"\xa1\x85", "ก…", http("tis-620")),
    Case("label", "cp1251", b"\xe4\xe0", "да", http("cp1251")),
    Case("label", "koi8-r", b"\xc4\xc1", "да", http("koi8-r")),
    Case("label", "koi is koi8-r", b"\xc4\xc1", "да", http("koi")),
    Case("label", "ibm866", b"\xa4\xa0", "да", http("cp866")),
    Case("label", "shift_jis", b"\x93\xfa\x96{", "日本", http("shift_jis")),
    Case("label", "x-sjis, with signs of Windows", b"\x87\x40", "①", http("x-sjis")),
    Case("label", "euc-jp", b"\xc6\xfc\xcb\xdc", "日本", http("euc-jp")),
    Case("label", "iso-2022-jp", b"\x1b$BF|K\\\x1b(B", "日本", http("iso-2022-jp")),
    Case("label", "euc-kr", b"\xc7\xd1\xb1\xdb", "한글", http("euc-kr")),
    Case("label", "ks_c_5601-1987 is euc-kr, extended", b"\x8c\x63", "똠", http("ks_c_5601-1987")),
    Case("label", "gb2312 is gbk", b"\xd6\xd0\xe9F", "中镕", http("gb2312")),
    Case("label", "gb18030", b"\xd6\xd0\x81\x39\xee\x39", "中㐀", http("gb18030")),
    Case("label", "big5", b"\xa4\xa4", "中", http("big5")),
    Case("label", "iso-2022-kr is refused", b"abc\x1b$)C", "\ufffd", http("iso-2022-kr")),
    Case("label", "utf-7 is unknown", b"+AGE-", "+AGE-", http("utf-7")),
    Case("label", "x-user-defined in a header", b"a\x80", "a\uf780", http("x-user-defined")),
    Case("label", "windows-1252 has no gaps", b"\x81\x9d", "\x81\x9d", http("windows-1252")),
    Case("label", "gbk has a euro", b"\x80", "€", http("gbk")),
    Case("label", "gbk reads all of gb18030", b"\x81\x39\xee\x39", "㐀", http("gbk")),
    Case("label", "euc-jp has the wide tilde", b"\xa1\xc1", "～", http("euc-jp")),
    Case("guess", "UTF-8", UTF8),
    Case("guess", "UTF-8 far behind ASCII", b"x" * 2000 + UTF8, "x" * 2000 + "café"),
    Case("guess", "windows-1252", LATIN),
    Case("guess", "windows-1252 with its own signs", b"\x93caf\xe9\x94 \x80", "“café” €"),
    Case("guess", "ASCII", b"cafe", "cafe"),
    Case("guess", "nothing", b"", ""),
    Case("broken", "UTF-8 cut within a letter", "éé".encode()[:-1], "é\ufffd", http("utf-8")),
    Case("broken", "UTF-8 cut within a longer one", "€".encode()[:-1], "\ufffd", http("utf-8")),
    Case("broken", "UTF-8 with a letter cut in the middle", b"\xe2\x82x", "\ufffdx", http("utf-8")),
    Case("broken", "UTF-8 written too long", b"\xc0\xaf", "\ufffd\ufffd", http("utf-8")),
    Case("broken", "UTF-8 of half a pair", b"\xed\xa0\x80", "\ufffd\ufffd\ufffd", http("utf-8")),
    Case("broken", "UTF-8 beyond the last letter", b"\xf4\x90\x80\x80", "\ufffd\ufffd\ufffd\ufffd", http("utf-8")),
    Case("broken", "UTF-8 undeclared and cut", "éé".encode()[:-1], "é\ufffd"),
    Case("broken", "UTF-16 of an odd length", b"x\0y", "x\ufffd", http("utf-16le")),
    Case("broken", "UTF-16 of half a pair", b"\x00\xd8x\0", "\ufffdx", http("utf-16le")),
    Case("broken", "UTF-16 cut within a pair", b"x\0\x3d\xd8", "x\ufffd", http("utf-16le")),
    Case("broken", "shift_jis cut", b"x\x93", "x\ufffd", http("shift_jis")),
    Case("broken", "shift_jis with a tag in place of a second byte", b"\x81<b>", "\ufffd<b>", http("shift_jis")),
    Case("broken", "euc-kr cut", b"x\xc7", "x\ufffd", http("euc-kr")),
    Case("broken", "gbk with a tag in place of a second byte", b"\xd6<b>", "\ufffd<b>", http("gbk")),
    Case("broken", "big5 cut", b"x\xa4", "x\ufffd", http("big5")),
    Case("broken", "iso-2022-jp cut", b"\x1b$BF|K", "日\ufffd", http("iso-2022-jp")),
]

INTENDED = {
    "header: single quotes are part of the label": (
        MISREAD,
        "lenient: such a header is a slip, and the label is meant",
    ),
    "meta: within an attribute says nothing": ("cafГ©", "`_META` does not follow the tags around it; rare, and cheap"),
    "xml: not at the beginning says nothing": ("cafГ©", "lenient: a declaration behind an empty line is meant"),
    "xml: written in UTF-16, low byte first": ("\0c\0a\0f\0é\0", "UTF-16 is known by its mark or header only"),
    "xml: written in UTF-16, high byte first": ("\0c\0a\0f\0é", "UTF-16 is known by its mark or header only"),
    "label: windows-1252 has no gaps": ("\ufffd\ufffd", "Python's codec leaves five bytes without a letter"),
    "label: iso-2022-kr is refused": ("\ufffd" * 7, "webencodings gives one sign for each byte, not one for all"),
    "label: gbk has a euro": ("\ufffd", "Python's codec is older than the sign"),
    "label: gbk reads all of gb18030": ("\ufffd9\ufffd9", "Python keeps the two codecs apart"),
    "label: euc-jp has the wide tilde": ("〜", "Python's codec takes the wave dash"),
}
"""What comes out where we differ from the standard, and why."""


def fetched(body: bytes, content_type: str) -> Fetched:
    return Fetched("http://a.test/", 200, content_type, body, None, 0.1)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_page_is_decoded_as_the_standard_says(case: Case) -> None:
    expected, _ = INTENDED.get(case.name, (case.text, ""))
    text = decode(fetched(case.body, case.content_type))
    assert text.lstrip(" ") == expected.lstrip(" ") or text.endswith(f">{expected}")
    assert (expected == case.text) is (case.name not in INTENDED)


@pytest.mark.parametrize("case", [case for case in CASES if case.text == "café"], ids=lambda case: case.name)
def test_the_parsed_page_has_the_same_words(case: Case) -> None:
    if case.name not in INTENDED:
        assert parse(fetched(case.body, case.content_type)).text == "café"


def test_a_header_of_blanks_is_read_at_once() -> None:
    started = time.process_time()
    decode(fetched(UTF8, http(" " * 32_000 + ";")))
    assert time.process_time() - started < 1.0


def test_every_intended_difference_is_a_case_and_no_name_is_used_twice() -> None:
    names = [case.name for case in CASES]
    assert len(names) == len(set(names))
    assert INTENDED.keys() <= set(names)


@pytest.mark.parametrize("label", sorted(LABELS))
def test_no_label_makes_any_bytes_an_error(label: str) -> None:
    every_byte = bytes(range(256)) + bytes(reversed(range(256)))
    for body in (every_byte, b"\x0e\x1b$)C\x1b", b"\x1b$B\xff", b"\xff", b"\x81\x30", b""):
        decode(fetched(body, http(label)))
        parse(fetched(meta(label) + body, "text/html"))


@pytest.mark.parametrize("label", sorted(set(LABELS.values())))
def test_a_page_may_be_cut_at_any_byte(label: str) -> None:
    body = bytes(range(0x78, 0x100)) * 2
    for end in range(len(body)):
        decode(fetched(body[:end], http(label)))
