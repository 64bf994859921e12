"""Q-learning with a small network: one state in, the value of every action out.

In numpy: at these sizes a step of training takes a tenth of what it takes torch.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]


class Gradient(StrEnum):
    """Which parts of the Bellman error learn."""

    FULL = "full"
    """Both the value and its target (FG-DQN, eq. 9, without its extraneous noise)."""
    SEMI = "semi"
    """The value only; an older copy of the network chooses the next action and values it (DQN)."""
    DOUBLE = "double"
    """The value only; the network chooses the next action, an older copy values it (double DQN)."""


class Network:
    """Layers of ReLU and a linear last one, trained by Adam."""

    RATE, FIRST, SECOND, TINY = 1e-3, 0.9, 0.999, 1e-8

    def __init__(self, sizes: Sequence[int], rng: np.random.Generator) -> None:
        self.weights: list[Floats] = []
        for inputs, outputs in pairwise(sizes):
            bound = np.sqrt(6 / inputs)
            self.weights.append(rng.uniform(-bound, bound, (inputs, outputs)).astype(np.float32))
            self.weights.append(np.zeros(outputs, np.float32))
        self._means = [np.zeros_like(one) for one in self.weights]
        self._squares = [np.zeros_like(one) for one in self.weights]
        self._steps = 0

    def forward(self, rows: Floats) -> list[Floats]:
        """What every layer says, the input first."""
        layers = [rows]
        for at in range(0, len(self.weights), 2):
            sums = layers[-1] @ self.weights[at] + self.weights[at + 1]
            layers.append(sums if at == len(self.weights) - 2 else np.maximum(sums, 0))
        return layers

    def descend(self, layers: Sequence[Floats], slope: Floats) -> None:
        """One step of Adam against the loss whose slope at the outputs is given."""
        slopes: list[Floats] = []
        for at in range(len(self.weights) - 2, -1, -2):
            below = layers[at // 2]
            slopes[:0] = [below.T @ slope, slope.sum(0)]
            slope = (slope @ self.weights[at].T) * (below > 0)
        self._steps += 1
        rate = self.RATE * np.sqrt(1 - self.SECOND**self._steps) / (1 - self.FIRST**self._steps)
        for one, found, mean, square in zip(self.weights, slopes, self._means, self._squares, strict=True):
            mean += (1 - self.FIRST) * (found - mean)
            square += (1 - self.SECOND) * (found**2 - square)
            one -= np.float32(rate) * mean / (np.sqrt(square) + np.float32(self.TINY))


class QLearner:
    """Learns from every transition it is shown, by one minibatch of all it remembers."""

    BATCH = 16
    CAPACITY, NUMBERS = 5000, 5_000_000
    """Transitions that are remembered, or as many as so many numbers hold."""
    SYNC_EVERY = 100
    """Steps after which the older copy is renewed. None of these are published, nor is the use of Adam."""

    def __init__(
        self, inputs: int, actions: int, hidden: tuple[int, int], discount: float, gradient: Gradient, seed: int
    ) -> None:
        self._rng = np.random.default_rng([seed, 7])
        self._network = Network((inputs, *hidden, actions), self._rng)
        self._older = self._copied()
        self._discount, self._gradient = discount, gradient
        self._capacity = max(self.BATCH, min(self.CAPACITY, self.NUMBERS // inputs))
        self._states = np.zeros((self._capacity, inputs), np.float32)
        self._after = np.zeros((self._capacity, inputs), np.float32)
        self._actions = np.zeros(self._capacity, np.int64)
        self._rewards = np.zeros(self._capacity, np.float32)
        self._seen = 0

    def values(self, state: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.asarray(self._network.forward(state[None].astype(np.float32))[-1][0], float)

    def learn(self, state: NDArray[np.float64], action: int, reward: float, after: NDArray[np.float64]) -> None:
        """One more transition, and one step on a minibatch."""
        at = self._seen % self._capacity
        self._states[at], self._actions[at], self._rewards[at], self._after[at] = state, action, reward, after
        self._seen += 1
        if self._seen >= self.BATCH:
            self._step(self._rng.integers(min(self._seen, self._capacity), size=self.BATCH))
        if self._seen % self.SYNC_EVERY == 0:
            self._older = self._copied()

    def _step(self, rows: NDArray[np.int64]) -> None:
        count = len(rows)
        at = np.arange(count)
        layers = self._network.forward(np.concatenate([self._states[rows], self._after[rows]]))
        values, then = layers[-1][:count], layers[-1][count:]
        judge = then if self._gradient is Gradient.FULL else _forward(self._older, self._after[rows])
        best = (judge if self._gradient is Gradient.SEMI else then).argmax(1)
        actions = self._actions[rows]
        error = self._rewards[rows] + self._discount * judge[at, best] - values[at, actions]
        slope = np.zeros_like(layers[-1])
        slope[at, actions] = -2 * error / count
        if self._gradient is Gradient.FULL:
            slope[count + at, best] = 2 * self._discount * error / count
        self._network.descend(layers, slope)

    def _copied(self) -> list[Floats]:
        return [one.copy() for one in self._network.weights]


def _forward(weights: Sequence[Floats], rows: Floats) -> Floats:
    for at in range(0, len(weights) - 2, 2):
        rows = np.maximum(rows @ weights[at] + weights[at + 1], 0)
    return np.asarray(rows @ weights[-2] + weights[-1])
