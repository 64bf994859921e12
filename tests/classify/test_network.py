"""What the network says of a text depends on that text alone."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from tres_crawler.classify.network import Batch, BiLstm, Shape
from tres_crawler.vectors import Floats

SHAPE = Shape(dimensions=8, marks=2, facts=3, hidden=6, dense=5)


@pytest.fixture
def network() -> BiLstm:
    torch.manual_seed(3)
    return BiLstm(SHAPE).eval()


def texts(lengths: list[int]) -> list[torch.Tensor]:
    """Random texts that are the same whenever they are asked for."""
    generator = torch.Generator().manual_seed(7)
    return [torch.randn(length, SHAPE.dimensions + SHAPE.marks, generator=generator) for length in lengths]


def batch(given: list[torch.Tensor], padding: int = 0) -> Batch:
    longest = max(1, *map(len, given)) + padding
    words = torch.zeros(len(given), longest, SHAPE.dimensions + SHAPE.marks)
    for at, text in enumerate(given):
        words[at, : len(text)] = text
    means = torch.stack([text[:, : SHAPE.dimensions].sum(dim=0) for text in given])
    return Batch(words, torch.tensor([len(text) for text in given]), means, torch.zeros(len(given), SHAPE.facts))


def logits(network: BiLstm, given: Batch) -> Floats:
    with torch.inference_mode():
        found: Floats = network(given).numpy()
    return found


def test_a_text_has_the_same_logit_alone_and_in_any_company(network: BiLstm) -> None:
    given = texts([5, 1, 40, 0, 12])
    together = logits(network, batch(given))
    alone = [float(logits(network, batch([text]))[0]) for text in given]
    assert np.allclose(together, alone, atol=1e-5)
    backwards = logits(network, batch(given[::-1]))
    assert np.allclose(together, backwards[::-1], atol=1e-5)
    assert len(set(np.round(together, 4))) == 5, "different texts are told apart"


def test_how_much_padding_there_is_does_not_matter(network: BiLstm) -> None:
    given = texts([5, 1, 0, 12])
    plain = logits(network, batch(given))
    assert np.allclose(logits(network, batch(given, padding=30)), plain, atol=1e-5)


def test_the_order_of_words_matters(network: BiLstm) -> None:
    (text,) = texts([9])
    forward, backward = logits(network, batch([text, text.flip(0)]))
    assert abs(forward - backward) > 1e-4


def test_the_words_the_mean_vector_and_the_facts_all_have_a_say(network: BiLstm) -> None:
    known = batch(texts([9]))
    plain = logits(network, known)
    for name in ("words", "mean", "facts"):
        changed = known._replace(**{name: getattr(known, name) + 1.0})
        assert abs(logits(network, changed) - plain).max() > 1e-4


def test_it_is_a_bidirectional_lstm_with_mean_and_maximum_over_the_words(network: BiLstm) -> None:
    ours, known = network, batch(texts([5, 2, 7]))
    theirs = nn.LSTM(SHAPE.dimensions + SHAPE.marks, SHAPE.hidden, batch_first=True, bidirectional=True)
    weights = dict(ours.onwards.state_dict())
    weights |= {f"{name}_reverse": value for name, value in ours.backwards.state_dict().items()}
    theirs.load_state_dict(weights)
    packed = pack_padded_sequence(known.words, known.lengths, batch_first=True, enforce_sorted=False)
    seen, _ = pad_packed_sequence(theirs(packed)[0], batch_first=True)
    pooled = torch.stack(
        [
            torch.cat([seen[at, :length].mean(dim=0), seen[at, :length].amax(dim=0)])
            for at, length in enumerate(known.lengths.tolist())
        ]
    )
    wanted = ours.out(torch.cat([torch.relu(ours.dense(pooled)), known.mean, known.facts], dim=1)).squeeze(1)
    assert torch.allclose(ours(known), wanted, atol=1e-6)


def test_a_network_judges_in_one_thread() -> None:
    torch.set_num_threads(2)
    BiLstm(SHAPE)
    assert torch.get_num_threads() == 1
