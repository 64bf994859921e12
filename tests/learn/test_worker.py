"""Training runs beside the loop: nothing waits for it, nothing is lost, and its pace is kept."""

from __future__ import annotations

import asyncio
import threading

import numpy as np
import pytest
import torch

from tests.learn.worlds import learner, links, transition, values
from tres_crawler.learn.ddqn import Ddqn
from tres_crawler.learn.worker import CHUNK, MAX_OWED, Trainer
from tres_crawler.records import Divergence


class Held:
    """Makes a learner's training wait until it is let go."""

    def __init__(self, made: Ddqn) -> None:
        self.begun, self.free = threading.Event(), threading.Event()
        self.threads: set[int] = set()
        self.torch_threads = 0
        train = made.train

        def waiting(steps: int) -> float | None:
            self.threads.add(threading.get_ident())
            self.torch_threads = torch.get_num_threads()
            self.begun.set()
            assert self.free.wait(60)
            return train(steps)

        made.train = waiting  # type: ignore[method-assign]  # the one thing that takes time


async def test_what_is_remembered_is_learned() -> None:
    made = learner()
    async with Trainer(made) as trainer:
        for page in range(300):
            trainer.remember(transition(("good", "plain")[page % 2], page=page))
            await trainer.caught_up()
        good, plain = trainer.values(links("good", "plain"))
    assert good > 0.8 > 0.2 > plain
    assert trainer.loss is not None and trainer.loss < 0.1


@pytest.mark.parametrize("ratio", [0.0, 0.25, 1.0, 3.0])
async def test_the_ratio_of_steps_to_pages_is_kept(ratio: float) -> None:
    made = learner(steps_per_page=ratio)
    async with Trainer(made) as trainer:
        for page in range(80):
            trainer.remember(transition("good", page=page))
        await trainer.caught_up()
        assert (made.steps, len(made.replay)) == (80 * ratio, 80)
        assert trainer.dropped_steps == 0
        assert trainer.weights.version == made.steps


async def test_remembering_and_valuing_do_not_wait_for_training() -> None:
    made = learner()
    held = Held(made)
    async with Trainer(made) as trainer:
        trainer.remember(transition("good"))
        await asyncio.to_thread(held.begun.wait, 60)
        for page in range(100):
            trainer.remember(transition("good", page=page))
            assert trainer.values(links("good", "plain")).shape == (2,)
        assert trainer.weights.version == 0 and made.steps == 0
        held.free.set()
        await trainer.caught_up()
        assert trainer.weights.version == made.steps == 101


async def test_the_loop_runs_on_while_training_goes_on() -> None:
    made = learner()
    held = Held(made)
    async with Trainer(made) as trainer:
        trainer.remember(transition("good"))
        await asyncio.to_thread(held.begun.wait, 60)
        waiting = asyncio.create_task(trainer.caught_up())
        await asyncio.sleep(0)
        assert not waiting.done()
        held.free.set()
        await waiting


async def test_what_was_remembered_is_learned_even_if_nobody_waits_for_an_answer_any_more() -> None:
    made = learner()
    held = Held(made)
    async with Trainer(made) as trainer:
        trainer.remember(transition("good", page=1))
        await asyncio.to_thread(held.begun.wait, 60)
        trainer.remember(transition("good", page=2))
        waiting = asyncio.create_task(trainer.relabel({}))
        await asyncio.sleep(0)
        waiting.cancel()
        await asyncio.wait([waiting])
        held.free.set()
        await trainer.caught_up()
        await trainer.policy()
    assert len(made.replay) == 2


async def test_a_trainer_that_lags_drops_steps_but_no_experience() -> None:
    made = learner()
    held = Held(made)
    async with Trainer(made) as trainer:
        trainer.remember(transition("good"))
        await asyncio.to_thread(held.begun.wait, 60)
        for page in range(1, MAX_OWED + 100):
            trainer.remember(transition("good", page=page))
        held.free.set()
        await trainer.caught_up()
        assert trainer.dropped_steps == 99
        assert made.steps == 1 + MAX_OWED
        assert len(made.replay) == MAX_OWED + 100


