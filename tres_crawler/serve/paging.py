"""Opaque cursors: where a list was left, and of which list."""

from __future__ import annotations

import base64
import binascii
import json
from typing import Annotated

from fastapi import Query

from tres_crawler.errors import BadRequest

Limit = Annotated[int, Query(ge=1, le=500, description="Most items in one answer.")]
Cursor = Annotated[
    str | None, Query(max_length=200, description="`next` of the answer before; leave it out for the first.")
]


def cursor_of(kind: str, *position: int) -> str:
    return base64.urlsafe_b64encode(json.dumps([kind, *position]).encode()).decode().rstrip("=")


def position_in(cursor: str | None, kind: str) -> int | None:
    """Where the list `kind` was left; a cursor of another list, or none of ours, is refused."""
    found = numbers_in(cursor, kind, 1)
    return found[0] if found else None


def numbers_in(cursor: str | None, kind: str, count: int) -> list[int] | None:
    """The same where it takes several numbers to say."""
    if cursor is None:
        return None
    try:
        padded = cursor + "=" * (-len(cursor) % 4)
        found = json.loads(base64.b64decode(padded, b"-_", validate=True))
    except (ValueError, binascii.Error):
        found = None
    match found:
        case [str(name), *numbers] if name == kind and len(numbers) == count:
            if all(type(number) is int and 0 <= number < 2**63 for number in numbers):
                return numbers
    raise BadRequest("This cursor is not one of this list. Leave it out to begin at the first item.")
