"""The BiLSTM: reads both ways, whatever else is in the batch."""

from __future__ import annotations

import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from tres_crawler.classify.network import Batch, BiLstm, Shape

SHAPE = Shape(dimensions=6, hidden=4, dense=3)


def batch(*lengths: int, padding: int = 0) -> Batch:
    """Random texts of these lengths; padding is zero, as it is made, and there may be more of it than needed."""
    generator = torch.Generator().manual_seed(1)
    words = torch.zeros(len(lengths), max(1, *lengths) + padding, SHAPE.dimensions)
    for at, length in enumerate(lengths):
        words[at, :length] = torch.randn(length, SHAPE.dimensions, generator=generator)
    return Batch(
        words, torch.tensor(lengths), torch.zeros(len(lengths), SHAPE.dimensions), torch.zeros(len(lengths), 0)
    )


def network() -> BiLstm:
    torch.manual_seed(2)
    return BiLstm(SHAPE).eval()


def test_it_is_a_bidirectional_lstm_with_mean_and_maximum_over_the_words() -> None:
    ours, texts = network(), batch(5, 2, 7)
    theirs = nn.LSTM(SHAPE.dimensions, SHAPE.hidden, batch_first=True, bidirectional=True)
    weights = dict(ours.onwards.state_dict())
    weights |= {f"{name}_reverse": value for name, value in ours.backwards.state_dict().items()}
    theirs.load_state_dict(weights)
    packed = pack_padded_sequence(texts.words, texts.lengths, batch_first=True, enforce_sorted=False)
    seen, _ = pad_packed_sequence(theirs(packed)[0], batch_first=True)
    pooled = torch.stack(
        [
            torch.cat([seen[at, :length].mean(dim=0), seen[at, :length].amax(dim=0)])
            for at, length in enumerate(texts.lengths.tolist())
        ]
    )
    wanted = ours.out(torch.cat([torch.relu(ours.dense(pooled)), texts.mean], dim=1)).squeeze(1)
    assert torch.allclose(ours(texts), wanted, atol=1e-6)


def test_a_text_is_judged_alike_alone_and_among_longer_ones() -> None:
    ours = network()
    assert torch.allclose(ours(batch(4)), ours(batch(4, 30))[:1], atol=1e-6)
    assert torch.allclose(ours(batch(4)), ours(batch(4, padding=20)), atol=1e-6)


def test_a_text_without_words_has_a_logit() -> None:
    ours = network()
    assert torch.isfinite(ours(batch(0, 3))).all()
    assert torch.allclose(ours(batch(0)), ours(batch(0, 3))[:1], atol=1e-6)
