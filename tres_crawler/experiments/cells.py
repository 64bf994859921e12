"""One crawl of one simulated web as a cell of a table: run in processes of its own, judged by the web's log, kept."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any

from tres_crawler.config import ENV_PREFIX, Settings
from tres_crawler.errors import ConfigError, TresError
from tres_crawler.experiments import afterwards
from tres_crawler.experiments.fetch import running_web
from tres_crawler.experiments.report import Say
from tres_crawler.simweb import truth
from tres_crawler.simweb.model import Web
from tres_crawler.simweb.params import WebParams, family

FAMILY = "tune"
"""Webs to choose settings on; what is chosen here is reported elsewhere, on the family `report`."""
CAP = "50"
"""Most pages of a site unless a cell says otherwise."""
CURVE_EVERY = 100
LOOK_SECONDS = 0.2
KEYED = ("fetch", "crawl", "relevance", "choose", "frontier", "features", "learn")
"""Sections of the settings that a crawl's outcome depends on."""

Figures = Mapping[str, Any]


@dataclass(frozen=True)
class Cell:
    """Which crawl of which web; equal cells are the same measurement."""

    web: int
    topic: str
    policy: str
    pages: int
    seed: int
    settings: tuple[tuple[str, str], ...] = ()
    """Laid over the defaults: ("learn.target", "advantage")."""
    kills: int = 0
    """How often the crawl is killed on its way, and resumed."""

    @property
    def name(self) -> str:
        """Of what it is kept as; it has all settings in it, so that a cell is another one when a default changes."""
        sections: dict[str, dict[str, str]] = {}
        for key, value in {"crawl.max_per_site": CAP, **dict(self.settings)}.items():
            section, _, field = key.partition(".")
            sections.setdefault(section, {})[field] = value
        effective = {
            name: type(info.default)(**sections.get(name, {})).model_dump()
            for name, info in Settings.model_fields.items()
            if name in KEYED
        }
        content = json.dumps({**asdict(self), "settings": effective}, sort_keys=True)
        digest = blake2b(content.encode(), digest_size=4).hexdigest()
        return f"{FAMILY}{self.web}-{self.topic}-{self.policy}-{self.pages}-{self.seed}-{digest}"

    def __str__(self) -> str:
        changed = "".join(f" {name}={value}" for name, value in self.settings)
        killed = f", killed {self.kills} times" if self.kills else ""
        return f"{self.policy} on {self.topic} of web {self.web}, seed {self.seed}{changed}{killed}"

    def environment(self) -> dict[str, str]:
        """Of its crawl: nobody's own settings, no pause between requests, one thread for each kind of work."""
        settings = {"fetch.delay_seconds": "0", "crawl.max_per_site": CAP, **dict(self.settings)}
        own = {ENV_PREFIX + name.upper().replace(".", "__"): value for name, value in settings.items()}
        others = {name: value for name, value in os.environ.items() if not name.startswith(ENV_PREFIX)}
        return {"OMP_NUM_THREADS": "1", **others, **own}


async def run_cells(cells: Iterable[Cell], keep: Path | None, jobs: int, say: Say) -> dict[Cell, Figures]:
    """The figures of every cell, so many at once; those that `keep` has already are not run again."""
    wanted = list(dict.fromkeys(cells))
    done = {cell: known for cell in wanted if (known := _kept(cell, keep)) is not None}
    if done:
        say(f"{len(done)} of {len(wanted)} cells were kept from before")
    turn = asyncio.Semaphore(jobs)

    async def run(cell: Cell) -> None:
        async with turn:
            figures = await run_cell(cell)
        if keep:
            _keep(cell, figures, keep)
        done[cell] = figures
        say(f"{len(done)} of {len(wanted)}: {cell}: {figures['harvest']:.1%}, {figures['relevant_sites']} sites")

    try:
        async with asyncio.TaskGroup() as group:
            for cell in wanted:
                if cell not in done:
                    group.create_task(run(cell))
    except* TresError as troubles:
        trouble: BaseException = troubles
        while isinstance(trouble, BaseExceptionGroup):
            trouble = trouble.exceptions[0]
    else:
        return done
    raise trouble


