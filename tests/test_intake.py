"""What a page costs on its way into the books."""

from __future__ import annotations

import asyncio
import threading

import pytest

from tres_crawler.intake import LONG_CHARS, _fingerprints, _to_follow
from tres_crawler.parse.page import MAX_ANCHOR_LENGTH
from tres_crawler.records import Document
from tres_crawler.seen import Fingerprints


async def test_the_loop_goes_on_while_a_long_text_is_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    turned = threading.Event()
    asyncio.get_running_loop().call_later(0.01, turned.set)
    monkeypatch.setattr(Fingerprints, "of", lambda _text: turned.wait(10))
    assert await _fingerprints("x" * LONG_CHARS)


def test_the_address_that_a_page_names_as_its_own_is_called_by_as_much_of_its_title_as_other_links_have() -> None:
    document = Document("http://a.test/x", "tennis " * 140, "", "text", (), canonical="http://a.test/y")
    (named,) = _to_follow(document)
    assert named.url == "http://a.test/y"
    assert document.title.startswith(named.anchor)
    assert MAX_ANCHOR_LENGTH - 10 < len(named.anchor) <= MAX_ANCHOR_LENGTH
