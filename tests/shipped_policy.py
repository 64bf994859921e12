"""Makes models/policy.npz and its card: `python -m tests.shipped_policy [FOLDER]` (a quarter of an hour on two cores).

Crawls of tuning webs, none of them reported on, in FOLDER or a temporary one; what their learners remember is put
together, and one learner is taught on all of it.
"""

from __future__ import annotations

import asyncio
import json
import sys
import tempfile
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from tres_crawler.config import FeatureSettings, LearnSettings
from tres_crawler.experiments.crawling import finished, served, started, topic_file, web_with
from tres_crawler.features import Describer
from tres_crawler.learn.ddqn import Ddqn
from tres_crawler.store import learning
from tres_crawler.store.database import Database
from tres_crawler.store.datadir import DataDir

MODELS = Path(__file__).parent.parent / "models"
WEBS = {
    20: "games",
    21: "health",
    22: "computers",
    23: "recreation",
    24: "computers",
    25: "recreation",
    26: "games",
    27: "health",
}
PAGES = 700
STEPS = 20_000


def learner() -> Ddqn:
    describer = Describer(FeatureSettings(), ())
    return Ddqn(LearnSettings(), describer.name, describer.dim, prior=describer.simple_rule())


async def remembered(number: int, topic: str, folder: Path) -> dict[str, Any]:
    """The transitions of a crawl that begins untaught."""
    folder.mkdir(parents=True, exist_ok=True)
    data = folder / "data"
    if not data.exists():
        web = web_with("tune", number, topic, PAGES)
        async with served(web.params, folder, folder / "requests.jsonl") as address:
            command = ["crawl", str(topic_file(web, topic, 1, folder)), "--pages", str(PAGES), "--connect-to", address]
            command += ["--seed", str(number), "--data-dir", str(data), "--json"]
            await finished(await started(command, (("learn.start", "untaught"),)), f"{topic} on web {number}")
    async with Database(DataDir(data).url, read_only=True) as database:
        saved = await learning.newest(database, 1, learning.LEARNER)
    assert saved
    known = learner()
    known.load(saved)
    print(f"web {number}, {topic}: {len(known.replay)} transitions", flush=True)
    return known.replay.arrays()


async def taught(folder: Path) -> Ddqn:
    """Two crawls at a time."""
    turn = asyncio.Semaphore(2)

    async def one(number: int, topic: str) -> dict[str, Any]:
        async with turn:
            return await remembered(number, topic, folder / str(number))

    parts = await asyncio.gather(*(one(number, topic) for number, topic in WEBS.items()))
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
        "origin": f"Taught on crawls of {PAGES} pages of the simulated tuning webs "
        + ", ".join(f"{number} ({topic})" for number, topic in WEBS.items())
        + "; no web or topic of the reporting family.",
        "made_by": "python -m tests.shipped_policy",
        "licence": "Apache-2.0",
    }
    path.with_suffix(".json").write_text(json.dumps(card, indent=2) + "\n", encoding="utf-8")
    print(f"{path}: {len(body):,} bytes")


if __name__ == "__main__":
    main()
