"""`tres topic`: what a topic will mean, before and after a crawl."""

from __future__ import annotations

import asyncio
import json
import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table
from rich.text import Text

from tres_crawler.classify.apprentice import Job, train
from tres_crawler.classify.bootstrap import LEAST_POSITIVES, enough
from tres_crawler.classify.model import unpack
from tres_crawler.cli.bench import sayer
from tres_crawler.cli.common import (
    DEFAULT_DATA_DIR,
    ConfigOption,
    CrawlArgument,
    DataDirOption,
    console,
    load_settings,
    readable,
    run,
)
from tres_crawler.config import Settings
from tres_crawler.crawl import Crawl
from tres_crawler.examples import read_examples
from tres_crawler.founding import create_crawl
from tres_crawler.keywords import Expansion, threshold_of
from tres_crawler.records import Example, Summary, Topic
from tres_crawler.relevance import Lesson, Relevance, rejudge_at_rest
from tres_crawler.store import crawls, judging
from tres_crawler.store.database import Database
from tres_crawler.store.datadir import DataDir
from tres_crawler.store.judging import JudgedPage
from tres_crawler.topic import find_topic, is_url, load_topic, shipped_topics
from tres_crawler.vectors import load_vectors

FEW_KEYWORDS = 5
LEAST_TO_FOLD = 25
"""Labelled examples of each class from which five folds tell something."""
FIGURES = (
    "prevalence",
    "precision",
    "recall",
    "f1",
    "macro_f1",
    "auc",
    "uncalibrated_error",
    "calibration_error",
    "threshold",
)

app = typer.Typer(help="See what a topic means: its words, its judge.", no_args_is_help=True)

