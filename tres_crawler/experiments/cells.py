"""One crawl of one simulated web as a cell of a table: run in processes of its own, judged by the web's log, kept."""

from __future__ import annotations

import asyncio
import json
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sized
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any, Literal

from tres_crawler.cards import checked
from tres_crawler.config import Settings
from tres_crawler.errors import ConfigError, TresError
from tres_crawler.experiments import afterwards, oracles
from tres_crawler.experiments.crawling import (
    CAP,
    Overrides,
    effective,
    ended,
    finished,
    served,
    started,
    topic_file,
    web_with,
)
from tres_crawler.experiments.judges import TEACHER, Judges, Lesson
from tres_crawler.experiments.ranking import ranking
from tres_crawler.experiments.report import Say
from tres_crawler.experiments.spending import spent
from tres_crawler.policies.registry import LEARNERS, settled
from tres_crawler.resources import shipped
from tres_crawler.simweb import truth
from tres_crawler.simweb.model import Web

FAMILY = "tune"
"""Webs to choose settings on; what is chosen here is reported elsewhere, on the family `report`."""
CURVE_EVERY = 100
LOOK_SECONDS = 0.2
PLAINLY_KEYED = ("fetch", "crawl", "relevance", "choose")
KEYED = (*PLAINLY_KEYED, "frontier", "features", "learn")
"""Sections of the settings that a crawl's outcome depends on: without a learner, and with one."""

Figures = Mapping[str, Any]


Judge = Literal["shared", "learning", "own", "true"]
"""That which all cells of a web, topic and seed share, from the first page to the last; the same, but it goes on
learning from what the crawl meets; one that the crawl bootstraps for itself; the shared one for anchors and the truth
for pages."""


@dataclass(frozen=True)
class Cell:
    """Which crawl of which web; equal cells are the same measurement."""

    web: int
    topic: str
    policy: str
    pages: int
    seed: int
    settings: Overrides = ()
    """Laid over the defaults: ("learn.target", "advantage")."""
    kills: int = 0
    """How often the crawl is killed on its way, and resumed."""
    family: str = FAMILY
    judge: Judge = "shared"
    scale: int = 1
    """How many times as large the web is as those of its family are."""

    @property
    def name(self) -> str:
        """Of what it is kept as; it has all that counts in it, so that it is another when a default changes."""
        named = () if self.policy in oracles.ORACLES else (("crawl.policy", self.policy),)
        given = effective((("crawl.max_per_site", CAP), *named, *self.given), KEYED)
        counting = settled(Settings.kept(given)).model_dump(include=set(KEYED))
        if self.policy not in LEARNERS:
            counting = {name: counting[name] for name in PLAINLY_KEYED}
            del counting["choose"]["eagerness"]
        elif counting["learn"]["start"] == "shipped":
            counting["policy"] = checked(shipped("models") / "policy.npz")["sha256"]
        content = json.dumps({**asdict(self), "settings": counting}, sort_keys=True)
        digest = blake2b(content.encode(), digest_size=4).hexdigest()
        return f"{self.family}{self.web}-{self.topic}-{self.policy}-{self.pages}-{self.seed}-{digest}"

    def __str__(self) -> str:
        changed = "".join(f" {name}={value}" for name, value in self.settings)
        judged = "" if self.judge == "shared" else f", {self.judge} judge"
        killed = f", killed {self.kills} times" if self.kills else ""
        where = f"{self.topic} of {self.family} web {self.web}" + (f" × {self.scale}" if self.scale > 1 else "")
        return f"{self.policy} on {where}, seed {self.seed}{changed}{judged}{killed}"

    @property
    def given(self) -> Overrides:
        """Its settings, and that a judge which it shares stays as it is."""
        return (*self.settings, ("relevance.relearn", "false")) if self.judge == "shared" else self.settings

    @property
    def knows_truth(self) -> bool:
        """Whether it is run by the experiments and not by the product."""
        return self.judge == "true" or self.policy in oracles.ORACLES

    @property
    def lesson(self) -> Lesson:
        """The judge that it shares with others."""
        own = tuple((name, value) for name, value in self.settings if name.startswith("relevance."))
        return Lesson(self.family, self.web, self.topic, self.seed, own, self.scale)


def kept_cells(cells: Iterable[Cell], keep: Path | None) -> dict[Cell, Figures]:
    """The figures of those cells that are kept."""
    return {cell: known for cell in cells if (known := _kept(cell, keep)) is not None}


async def run_cells(cells: Iterable[Cell], keep: Path | None, jobs: int, say: Say) -> dict[Cell, Figures]:
    """The figures of every cell, so many at once; those that `keep` has already are not run again."""
    wanted = list(dict.fromkeys(cells))
    # A web takes a moment to make, and many cells are on one.
    for web in dict.fromkeys((cell.family, cell.web, cell.topic, cell.pages, cell.scale) for cell in wanted):
        web_with(*web)
    done = kept_cells(wanted, keep)
    if done:
        say(f"{len(done)} of {len(wanted)} cells were kept from before")
    turn = asyncio.Semaphore(jobs)

    async def run(cell: Cell, judges: Judges) -> None:
        async with turn:
            figures = await run_cell(cell, judges)
        if keep:
            _keep(cell, figures, keep)
        done[cell] = figures
        say(f"{len(done)} of {len(wanted)}: {cell}: {figures['harvest']:.1%}, {figures['relevant_sites']} sites")

    try:
        with Judges(keep, say) as judges, _told_when_broken_off(done, wanted, keep, say):
            async with asyncio.TaskGroup() as group:
                for cell in wanted:
                    if cell not in done:
                        group.create_task(run(cell, judges))
    except* TresError as troubles:
        trouble: BaseException = troubles
        while isinstance(trouble, BaseExceptionGroup):
            trouble = trouble.exceptions[0]
    else:
        return done
    raise trouble


