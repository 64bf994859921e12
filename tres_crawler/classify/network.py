"""The BiLSTM, and nothing else (TRES, sec. 2.2.2 and 3.3)."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence


class Shape(NamedTuple):
    """What a network is made for; weights of another shape do not fit it."""

    dimensions: int
    """Of a word vector."""
    marks: int = 0
    """Figures beside each word vector: keyword-aware networks have some."""
    facts: int = 0
    """Figures beside the whole text."""
    hidden: int = 64
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
        self.shape = shape
        self.lstm = nn.LSTM(shape.dimensions + shape.marks, shape.hidden, batch_first=True, bidirectional=True)
        self.dense = nn.Linear(4 * shape.hidden, shape.dense)
        self.out = nn.Linear(shape.dense + shape.dimensions + shape.facts, 1)
        self.dropout = nn.Dropout(dropout)

    def forward(self, batch: Batch) -> Tensor:
        """A logit for each text."""
        packed = pack_padded_sequence(batch.words, batch.lengths.clamp(min=1), batch_first=True, enforce_sorted=False)
        seen, _ = pad_packed_sequence(self.lstm(packed)[0], batch_first=True)
        inside = (torch.arange(seen.shape[1]) < batch.lengths[:, None])[:, :, None]
        mean = (seen * inside).sum(dim=1) / batch.lengths[:, None].clamp(min=1)
        most = seen.masked_fill(~inside, -1.0).amax(dim=1)
        pooled = torch.relu(self.dense(self.dropout(torch.cat([mean, most], dim=1))))
        logits: Tensor = self.out(torch.cat([self.dropout(pooled), batch.mean, batch.facts], dim=1))
        return logits.squeeze(1)
