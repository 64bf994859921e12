"""Policies beside each other on live monitors of one simulated web: the same sources, budget and pauses for all."""

from __future__ import annotations

import asyncio
import json
import multiprocessing
import shutil
import statistics
import tempfile
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, get_args

import uvloop

from tres_crawler import revisits
from tres_crawler.config import RecrawlPolicy, RecrawlSettings, Settings
from tres_crawler.crawl import Crawl
from tres_crawler.errors import ConfigError
from tres_crawler.experiments.recrawl.live_world import (
    HOUR_SECONDS,
    PacedServer,
    Truth,
    candidates,
    rate_of,
    topic_of,
    web_of,
)
from tres_crawler.experiments.report import Check, Report, Say
from tres_crawler.founding import create_crawl
from tres_crawler.recrawl.scheduler import Belief
from tres_crawler.relevance import Relevance
from tres_crawler.revisits import Revisits
from tres_crawler.simweb.model import Web
from tres_crawler.store import crawls, sources
from tres_crawler.store.database import Database
from tres_crawler.store.datadir import DataDir

TRUE_RATES = "whittle, true rates"
POLICIES = ("whittle", TRUE_RATES, "uniform", "round-robin", "fixed", "multiplicative", "greedy", "thompson")
BEATEN = ("uniform", "round-robin", "fixed", "multiplicative")
"""Policies that the index must be ahead of; it may not be clearly behind the others."""
BUDGET = 0.1
"""Share of the sources that can be visited in an hour of the web's time."""
SPARE = 1.5
"""So many more pages are looked at than sources are needed: some are held irrelevant, or copies."""
IDLE_SECONDS = 0.01
BESIDE_TRUTH = "value collected beside true rates"
FIGURES = ("value_per_hour", "text_per_hour", "changes_per_visit", "fresh")
"""Value is what is collected in the same time at the same budget: a visit that a policy leaves unused is lost."""


@dataclass(frozen=True)
class Plan:
    """What is compared, and for how long."""

    sources: int = 2000
    hosts: int = 300
    hours: int = 36
    seeds: int = 5
    delay_seconds: float = 0.05
    slots: int = 16
    jobs: int = 2
    policies: tuple[str, ...] = POLICIES
    small: bool = False
    """Webs so few and small that they cannot tell five per cent."""

    @property
    def webs(self) -> range:
        """Web 0 is for trying things out; what is reported is had on others."""
        return range(1, self.seeds + 1)

    @property
    def name(self) -> str:
        """Of what is kept of it."""
        return f"{self.sources}-{self.hosts}"

    @property
    def visits_per_hour(self) -> float:
        return BUDGET * self.sources

    def changed(self, policies: Sequence[str] | None, sources: int | None, seeds: int | None) -> Plan:
        """The same with other policies beside the index, or with more or fewer sources and webs."""
        known = (*get_args(RecrawlPolicy), TRUE_RATES)
        for policy in policies or ():
            if policy not in known:
                raise ConfigError(f'There is no recrawl policy "{policy}"; there are: {", ".join(known)}.')
        hosts = self.hosts if sources is None else max(1, round(self.hosts * sources / self.sources))
        chosen = tuple(dict.fromkeys(("whittle", *policies))) if policies else self.policies
        return replace(self, policies=chosen, sources=sources or self.sources, hosts=hosts, seeds=seeds or self.seeds)

    @classmethod
    def quick(cls) -> Plan:
        policies = ("whittle", TRUE_RATES, "uniform", "round-robin")
        return cls(sources=200, hosts=30, hours=24, seeds=2, policies=policies, small=True)


def compare(plan: Plan, say: Say, keep: Path | None = None) -> Report:
    """Every policy on every web, so many at once; what `keep` has already is not run again."""
    with tempfile.TemporaryDirectory(prefix="tres-recrawl-") as scratch:
        folder = keep or Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        spawned = multiprocessing.get_context("spawn")
        with ProcessPoolExecutor(plan.jobs, mp_context=spawned) as pool:
            webs = [pool.submit(prepared, plan, seed, folder) for seed in plan.webs]
            cells = [(seed, policy) for seed in plan.webs for policy in plan.policies]
            for seed, web in zip(plan.webs, webs, strict=True):
                say(f"web {seed}: {plan.sources} sources among {web.result()} pages")
            running = [pool.submit(measured, plan, seed, policy, folder) for seed, policy in cells]
            rows = [_told(cell, figures, len(cells), say) for cell, figures in enumerate(running, 1)]
    return Report("recrawl live", asdict(plan), _summaries(plan, rows), _checks(plan, rows))


