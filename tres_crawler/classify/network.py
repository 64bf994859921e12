"""The BiLSTM, and nothing else (TRES, sec. 2.2.2 and 3.3)."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor, nn


class Shape(NamedTuple):
    """What a network is made for; weights of another shape do not fit it."""

    dimensions: int
    """Of a word vector."""
    marks: int = 0
    """Figures beside each word vector: keyword-aware networks have some."""
    facts: int = 0
    """Figures beside the whole text."""
    hidden: int = 32
    """Units of the LSTM in each direction."""
    dense: int = 32


class Batch(NamedTuple):
    """Texts of any lengths, padded."""

    words: Tensor
    """(texts, longest, dimensions + marks)"""
    lengths: Tensor
    mean: Tensor
    """(texts, dimensions): mean vector of each text, frequent words counting little."""
    facts: Tensor
    """(texts, facts)"""


class BiLstm(nn.Module):
    """Reads word vectors both ways; mean and maximum of what it saw, beside the plain mean vector, decide.

    The plain mean leads past the LSTM, so that a small training set can do no worse than a linear model on it.
    """

    def __init__(self, shape: Shape, dropout: float = 0.3) -> None:
        super().__init__()
        # For the whole process: on shared cores two threads that wait for each other are slower than one.
        torch.set_num_threads(1)
        self.shape = shape
        # Two LSTMs, the second handed its texts turned round: padding then stands behind the words for both, and needs
        # no packing, which would cost four times the time in training (docs/results.md).
        self.onwards = nn.LSTM(shape.dimensions + shape.marks, shape.hidden, batch_first=True)
        self.backwards = nn.LSTM(shape.dimensions + shape.marks, shape.hidden, batch_first=True)
        self.dense = nn.Linear(4 * shape.hidden, shape.dense)
        self.out = nn.Linear(shape.dense + shape.dimensions + shape.facts, 1)
        self.dropout = nn.Dropout(dropout)

    def forward(self, batch: Batch) -> Tensor:
        """A logit for each text."""
        places, lengths = torch.arange(batch.words.shape[1]), batch.lengths[:, None]
        inside = (places < lengths)[:, :, None]
        turned = (lengths - 1 - places).clamp(min=0)[:, :, None].expand_as(batch.words)
        # What the second saw stays turned round: mean and maximum do not ask for the order.
        seen = torch.cat([self.onwards(batch.words)[0], self.backwards(batch.words.gather(1, turned))[0]], dim=2)
        mean = (seen * inside).sum(dim=1) / lengths.clamp(min=1)
        most = seen.masked_fill(~inside, -1.0).amax(dim=1)
        pooled = torch.relu(self.dense(self.dropout(torch.cat([mean, most], dim=1))))
        logits: Tensor = self.out(torch.cat([self.dropout(pooled), batch.mean, batch.facts], dim=1))
        return logits.squeeze(1)
