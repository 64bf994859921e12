"""A data directory: one writer at a time, named to whoever comes second."""

from __future__ import annotations

import fcntl
import json
import os
import time
from io import FileIO
from pathlib import Path
from typing import Any

from tres_crawler.errors import StoreError
from tres_crawler.store import sqlite

LOOK_SECONDS = 0.5
"""How long a writer puts up with somebody who only looks who holds the lock."""


class DataDir:
    """Holds the lock of its folder between `with` and the end of it."""

    def __init__(self, path: Path, url: str = "") -> None:
        self.path = path
        self.url = sqlite.parse_url(url) if url else sqlite.database_url(path.absolute() / "tres.db")
        self._lock: FileIO | None = None

    def exists(self) -> bool:
        """Whether there is a database to read."""
        file = sqlite.file_of(self.url)
        return file is None or file.exists()

    def __enter__(self) -> DataDir:
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            lock = self._lock_path.open("a+b", buffering=0)
        except OSError as error:
            raise StoreError(
                f"The data directory {self.path} cannot be written: {error.strerror or error}. "
                "Give another with --data-dir, or mend its rights."
            ) from error
        try:
            _take(lock)
        except OSError as error:
            lock.close()
            holder = self.holder() or {}
            raise StoreError(
                f"The data directory {self.path} is in use by process {holder.get('pid', 'unknown')} "
                f"({holder.get('doing', 'starting')}). Stop it first, or use another --data-dir."
            ) from error
        self._lock = lock
        try:
            self.tell(doing="starting")
        except OSError as error:
            lock.close()
            raise StoreError(
                f"The data directory {self.path} cannot be written: {error.strerror}. Make room on its disk."
            ) from error
        return self

    def __exit__(self, *_: object) -> None:
        if self._lock:
            self._lock.truncate(0)
            self._lock.close()
            self._lock = None

    def tell(self, **what: Any) -> None:
        """Write into the lock file what this process does, for others to read."""
        assert self._lock is not None
        self._lock.truncate(0)
        self._lock.write(json.dumps({"pid": os.getpid(), **what}).encode())

    def holder(self) -> dict[str, Any] | None:
        """Who uses the directory now, as told by `tell`; None when nobody does."""
        try:
            with self._lock_path.open("r+") as lock:
                try:
                    fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
                except OSError:
                    text = lock.read()
                    return dict(json.loads(text)) if text else {}
        except (OSError, ValueError):
            return None
        return None

    @property
    def _lock_path(self) -> Path:
        return self.path / "tres.lock"


def _take(lock: FileIO) -> None:
    deadline = time.monotonic() + LOOK_SECONDS
    while True:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except OSError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.02)
