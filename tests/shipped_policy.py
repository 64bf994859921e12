"""Makes models/policy.npz and its card: `python -m tests.shipped_policy [FOLDER]` (a quarter of an hour on two cores).

Crawls of tuning webs, none of them reported on, in FOLDER or a temporary one, rewarded by the truth of the web; what
their learners remember is put together, and one learner is taught on all of it.
"""

from __future__ import annotations

import asyncio
import json
import shutil
import sys
import tempfile
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from tres_crawler.config import FeatureSettings, LearnSettings
from tres_crawler.experiments import oracles
from tres_crawler.experiments.crawling import finished, served, started, topic_file, web_with
from tres_crawler.experiments.judges import TEACHER, Judges, Lesson
from tres_crawler.features import Describer
from tres_crawler.learn.ddqn import Ddqn
from tres_crawler.store import learning
from tres_crawler.store.database import Database
from tres_crawler.store.datadir import DataDir

MODELS = Path(__file__).parent.parent / "models"
TOPICS = ("games", "health", "computers", "recreation")
WEBS = {number: TOPICS[number % 4] for number in range(20, 28)}
PAGES = 1_000
EPSILONS = (0.02, 0.3)
"""Every web is crawled with little chance and with much: what is hardly ever chosen must be known too."""
STEPS = 12_000


def learner() -> Ddqn:
    describer = Describer(FeatureSettings(), ())
    return Ddqn(LearnSettings(), describer.name, describer.dim, prior=describer.simple_rule())


async def remembered(number: int, topic: str, epsilon: float, folder: Path, judges: Judges) -> dict[str, Any]:
    """The transitions of a crawl that begins untaught; the judge's word counts for anchors alone."""
    data, log, done = folder / "data", folder / "requests.jsonl", folder / "done"
    if not done.exists():
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        web = web_with("tune", number, topic, PAGES)
        await judges.give_to(data, Lesson("tune", number, topic, 1))
        async with served(web.params, folder, log) as address:
            command = [str(topic_file(web, topic, 1, folder)), "--pages", str(PAGES), "--connect-to", address]
            command += ["--family", "tune", "--web", str(number), "--true-judge", "--judge-from", str(TEACHER)]
            command += ["--policy", "tres", "--seed", str(number), "--data-dir", str(data), "--json"]
            settings = (("learn.start", "untaught"), ("learn.epsilon", str(epsilon)))
            await finished(await started(command, settings, oracles.MODULE), f"{topic} on web {number}")
        done.touch()
    async with Database(DataDir(data).url, read_only=True) as database:
        saved = await learning.newest(database, TEACHER + 1, learning.LEARNER)
    assert saved
    known = learner()
    known.load(saved)
    print(f"web {number}, {topic}, {epsilon}: {len(known.replay)} transitions", flush=True)
    return known.replay.arrays()


async def taught(folder: Path) -> Ddqn:
    """Two crawls at a time."""
    turn = asyncio.Semaphore(2)

    async def one(number: int, topic: str, epsilon: float, judges: Judges) -> dict[str, Any]:
        async with turn:
            return await remembered(number, topic, epsilon, folder / f"{number}-{epsilon}", judges)

    with Judges(folder, print) as judges:
        crawls = (one(number, topic, epsilon, judges) for epsilon in EPSILONS for number, topic in WEBS.items())
        parts = await asyncio.gather(*crawls)
    made = learner()
    made.replay.restore({name: np.concatenate([part[name] for part in parts]) for name in parts[0]})
    print(f"loss {made.train(STEPS):.4f} over {STEPS:,} steps", flush=True)
    return made


def main() -> None:
    with tempfile.TemporaryDirectory() as scratch:
        body = asyncio.run(taught(Path(sys.argv[1] if len(sys.argv) > 1 else scratch))).policy()
    path = MODELS / "policy.npz"
    path.write_bytes(body)
    card = {
        "name": "Policy to begin with",
        "file": path.name,
        "sha256": sha256(body).hexdigest(),
        "bytes": len(body),
        "features": list(Describer(FeatureSettings(), ()).columns),
        "format": "What `learn/snapshot.py` writes: the online network of a DDQN.",
        "origin": f"Taught on crawls of {PAGES:,} pages of the simulated tuning webs "
        + ", ".join(f"{number} ({topic})" for number, topic in WEBS.items())
        + f", rewarded by their truth, with a chance of {EPSILONS[0]} and of {EPSILONS[1]} in their choices; no web or "
        "topic of the reporting family.",
        "made_by": "python -m tests.shipped_policy",
        "licence": "Apache-2.0",
    }
    path.with_suffix(".json").write_text(json.dumps(card, indent=2) + "\n", encoding="utf-8")
    print(f"{path}: {len(body):,} bytes")


if __name__ == "__main__":
    main()
