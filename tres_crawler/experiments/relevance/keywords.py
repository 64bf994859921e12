"""Table 2 of TRES on labelled text: how many keywords expansion finds, and how often relevant pages use them."""

from __future__ import annotations

from statistics import mean

from tres_crawler.classify.training import folds
from tres_crawler.experiments.relevance.data import Folder
from tres_crawler.experiments.relevance.options import Findings, Options, given_keywords, vectors
from tres_crawler.experiments.report import Check, Say
from tres_crawler.keywords import expand
from tres_crawler.records import Example
from tres_crawler.text import PhraseFinder, words

PAPER = {"sports": (62, 32, 19.55, 0.86), "food": (10, 205, 15.46, 1.04), "hardware": (11, 129, 17.66, 1.44)}
"""Initial and found keywords, their mean count in relevant and in irrelevant pages."""


def keywords(options: Options, folder: Folder, say: Say) -> Findings:
    """Found in the relevant pages of four folds, counted in all pages of the fifth; means over the five turns."""
    rows: list[dict[str, object]] = []
    checks: list[Check] = []
    for topic in options.topics:
        examples = folder.examples(topic, options.sizes.relevant)
        seeds = given_keywords(topic)
        numbers: list[int] = []
        counts: dict[bool, list[int]] = {True: [], False: []}
        lengths: dict[bool, list[int]] = {True: [], False: []}
        for learned, tested in folds(examples, 0):
            documents = [_text(examples[at]) for at in learned if examples[at].relevant]
            found = expand(seeds, documents, vectors()).found
            numbers.append(len(found))
            finder = PhraseFinder(found)
            for at in tested:
                text = words(_text(examples[at]))
                counts[examples[at].relevant].append(sum(finder.count(text).values()))
                lengths[examples[at].relevant].append(len(text))
        relevant, irrelevant = mean(counts[True]), mean(counts[False])
        say(f"{topic}: {mean(numbers):.0f} keywords found")
        paper = PAPER.get(topic, (None, None, None, None))
        rows.append(
            {
                "part": "keywords",
                "topic": topic,
                "initial": len(seeds),
                "found": round(mean(numbers)),
                "in_relevant": round(relevant, 2),
                "in_irrelevant": round(irrelevant, 2),
                "ratio": round(relevant / irrelevant, 1) if irrelevant else None,
                "words_in_relevant": round(mean(lengths[True])),
                "words_in_irrelevant": round(mean(lengths[False])),
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


def _text(example: Example) -> str:
    return f"{example.page.title}\n{example.page.text}"
