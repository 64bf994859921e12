"""Training beside the crawl: transitions in from the event loop, weights out to it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from types import TracebackType
from typing import NamedTuple, TypeVar

from tres_crawler.learn.ddqn import Ddqn
from tres_crawler.learn.network import Floats, Weights
from tres_crawler.learn.replay import Transition
from tres_crawler.records import Divergence

CHUNK = 16
"""Most gradient steps before new weights are published; some 30 ms."""
MAX_OWED = 256
"""Steps a trainer may lag behind; what is owed beyond is dropped, since newer weights matter more than the count."""

Answer = TypeVar("Answer")


class Lesson(NamedTuple):
    weights: Weights
    loss: float | None
    divergences: list[Divergence]


class Trainer:
    """Takes `steps_per_page` gradient steps per remembered page in one worker thread, and never blocks the loop.

    The learner belongs to that thread until `close`; all else here belongs to the loop. What fails in the thread is
    raised by the next `remember`, by `caught_up` and by `close`.
    """

    def __init__(self, learner: Ddqn, tell: Callable[[Divergence], None] = lambda told: None) -> None:
        self.weights = learner.weights()
        """The newest; replaced as a whole."""
        self.loss: float | None = None
        self.dropped_steps = 0
        self._steps_per_page = learner.settings.steps_per_page
        self._learner = learner
        self._tell = tell
        self._unlearned: list[Transition] = []
        self._owed = 0.0
        self._closed = False
        self._lessons: asyncio.Task[None] | None = None
        # Not a daemon: torch aborts the interpreter when it is ended in the middle of its work.
        self._worker = ThreadPoolExecutor(1, "learner")

    async def __aenter__(self) -> Trainer:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.close()

    def values(self, features: Floats) -> Floats:
        """The value of links by the newest weights."""
        return self.weights.values(features)

    def remember(self, transition: Transition) -> None:
        """Learn from a page soon; returns at once."""
        if self._closed:
            raise RuntimeError("the trainer is closed")
        if self._lessons and self._lessons.done():
            self._lessons.result()
            self._lessons = None
        self._unlearned.append(transition)
        self._owed += self._steps_per_page
        if self._owed > MAX_OWED:
            surplus = int(self._owed - MAX_OWED)
            self.dropped_steps += surplus
            self._owed -= surplus
        if not self._lessons:
            self._lessons = asyncio.create_task(self._learn(), name="learn")

    async def caught_up(self) -> None:
        """Wait until every step owed has been taken; a crawl of one slot is repeatable if it does so at each page."""
        if self._lessons:
            await asyncio.shield(self._lessons)

    async def relabel(self, rewards: Mapping[int, float]) -> int:
        """Give pages the rewards of a new judge; returns how many transitions that changed."""
        return await self._apart(lambda learner: learner.relabel(rewards))

    async def snapshot(self) -> bytes:
        """Everything remembered so far and what was learned from it, for a restart."""
        return await self._apart(Ddqn.snapshot)

    async def policy(self) -> bytes:
        """What was learned so far, for another crawl."""
        return await self._apart(Ddqn.policy)

    async def close(self) -> None:
        """Leave the steps still owed, and end the thread."""
        self._closed = True
        try:
            if self._lessons:
                await self._lessons
        finally:
            # At most one chunk is under way, and that only if this was cancelled.
            self._worker.shutdown()

    async def _learn(self) -> None:
        while not self._closed and (self._unlearned or self._owed >= 1):
            steps = min(int(self._owed), CHUNK)
            self._owed -= steps
            lesson = await self._apart(partial(_lesson, steps))
            self.weights = lesson.weights
            self.loss = self.loss if lesson.loss is None else lesson.loss
            for told in lesson.divergences:
                self._tell(told)

    async def _apart(self, work: Callable[[Ddqn], Answer]) -> Answer:
        """Run in the worker, once everything remembered so far has reached the learner."""
        news, self._unlearned = self._unlearned, []
        loop = asyncio.get_running_loop()
        # Whoever waits may be cancelled; what was remembered must reach the learner all the same.
        return await asyncio.shield(loop.run_in_executor(self._worker, _after, news, work, self._learner))


# ---- in the worker thread ----


def _after(news: Sequence[Transition], work: Callable[[Ddqn], Answer], learner: Ddqn) -> Answer:
    for transition in news:
        learner.remember(transition)
    return work(learner)


def _lesson(steps: int, learner: Ddqn) -> Lesson:
    loss = learner.train(steps)
    return Lesson(learner.weights(), loss, learner.divergences_untold())