def prepared(plan: Plan, seed: int, folder: Path) -> int:
    """Find the sources of a web by a crawl; how many pages that took."""
    kept = folder / f"{plan.name}-{seed}.json"
    if not kept.exists():
        pages = uvloop.run(_prepared(plan, seed, folder / f"{plan.name}-{seed}"))
        kept.write_text(json.dumps(pages))
    return int(json.loads(kept.read_text()))


def measured(plan: Plan, seed: int, policy: str, folder: Path) -> dict[str, Any]:
    """What a policy achieves in the second half of its time, the first being for it to learn."""
    kept = folder / f"{plan.name}-{plan.hours}-{seed}-{policy.replace(', ', '-').replace(' ', '-')}.json"
    if not kept.exists():
        kept.write_text(json.dumps(uvloop.run(_measured(plan, seed, policy, folder))))
    figures: dict[str, Any] = json.loads(kept.read_text())
    return figures


async def _prepared(plan: Plan, seed: int, folder: Path) -> int:
    web = web_of(seed, plan.sources)
    pages = candidates(web, plan.hosts, int(SPARE * plan.sources))
    settings = _settings(plan, {"mode": "share", "share": 1e-9}, pages=len(pages))
    with DataDir(folder) as data:
        async with Database(data.url) as database, PacedServer(web, 1e12) as server:
            settings = settings.replaced("fetch", {"connect_to": f"127.0.0.1:{server.port}"})
            number = await create_crawl(database, topic_of(web, pages), settings)
            crawl = await Crawl.load(database, number, make_revisits=partial(Revisits, clock=server.clock))
            summary = await crawl.run()
            found = [row.page for row in await sources.live(database, number)]
            if len(found) < plan.sources:
                raise RuntimeError(f"Web {seed} has {len(found)} sources, not {plan.sources}: make it larger.")
            spare = [sources.retirement(number, page, server.clock(), "spare") for page in found[plan.sources :]]
            await database.write(*spare)
    return summary.pages


def _settings(plan: Plan, recrawl: Mapping[str, Any], pages: int = 1) -> Settings:
    return (
        Settings()
        .replaced("fetch", {"delay_seconds": plan.delay_seconds, "slots": plan.slots})
        .replaced("crawl", {"max_pages": pages, "policy": "breadth-first", "seed": 1, "max_per_site": str(pages)})
        .replaced("relevance", {"model": "prior"})
        .replaced("choose", {"pages_per_slot": 0})
        .replaced("recrawl", recrawl)
    )


async def _measured(plan: Plan, seed: int, policy: str, folder: Path) -> dict[str, Any]:
    revisits.LOOK_AGAIN_SECONDS = IDLE_SECONDS
    web = web_of(seed, plan.sources)
    interval = HOUR_SECONDS / BUDGET
    followed = {
        "mode": "monitor",
        "policy": "whittle" if policy == TRUE_RATES else policy,
        "visits_per_minute": 1e6,
        "interval_seconds": interval,
    }
    with tempfile.TemporaryDirectory(prefix="tres-cell-", dir=folder) as scratch:
        shutil.copytree(folder / f"{plan.name}-{seed}", scratch, dirs_exist_ok=True)
        with DataDir(Path(scratch)) as data:
            async with Database(data.url) as database, PacedServer(web, plan.visits_per_hour) as server:
                urls = {row.page: row.url for row in await sources.upcoming(database, 1, 10 * plan.sources)}
                make = partial(_revisits, server, web, urls if policy == TRUE_RATES else None)
                kept = (await crawls.get(database, 1)).settings
                fetch = {**kept["fetch"], "connect_to": f"127.0.0.1:{server.port}"}
                await database.write(crawls.settings_change(1, {**kept, "fetch": fetch}))
                crawl = await Crawl.load(database, 1, recrawl=followed, make_revisits=make)
                await _run(crawl, server, plan.hours)
                truth = Truth.of(web, server.visited(urls.values()), plan.hours / 2, plan.hours)
                return {
                    "seed": seed,
                    "policy": policy,
                    "visits": truth.visits,
                    "value_per_hour": truth.value / (plan.hours / 2),
                    "text_per_hour": truth.text / (plan.hours / 2),
                    "changes_per_visit": truth.changes / max(truth.visits, 1),
                    "fresh": truth.fresh,
                    "least_pause": server.least_pause,
                }


