"""Whittle 2018, sec. VIII: the index of source 1 where arrivals are random, against independently found numbers."""

from __future__ import annotations

import numpy as np
import pytest

from tres_crawler.experiments.recrawl.ephemeral import TABLE_1, inflows
from tres_crawler.recrawl.stochastic import Noise, arrivals, stochastic_index
from tres_crawler.recrawl.twoscale import learned_index

STATES = (180.0, 225.0, 270.0, 315.0, 350.0)
INDEX = {
    Noise.POISSON: (93.02, 136.03, 184.20, 252.78, 323.74),
    Noise.PER_ITEM: (93.99, 136.11, 185.36, 253.46, 320.09),
    Noise.PER_EPOCH: (122.24, 161.38, 203.18, 247.19, 282.67),
}


@pytest.mark.parametrize("noise", Noise)
def test_one_linear_solve_gives_the_index(noise: Noise) -> None:
    found = [stochastic_index(TABLE_1[0], noise, state) for state in STATES]
    assert found == pytest.approx(INDEX[noise], rel=0.01)


def test_a_finer_grid_moves_the_index_by_little() -> None:
    coarse, fine = (stochastic_index(TABLE_1[0], Noise.PER_EPOCH, 270.0, points) for points in (150, 500))
    assert coarse == pytest.approx(fine, rel=0.001)


@pytest.mark.parametrize("noise", Noise)
def test_the_law_of_arrivals_is_that_of_the_simulation(noise: Noise) -> None:
    law = arrivals(TABLE_1[1], noise)
    drawn = inflows(TABLE_1, noise, 4000, 2)[:, :, 1]
    mean = float(law.sizes @ law.chances)
    assert mean == pytest.approx(TABLE_1[1].inflow, rel=0.001)
    assert drawn.mean() == pytest.approx(mean, rel=0.05)
    assert drawn.std() == pytest.approx(np.sqrt(law.variance), rel=0.06)


@pytest.mark.parametrize("noise", Noise)
def test_two_time_scales_lead_to_the_same_index(noise: Noise) -> None:
    """With the reference E V(U) added for visits too; as printed, it is far off."""
    law = arrivals(TABLE_1[0], noise)
    found = learned_index(TABLE_1[0], law, 270.0, 3000, np.random.default_rng(1))
    assert found == pytest.approx(INDEX[noise][2], rel=0.04)
