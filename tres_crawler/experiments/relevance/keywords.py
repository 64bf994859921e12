"""Table 2 of TRES on labelled text: how many keywords expansion finds, and how often relevant pages use them."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import mean

from tres_crawler.classify.training import folds
from tres_crawler.experiments.relevance.data import Folder
from tres_crawler.experiments.relevance.options import Findings, Options, given_keywords
from tres_crawler.experiments.report import Check, Say
from tres_crawler.keywords import expand
from tres_crawler.records import Example
from tres_crawler.text import PhraseFinder, words
from tres_crawler.vectors import load_vectors

PAPER = {"sports": (62, 32, 19.55, 0.86), "food": (10, 205, 15.46, 1.04), "hardware": (11, 129, 17.66, 1.44)}
"""Initial and found keywords, their mean count in relevant and in irrelevant pages."""


def keywords(options: Options, folder: Folder, say: Say) -> Findings:
    rows: list[dict[str, object]] = []
    checks: list[Check] = []
    for topic in options.topics:
        examples = folder.examples(topic, options.sizes.relevant)
        learned, tested = folds(examples, 0)[0]
        seeds = given_keywords(topic)
        found = expand(seeds, [_text(examples[at]) for at in learned if examples[at].relevant], load_vectors()).found
        say(f"{topic}: {len(found)} keywords found")
        held = [examples[at] for at in tested]
        relevant, irrelevant = (_mean_count(found, held, label) for label in (True, False))
        paper = PAPER.get(topic, (None, None, None, None))
        rows.append(
            {
                "part": "keywords",
                "topic": topic,
                "initial": len(seeds),
                "found": len(found),
                "in_relevant": round(relevant, 2),
                "in_irrelevant": round(irrelevant, 2),
                "ratio": round(relevant / irrelevant, 1) if irrelevant else None,
                "words_in_relevant": round(_mean_words(held, True)),
                "words_in_irrelevant": round(_mean_words(held, False)),
                "paper_initial": paper[0],
                "paper_found": paper[1],
                "paper_in_relevant": paper[2],
                "paper_in_irrelevant": paper[3],
            }
        )
        checks.append(
            Check.at_least(
                f"{topic}: found keywords in relevant pages less irrelevant", round(relevant - irrelevant, 2), 0
            )
        )
    return Findings(rows, checks)


def _mean_count(found: Sequence[str], examples: Sequence[Example], relevant: bool) -> float:
    finder = PhraseFinder(found)
    return mean(
        sum(finder.count(words(_text(example))).values()) for example in examples if example.relevant is relevant
    )


def _mean_words(examples: Sequence[Example], relevant: bool) -> float:
    return mean(len(words(_text(example))) for example in examples if example.relevant is relevant)


def _text(example: Example) -> str:
    return f"{example.page.title}\n{example.page.text}"