async def run_cell(cell: Cell) -> Figures:
    params = family(FAMILY, cell.web)
    with tempfile.TemporaryDirectory(prefix="tres-cell-") as scratch:
        folder = Path(scratch)
        log, data = folder / "requests.jsonl", folder / "data"
        async with served(params, folder, log) as address:
            own, lives = await _crawl(cell, folder, address, log)
        web = Web(params)
        found = await asyncio.to_thread(_by_truth, web, log, cell.topic)
        learned = await afterwards.learned(data, web, cell.topic) if cell.policy == "tres" else None
        lives.append(await afterwards.life(data))
        judge = await afterwards.judged(data, web, cell.topic)
    names = ("harvest_rate", "leaves", "waiting", "seconds", "pages_per_second", "stop_reason")
    return {**found, "own": {name: own[name] for name in names}, "lives": lives, "learned": learned, "judge": judge}


def served(params: WebParams, folder: Path, log: Path) -> Any:
    """The web on a free port, its topic files in `folder`."""
    file = folder / "web.toml"
    given = params.model_dump(exclude_defaults=True)
    file.write_text("".join(f"{name} = {json.dumps(value)}\n" for name, value in given.items()), encoding="utf-8")
    return running_web("--params", str(file), "--log", str(log), "--write-topics", str(folder / "topics"))


async def _crawl(cell: Cell, folder: Path, address: str, log: Path) -> tuple[Figures, list[Figures]]:
    """Its own summary, and what each of its lives had left when it was killed."""
    data = str(folder / "data")
    command = ["crawl", str(folder / "topics" / f"{cell.topic}.toml"), "--pages", str(cell.pages)]
    command += ["--policy", cell.policy, "--seed", str(cell.seed), "--connect-to", address]
    lives: list[Figures] = []
    for number in range(1, cell.kills + 1):
        process = await _start(cell, [*command, "--data-dir", data, "--json"])
        await _killed(process, log, cell.pages * number // (cell.kills + 1))
        lives.append(await afterwards.life(Path(data)))
        command = ["resume", "1"]
    process = await _start(cell, [*command, "--data-dir", data, "--json"])
    try:
        told, trouble = await process.communicate()
    finally:
        await _ended(process)
    if process.returncode:
        raise TresError(f"The crawl of {cell} failed: {trouble.decode(errors='replace').strip()[-500:]}")
    return json.loads(told), lives


async def _start(cell: Cell, arguments: list[str]) -> asyncio.subprocess.Process:
    pipe = asyncio.subprocess.PIPE
    command = [sys.executable, "-m", "tres_crawler", *arguments]
    return await asyncio.create_subprocess_exec(*command, stdout=pipe, stderr=pipe, env=cell.environment())


async def _killed(process: asyncio.subprocess.Process, log: Path, pages: int) -> None:
    """Let it fetch so many pages in all, then kill it."""
    try:
        # The log is another process's; it sets no event.
        while process.returncode is None and _pages_in(log) < pages:  # noqa: ASYNC110
            await asyncio.sleep(LOOK_SECONDS)
    finally:
        await _ended(process)


async def _ended(process: asyncio.subprocess.Process) -> None:
    if process.returncode is None:
        process.kill()
    # communicate, not wait: a pipe that nobody empties keeps its transport open.
    await process.communicate()


def _pages_in(log: Path) -> int:
    return sum(1 for _ in truth.pages_of(truth.read_log(log)[1])) if log.exists() else 0


def _by_truth(web: Web, log: Path, topic: str) -> dict[str, Any]:
    requests = truth.read_log(log)[1]
    curve = [list(row) for row in truth.harvest_over_time(web, requests, topic, CURVE_EVERY)]
    judged = truth.judge(web, requests, topic)
    names = ("harvest", "pages", "relevant_pages", "relevant_sites", "repeats")
    values = (judged.harvest_rate, judged.pages, judged.relevant_pages, judged.relevant_sites, judged.repeats)
    return {**dict(zip(names, values, strict=True)), "curve": curve}


# ---- keeping ----


def _kept(cell: Cell, keep: Path | None) -> Figures | None:
    if keep is None:
        return None
    try:
        kept = json.loads((keep / f"{cell.name}.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    figures: Figures = kept["figures"]
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
