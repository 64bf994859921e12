"""The latent Bernoulli model of graph-structured crawling: hidden events that update several sources at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit

from tres_crawler.errors import ConfigError

Floats = NDArray[np.float64]
Bits = NDArray[np.bool_]

NODES = 10
EDGES_PER_NODE = 3
OWN, NEIGHBOUR, RATE = (7, 3), (3, 15), (2, 30)
"""Beta laws of the weight of a node on itself, on a neighbour, and of its events (sec. 7.1)."""


@dataclass(frozen=True, eq=False)
class LatentModel:
    """Every node has hidden events; each of them updates node v with chance `weights[u, v]` (eq. 6)."""

    rates: Floats
    """Chance of an event at a node in a slot."""
    weights: Floats
    """(from, to)."""

    def __post_init__(self) -> None:
        count = len(self.rates)
        if self.weights.shape != (count, count):
            raise ConfigError(f"{count} nodes need weights of {count} × {count}, not {self.weights.shape}.")
        if not all(np.all((part >= 0) & (part <= 1)) for part in (self.rates, self.weights)):
            raise ConfigError("Rates and weights of a latent Bernoulli model are chances: numbers from 0 to 1.")
        silent = np.flatnonzero(self.update_chances == 0)
        if len(silent):
            raise ConfigError(
                f"Node {_listed(silent)} is never updated: no event reaches it, not even its own. "
                "Give it a weight on itself or from a neighbour, or leave it out."
            )

    @property
    def update_chances(self) -> Floats:
        """Chance that a node is updated in a slot."""
        return np.asarray(1 - np.prod(1 - self.rates[:, None] * self.weights, axis=0))

    @property
    def isolated(self) -> list[int]:
        """Nodes that share no events with any other: what neighbours show says nothing of them, nor they of others."""
        between = self.weights * ~np.eye(len(self.rates), dtype=bool)
        return [int(node) for node in np.flatnonzero(~(between.any(0) | between.any(1)))]

    def updates(self, slots: int, rng: np.random.Generator, rates: Floats | None = None) -> Bits:
        """(slots, nodes); `rates` (slots, nodes) where they differ from slot to slot."""
        events = rng.random((slots, len(self.rates))) < (self.rates if rates is None else rates)
        missed = np.ones((slots, len(self.rates)), bool)
        for node in range(len(self.rates)):
            at = np.flatnonzero(events[:, node])
            missed[at] &= rng.random((len(at), len(self.rates))) >= self.weights[node]
        return ~missed


def random_model(
    rng: np.random.Generator, nodes: int = NODES, neighbour: tuple[float, float] = NEIGHBOUR
) -> LatentModel:
    """An Erdős–Rényi graph with three neighbours a node on average; an edge weighs differently in each direction."""
    edges = np.triu(rng.random((nodes, nodes)) < min(1.0, EDGES_PER_NODE / (nodes - 1)), 1)
    weights = np.where(edges | edges.T, rng.beta(*neighbour, (nodes, nodes)), 0.0)
    np.fill_diagonal(weights, rng.beta(*OWN, nodes))
    return LatentModel(rng.beta(*RATE, nodes), weights)


def seasonal_rates(
    base: Floats, coefficients: Sequence[float], noise: float, slots: int, rng: np.random.Generator
) -> Floats:
    """Chances of events whose log odds wander around those of `base` as an AR(p) process (eq. 7): (slots, nodes)."""
    phi = np.asarray(coefficients, float)
    roots = np.abs(np.roots(np.concatenate([[1.0], -phi]))) if len(phi) else np.zeros(1)
    if np.max(roots, initial=0.0) >= 1:
        raise ConfigError(
            f"An AR process with coefficients {', '.join(f'{one:g}' for one in phi)} grows without limit: "
            "all roots of its polynomial must lie within the unit circle."
        )
    settle = 50 * len(phi)
    deviations = np.zeros((len(phi) + settle + slots, len(base)))
    shocks = rng.normal(0, noise, deviations.shape)
    for at in range(len(phi), len(deviations)):
        deviations[at] = phi @ deviations[at - len(phi) : at][::-1] + shocks[at]
    return np.asarray(expit(logit(base) + deviations[len(deviations) - slots :]))


def _listed(nodes: NDArray[np.int64]) -> str:
    return ", ".join(map(str, nodes.tolist()))
