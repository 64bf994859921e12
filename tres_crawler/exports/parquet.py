"""Pages as a Parquet file that leaves piece by piece, one group of rows at a time."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow

GROUP_ROWS = 5000
"""Rows of a group: enough to compress well, few enough to hold with their texts."""

TYPES = {
    "number": "int32",
    "depth": "int16",
    "source": "int32",
    "status": "int16",
    "relevant": "bool",
    "probability": "float64",
    "outlinks": "int32",
    "fetched_at": "timestamp[us, tz=UTC]",
    "judge_version": "int32",
    "duplicate_of": "int32",
    "value": "float64",
}
"""Types of the columns that are not strings."""


class ParquetPieces:
    """Whole groups go out as soon as they are full; `end` gives the rest and the footer that makes it a file."""

    def __init__(self, columns: Sequence[str]) -> None:
        # Imported here: it is large, and the other formats do without.
        import pyarrow as arrow
        from pyarrow import parquet

        self._arrow = arrow
        self._schema = arrow.schema([(name, _type(arrow, TYPES.get(name, "string"))) for name in columns])
        self._out = _Outbox()
        self._writer = parquet.ParquetWriter(arrow.PythonFile(self._out, "w"), self._schema, compression="zstd")
        self._rows: list[dict[str, Any]] = []

    async def add(self, rows: Sequence[dict[str, Any]]) -> bytes:
        """What can be sent by now, often nothing."""
        self._rows += rows
        return await asyncio.to_thread(self._write) if len(self._rows) >= GROUP_ROWS else b""

    async def end(self) -> bytes:
        return await asyncio.to_thread(self._finish)

    def _write(self) -> bytes:
        rows, self._rows = self._rows, []
        for row in rows:
            row["fetched_at"] = round(row["fetched_at"] * 1e6)
        self._writer.write_table(self._arrow.Table.from_pylist(rows, self._schema))
        return self._out.taken()

    def _finish(self) -> bytes:
        last = self._write() if self._rows else b""
        self._writer.close()
        return last + self._out.taken()


class _Outbox:
    """A file that forgets what has been taken from it, but not its place."""

    closed = False

    def __init__(self) -> None:
        self._bytes = bytearray()
        self._place = 0

    def write(self, some: bytes) -> int:
        self._bytes += some
        self._place += len(some)
        return len(some)

    def tell(self) -> int:
        return self._place

    def flush(self) -> None:
        pass

    def close(self) -> None:
        self.closed = True

    def taken(self) -> bytes:
        taken = bytes(self._bytes)
        self._bytes.clear()
        return taken


def _type(arrow: Any, name: str) -> pyarrow.DataType:
    return arrow.timestamp("us", "UTC") if name.startswith("timestamp") else arrow.type_for_alias(name)
