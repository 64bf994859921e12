"""Answers on a socket until it is told to leave; then streams end and crawls save themselves within ten seconds."""

from __future__ import annotations

import asyncio
import signal
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

import uvicorn
from fastapi import FastAPI

ANSWER_SECONDS = 5
"""How long requests under way may take once the service is told to leave."""


class Server(uvicorn.Server):
    """Tells the application to leave as soon as the signal comes, not after the last stream has ended."""

    def __init__(self, app: FastAPI) -> None:
        super().__init__(
            uvicorn.Config(
                app,
                loop="uvloop",
                log_config=None,
                access_log=False,
                server_header=False,
                timeout_graceful_shutdown=ANSWER_SECONDS,
            )
        )
        self._app = app
        self._loop: asyncio.AbstractEventLoop | None = None

    async def serve(self, sockets: list[socket.socket] | None = None) -> None:
        self._loop = asyncio.get_running_loop()
        await super().serve(sockets)

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """As uvicorn does, but the signal is not raised again at the end: a stop that was asked for is no failure."""
        before = {number: signal.signal(number, self.handle_exit) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        super().handle_exit(sig, frame)
        leave = getattr(self._app.state, "leave", None)
        if self._loop and leave:
            self._loop.call_soon_threadsafe(leave)