async def test_all_learning_happens_in_one_other_thread_and_with_one_of_torch() -> None:
    made = learner()
    held = Held(made)
    held.free.set()
    async with Trainer(made) as trainer:
        for page in range(3 * CHUNK):
            trainer.remember(transition("good", page=page))
        await trainer.caught_up()
    assert len(held.threads) == 1
    assert threading.get_ident() not in held.threads
    assert held.torch_threads == 1


async def test_closing_ends_the_thread_and_leaves_steps_that_are_owed() -> None:
    made = learner()
    held = Held(made)
    trainer = Trainer(made)
    for page in range(200):
        trainer.remember(transition("good", page=page))
    await asyncio.to_thread(held.begun.wait, 60)
    closing = asyncio.create_task(trainer.close())
    await asyncio.sleep(0)
    held.free.set()
    await closing
    assert made.steps == CHUNK
    assert not any(thread.ident in held.threads for thread in threading.enumerate())
    with pytest.raises(RuntimeError, match="closed"):
        trainer.remember(transition("good"))


async def test_weights_are_replaced_as_a_whole() -> None:
    made = learner()
    async with Trainer(made) as trainer:
        before = trainer.weights
        values_before = before.values(links("good", "plain"))
        trainer.remember(transition("good"))
        await trainer.caught_up()
        assert trainer.weights is not before and trainer.weights.version > before.version
        np.testing.assert_array_equal(before.values(links("good", "plain")), values_before)


async def test_a_snapshot_holds_everything_remembered_before_it() -> None:
    made = learner()
    held = Held(made)
    async with Trainer(made) as trainer:
        trainer.remember(transition("good", page=1))
        await asyncio.to_thread(held.begun.wait, 60)
        trainer.remember(transition("plain", page=2))
        saving = asyncio.create_task(trainer.snapshot())
        await asyncio.sleep(0)
        trainer.remember(transition("hub", page=3))
        held.free.set()
        saved = await saving
    restored = learner(seed=5)
    restored.load(saved)
    assert (len(restored.replay), restored.last_page) == (2, 2)


async def test_a_policy_is_what_was_learned() -> None:
    made, other = learner(), learner(seed=5)
    async with Trainer(made) as trainer:
        for page in range(50):
            trainer.remember(transition("good", page=page))
        await trainer.caught_up()
        other.load_policy(await trainer.policy())
    assert values(other) == values(made)


async def test_a_new_judge_reaches_what_has_not_been_learned_yet() -> None:
    made = learner(steps_per_page=0)
    async with Trainer(made) as trainer:
        trainer.remember(transition("good", page=1))
        assert await trainer.relabel({1: 0.0}) == 1


async def test_a_divergence_is_told_in_the_loop() -> None:
    made = learner()
    told: list[tuple[int, Divergence]] = []
    with torch.no_grad():
        for parameter in made._online.parameters():
            parameter.fill_(float("nan"))
    async with Trainer(made, lambda event: told.append((threading.get_ident(), event))) as trainer:
        trainer.remember(transition("good"))
        await trainer.caught_up()
        assert np.isfinite(trainer.values(links("good"))).all()
    ((thread, event),) = told
    assert thread == threading.get_ident()
    assert event.step == 1


async def test_what_fails_in_the_thread_is_raised_in_the_loop() -> None:
    made = learner()

    def fails(steps: int) -> float | None:
        raise ZeroDivisionError("a bug")

    made.train = fails  # type: ignore[method-assign]  # stands for any bug
    trainer = Trainer(made)
    trainer.remember(transition("good"))
    with pytest.raises(ZeroDivisionError):
        await trainer.caught_up()
    with pytest.raises(ZeroDivisionError):
        trainer.remember(transition("good"))
    with pytest.raises(ZeroDivisionError):
        await trainer.close()


async def test_a_crawl_that_waits_for_its_trainer_is_repeatable() -> None:
    ends = []
    for _ in range(2):
        made = learner(steps_per_page=1.5)
        async with Trainer(made) as trainer:
            for page in range(60):
                trainer.remember(transition(("good", "plain", "hub")[page % 3], "good", page=page))
                await trainer.caught_up()
        ends.append(values(made))
    assert ends[0] == ends[1]
