"""Every policy under every cap on webs that no setting was chosen on, by their truth (TRES, Tables 3 and 4)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from tres_crawler.errors import ConfigError
from tres_crawler.experiments.cells import Cell, kept_cells, run_cells
from tres_crawler.experiments.comparison import purpose, report_of
from tres_crawler.experiments.plan import Plan
from tres_crawler.experiments.report import Report
from tres_crawler.experiments.rows import Row, chosen_rows


async def matrix(plan: Plan) -> Report:
    """All rows on all places with all seeds."""
    plan = plan.of(2000, 3)
    rows = chosen_rows(plan)
    cells = {row: row.cells(plan) for row in rows}
    # Seed by seed within a cap: a bench that is stopped early has whole caps, then some of every row.
    wanted = [cell for cap in dict.fromkeys(row.cap for row in rows) for cell in _mixed(cells, cap)]
    plan.say(f"webs of the family {plan.family}: {purpose(plan.family)}; {len(wanted)} crawls")
    if plan.only_kept:
        done = kept_cells(wanted, plan.keep)
        if not done:
            raise ConfigError(f"{plan.keep} has none of these {len(wanted)} crawls. Run them: leave out --only-kept.")
        plan.say(f"{len(done)} of them are kept")
    else:
        done = await run_cells(wanted, plan.keep, plan.jobs, plan.say)
    found = {row: [{**done[cell], "web": cell.web} for cell in cells[row] if cell in done] for row in rows}
    return report_of(plan, {row: figures for row, figures in found.items() if figures})


def _mixed(cells: Mapping[Row, Sequence[Cell]], cap: str) -> Iterable[Cell]:
    mine = [of_row for row, of_row in cells.items() if row.cap == cap]
    return (of_row[at] for at in range(max(map(len, mine))) for of_row in mine if at < len(of_row))