def _revisits(
    server: PacedServer,
    web: Web,
    urls: Mapping[int, str] | None,
    crawl: int,
    settings: RecrawlSettings,
    seed: int,
    slots: int,
    database: Database,
    relevance: Relevance,
) -> Revisits:
    """By the web's clock and, where URLs are given, with the true rates in place of what was estimated."""
    given = (crawl, settings, seed, slots, database, relevance, server.clock)
    if urls is None:
        return Revisits(*given)
    rates = {number: rate_of(web, url) for number, url in urls.items()}

    def known(number: int) -> Belief:
        return replace(made.list.estimates.belief(number), change_rate=rates[number], evidence=float("inf"))

    made = Revisits(*given, known)
    return made


async def _run(crawl: Crawl, server: PacedServer, hours: float) -> None:
    """Let a monitor run until the web's time is over; what it leaves unused of its budget passes too."""
    running = asyncio.create_task(crawl.run())
    seen = 0
    while server.hours < hours and not running.done():
        await asyncio.sleep(IDLE_SECONDS)
        if len(server.asked) == seen and not crawl._revisits.in_flight:
            server.visits += 1
        seen = len(server.asked)
    crawl.stop()
    await running


def _told(cell: int, figures: Future[dict[str, Any]], cells: int, say: Say) -> dict[str, Any]:
    row = figures.result()
    told = (
        f"value {row['value_per_hour']:.2f} an hour, {row['changes_per_visit']:.1%} changed, {row['fresh']:.1%} fresh"
    )
    say(f"{cell} of {cells}: {row['policy']} on web {row['seed']}: {told}")
    return row


def _summaries(plan: Plan, rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Mean and standard error over webs, and how far behind or ahead the index is on the same webs."""
    told = []
    for policy in plan.policies:
        own = [row for row in rows if row["policy"] == policy]
        row: dict[str, Any] = {"policy": policy, "visits": round(statistics.mean(one["visits"] for one in own))}
        for name in FIGURES:
            values = [one[name] for one in own]
            row |= {name: round(statistics.mean(values), 4), f"{name}_se": round(_error(values), 4)}
        row["whittle_ahead_percent"], row["ahead_se"] = (round(100 * x, 2) for x in _ahead(rows, policy))
        told.append(row)
    return told


def _ahead(rows: Sequence[Mapping[str, Any]], policy: str, name: str = "value_per_hour") -> tuple[float, float]:
    """By what share of it the index earns more than a policy on the same webs: mean and standard error."""
    index = {row["seed"]: row[name] for row in rows if row["policy"] == "whittle"}
    shares = [index[row["seed"]] / row[name] - 1 for row in rows if row["policy"] == policy]
    return statistics.mean(shares), _error(shares)


def _error(values: Sequence[float]) -> float:
    return statistics.stdev(values) / len(values) ** 0.5 if len(values) > 1 else 0.0


def _gained(rows: Sequence[Mapping[str, Any]]) -> Check:
    """All that two small webs can show, which differ by 4 points in how near one comes to true rates."""
    learned, true, turns = (
        statistics.mean(row["value_per_hour"] for row in rows if row["policy"] == policy)
        for policy in ("whittle", TRUE_RATES, "round-robin")
    )
    name = f"part of what true rates gain over round robin (the full run: {BESIDE_TRUTH})"
    return Check.at_least(name, round((learned - turns) / (true - turns), 2), 0.5)


def _checks(plan: Plan, rows: Sequence[Mapping[str, Any]]) -> list[Check]:
    checks = []
    for policy in plan.policies:
        if policy == "whittle":
            continue
        ahead, error = _ahead(rows, policy)
        if policy == TRUE_RATES:
            if not plan.small:
                checks.append(Check.at_least(BESIDE_TRUTH, round(1 + ahead, 4), 0.95))
            elif "round-robin" in plan.policies:
                checks.append(_gained(rows))
        elif policy in BEATEN:
            name = f"whittle ahead of {policy}, in standard errors"
            checks.append(Check.at_least(name, round(ahead / error, 1) if error else ahead * 1e3, 2.0))
        else:
            name = f"whittle not behind {policy}, in standard errors"
            checks.append(Check.at_least(name, round(ahead / error, 1) if error else ahead * 1e3, -2.0))
    pause = round(min(row["least_pause"] for row in rows) / plan.delay_seconds, 2)
    checks.append(Check.at_least("shortest pause of a host beside its delay", pause, 1.0))
    return checks
