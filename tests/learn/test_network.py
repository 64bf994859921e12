"""numpy gives the values that torch would."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from tres_crawler.learn.network import Floats, QNetwork, Weights


def network(prior: Floats | None = None, seed: int = 1) -> QNetwork:
    return QNetwork(8, (64, 64), torch.Generator().manual_seed(seed), prior)


def rows(count: int) -> Floats:
    return np.random.default_rng(2).random((count, 8), np.float32)


def trained(prior: Floats | None) -> QNetwork:
    """With weights that training could have given it, biases included."""
    made = network(prior)
    chance = torch.Generator().manual_seed(3)
    with torch.no_grad():
        for parameter in made.parameters():
            parameter.add_(0.3 * torch.randn(parameter.shape, generator=chance))
    return made


@pytest.mark.parametrize("prior", [None, np.linspace(-1, 1, 8, dtype=np.float32)])
@pytest.mark.parametrize("count", [0, 1, 2_500])
def test_numpy_gives_the_same_values_as_torch(prior: Floats | None, count: int) -> None:
    made = trained(prior)
    values = Weights.of(made, 1).values(rows(count))
    assert values.dtype == np.float32 and values.shape == (count,)
    np.testing.assert_allclose(values, made(torch.from_numpy(rows(count))).detach().numpy(), rtol=1e-5, atol=1e-5)


def test_before_training_the_value_is_the_prior() -> None:
    prior = np.linspace(0, 1, 8, dtype=np.float32)
    np.testing.assert_allclose(Weights.of(network(prior), 0).values(rows(50)), rows(50) @ prior, rtol=1e-6)


def test_without_a_prior_training_starts_from_chance() -> None:
    one, other = (Weights.of(network(seed=seed), 0).values(rows(50)) for seed in (1, 2))
    assert np.ptp(one) > 0.01
    assert not np.allclose(one, other)


def test_the_prior_is_not_trained() -> None:
    assert "prior" not in dict(network(np.ones(8, np.float32)).named_parameters())


def test_making_a_network_draws_no_numbers_of_the_process() -> None:
    before = torch.get_rng_state()
    network()
    assert torch.equal(before, torch.get_rng_state())


def test_published_weights_do_not_change_with_the_network() -> None:
    made = trained(None)
    weights = Weights.of(made, 1)
    before = weights.values(rows(5))
    with torch.no_grad():
        for parameter in made.parameters():
            parameter.zero_()
    np.testing.assert_array_equal(weights.values(rows(5)), before)
    with pytest.raises(ValueError, match="read-only"):
        weights.layers[0][0][0, 0] = 1.0
