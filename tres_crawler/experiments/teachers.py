"""Policies that warm crawls begin with: learned once, on a web and a topic for choosing, and carried over."""

from __future__ import annotations

import asyncio
import json
import tempfile
from hashlib import blake2b
from pathlib import Path

from tres_crawler.errors import TresError
from tres_crawler.experiments.crawling import Overrides, effective, finished, served, started, topic_file, web_with
from tres_crawler.experiments.judges import TEACHER, Judges, Lesson
from tres_crawler.experiments.report import Say
from tres_crawler.store import crawls, learning
from tres_crawler.store.database import Database
from tres_crawler.store.datadir import DataDir
from tres_crawler.topic import load_topic

PUPILS = "tres"
LESSON = Lesson("tune", 0, "games", 1)
PAGES = 1500
LEARNED_BY = ("frontier", "features", "learn")
"""Sections of a crawl's settings that its teacher shares."""


class Teachers:
    """Every policy is learned once; with `keep` it is also there for the next bench."""

    def __init__(self, keep: Path | None, judges: Judges, say: Say) -> None:
        self._folder = keep / "policies" if keep else None
        self._judges = judges
        self._say = say
        self._turn = asyncio.Lock()
        self._known: dict[str, bytes] = {}

    async def policy_for(self, settings: Overrides) -> bytes:
        """What a crawl with these settings can begin with."""
        own = tuple((name, value) for name, value in settings if name.partition(".")[0] in LEARNED_BY)
        told = json.dumps({"pages": PAGES, "lesson": LESSON.name, "settings": effective(own, LEARNED_BY)})
        name = f"{PUPILS}-{blake2b(told.encode(), digest_size=4).hexdigest()}"
        async with self._turn:
            if name not in self._known:
                self._known[name] = await self._kept_or_learned(name, own)
        return self._known[name]

    async def _kept_or_learned(self, name: str, own: Overrides) -> bytes:
        file = self._folder / name if self._folder else None
        if file and file.exists():
            return file.read_bytes()
        self._say(f"learning a policy on {LESSON.topic} of {LESSON.family} web {LESSON.web}, {PAGES} pages")
        learned = await _learned(self._judges, own)
        if file:
            file.parent.mkdir(exist_ok=True)
            part = file.with_suffix(".part")
            part.write_bytes(learned)
            part.replace(file)
        return learned


async def _learned(judges: Judges, own: Overrides) -> bytes:
    web = web_with(LESSON.family, LESSON.web, LESSON.topic, PAGES)
    with tempfile.TemporaryDirectory(prefix="tres-teacher-") as scratch:
        folder = Path(scratch)
        data = folder / "data"
        judge = ["--judge-from", str(TEACHER)] if await judges.copy_to(data, LESSON) else []
        number = TEACHER + data.exists()
        async with served(web.params, folder, folder / "requests.jsonl") as address:
            command = ["crawl", str(topic_file(web, LESSON.topic, LESSON.seed, folder)), "--connect-to", address]
            command += ["--pages", str(PAGES), "--policy", PUPILS, "--seed", str(LESSON.seed), *judge]
            await finished(await started([*command, "--data-dir", str(data), "--json"], own), "a teacher")
        async with Database(DataDir(data).url, read_only=True) as database:
            found = await learning.newest(database, number, learning.POLICY)
    if found is None:
        raise TresError("The teacher of warm crawls has learned nothing.")
    return found


async def bring(policy: bytes, data: Path, topic: Path) -> int:
    """Put a policy into a data directory as that of a crawl of its own, whose number is returned."""
    with DataDir(data) as folder:
        async with Database(folder.url) as database:
            number = await crawls.create(database, load_topic(topic), {}, PUPILS, 0)
            await database.write(learning.copied_policy(number, policy))
    return number
