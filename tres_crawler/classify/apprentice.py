"""Training in a process of its own, at low priority where a crawl goes on meanwhile.

`python -m tres_crawler.classify.apprentice JOB RESULT NICENESS` reads a job as JSON and writes the model's bytes.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tres_crawler.errors import ModelError
from tres_crawler.records import Example, PageText

if TYPE_CHECKING:
    from tres_crawler.classify.calibrating import Goal
    from tres_crawler.classify.training import Kind

LOW_PRIORITY = 10


@dataclass(frozen=True)
class Job:
    """All that a training depends on."""

    kind: Kind
    keywords: Sequence[str]
    found: Sequence[str]
    vectors: str
    goal: Goal
    seed: int
    examples: Sequence[Example]
    words: bool = True
    """Whether a network also learns single words."""
    pages: int = 0
    """How many pages the crawl had when it asked."""

    @classmethod
    def of(cls, told: dict[str, Any]) -> Job:
        examples = [Example(**{**row, "page": PageText(**row["page"])}) for row in told.pop("examples")]
        return cls(**told, examples=examples)


async def train_beside(job: Job, is_awaited: bool = False) -> bytes:
    """The trained model; a training that fails is a ModelError with its last words.

    One that everything waits for has no low priority: on a busy machine it would hardly get on.
    """
    try:
        return await _trained_beside(job, 0 if is_awaited else LOW_PRIORITY)
    except OSError as error:  # no room for its files, or no process to be had
        raise ModelError(f"The judge could not be trained: {error}") from error


async def _trained_beside(job: Job, niceness: int) -> bytes:
    with tempfile.TemporaryDirectory(prefix="tres-train-") as folder:
        task, result = Path(folder) / "job.json", Path(folder) / "model.npz"
        await asyncio.to_thread(task.write_text, json.dumps(asdict(job)), encoding="utf-8")
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            __name__,
            str(task),
            str(result),
            str(niceness),
            env={**os.environ, "OMP_NUM_THREADS": "1"},
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.PIPE,
            start_new_session=True,  # Ctrl-C is for the crawl, which ends the training itself
        )
        try:
            _, said = await process.communicate()
        except asyncio.CancelledError:
            process.kill()
            await process.wait()
            raise
        if process.returncode:
            last = said.decode(errors="replace").strip().rpartition("\n")[2]
            raise ModelError(f"The judge could not be trained: {last or f'exit code {process.returncode}'}")
        return await asyncio.to_thread(result.read_bytes)


def train(job: Job, progress: Callable[[str], None] = lambda _: None) -> bytes:
    """The same in this process."""
    from tres_crawler.classify.prior import Prior
    from tres_crawler.classify.training import fit
    from tres_crawler.vectors import load_vectors

    prior = Prior(load_vectors(job.vectors), job.keywords, job.found)
    fitted = fit(job.kind, job.examples, prior, job.goal, job.seed, progress, words=job.words)
    figures = asdict(fitted.figures) if fitted.figures else {}
    labels = sum(example.is_label for example in job.examples)
    relevant = sum(example.relevant for example in job.examples)
    return fitted.model.dump(
        **figures,
        examples=len(job.examples),
        relevant=relevant,
        labels=labels,
        pages=job.pages,
        found_keywords=list(job.found),
    )


def main() -> None:
    os.nice(int(sys.argv[3]))
    task, result = map(Path, sys.argv[1:3])
    try:
        body = train(Job.of(json.loads(task.read_text(encoding="utf-8"))))
    except ModelError as error:
        sys.exit(str(error))
    result.write_bytes(body)


if __name__ == "__main__":
    main()
