"""The buffer keeps the newest transitions whole and draws each equally often."""

from __future__ import annotations

import numpy as np
import pytest

from tres_crawler.learn.network import Floats
from tres_crawler.learn.replay import OUTLINKS, SAMPLE, Replay, Transition

DIM = 3
CHI_SQUARE_999 = 43.82
"""What uniform draws among 20 transitions stay below 999 times in 1,000 (19 degrees of freedom)."""


def numbered(page: int, outlinks: int = 2, sample: bool = True) -> Transition:
    """A transition in which every number tells the page."""
    row = np.full(DIM, page, np.float32)
    return Transition(page, row, page / 10, np.tile(row, (outlinks, 1)), row if sample else None)


def filled(pages: range, capacity: int = 100) -> Replay:
    replay = Replay(DIM, capacity)
    for page in pages:
        replay.add(numbered(page), np.random.default_rng(page))
    return replay


def drawn_pages(replay: Replay, size: int = 2_000, seed: int = 1) -> list[int]:
    return [int(page) for page in replay.sample(size, np.random.default_rng(seed)).features[:, 0]]


def test_what_is_drawn_is_what_was_added() -> None:
    batch = filled(range(1, 90)).sample(200, np.random.default_rng(1))
    for features, reward, candidates, real in zip(*batch, strict=True):
        page = features[0]
        assert (features == page).all() and reward == pytest.approx(page / 10)
        assert real.tolist() == [True, True, True] + [False] * (OUTLINKS - 2)
        assert (candidates[real] == page).all()


def test_the_oldest_go_when_it_is_full() -> None:
    replay = filled(range(1, 251))
    assert len(replay) == 100
    assert set(drawn_pages(replay)) == set(range(151, 251))


def test_every_transition_is_drawn_equally_often() -> None:
    draws = drawn_pages(filled(range(1, 48), capacity=20), 20_000)
    counts = np.bincount(draws, minlength=48)[28:]
    assert counts.sum() == 20_000
    assert ((counts - 1_000) ** 2 / 1_000).sum() < CHI_SQUARE_999


@pytest.mark.parametrize(("outlinks", "sample"), [(0, True), (3, False), (0, False), (OUTLINKS, True)])
def test_only_candidates_that_there_are_count(outlinks: int, sample: bool) -> None:
    replay = filled(range(1, 101))
    for page in range(101, 201):
        replay.add(numbered(page, outlinks, sample), np.random.default_rng(1))
    real = replay.sample(50, np.random.default_rng(1)).real
    assert (real[:, SAMPLE] == sample).all()
    assert (real[:, 1:].sum(1) == outlinks).all()


def test_of_many_outlinks_a_random_forty_is_kept() -> None:
    kept: list[Floats] = []
    for seed in (1, 2):
        replay = Replay(1, 10)
        rows = np.arange(200, dtype=np.float32).reshape(-1, 1)
        replay.add(Transition(1, rows[0], 0.0, rows), np.random.default_rng(seed))
        batch = replay.sample(1, np.random.default_rng(1))
        kept.append(batch.candidates[batch.real].astype(np.float32)[:, 0])
    assert all(len(set(rows.tolist())) == OUTLINKS for rows in kept)
    assert set(kept[0].tolist()) != set(kept[1].tolist())


def test_a_new_judge_changes_the_rewards_of_its_pages_and_no_others() -> None:
    replay = filled(range(1, 131))
    assert replay.relabel({40: 0.5, 50: 0.25, 60: 6.0, 1: 9.0, 999: 1.0}) == 2, "60 has that reward, 1 is gone"
    batch = replay.sample(5_000, np.random.default_rng(1))
    rewards = dict(zip(batch.features[:, 0].astype(int).tolist(), batch.rewards.tolist(), strict=True))
    assert rewards == {page: pytest.approx({40: 0.5, 50: 0.25}.get(page, page / 10)) for page in range(31, 131)}


@pytest.mark.parametrize("pages", [0, 5, 100, 130])
def test_a_restored_buffer_draws_and_goes_on_like_the_first(pages: int) -> None:
    first, second = filled(range(1, pages + 1)), Replay(DIM, 100)
    second.restore(first.arrays())
    for page in range(500, 560):
        for replay in (first, second):
            replay.add(numbered(page, outlinks=1), np.random.default_rng(1))
        one, other = (replay.sample(64, np.random.default_rng(page)) for replay in (first, second))
        assert len(first) == len(second)
        np.testing.assert_array_equal(one.features, other.features)
        np.testing.assert_array_equal(one.real, other.real)
        np.testing.assert_array_equal(one.candidates[one.real], other.candidates[other.real])


@pytest.mark.parametrize("pages", [70, 130])
def test_a_smaller_buffer_takes_over_the_newest(pages: int) -> None:
    replay = Replay(DIM, 50)
    replay.restore(filled(range(1, pages + 1)).arrays())
    assert set(drawn_pages(replay)) == set(range(pages - 49, pages + 1))
    replay.add(numbered(999), np.random.default_rng(1))
    assert set(drawn_pages(replay)) == {*range(pages - 48, pages + 1), 999}


def test_a_larger_buffer_takes_over_all_and_has_room() -> None:
    replay = Replay(DIM, 150)
    replay.restore(filled(range(1, 131)).arrays())
    for page in range(131, 201):
        replay.add(numbered(page), np.random.default_rng(1))
    assert set(drawn_pages(replay, 5_000)) == set(range(51, 201))
