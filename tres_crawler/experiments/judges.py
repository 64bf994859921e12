"""Judges that crawls share: bootstrapped once from ten keywords and one seed, then given to every policy alike."""

from __future__ import annotations

import asyncio
import json
import shutil
import tempfile
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from hashlib import blake2b
from pathlib import Path
from types import TracebackType
from typing import Any

from tres_crawler.experiments.crawling import Overrides, effective, finished, served, started, topic_file, web_with
from tres_crawler.experiments.report import Say
from tres_crawler.relevance import BUDGET_SHARE
from tres_crawler.store import judging
from tres_crawler.store.database import Database
from tres_crawler.store.datadir import DataDir

TEACHER = 1
"""Number of the crawl whose judge it is, in its folder and in every copy of it."""


@dataclass(frozen=True)
class Lesson:
    """Which judge: of which web, topic and seed, under which settings of relevance."""

    family: str
    web: int
    topic: str
    seed: int
    settings: Overrides = ()
    scale: int = 1

    @property
    def name(self) -> str:
        told = {**asdict(self), "settings": effective(self.settings, ("relevance",))}
        digest = blake2b(json.dumps(told, sort_keys=True).encode(), digest_size=4).hexdigest()
        return f"{self.family}{self.web}-{self.topic}-{self.seed}-{digest}"

    def __str__(self) -> str:
        changed = "".join(f" {name}={value}" for name, value in self.settings)
        large = f" × {self.scale}" if self.scale > 1 else ""
        return f"a judge of {self.topic}, {self.family} web {self.web}{large}, seed {self.seed}{changed}"


class Judges:
    """Every judge is made once, however many cells wait for it; with `keep` it is also there for the next bench."""

    def __init__(self, keep: Path | None, say: Say) -> None:
        self._say = say
        self._scratch = None if keep else tempfile.TemporaryDirectory(prefix="tres-judges-")
        self._folder = keep / "judges" if keep else Path(self._scratch.name if self._scratch else "")
        self._turns: dict[Lesson, asyncio.Lock] = defaultdict(asyncio.Lock)

    def __enter__(self) -> Judges:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._scratch:
            self._scratch.cleanup()

    async def copy_to(self, data: Path, lesson: Lesson) -> bool:
        """Make `data` a data directory that has the judge's crawl in it; whether a judge could be trained at all."""
        asked = _relevance(lesson.settings)
        if asked["model"] == "prior" or not asked["bootstrap_pages"]:
            return False
        made = self._folder / lesson.name
        async with self._turns[lesson]:
            if not made.exists():
                self._say(f"training {lesson}")
                await _taught(lesson, made)
        await asyncio.to_thread(shutil.copytree, made, data)
        return await _has_judge(data)


async def _taught(lesson: Lesson, made: Path) -> None:
    """A crawl of as few pages as train a judge; moved into place when it is whole."""
    pages = BUDGET_SHARE * int(_relevance(lesson.settings)["bootstrap_pages"])
    web = web_with(lesson.family, lesson.web, lesson.topic, pages, lesson.scale)
    made.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="part-", dir=made.parent) as scratch:
        folder = Path(scratch)
        data = folder / "data"
        async with served(web.params, folder, folder / "requests.jsonl") as address:
            command = ["crawl", str(topic_file(web, lesson.topic, lesson.seed, folder)), "--pages", str(pages)]
            command += ["--policy", "best-first", "--seed", str(lesson.seed), "--connect-to", address]
            process = await started([*command, "--data-dir", str(data), "--json"], lesson.settings)
            await finished(process, str(lesson))
        data.replace(made)


def _relevance(settings: Overrides) -> Mapping[str, Any]:
    found: Mapping[str, Any] = effective(settings, ("relevance",))["relevance"]
    return found


async def _has_judge(data: Path) -> bool:
    # To be written to: a judge that was kept by an older program is brought up to date.
    async with Database(DataDir(data).url) as database:
        return await judging.newest_version(database, TEACHER) is not None
