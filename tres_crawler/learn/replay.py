"""The experience buffer: transitions in, uniform minibatches out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tres_crawler.learn.network import Floats

OUTLINKS = 40
"""Outlinks kept of one page, at random if there are more (DESIGN, sec. 3)."""
SAMPLE = 0
"""Position of the tree's link among the candidates for the next step; outlinks stand behind it."""

Arrays = dict[str, NDArray[Any]]


@dataclass(frozen=True, slots=True, eq=False)
class Transition:
    """One fetched page as an experience. The arrays belong to the buffer once it has been handed over."""

    page: int
    """Number of the page, by which a new judge finds it again; 0 for what no page stands behind."""
    features: Floats
    """Of the link that led to the page, as known just before it arrived."""
    reward: float
    outlinks: Floats
    """(n, dim): the links placed from the page, for the next step."""
    sample: Floats | None = None
    """A link drawn from the tree, not taken; None if none was waiting."""

    def is_sound(self) -> bool:
        """Whether it is made of finite numbers only: one that is not would spoil every batch it is drawn into."""
        parts = [self.features, self.outlinks, *([] if self.sample is None else [self.sample])]
        return bool(np.isfinite(self.reward) and all(np.isfinite(part).all() for part in parts))


class Batch(NamedTuple):
    features: Floats
    rewards: Floats
    candidates: NDArray[np.float16]
    """(batch, 1 + OUTLINKS, dim): the tree's link, then the outlinks."""
    real: NDArray[np.bool_]
    """(batch, 1 + OUTLINKS): which of them there are."""


class Replay:
    """The newest `capacity` transitions, each equally likely to be drawn."""

    def __init__(self, dim: int, capacity: int) -> None:
        self.dim = dim
        self.capacity = capacity
        self._head = np.dtype(
            [("page", "i8"), ("features", "f4", (dim,)), ("reward", "f4"), ("outlinks", "i2"), ("sampled", "?")]
        )
        self._added = 0
        self._make(min(capacity, 64))

    def __len__(self) -> int:
        return min(self._added, self.capacity)

    def add(self, transition: Transition, rng: np.random.Generator) -> None:
        if self._added >= len(self._heads) < self.capacity:
            self._grow()
        at = self._added % self.capacity
        outlinks, sample = transition.outlinks, transition.sample
        if len(outlinks) > OUTLINKS:
            outlinks = outlinks[rng.choice(len(outlinks), OUTLINKS, replace=False)]
        self._heads[at] = (transition.page, transition.features, transition.reward, len(outlinks), sample is not None)
        self._candidates[at, 1 : 1 + len(outlinks)] = outlinks
        if sample is not None:
            self._candidates[at, SAMPLE] = sample
        self._added += 1

    def sample(self, size: int, rng: np.random.Generator) -> Batch:
        """Drawn uniformly, with replacement; by age, so that a restored buffer draws the same."""
        at = self._by_age(rng.integers(len(self), size=size))
        features, rewards = self._heads["features"][at], self._heads["reward"][at]
        return Batch(features, rewards, self._candidates[at], _real(self._heads[at]))

    def relabel(self, rewards: Mapping[int, float]) -> int:
        """Give pages the rewards of a new judge; returns how many transitions that changed."""
        heads = self._heads[: len(self)]
        before = heads["reward"].copy()
        given = [rewards.get(page, old) for page, old in zip(heads["page"].tolist(), before.tolist(), strict=True)]
        heads["reward"] = given
        return int((heads["reward"] != before).sum())

    def arrays(self) -> Arrays:
        """Everything kept, oldest first; candidates without the gaps between them."""
        at = self._by_age(np.arange(len(self)))
        heads = self._heads[at]
        return {"heads": heads, "candidates": self._candidates[at][_real(heads)]}

    def restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Take over what `arrays` gave; a smaller buffer keeps the newest."""
        heads = arrays["heads"].astype(self._head)
        candidates = np.zeros((len(heads), 1 + OUTLINKS, self.dim), np.float16)
        candidates[_real(heads)] = arrays["candidates"]
        kept = self._added = min(len(heads), self.capacity)
        self._make(max(kept, 1))
        self._heads[:kept] = heads[len(heads) - kept :]
        self._candidates[:kept] = candidates[len(heads) - kept :]

    def _by_age(self, at: NDArray[np.int64]) -> NDArray[np.int64]:
        """Where the transitions of these ages lie; 0 is the oldest."""
        return at if self._added <= self.capacity else (at + self._added) % self.capacity

    def _make(self, rows: int) -> None:
        self._heads = np.zeros(rows, self._head)
        # Half precision: by far the largest part, and only used to look one step ahead.
        self._candidates = np.zeros((rows, 1 + OUTLINKS, self.dim), np.float16)

    def _grow(self) -> None:
        heads, candidates = self._heads, self._candidates
        self._make(min(self.capacity, 2 * len(heads)))
        self._heads[: len(heads)] = heads
        self._candidates[: len(heads)] = candidates


def _real(heads: NDArray[Any]) -> NDArray[np.bool_]:
    """Which candidates of these transitions there are."""
    real: NDArray[np.bool_] = np.arange(1 + OUTLINKS) <= heads["outlinks"][:, None]
    real[:, SAMPLE] = heads["sampled"]
    return real
