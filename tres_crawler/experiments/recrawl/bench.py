"""`tres bench recrawl`: one paper, reproduced."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from tres_crawler.errors import ConfigError
from tres_crawler.experiments import pictures
from tres_crawler.experiments.recrawl import paper000, paper001, paper002, paper004
from tres_crawler.experiments.recrawl.findings import Findings, Options
from tres_crawler.experiments.report import Report, Say

PAPERS: dict[str, Callable[[Options], Findings]] = {
    "004": paper004.findings,
    "002": paper002.findings,
    "000": paper000.findings,
    "001": paper001.findings,
}


def reproduce(paper: str, say: Say, *, quick: bool, data: Path | None = None, plots: Path | None = None) -> Report:
    """All tables of a paper, its checks, and its pictures in `plots`."""
    if paper not in PAPERS:
        raise ConfigError(f'There is no paper "{paper}" in the laboratory; there are: {", ".join(PAPERS)}.')
    if data is not None and paper != "001":
        raise ConfigError(f"Paper {paper} has no data of its own; --data is for paper 001.")
    found = PAPERS[paper](Options(say, quick, data))
    if plots:
        for path in pictures.write(found.pictures, plots):
            say(f"Picture: {path}")
    return found.report()
