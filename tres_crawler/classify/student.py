"""The anchor judge: a small network on mean vectors that was taught by the BiLSTM to say the same of a few words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import nn

from tres_crawler.classify.prior import ANCHOR_WEIGHTS, Prior
from tres_crawler.classify.reading import Reading, centred
from tres_crawler.vectors import Floats

HIDDEN = 32
STEPS = 300
BATCH = 256


class Student(NamedTuple):
    """Weights, evaluated with NumPy: sixty anchors cost less than a tenth of a millisecond."""

    arrays: tuple[Floats, ...]

    def fits(self, prior: Prior) -> bool:
        """Whether the weights are of the shapes that texts of this topic need."""
        size = prior.reader.vectors.dimensions + len(ANCHOR_WEIGHTS)
        hidden = self.arrays[0].shape[-1] if self.arrays and self.arrays[0].ndim else 0
        return [part.shape for part in self.arrays] == [(size, hidden), (hidden,), (hidden, 1), (1,)]

    def logits(self, prior: Prior, readings: Sequence[Reading]) -> Floats:
        weight, bias, out, offset = self.arrays
        hidden = np.maximum(inputs(prior, readings) @ weight + bias, 0.0)
        found: Floats = (hidden @ out + offset)[:, 0]
        return found


def inputs(prior: Prior, readings: Sequence[Reading]) -> Floats:
    """Direction of the mean vector, and what the prior looks at in an anchor."""
    means = np.stack([reading.mean for reading in readings])
    return np.concatenate([centred(means, prior.background.centre), prior.anchor_features(readings) * 0.3], axis=1)


def teach(prior: Prior, readings: Sequence[Reading], teacher: Floats, seed: int) -> Student:
    """A student that repeats the teacher's logits on short texts."""
    generator = torch.Generator().manual_seed(seed)
    known = torch.from_numpy(inputs(prior, readings))
    wanted = torch.from_numpy(np.clip(teacher, -8, 8))
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        first, last = nn.Linear(known.shape[1], HIDDEN), nn.Linear(HIDDEN, 1)
    network = nn.Sequential(first, nn.ReLU(), last)
    optimiser = torch.optim.AdamW(network.parameters(), lr=5e-3, weight_decay=1e-2)
    for _ in range(STEPS):
        chosen = torch.randint(len(known), (BATCH,), generator=generator)
        loss = nn.functional.mse_loss(network(known[chosen])[:, 0], wanted[chosen])
        optimiser.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]  # torch leaves it untyped
        optimiser.step()
    parts = (first.weight.T, first.bias, last.weight.T, last.bias)
    return Student(tuple(part.detach().numpy().copy() for part in parts))
