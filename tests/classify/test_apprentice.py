"""Training in a process of its own: the same judge, the same words in trouble, and no process left behind."""

from __future__ import annotations

import asyncio
import json
import os
import tempfile
from contextlib import suppress
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from tests.texts import FOOD_KEYWORDS, made_examples
from tres_crawler.classify import apprentice
from tres_crawler.classify.apprentice import Job, train, train_beside
from tres_crawler.classify.model import unpack
from tres_crawler.classify.training import Kind
from tres_crawler.errors import ModelError

JOB = Job(
    kind="svm",
    keywords=FOOD_KEYWORDS,
    found=["garlic"],
    vectors="",
    goal="recall",
    seed=4,
    examples=[replace(example, anchor="to the söup") for example in made_examples(30)],
)


def processes_of_training() -> list[int]:
    """Every process that trains a judge for this one."""
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                command = (folder / "cmdline").read_bytes().split(b"\0")
                parent = (folder / "stat").read_text().rpartition(")")[2].split()[1]
            except OSError:
                continue
            if apprentice.__name__.encode() in command and int(parent) == os.getpid():
                found.append(int(folder.name))
    return found


def test_a_job_is_the_same_after_it_was_written_down() -> None:
    again = Job.of(json.loads(json.dumps(asdict(JOB))))
    assert asdict(again) == json.loads(json.dumps(asdict(JOB)))
    assert again.examples == JOB.examples


@pytest.mark.parametrize(("is_awaited", "lower"), [(True, 0), (False, apprentice.LOW_PRIORITY)])
async def test_only_a_training_that_nobody_waits_for_has_a_low_priority(is_awaited: bool, lower: int) -> None:
    seen = {0}
    training = asyncio.create_task(train_beside(replace(JOB, kind="kwbilstm"), is_awaited))
    while not training.done():
        for process in processes_of_training():
            with suppress(ProcessLookupError):
                seen.add(os.getpriority(os.PRIO_PROCESS, process) - os.getpriority(os.PRIO_PROCESS, 0))
        await asyncio.sleep(0.02)
    await training
    assert max(seen) == lower


@pytest.mark.parametrize("kind", ["svm", "kwbilstm"])
async def test_a_process_of_its_own_gives_the_same_judge_to_the_bit(kind: Kind) -> None:
    job = replace(JOB, kind=kind)
    beside = await train_beside(job)
    assert beside == train(job)
    figures = unpack(beside, "it")[0]["figures"]
    assert (figures["examples"], figures["relevant"], figures["labels"]) == (30, 15, 30)
    assert figures["found_keywords"] == ["garlic"]
    assert processes_of_training() == []


@pytest.mark.parametrize(
    ("job", "told"),
    [
        (replace(JOB, vectors="/nowhere.bin"), r"The word vectors /nowhere\.bin cannot be read.*relevance\.vectors\.$"),
        (replace(JOB, keywords=[3]), "AttributeError: "),  # type: ignore[list-item]  # as a bug would have it
    ],
)
async def test_a_training_that_fails_is_a_model_error_with_its_reason(job: Job, told: str) -> None:
    with pytest.raises(ModelError, match=f"The judge could not be trained: {told}"):
        await train_beside(job)


async def test_a_training_for_which_there_is_no_room_is_a_model_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", "/nowhere")
    with pytest.raises(ModelError, match=r"The judge could not be trained: .*No such file"):
        await train_beside(JOB)


async def test_a_cancelled_training_leaves_no_process_and_no_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    running = asyncio.create_task(train_beside(replace(JOB, kind="bilstm", examples=made_examples(2000))))
    while not processes_of_training():
        await asyncio.sleep(0.01)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert processes_of_training() == []
    assert list(tmp_path.iterdir()) == []
