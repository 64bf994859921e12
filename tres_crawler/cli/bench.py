"""`tres bench`: figures that back what the project claims."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from tres_crawler.cli.common import console, run
from tres_crawler.errors import ConfigError
from tres_crawler.experiments.report import Report, Say, joined
from tres_crawler.simweb.describe import make_folder

# What a benchmark needs is imported when it is run: torch, scikit-learn and scipy take seconds, which no other command
# should wait for.
app = typer.Typer(help="Measure what this crawler does, beside other ways to do it.", no_args_is_help=True)

QuickOption = Annotated[bool, typer.Option("--quick", help="A smaller run that ends within a minute.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print the figures as JSON.")]
PlotsOption = Annotated[Path | None, typer.Option("--plots", metavar="DIR", help="Write pictures there.")]


@app.command("fetch")
def fetch(
    quick: QuickOption = False,
    as_json: JsonOption = False,
    pages: Annotated[
        int | None,
        typer.Option(min=1, help="Pages to fetch.  \\[default: 2000, 300 quick; of politeness 1000, 150 quick]"),
    ] = None,
    repeat: Annotated[
        int | None, typer.Option(min=1, help="How often each way is measured.  \\[default: 3; 2 quick]")
    ] = None,
    scrapy: Annotated[
        str | None, typer.Option(metavar="PYTHON", help="An interpreter that has scrapy and selectolax installed.")
    ] = None,
    politeness: Annotated[
        bool, typer.Option("--politeness", help="Instead of speed: a crawl as default settings make it, by the log.")
    ] = False,
    plots: PlotsOption = None,
) -> None:
    """Pages a second of our fetching and parsing beside bare loops and Scrapy, on the same pages."""
    from tres_crawler.experiments import fetch as fetching

    if politeness and plots:
        raise ConfigError("Of --politeness there is nothing to draw. Leave --plots away.")
    if plots:
        make_folder(plots)
    if politeness:
        wanted = pages or (fetching.QUICK_POLITE_PAGES if quick else fetching.POLITE_PAGES)
        report = run(fetching.politeness(wanted, fetching.POLITE_SITES, sayer()))
    else:
        wanted = pages or (fetching.QUICK_PAGES if quick else fetching.PAGES)
        turns = repeat or (fetching.QUICK_REPEAT if quick else fetching.REPEAT)
        report = run(fetching.speed(wanted, turns, scrapy, sayer()))
    show(report, as_json)
    draw(report, plots)


@app.command("frontier")
def frontier(quick: QuickOption = False, as_json: JsonOption = False, plots: PlotsOption = None) -> None:
    """Cost of a choice and of an update, and memory of a link, by waiting links, leaves and draws."""
    from tres_crawler.experiments import frontier as waiting

    if plots:
        make_folder(plots)
    rounds = waiting.QUICK_ROUNDS if quick else waiting.ROUNDS
    report = waiting.costs(waiting.SIZES, waiting.LEAVES, rounds, sayer())
    show(report, as_json)
    draw(report, plots)


@app.command("relevance")
def relevance(
    data: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Folder of labelled text, for the parts classify and keywords.")
    ] = None,
    topic: Annotated[
        list[str] | None, typer.Option(help="A topic to look at; may be repeated.  \\[default: sports, food, hardware]")
    ] = None,
    part: Annotated[
        list[str] | None,
        typer.Option(
            help="classify, keywords, bootstrap, anchors, speed or calibration; may be repeated.  \\[default: all]"
        ),
    ] = None,
    quick: QuickOption = False,
    as_json: JsonOption = False,
    plots: Annotated[Path | None, typer.Option(metavar="DIR", help="Write reliability diagrams there.")] = None,
) -> None:
    """How well pages and anchors are judged, how fast, and how far the probabilities can be trusted."""
    from tres_crawler.experiments.relevance import relevance as measured
    from tres_crawler.experiments.relevance.options import Options

    options = Options.of(topic or (), part or (), data, plots, quick)
    show(run(measured(options, sayer())), as_json)


@app.command("focused")
def focused(
    parts: Annotated[
        list[str] | None,
        typer.Option(
            "--part",
            help="Which question: matrix, targets, learn, async, hubs, front, resume or ranking; may be repeated."
            "  \\[default: matrix]",
        ),
    ] = None,
    pages: Annotated[int | None, typer.Option(min=1, help="Pages of a crawl.  \\[default: the part's own]")] = None,
    seeds: Annotated[int | None, typer.Option(min=1, help="Crawls of a kind.  \\[default: the part's own]")] = None,
    jobs: Annotated[int, typer.Option(min=1, help="Crawls at once.")] = 2,
    policies: Annotated[
        list[str] | None,
        typer.Option(
            "--policy",
            help='Of matrix and learn; of matrix also a variant, as "tres, untaught"; may be repeated.'
            "  \\[default: the part's own]",
        ),
    ] = None,
    caps: Annotated[
        list[str] | None, typer.Option("--max", metavar="M|M:K", help="Of matrix; may be repeated.  \\[default: all]")
    ] = None,
    family: Annotated[str, typer.Option(help="Webs of matrix: report, or tune to choose settings on.")] = "report",
    scale: Annotated[
        int, typer.Option(min=1, help="Webs of matrix: so many times as large, for crawls of many pages.")
    ] = 1,
    own_judge: Annotated[
        bool, typer.Option("--own-judge", help="Every crawl bootstraps a judge of its own; else crawls share one.")
    ] = False,
    keep: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Keep finished crawls there, and run none of them again.")
    ] = None,
    only_kept: Annotated[bool, typer.Option("--only-kept", help="Report what --keep has, and run nothing.")] = False,
    quick: QuickOption = False,
    as_json: JsonOption = False,
    plots: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Write pictures there, and a page with them and all tables.")
    ] = None,
) -> None:
    """True harvest and relevant sites of crawls of simulated webs, each in processes of its own."""
    from tres_crawler.experiments import focused as crawling
    from tres_crawler.experiments import focused_plots
    from tres_crawler.experiments.page import write_page
    from tres_crawler.experiments.plan import Plan

    plan = Plan(
        sayer(),
        pages,
        seeds,
        jobs,
        policies=tuple(policies or ()),
        caps=tuple(caps or ()),
        family=family,
        scale=scale,
        keep=keep,
        only_kept=only_kept,
        quick=quick,
        judge="own" if own_judge else "shared",
    )
    names = crawling.chosen_parts(parts or (), plan)
    if plots:
        make_folder(plots)
    reports: list[Report] = []
    for name in names:
        reports.append(run(crawling.PARTS[name](plan)))
        if plots:
            pictures = focused_plots.plot(reports[-1], plots)
            for written in (*pictures, write_page(reports[-1], pictures, plots)):
                plan.say(f"Written: {written}")
        if not as_json:
            show(reports[-1], as_json)
    if as_json:
        show(joined(reports), as_json)


@app.command("recrawl")
def recrawl(
    paper: Annotated[
        str | None, typer.Option(help="Which paper to reproduce: 004, 002, 000 or 001.  docs/papers.md")
    ] = None,
    live: Annotated[bool, typer.Option("--live", help="Monitors of a simulated web, one for each policy.")] = False,
    cost: Annotated[bool, typer.Option("--cost", help="What a decision costs, by the number of sources.")] = False,
    estimators: Annotated[bool, typer.Option("--estimators", help="Bias and error of change rates.")] = False,
    keep: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Of --live: keep finished monitors there, and run none again.")
    ] = None,
    jobs: Annotated[int, typer.Option(min=1, help="Of --live: monitors at once.")] = 2,
    policies: Annotated[
        list[str] | None, typer.Option("--policy", help="Of --live: a policy beside `whittle`; may be repeated.")
    ] = None,
    sources: Annotated[int | None, typer.Option(min=1, help="Of --live: pages that are visited again.")] = None,
    seeds: Annotated[int | None, typer.Option(min=1, help="Of --live: webs.")] = None,
    data: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Folder of air quality readings, for paper 001.  docs/results.md")
    ] = None,
    quick: QuickOption = False,
    as_json: JsonOption = False,
    plots: PlotsOption = None,
) -> None:
    """Policies that revisit known pages: each paper's figures beside ours, or one of the parts named here."""
    if sum((paper is not None, live, cost, estimators)) != 1:
        raise ConfigError("Say what to measure: --paper 004, --live, --cost or --estimators.")
    if plots:
        make_folder(plots)
    if paper is not None:
        from tres_crawler.experiments.recrawl.bench import reproduce

        report = reproduce(paper, sayer(), quick=quick, data=data, plots=plots)
    elif live:
        from tres_crawler.experiments.recrawl import live as monitors

        plan = replace(monitors.Plan.quick() if quick else monitors.Plan(), jobs=jobs)
        report = monitors.compare(plan.changed(policies, sources, seeds), sayer(), keep)
    elif cost:
        from tres_crawler.experiments.recrawl import cost as decisions

        report = decisions.cost(quick, sayer())
    else:
        from tres_crawler.experiments.recrawl import estimators as rates

        report = rates.estimators(quick, sayer())
    show(report, as_json)
    if paper is None:
        draw(report, plots)


def sayer() -> Say:
    """Progress goes to standard error, one line at a time: standard output is for the figures."""
    out = Console(stderr=True, highlight=False)
    return lambda text: out.print(text, style="dim", soft_wrap=True)


def draw(report: Report, folder: Path | None) -> None:
    from tres_crawler.experiments import drawing

    for picture in drawing.plot(report, folder) if folder else ():
        sayer()(f"Picture: {picture}")


def show(report: Report, as_json: bool) -> None:
    if as_json:
        print(report.json())
        return
    out = console()
    for table in report.tables():
        out.print(table)
