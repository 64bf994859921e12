"""Looking at a web: the table and the pictures."""

from __future__ import annotations

from pathlib import Path

from tests.commands import tres
from tres_crawler.simweb.describe import describe
from tres_crawler.simweb.model import Web
from tres_crawler.simweb.params import WebParams


def test_the_figures_are_those_of_the_parameters() -> None:
    params = WebParams.of(sites=300, pages=6000)
    found = describe(Web(params))
    assert sum(sites for sites, _ in found.kinds.values()) == 300
    assert sum(pages for _, pages in found.kinds.values()) == 6000
    assert abs(found.outcomes["dead"] - params.dead_links) < 0.01
    assert abs(found.anchors["generic"] - params.anchor_generic) < 0.04
    assert abs(found.forms["foreign"] - params.foreign_pages) < 0.015
    same = [row[at] for at, row in enumerate(found.mixing[:-1])]
    assert min(same) > 0.15, "links lean towards their page's topic"
    assert all(abs(sum(row) - 1) < 1e-9 for row in found.mixing)


def test_the_command_prints_the_table_and_writes_the_pictures(tmp_path: Path) -> None:
    told = tres("simweb", "--sites", "100", "--pages", "1000", "--plots", "pictures", cwd=tmp_path)
    assert told.returncode == 0, told.stderr
    for word in ("topical", "sports", "met on random walks", "hidden regions", '"links_inside"'):
        assert word in told.stdout
    assert {path.name for path in (tmp_path / "pictures").iterdir()} == {"sizes.png", "degrees.png", "mixing.png"}
