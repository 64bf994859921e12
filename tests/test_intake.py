"""What a page costs on its way into the books."""

from __future__ import annotations

import asyncio
import threading

import pytest

from tres_crawler.intake import LONG_CHARS, _fingerprints
from tres_crawler.seen import Fingerprints


async def test_the_loop_goes_on_while_a_long_text_is_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    turned = threading.Event()
    asyncio.get_running_loop().call_later(0.01, turned.set)
    monkeypatch.setattr(Fingerprints, "of", lambda _text: turned.wait(10))
    assert await _fingerprints("x" * LONG_CHARS)
