"""Every policy under every cap on webs that nothing was chosen on, by their truth (TRES, Tables 3 and 4)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import mean
from typing import Any

from tres_crawler.errors import ConfigError
from tres_crawler.experiments.cells import CURVE_EVERY, ORACLE, Cell, Figures, Judge, kept_cells, run_cells
from tres_crawler.experiments.harvests import late, spread
from tres_crawler.experiments.orderings import orderings
from tres_crawler.experiments.plan import Plan
from tres_crawler.experiments.report import Check, Report
from tres_crawler.simweb.params import FAMILIES

PLACES: Mapping[str, Sequence[tuple[int, str]]] = {
    "report": ((3, "sports"), (4, "food"), (5, "hardware")),
    "tune": ((0, "games"), (1, "health"), (2, "computers")),
}
"""A web of the family for each of three topics. Webs 0 to 2 of the family `report` were reported on before, and what
was seen there led to changes (docs/decisions/0017, 0021)."""
CAPS = ("50", "none", "100", "10", "5", "5:2")
KEY = ("tres", "tres-paper", "best-first", "ache", "async", "anchor-first", ORACLE)
REST = ("tres-async", "tree-random", "breadth-first", "random")
RIVALS = ("ache", "async", "anchor-first")
SYNC_PAGES = 1000
"""Brute force is slow: no more are worth waiting for."""
EARLY_PAGES = 500
MOST_BEHIND = 3.0
MUCH = 0.8
"""Share of the final rate that counts as having learned."""
NEAR = 1.0
"""Points of harvest within which two policies are taken for equal."""

Found = Mapping["Row", Sequence[Figures]]


@dataclass(frozen=True)
class Row:
    """One way to crawl under one cap."""

    name: str
    cap: str
    policy: str
    settings: tuple[tuple[str, str], ...] = ()
    judge: Judge = "shared"

    def cells(self, plan: Plan) -> list[Cell]:
        assert plan.pages and plan.seeds
        pages = min(plan.pages, SYNC_PAGES) if self.policy == "sync" else plan.pages
        judge = plan.judge if self.judge == "shared" else self.judge
        settings = (("crawl.max_per_site", self.cap), *self.settings)
        places = PLACES[plan.family][: 1 if plan.quick else None]
        return [
            Cell(web, topic, self.policy, pages, seed, settings, family=plan.family, judge=judge, scale=plan.scale)
            for seed in range(1, plan.seeds + 1)
            for web, topic in places
        ]


VARIANTS = (
    *(Row("tres, untaught", cap, "tres", (("learn.start", "untaught"),)) for cap in ("50", "10")),
    Row("tres, no lessons", "50", "tres", (("learn.steps_per_page", "0"),)),
    *(Row("tres, true judge", cap, "tres", judge="true") for cap in ("50", "none")),
    *(Row(f"{name}, judge goes on learning", "50", name, judge="learning") for name in ("tres", "ache")),
    *(Row("best-first, true judge", cap, "best-first", judge="true") for cap in ("50", "none")),
    *(Row(f"{name}, own judge", "50", name, judge="own") for name in ("tres", "best-first")),
    *(Row("tres, SVM judge", cap, "tres", (("relevance.model", "svm"),)) for cap in ("10", "5:2")),
    *(Row("tres, BiLSTM alone", cap, "tres", (("relevance.words", "false"),)) for cap in ("10", "5:2")),
    *(Row("ache, SVM judge", cap, "ache", (("relevance.model", "svm"),)) for cap in ("50", "10")),
    *(Row("tres, balanced", cap, "tres", (("crawl.objective", "balanced"),)) for cap in ("50", "none")),
    Row("tres, NH", "10", "tres", (("features.site", "false"),)),
    *(
        Row(f"{name}, one slot", "50", name, (("fetch.slots", "1"),))
        for name in ("tres", "ache", "best-first", "tres-async")
    ),
    Row("sync", "50", "sync"),
)
"""What a learned start and lessons are worth and the judge costs, the paper's ablations, more sites for fewer pages,
what many fetches at once cost, brute force."""


def chosen_rows(plan: Plan) -> list[Row]:
    """The key policies under every cap first, then the others, then the variants, unless policies are named."""
    if plan.quick:
        return [
            Row(name, cap, name) for cap in plan.caps or ("50",) for name in plan.policies or ("tres", "best-first")
        ]
    caps = plan.caps or CAPS
    rows = [Row(name, cap, name) for group in (KEY, REST) for cap in caps for name in group]
    wanted = [*rows, *(row for row in VARIANTS if row.cap in caps)]
    return [row for row in wanted if not plan.policies or row.name in plan.policies]


async def matrix(plan: Plan) -> Report:
    """All rows on all places with all seeds."""
    plan = plan.of(2000, 3)
    rows = chosen_rows(plan)
    if not rows:
        raise ConfigError(
            f"The matrix has no row of {', '.join(plan.policies)} under MAX {', '.join(plan.caps)}; sync has 50 only."
        )
    cells = {row: row.cells(plan) for row in rows}
    # Seed by seed within a cap: a bench that is stopped early has whole caps, then some of every row.
    wanted = [cell for cap in dict.fromkeys(row.cap for row in rows) for cell in _mixed(cells, cap)]
    plan.say(f"webs of the family {plan.family}: {_purpose(plan.family)}; {len(wanted)} crawls")
    if plan.only_kept:
        done = kept_cells(wanted, plan.keep)
    else:
        done = await run_cells(wanted, plan.keep, plan.jobs, plan.say)
    found = {row: [done[cell] for cell in cells[row] if cell in done] for row in rows}
    return report_of(plan, {row: figures for row, figures in found.items() if figures})


def _mixed(cells: Mapping[Row, Sequence[Cell]], cap: str) -> Iterable[Cell]:
    mine = [of_row for row, of_row in cells.items() if row.cap == cap]
    return (of_row[at] for at in range(max(map(len, mine))) for of_row in mine if at < len(of_row))


def report_of(plan: Plan, found: Found) -> Report:
    topics = [topic for _, topic in PLACES[plan.family]][: 1 if plan.quick else None]
    rows = [*(_row(row, figures, topics) for row, figures in found.items()), *_webs(plan.family)]
    means = {(row.name, row.cap): (100 * _harvest(f), _sites(f)) for row, f in found.items()}
    at_fifty = {row.name: figures for row, figures in found.items() if row.cap == "50"}
    return plan.report(
        "matrix",
        [*rows, *orderings(means)],
        checks_of(found),
        family=plan.family,
        scale=plan.scale,
        purpose=_purpose(plan.family),
        max_per_site=", ".join(dict.fromkeys(row.cap for row in found)),
        curves={name: late(figures) for name, figures in at_fifty.items()},
        pareto={
            topic: {
                name: [
                    (row.cap, _harvest(of), _sites(of))
                    for row, fs in found.items()
                    if row.name == name and (of := [f for f in fs if f["topic"] == topic])
                ]
                for name in dict.fromkeys(row.name for row in found)
            }
            for topic in topics
        },
        growth={name: fs[0]["lives"][-1]["growth"] for name, fs in at_fifty.items() if name.startswith("tres")},
    )


def _row(row: Row, figures: Sequence[Figures], topics: Sequence[str]) -> dict[str, Any]:
    told: dict[str, Any] = {"part": "matrix", "policy": row.name, "max": row.cap, "crawls": len(figures)}
    for topic in topics:
        mine = [f for f in figures if f["topic"] == topic]
        told[topic] = spread([100 * f["harvest"] for f in mine])
        told[f"{topic}_sites"] = spread([f["relevant_sites"] for f in mine], 0)
    told["all"] = round(100 * _harvest(figures), 1)
    told["all_sites"] = round(_sites(figures))
    told["pages"] = round(mean(f["pages"] for f in figures))
    told["pages_to_80_%"] = pages_to_learn(figures)
    return told


def _webs(used: str) -> list[dict[str, Any]]:
    return [
        {
            "part": "webs",
            "family": name,
            "used": "here" if name == used else "no",
            "for": _purpose(name),
            "seeds": f"{chosen['seeds'].start} to {chosen['seeds'].stop - 1}",
            "topics": ", ".join(chosen["topics"]),
            "differ_from_the_default_in": "; ".join(
                ", ".join(f"{key} {value}" for key, value in web.items()) or "nothing" for web in chosen["webs"]
            ),
        }
        for name, chosen in FAMILIES.items()
    ]


def _purpose(name: str) -> str:
    return "reporting; nothing was chosen on them" if name == "report" else "choosing settings; not to be reported"


# ---- goals ----


def checks_of(found: Found) -> list[Check]:
    """One for each goal whose rows were measured."""
    plain = {(row.name, row.cap): figures for row, figures in found.items()}
    checks: list[Check] = []
    for cap in ("50", "100"):
        mine = plain.get(("tres", cap))
        if not mine:
            continue
        rivals = {name: plain[name, cap] for name in RIVALS if (name, cap) in plain}
        if rivals:
            best = max(rivals, key=lambda name: _harvest(rivals[name]))
            checks.append(_ratio(f"MAX {cap}: tres : {best}, the best of {', '.join(rivals)}", mine, rivals[best], 1.5))
        for name, goal in (("best-first", 1.25), (ORACLE, 0.9)):
            if (name, cap) in plain:
                checks.append(_ratio(f"MAX {cap}: tres : {name}", mine, plain[name, cap], goal))
    for cap in ("none", "5:2"):
        checks += _against_all(cap, {name: f for (name, other), f in plain.items() if other == cap})
    if ("tres", "50") in plain and ("best-first", "50") in plain:
        behind = _most_behind(plain["tres", "50"], plain["best-first", "50"])
        checks.append(
            Check.at_most(f"MAX 50: most points behind best-first after {EARLY_PAGES} pages", behind, MOST_BEHIND)
        )
    for name, how in (("tres, untaught", "cold"), ("tres", "warm")):
        if (name, "50") in plain:
            told = pages_to_learn(plain[name, "50"])
            checks.append(Check(f"MAX 50: pages until 80 % of tres's final rate, {how}", told, "report", bool(told)))
    return checks


def _against_all(cap: str, policies: Mapping[str, Sequence[Figures]]) -> list[Check]:
    """Not worse than any other, and more sites than those that have as many pages."""
    mine = policies.get("tres")
    # What knows the truth is no rival, and a variant has a comma in its name.
    others = {name: f for name, f in policies.items() if name not in ("tres", ORACLE) and "," not in name}
    if not mine or not others:
        return []
    pairs = {name: pair for name, other in others.items() if all(pair := _on_shared_topics(mine, other))}
    if not pairs:
        return []
    ahead = {name: 100 * (_harvest(ours) - _harvest(theirs)) for name, (ours, theirs) in pairs.items()}
    wider = {name: _sites(ours) / max(_sites(theirs), 1) for name, (ours, theirs) in pairs.items()}
    best = min(ahead, key=lambda name: ahead[name])
    checks = [Check.at_least(f"MAX {cap}: tres - {best}, the best other, points", round(ahead[best], 1), 0)]
    rivals = [name for name in pairs if cap != "none" or ahead[name] <= NEAR]
    if rivals:
        widest = min(rivals, key=lambda name: wider[name])
        which = "of those not behind in harvest" if cap == "none" else "of all others"
        name = f"MAX {cap}: relevant sites, tres : {widest}, the most {which}"
        checks.append(Check.at_least(name, round(wider[widest], 2), 1))
    return checks


def _ratio(name: str, mine: Sequence[Figures], other: Sequence[Figures], goal: float) -> Check:
    """None if there is nothing to compare."""
    ours, theirs = _on_shared_topics(mine, other)
    return Check.at_least(name, round(_harvest(ours) / max(_harvest(theirs), 1e-9), 2) if ours else None, goal)


def _on_shared_topics(mine: Sequence[Figures], other: Sequence[Figures]) -> tuple[list[Figures], list[Figures]]:
    """The crawls of topics that both have by now."""
    both = {f["topic"] for f in mine} & {f["topic"] for f in other}
    return [f for f in mine if f["topic"] in both], [f for f in other if f["topic"] in both]


def _most_behind(mine: Sequence[Figures], other: Sequence[Figures]) -> float | None:
    """By how many points harvest so far is behind the other's at its worst."""
    ours, theirs = _on_shared_topics(mine, other)
    pairs = zip(_so_far(ours), _so_far(theirs), strict=False)
    late_pairs = list(pairs)[EARLY_PAGES // CURVE_EVERY :]
    return round(max(100 * (their - our) for our, their in late_pairs), 1) if late_pairs else None


def _so_far(figures: Sequence[Figures]) -> list[float]:
    """Mean harvest of all pages so far, at every hundredth page that all of them reached."""
    curves = [[relevant / pages for pages, relevant, _ in f["curve"] if pages % CURVE_EVERY == 0] for f in figures]
    return [mean(points) for points in zip(*curves, strict=False)]


def pages_to_learn(figures: Sequence[Figures]) -> int | None:
    """Pages until harvest over the last 200 pages first is 80 % of what it is at the end."""
    curve = late(figures)
    if not curve:
        return None
    return CURVE_EVERY * (1 + next(at for at, rate in enumerate(curve) if rate >= MUCH * curve[-1]))


def _harvest(figures: Sequence[Figures]) -> float:
    return _over_topics(figures, "harvest")


def _sites(figures: Sequence[Figures]) -> float:
    return _over_topics(figures, "relevant_sites")


def _over_topics(figures: Sequence[Figures], name: str) -> float:
    """Every topic counts alike, however many seeds of it are there."""
    topics = dict.fromkeys(f["topic"] for f in figures)
    return float(mean(mean(f[name] for f in figures if f["topic"] == topic) for topic in topics))
