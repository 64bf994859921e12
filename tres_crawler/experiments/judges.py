"""Judges that crawls share: bootstrapped once from ten keywords and one seed, then given to every policy alike."""

from __future__ import annotations

import asyncio
import json
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
from tres_crawler.records import Topic
from tres_crawler.relevance import BUDGET_SHARE, PRIOR_VERSION
from tres_crawler.simweb.topics import KEYWORDS
from tres_crawler.store import crawls, judging
from tres_crawler.store.database import Database
from tres_crawler.store.datadir import DataDir

TEACHER = 1
"""Number of the crawl whose judge it is, where it is trained and where it is given to."""
TEACHING_POLICY = "best-first"


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

    async def give_to(self, data: Path, lesson: Lesson) -> bool:
        """Make `data` a data directory with a crawl that has the judge; False if none could be trained at all."""
        asked = _relevance(lesson.settings)
        if asked["model"] == "prior" or not asked["bootstrap_pages"]:
            return False
        made = self._folder / f"{lesson.name}.npz"
        async with self._turns[lesson]:
            if not made.exists():
                self._say(f"training {lesson}")
                await _taught(lesson, made)
        body = await asyncio.to_thread(made.read_bytes)
        if not body:
            return False
        await asyncio.to_thread(data.mkdir)
        topic = Topic(lesson.topic, tuple(KEYWORDS[lesson.topic].split()), ())
        async with Database(DataDir(data).url) as database:
            await crawls.create(
                database,
                topic,
                {"relevance": asked},
                TEACHING_POLICY,
                lesson.seed,
                then=lambda crawl: [judging.new_version(crawl, PRIOR_VERSION + 1, body)],
            )
        return True


async def _taught(lesson: Lesson, made: Path) -> None:
    """The judge of a crawl of as few pages as train one, or nothing; moved into place when it is whole."""
    pages = BUDGET_SHARE * int(_relevance(lesson.settings)["bootstrap_pages"])
    web = web_with(lesson.family, lesson.web, lesson.topic, pages, lesson.scale)
    made.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="part-", dir=made.parent) as scratch:
        folder = Path(scratch)
        data = folder / "data"
        async with served(web.params, folder, folder / "requests.jsonl") as address:
            command = ["crawl", str(topic_file(web, lesson.topic, lesson.seed, folder)), "--pages", str(pages)]
            command += ["--policy", TEACHING_POLICY, "--seed", str(lesson.seed), "--connect-to", address]
            process = await started([*command, "--data-dir", str(data), "--json"], lesson.settings)
            await finished(process, str(lesson))
        async with Database(DataDir(data).url, read_only=True) as database:
            trained = await judging.newest_version(database, TEACHER)
        await asyncio.to_thread((folder / made.name).write_bytes, trained[1] if trained else b"")
        await asyncio.to_thread((folder / made.name).replace, made)


def _relevance(settings: Overrides) -> Mapping[str, Any]:
    found: Mapping[str, Any] = effective(settings, ("relevance",))["relevance"]
    return found
