"""Undoes Content-Encoding, never making more bytes than it is allowed to."""

from __future__ import annotations

import io
import zlib
from collections.abc import Callable

import brotli
import zstandard

ENCODINGS = "gzip, deflate, br, zstd"
_MOST_LAYERS = 3
_PIECE = 65_536
_GZIP_PIECE = 4096
"""Small: behind each of many short parts the rest of a piece is copied."""


class Undecodable(Exception):
    """The bytes are not what the header says."""


class Overflow(Exception):
    """More bytes come out than may; `first` are those that may."""

    def __init__(self, first: bytes) -> None:
        super().__init__("more bytes than allowed")
        self.first = first


def decoded(body: bytes, encodings: str, limit: int) -> bytes:
    """`body` without the encodings that a Content-Encoding header lists; the last one listed was put on last."""
    names = [name.strip().lower() for name in encodings.split(",") if name.strip()]
    if len(names) > _MOST_LAYERS:
        raise Undecodable(f"{len(names)} layers of encoding")
    for name in reversed(names):
        if name in ("identity", ""):
            continue
        decode = _DECODERS.get(name.removeprefix("x-"))
        if decode is None:
            raise Undecodable(f"unknown encoding {name[:40]}")
        try:
            body = decode(body, limit)
        except (zlib.error, brotli.error, zstandard.ZstdError) as error:
            raise Undecodable(f"not {name}: {error}") from error
    if len(body) > limit:
        raise Overflow(body[:limit])
    return body


def _inflate(body: bytes, limit: int, window: int) -> bytes:
    machine = zlib.decompressobj(window)
    out = machine.decompress(body, limit + 1)
    if len(out) > limit:
        raise Overflow(out[:limit])
    return out


def _gzip(body: bytes, limit: int) -> bytes:
    """A body may have several parts, one behind the other (RFC 1952, sec. 2.2); what follows the last is left."""
    out = bytearray()
    machine, parts, at = zlib.decompressobj(16 + zlib.MAX_WBITS), 0, 0
    while at < len(body):
        if machine.eof:
            machine, parts = zlib.decompressobj(16 + zlib.MAX_WBITS), parts + 1
        piece = body[at : at + _GZIP_PIECE]
        try:
            out += machine.decompress(piece, limit + 1 - len(out))
        except zlib.error:
            if parts:
                break
            raise
        if len(out) > limit:
            raise Overflow(bytes(out[:limit]))
        at += len(piece) - len(machine.unused_data)
    return bytes(out)


def _deflate(body: bytes, limit: int) -> bytes:
    try:
        return _inflate(body, limit, zlib.MAX_WBITS)
    except zlib.error:
        # Some servers send the bare stream, without the wrapper that the standard asks for.
        return _inflate(body, limit, -zlib.MAX_WBITS)


def _brotli(body: bytes, limit: int) -> bytes:
    machine = brotli.Decompressor()
    out = bytearray()
    piece = machine.process(body, output_buffer_limit=_PIECE)
    while piece:
        out += piece
        if len(out) > limit:
            raise Overflow(bytes(out[:limit]))
        piece = b"" if machine.is_finished() else machine.process(b"", output_buffer_limit=_PIECE)
    return bytes(out)


def _zstd(body: bytes, limit: int) -> bytes:
    machine = zstandard.ZstdDecompressor(max_window_size=2**23)
    with machine.stream_reader(io.BytesIO(body), read_across_frames=True) as reader:
        out = reader.read(limit + 1)
    if len(out) > limit:
        raise Overflow(out[:limit])
    return out


_DECODERS: dict[str, Callable[[bytes, int], bytes]] = {
    "gzip": _gzip,
    "deflate": _deflate,
    "br": _brotli,
    "zstd": _zstd,
}