TopicArgument = Annotated[str, typer.Argument(metavar="TOPIC", help="A topic file (TOML), or a shipped topic's name.")]
ConnectOption = Annotated[
    str | None, typer.Option("--connect-to", metavar="HOST:PORT", help="Send every connection there.")
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON.")]


@app.command("list")
def list_topics() -> None:
    """The ready-made topics: `tres crawl sports` needs no file."""
    table = Table("topic", "keywords", "seeds", "examples")
    for name, path in shipped_topics().items():
        topic = load_topic(path)
        examples = read_examples(topic)
        labelled = f"{sum(e.relevant for e in examples):,} relevant, {sum(not e.relevant for e in examples):,} not"
        table.add_row(name, ", ".join(topic.keywords), "\n".join(topic.seeds), labelled)
    console().print(table)


@app.command("check")
def check(topic: TopicArgument, config: ConfigOption = None) -> None:
    """Read a topic and say what is good and what is weak about it; fetches nothing."""
    wanted, settings = find_topic(topic), load_settings(config)
    examples = read_examples(wanted)
    vectors = load_vectors(settings.relevance.vectors)
    known = [vector for vector in map(vectors.phrase, wanted.keywords) if vector is not None]
    unknown = [keyword for keyword in wanted.keywords if vectors.phrase(keyword) is None]
    links = [e for e in (*wanted.relevant_examples, *wanted.irrelevant_examples) if is_url(e)]
    out = console()
    out.print(f"Topic {wanted.name}: {len(wanted.keywords)} keywords, {len(wanted.seeds)} seeds.", markup=False)
    relevant = sum(example.relevant for example in examples)
    out.print(f"Examples: {relevant} relevant, {len(examples) - relevant} irrelevant, {len(links)} URLs to fetch.")
    if len(known) > 1:
        out.print(f"A word is a keyword from a mean similarity of {threshold_of(_stack(known)):.2f} on (TRES, eq. 2).")
    for weak in _weaknesses(wanted, unknown, examples):
        out.print(f"Weak: {weak}", style="yellow", highlight=False, markup=False)


@app.command("expand")
def expand(
    topic: TopicArgument, connect_to: ConnectOption = None, config: ConfigOption = None, as_json: JsonOption = False
) -> None:
    """Find more keywords in the topic's documents (TRES, Algorithm 1): its examples and its first pages."""
    wanted, settings = _prepared(topic, config, connect_to)
    examples = read_examples(wanted)
    expansion = run(_lesson(wanted, settings, examples))[1]
    if as_json:
        print(json.dumps({"threshold": expansion.threshold, "keywords": [asdict(k) for k in expansion.keywords]}))
        return
    table = Table("keyword", "similarity", "documents", "origin")
    for keyword in expansion.keywords:
        known = keyword.text not in expansion.unknown
        table.add_row(
            Text(keyword.text),
            f"{keyword.score:.2f}" if known else "no vector",
            f"{keyword.documents:,}",
            keyword.origin,
        )
    console().print(table)
    count = len(expansion.found)
    console().print(
        f"{count} found from a similarity of {expansion.threshold:.2f} on. Pin or ban words in the topic file."
    )


@app.command("train")
def train_topic(
    topic: TopicArgument, connect_to: ConnectOption = None, config: ConfigOption = None, as_json: JsonOption = False
) -> None:
    """Train the judge as a crawl would and say how far it can be trusted; nothing is kept."""
    wanted, settings = _prepared(topic, config, connect_to)
    given, say = read_examples(wanted), sayer()
    examples, expansion = run(_lesson(wanted, settings, given))
    relevance = settings.relevance
    if relevance.model == "prior" or not enough(examples):
        found = sum(example.relevant for example in examples)
        told: dict[str, Any] = {"model": "prior", "relevant": found, "needed": LEAST_POSITIVES}
    else:
        job = Job(
            relevance.model,
            wanted.keywords,
            expansion.found,
            relevance.vectors,
            relevance.goal,
            0,
            examples,
            relevance.words,
        )
        meta, _ = unpack(train(job, say), "The judge")
        told = {"model": meta["kind"], **meta["figures"]}
        relevant = sum(example.relevant for example in given)
        if min(relevant, len(given) - relevant) >= LEAST_TO_FOLD:
            told["folds"] = _folds(job, given)
    if as_json:
        print(json.dumps(told))
    else:
        _tell(told)


@app.command("rejudge")
def rejudge(
    crawl_id: CrawlArgument,
    data_dir: DataDirOption = DEFAULT_DATA_DIR,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Train a crawl's judge on its labels and newest pages, and judge its stored pages again."""
    settings = load_settings(config)
    readable(data_dir, settings)
    lesson = run(_rejudged(data_dir, settings, crawl_id))
    if as_json:
        figures = {"before": _harvest(lesson.before), "after": _harvest(lesson.after)}
        print(json.dumps({"version": lesson.version, **figures}))
        return
    table = Table("", "relevant pages", "harvest rate")
    for name, summary in (("before", lesson.before), (f"judge {lesson.version}", lesson.after)):
        table.add_row(name, f"{summary.relevant_pages:,}", f"{summary.harvest_rate:.1%}")
    console().print(table)
    console().print("Earlier judgements are kept.")


def _prepared(topic: str, config: Path | None, connect_to: str | None) -> tuple[Topic, Settings]:
    return find_topic(topic), load_settings(config).replaced("fetch", {"connect_to": connect_to})


async def _lesson(topic: Topic, settings: Settings, given: list[Example]) -> tuple[list[Example], Expansion]:
    """What a crawl would train on: the first pages are fetched into a folder that is thrown away."""
    say = sayer()
    with tempfile.TemporaryDirectory(prefix="tres-topic-") as folder:
        pages: list[JudgedPage] = []
        with DataDir(Path(folder)) as data:
            async with Database(data.url) as database:
                budget = settings.relevance.bootstrap_pages
                rehearsal = settings.replaced("crawl", {"max_pages": max(1, budget), "policy": "best-first"})
                rehearsal = rehearsal.replaced("relevance", {"model": "prior"})
                number = await create_crawl(database, topic, rehearsal, given)
                crawl = await Crawl.load(database, number)
                if budget:
                    say(f"Fetching up to {budget} pages from the seeds …")
                    ended = await crawl.run()
                    say(f"{ended.pages} pages, {ended.relevant_pages} of them relevant to keywords and word vectors.")
                    pages = await judging.judged_pages(database, number)
                relevance = await Relevance.open(database, number, topic, settings.relevance, 0)
                relevance.close()
                return await asyncio.to_thread(relevance.lesson, pages, given)


def _folds(job: Job, given: list[Example]) -> dict[str, float]:
    from tres_crawler.classify.prior import Prior
    from tres_crawler.classify.training import cross_validate

    prior = Prior(load_vectors(job.vectors), job.keywords, job.found)
    figures = [figures for figures, _, _ in cross_validate(job.kind, given, prior, progress=sayer(), words=job.words)]
    names = ("prevalence", "precision", "recall", "macro_f1")
    return {name: sum(getattr(fold, name) for fold in figures) / len(figures) for name in names}


async def _rejudged(data_dir: Path, settings: Settings, crawl_id: int) -> Lesson:
    with DataDir(data_dir, settings.store.url) as folder:
        folder.tell(doing=f"rejudge {crawl_id}")
        async with Database(folder.url) as database:
            return await rejudge_at_rest(database, await crawls.get(database, crawl_id))


def _harvest(summary: Summary) -> dict[str, Any]:
    return {"relevant_pages": summary.relevant_pages, "harvest_rate": summary.harvest_rate}


def _weaknesses(topic: Topic, unknown: list[str], examples: list[Example]) -> list[str]:
    found = []
    if len(topic.keywords) < FEW_KEYWORDS:
        found.append(
            f"{len(topic.keywords)} keyword{'s' * (len(topic.keywords) > 1)}; five to twenty describe a topic better."
        )
    if unknown:
        found.append(f"no word vector for {', '.join(unknown)}: looked for in texts, but they lead to no other words.")
    if len(unknown) == len(topic.keywords):
        found.append(
            "no keyword has a vector, so only pages that use these very words can be found. Add plainer words."
        )
    relevant = sum(example.relevant for example in examples)
    if examples and not 0 < relevant < len(examples):
        found.append("examples of one class only; give relevant and irrelevant ones.")
    return found


def _stack(vectors: list[Any]) -> Any:
    import numpy as np

    return np.stack(vectors)


def _tell(told: dict[str, Any]) -> None:
    out = console()
    if told["model"] == "prior":
        out.print(
            f"Keywords and word vectors judge alone: {told['relevant']} pages look relevant, {told['needed']} are "
            "needed to train on. A crawl goes on with them and trains when enough have been found.",
            highlight=False,
        )
        return
    out.print(
        f"{told['model']}, trained on {told['examples']} pages: {told['relevant']} relevant, {told['labels']} labelled."
    )
    out.print(f"{len(told['found_keywords'])} more keywords: {', '.join(told['found_keywords'][:12])} …", markup=False)
    if told.get("is_agreement"):
        # Held-out pages without a person's word: how well it repeats its teacher, not how often it is right.
        out.print(
            f"Agreement with keywords and word vectors on {told['held_out']} held-out pages: F1 {told['f1']:.3f}. "
            "Precision and recall: unknown; only labels can tell, so give examples or feedback.",
            highlight=False,
        )
    elif "held_out" in told:
        table = Table(f"{told['held_out']} held-out labels", "")
        for name in FIGURES:
            table.add_row(name.replace("_", " "), f"{told[name]:.3f}" if told[name] is not None else "–")
        out.print(table)
    if "folds" in told:
        folds = ", ".join(f"{name.replace('_', ' ')} {value:.3f}" for name, value in told["folds"].items())
        out.print(f"Five folds of the labelled examples: {folds}.")
