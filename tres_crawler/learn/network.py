"""The Q-network, and a copy of its weights that numpy evaluates in the event loop."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn.functional import leaky_relu

Floats = NDArray[np.float32]

SLOPE = 0.1
"""Of the leaky ReLU below zero; from the authors' released code."""

ONE_THREAD = 4 * 65_536
"""Multiplications up to which OpenBLAS keeps to one thread. Larger products it shares out among all cores, and where
others keep those busy, 2,500 rows take 16 ms instead of 0.7."""


class QNetwork(nn.Module):
    """Features → value: two hidden layers (TRES, sec. 2.4.2) beside a linear prior that is not trained."""

    prior: Tensor

    def __init__(self, dim: int, hidden: tuple[int, int], chance: torch.Generator, prior: Floats | None = None) -> None:
        super().__init__()
        self.first = _layer(dim, hidden[0])
        self.second = _layer(hidden[0], hidden[1])
        self.last = _layer(hidden[1], 1)
        for layer in self.layers:
            nn.init.kaiming_uniform_(layer.weight, SLOPE, generator=chance)
            nn.init.zeros_(layer.bias)
        self.register_buffer("prior", torch.zeros(dim) if prior is None else torch.tensor(prior))
        if prior is not None:
            # So that the value before any training is the prior's and nothing else.
            nn.init.zeros_(self.last.weight)

    @property
    def layers(self) -> tuple[nn.Linear, nn.Linear, nn.Linear]:
        return self.first, self.second, self.last

    def forward(self, features: Tensor) -> Tensor:
        """(rows, dim) → (rows,)."""
        hidden = leaky_relu(self.second(leaky_relu(self.first(features), SLOPE)), SLOPE)
        value: Tensor = self.last(hidden).squeeze(-1) + features @ self.prior
        return value


@dataclass(frozen=True, eq=False)
class Weights:
    """A Q-network as it was at one moment; never changes, so any thread may use it."""

    version: int
    layers: tuple[tuple[Floats, Floats], ...]
    """Matrix (inputs × outputs) and bias of each layer."""
    prior: Floats

    @classmethod
    def of(cls, network: QNetwork, version: int) -> Weights:
        layers = tuple((_copied(layer.weight.T), _copied(layer.bias)) for layer in network.layers)
        return cls(version, layers, _copied(network.prior))

    def values(self, features: Floats) -> Floats:
        """The value of every row of `features`."""
        rows = max(1, ONE_THREAD // max(matrix.size for matrix, _ in self.layers))
        found = np.empty(len(features), np.float32)
        for at in range(0, len(features), rows):
            found[at : at + rows] = self._block(features[at : at + rows])
        return found

    def _block(self, features: Floats) -> Floats:
        (first, first_bias), (second, second_bias), (last, last_bias) = self.layers
        hidden = _leaky(features @ first, first_bias)
        hidden = _leaky(hidden @ second, second_bias)
        value: Floats = (hidden @ last)[:, 0] + last_bias + features @ self.prior
        return value


def _layer(inputs: int, outputs: int) -> nn.Linear:
    # By way of "meta", which draws no numbers: the process's own generator belongs to others.
    return nn.Linear(inputs, outputs, device="meta").to_empty(device="cpu")


def _leaky(sums: Floats, bias: Floats) -> Floats:
    sums += bias
    np.maximum(sums, sums * np.float32(SLOPE), out=sums)
    return sums


def _copied(tensor: Tensor) -> Floats:
    array = np.array(tensor.detach().numpy(), np.float32, order="C")
    array.setflags(write=False)
    return array
