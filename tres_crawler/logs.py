"""What a line of the log is about: crawl, link and host ride along, whichever module writes it."""

from __future__ import annotations

import logging
from contextvars import ContextVar

_ABOUT: ContextVar[dict[str, object]] = ContextVar("about")


def concern(**about: object) -> None:
    """All lines that the running task writes from now on are about this."""
    _ABOUT.set(about)


class Concerned(logging.Filter):
    """Adds it to the lines of a handler: as `about`, for a person, and among its `fields`."""

    def filter(self, record: logging.LogRecord) -> bool:
        about = _ABOUT.get({})
        told = " ".join(f"{name} {value}" for name, value in about.items())
        record.about = f" [{told}]" if told else ""
        record.fields = {**about, **getattr(record, "fields", {})}
        return True
