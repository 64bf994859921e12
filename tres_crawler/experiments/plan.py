"""How much of a focused benchmark is measured, and on which webs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tres_crawler.caps import parse_site_cap
from tres_crawler.errors import ConfigError
from tres_crawler.experiments.cells import FAMILY, Cell, Figures, Judge, run_cells
from tres_crawler.experiments.crawling import CAP
from tres_crawler.experiments.report import Check, Report, Say
from tres_crawler.explaining import nearest
from tres_crawler.simweb.params import FAMILIES

REPORTED = "report"
PLACES = ((0, "games"), (1, "health"))
"""Webs of the family, each with its topic."""
QUICK_PAGES = 72
"""Too few for a judge to be trained, which takes most of such a crawl's time."""


@dataclass(frozen=True)
class Plan:
    """How much is measured; None: what the part deserves."""

    say: Say
    pages: int | None = None
    seeds: int | None = None
    jobs: int = 2
    policies: tuple[str, ...] = ()
    keep: Path | None = None
    quick: bool = False
    judge: Judge = "shared"
    """Whether crawls of one web, topic and seed begin with the same judge, or each bootstraps its own."""
    caps: tuple[str, ...] = ()
    """MAX of part matrix."""
    family: str = REPORTED
    """Webs of part matrix; all other parts are for choosing."""
    only_kept: bool = False
    """Report what is kept and run nothing."""
    scale: int = 1
    """How many times as large the webs of part matrix are as those of their family."""

    def __post_init__(self) -> None:
        for cap in self.caps:
            try:
                parse_site_cap(cap)
            except ValueError as error:
                raise ConfigError(f"--max: {error}.") from error
        if self.family not in FAMILIES:
            raise ConfigError(f'There is no family of webs "{self.family}".{nearest(self.family, FAMILIES)}')
        if self.only_kept and not self.keep:
            raise ConfigError("--only-kept needs --keep DIR: where finished crawls are.")
        if self.keep and not self.only_kept:
            try:
                self.keep.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise ConfigError(f"{self.keep} cannot be a folder for cells: {error.strerror}.") from error

    def of(self, pages: int, seeds: int) -> Plan:
        """With what a part asks for where nothing is given."""
        if self.quick:
            return replace(self, pages=self.pages or QUICK_PAGES, seeds=self.seeds or 1, judge="own")
        return replace(self, pages=self.pages or pages, seeds=self.seeds or seeds)

    def cells(
        self, settings: Mapping[str, str] | None = None, places: int = 2, policy: str = "tres", kills: int = 0
    ) -> list[Cell]:
        """One way to crawl on every place with every seed."""
        assert self.pages and self.seeds
        over = tuple(sorted((settings or {}).items()))
        chosen = PLACES[: 1 if self.quick else places]
        return [
            Cell(web, topic, policy, self.pages, seed, over, kills, judge=self.judge)
            for seed in range(1, self.seeds + 1)
            for web, topic in chosen
        ]

    async def run(self, ways: Mapping[str, list[Cell]]) -> dict[str, list[Figures]]:
        # Seed by seed: a bench that is stopped early has some of every way.
        mixed = [cells[at] for at in range(max(map(len, ways.values()))) for cells in ways.values() if at < len(cells)]
        found = await run_cells(mixed, self.keep, self.jobs, self.say)
        return {name: [found[cell] for cell in cells] for name, cells in ways.items()}

    def report(self, part: str, rows: Sequence[Mapping[str, Any]], checks: Sequence[Check], **more: Any) -> Report:
        shown = {
            "part": part,
            "family": FAMILY,
            "pages": self.pages,
            "seeds": self.seeds,
            "max_per_site": CAP,
            "judge": self.judge,
        }
        return Report("focused", {**shown, **more}, rows, checks)
