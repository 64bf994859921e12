"""Encodings are undone, and no bomb makes more bytes than allowed."""

from __future__ import annotations

import gzip
import os
import time
import zlib
from collections.abc import Callable

import brotli
import pytest
import zstandard

from tres_crawler.fetch.decode import Overflow, Undecodable, decoded

TEXT = os.urandom(1000) * 300
ENCODERS: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.compress,
    "x-gzip": gzip.compress,
    "deflate": zlib.compress,
    "br": brotli.compress,
    "zstd": zstandard.ZstdCompressor().compress,
}


@pytest.mark.parametrize("name", ENCODERS)
def test_every_encoding_is_undone(name: str) -> None:
    assert decoded(ENCODERS[name](TEXT), name, len(TEXT)) == TEXT


@pytest.mark.parametrize("name", ENCODERS)
def test_a_bomb_is_stopped_at_the_limit(name: str) -> None:
    with pytest.raises(Overflow):
        decoded(ENCODERS[name](bytes(30_000_000)), name, 1_000_000)


@pytest.mark.parametrize("name", [*ENCODERS, "rot13", "gzip,gzip,gzip,gzip"])
def test_what_is_not_so_encoded_is_refused(name: str) -> None:
    with pytest.raises(Undecodable):
        decoded(b"\x07no such thing", name, 1000)


def test_layers_are_undone_from_the_last() -> None:
    assert decoded(gzip.compress(brotli.compress(TEXT)), "br, gzip", len(TEXT)) == TEXT


def test_deflate_without_its_wrapper_is_understood() -> None:
    machine = zlib.compressobj(wbits=-15)
    assert decoded(machine.compress(TEXT) + machine.flush(), "deflate", len(TEXT)) == TEXT


@pytest.mark.parametrize("name", ["gzip", "zstd"])
def test_a_body_of_many_parts_is_read_to_its_end_within_one_limit(name: str) -> None:
    body = b"".join(ENCODERS[name](piece) for piece in (TEXT, b"", b"and", b" more"))
    assert decoded(body, name, len(TEXT) + 8) == TEXT + b"and more"
    with pytest.raises(Overflow) as caught:
        decoded(body, name, len(TEXT) + 7)
    assert caught.value.first == TEXT + b"and mor"


def test_many_thousand_parts_take_no_longer_than_their_bytes() -> None:
    started = time.process_time()
    assert decoded(gzip.compress(b"") * 200_000, "gzip", 1000) == b""
    assert time.process_time() - started < 5.0


@pytest.mark.parametrize("rest", [b"\0" * 500, b"<!-- not packed -->", b"\x1f\x8b and no more"])
def test_what_stands_behind_the_last_part_and_is_none_is_left(rest: bytes) -> None:
    assert decoded(gzip.compress(TEXT) + rest, "gzip", len(TEXT)) == TEXT


def test_a_body_cut_short_gives_what_came() -> None:
    cut = decoded(gzip.compress(TEXT)[:-20], "gzip", len(TEXT))
    assert TEXT.startswith(cut)
    assert len(cut) > 1000
