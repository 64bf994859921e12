"""Which crawls the matrix is made of: policies under caps on webs, and variants of some (TRES, Tables 3 and 4)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tres_crawler.errors import ConfigError
from tres_crawler.experiments.cells import Cell, Judge
from tres_crawler.experiments.oracles import ORACLE, TOPIC_ORACLE
from tres_crawler.experiments.plan import Plan

TOPICS: Mapping[str, Sequence[str]] = {
    "report": ("sports", "food", "hardware"),
    "tune": ("games", "health", "computers"),
}
FIRST_WEB = {"report": 3, "tune": 0}
"""Webs 0 to 2 of the family `report` were reported on before, and what was seen there led to changes
(docs/decisions/0017, 0021)."""
CAPS = ("50", "none", "100", "10", "5", "5:2")
KEY = ("tres", "tres-paper", "best-first", "ache", "async", "anchor-first", ORACLE)
REST = ("tres-async", "tree-random", "breadth-first", "random")
QUICK = ("tres", "best-first")
SYNC_PAGES = 1000
"""Brute force is slow: no more are worth waiting for."""


@dataclass(frozen=True)
class Row:
    """One way to crawl under one cap."""

    name: str
    cap: str
    policy: str
    settings: tuple[tuple[str, str], ...] = ()
    judge: Judge = "shared"

    @property
    def is_variant(self) -> bool:
        """Whether it differs from its policy in something else than the cap."""
        return self.name != self.policy

    def cells(self, plan: Plan) -> list[Cell]:
        assert plan.pages and plan.seeds
        pages = min(plan.pages, SYNC_PAGES) if self.policy == "sync" else plan.pages
        judge = plan.judge if self.judge == "shared" else self.judge
        settings = (("crawl.max_per_site", self.cap), *self.settings)
        return [
            Cell(web, topic, self.policy, pages, seed, settings, family=plan.family, judge=judge, scale=plan.scale)
            for seed in range(1, plan.seeds + 1)
            for web, topic in places(plan.family, seed)[: 1 if plan.quick else None]
        ]


def places(family: str, seed: int) -> list[tuple[int, str]]:
    """A web for each topic; with every seed others, and a topic meets another kind of web (docs/decisions/0024)."""
    topics = TOPICS[family]
    first = FIRST_WEB[family] + len(topics) * (seed - 1)
    return [(first + (at + seed - 1) % len(topics), topic) for at, topic in enumerate(topics)]


UNTAUGHT = ("learn.start", "untaught")
NO_LESSONS = ("learn.steps_per_page", "0")
VARIANTS = (
    *(Row("tres, untaught", cap, "tres", (UNTAUGHT,)) for cap in ("50", "10")),
    Row("tres, no lessons", "50", "tres", (NO_LESSONS,)),
    Row("tres, untaught, no lessons", "50", "tres", (UNTAUGHT, NO_LESSONS)),
    *(Row("tres, true judge", cap, "tres", judge="true") for cap in ("50", "none")),
    *(Row(f"{name}, judge goes on learning", "50", name, judge="learning") for name in ("tres", "ache")),
    *(Row("best-first, true judge", cap, "best-first", judge="true") for cap in ("50", "none")),
    Row("tres-paper, true judge", "50", "tres-paper", judge="true"),
    *(Row(f"{name}, own judge", "50", name, judge="own") for name in ("tres", "best-first")),
    *(Row("tres, SVM judge", cap, "tres", (("relevance.model", "svm"),)) for cap in ("10", "5:2")),
    *(Row("tres, BiLSTM alone", cap, "tres", (("relevance.words", "false"),)) for cap in ("10", "5:2")),
    *(Row("ache, SVM judge", cap, "ache", (("relevance.model", "svm"),)) for cap in ("50", "10")),
    *(Row("tres, balanced", cap, "tres", (("crawl.objective", "balanced"),)) for cap in ("50", "none", "5:2")),
    Row("tres, NH", "10", "tres", (("features.site", "false"),)),
    *(
        Row(f"{name}, one slot", "50", name, (("fetch.slots", "1"),))
        for name in ("tres", "ache", "best-first", "tres-async", "tres-paper", "sync")
    ),
    Row("sync", "50", "sync"),
    *(Row(TOPIC_ORACLE, cap, TOPIC_ORACLE) for cap in ("50", "100")),
)
"""What a learned start and lessons are worth and the judge costs, the paper's ablations, more sites for fewer pages,
what many fetches at once cost, brute force, and how far one comes who knows topics but no dead ends."""
NAMES = tuple(dict.fromkeys((*KEY, *REST, *(row.name for row in VARIANTS))))


def chosen_rows(plan: Plan) -> list[Row]:
    """The key policies under every cap first, then the others, then the variants, unless some are named."""
    caps = plan.caps or (("50",) if plan.quick else CAPS)
    names = plan.policies or (QUICK if plan.quick else NAMES)
    plain = (Row(name, cap, name) for group in (KEY, REST) for cap in caps for name in group)
    rows = [row for row in (*plain, *(row for row in VARIANTS if row.cap in caps)) if row.name in names]
    for name in plan.policies:
        if not any(row.name == name for row in rows):
            others = " and ".join(row.cap for row in VARIANTS if row.name == name)
            raise ConfigError(f"The matrix has no row of {name} under MAX {', '.join(caps)}, but under {others}.")
    return rows