@contextmanager
def _told_when_broken_off(done: Sized, wanted: Sized, keep: Path | None, say: Say) -> Iterator[None]:
    try:
        yield
    except asyncio.CancelledError:
        so_far = f"Broken off after {len(done)} of {len(wanted)} crawls"
        if keep:
            say(f"{so_far}, which are kept in {keep}; the same command goes on.")
        else:
            say(f"{so_far}; none is kept. Give --keep DIR to be able to go on.")
        raise


async def run_cell(cell: Cell, judges: Judges) -> Figures:
    web = web_with(cell.family, cell.web, cell.topic, cell.pages, cell.scale)
    with tempfile.TemporaryDirectory(prefix="tres-cell-") as scratch:
        folder = Path(scratch)
        log, data = folder / "requests.jsonl", folder / "data"
        shared = cell.judge != "own" and await judges.give_to(data, cell.lesson)
        # A judge comes in a crawl of its own, which is there before the cell's.
        number = TEACHER + data.exists()
        async with served(web.params, folder, log) as address:
            begun = [str(topic_file(web, cell.topic, cell.seed, folder)), "--connect-to", address]
            begun += ["--judge-from", str(TEACHER)] if shared else []
            own, lives = await _crawl(cell, begun, data, number, log)
        found = await asyncio.to_thread(_by_truth, web, log, cell.topic)
        # Only parts of the bench that are for choosing look at it, and it takes seconds.
        is_looked_at = cell.policy == "tres" and cell.family == FAMILY
        known = await afterwards.known_links(data, number) if is_looked_at else None
        lives.append(await afterwards.life(data, number))
        judge = {"shared": shared, **await afterwards.judged(data, number, web, cell.topic)}
    names = ("harvest_rate", "leaves", "waiting", "seconds", "pages_per_second", "stop_reason")
    return {
        "topic": cell.topic,
        **found,
        "own": {name: own[name] for name in names},
        "lives": lives,
        "learned": afterwards.hub_values(known, web, cell.topic) if known else {},
        "ranking": ranking(known, web, cell.topic) if known else {},
        "judge": judge,
    }


async def _crawl(cell: Cell, begun: list[str], data: Path, number: int, log: Path) -> tuple[Figures, list[Figures]]:
    """Its own summary, and what each of its lives had left when it was killed."""
    command = [*begun, "--pages", str(cell.pages), "--policy", cell.policy, "--seed", str(cell.seed)]
    there = ["--data-dir", str(data), "--json"]
    if cell.knows_truth:
        command += ["--family", cell.family, "--web", str(cell.web), "--scale", str(cell.scale)]
        command += ["--true-judge"] if cell.judge == "true" else []
        process = await started([*command, *there], cell.given, oracles.MODULE)
        return await finished(process, str(cell)), []
    command = ["crawl", *command]
    lives: list[Figures] = []
    for life in range(1, cell.kills + 1):
        process = await started([*command, *there], cell.given)
        await _killed(process, log, cell.pages * life // (cell.kills + 1))
        lives.append(await afterwards.life(data, number))
        command = ["resume", str(number)]
    return await finished(await started([*command, *there], cell.given), str(cell)), lives


async def _killed(process: asyncio.subprocess.Process, log: Path, pages: int) -> None:
    """Let it fetch so many pages in all, then kill it."""
    try:
        # The log is another process's; it sets no event.
        while process.returncode is None and _pages_in(log) < pages:  # noqa: ASYNC110
            await asyncio.sleep(LOOK_SECONDS)
    finally:
        await ended(process)


def _pages_in(log: Path) -> int:
    return sum(1 for _ in truth.pages_of(truth.read_log(log)[1])) if log.exists() else 0


def _by_truth(web: Web, log: Path, topic: str) -> dict[str, Any]:
    requests = truth.read_log(log)[1]
    curve = [list(row) for row in truth.harvest_over_time(web, requests, topic, CURVE_EVERY)]
    judged = truth.judge(web, requests, topic)
    names = ("harvest", "pages", "relevant_pages", "relevant_sites", "repeats")
    values = (judged.harvest_rate, judged.pages, judged.relevant_pages, judged.relevant_sites, judged.repeats)
    return {**dict(zip(names, values, strict=True)), "curve": curve, "spent": spent(web, requests, topic)}


# ---- keeping ----


def _kept(cell: Cell, keep: Path | None) -> Figures | None:
    if keep is None:
        return None
    try:
        figures: Figures = json.loads((keep / f"{cell.name}.json").read_text(encoding="utf-8"))["figures"]
    except (OSError, ValueError, LookupError, TypeError):
        return None
    return figures


def _keep(cell: Cell, figures: Figures, keep: Path) -> None:
    """Written beside and moved into place: a bench that is killed leaves whole cells only."""
    made = keep / f"{cell.name}.json"
    beside = made.with_suffix(".part")
    try:
        beside.write_text(json.dumps({"cell": asdict(cell), "figures": figures}), encoding="utf-8")
        beside.replace(made)
    except OSError as error:
        raise ConfigError(f"Cells cannot be kept in {keep}: {error.strerror}. Give another --keep.") from error
