"""The examples that a topic names → labelled pages: files, and those that travel with the package."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from tres_crawler.classify.prior import example_rows
from tres_crawler.errors import TopicError
from tres_crawler.explaining import nearest
from tres_crawler.parse import parse
from tres_crawler.records import Example, Fetched, PageText, Topic
from tres_crawler.text import words
from tres_crawler.topic import SHIPPED_EXAMPLES, is_url

HTML = (".html", ".htm")
MOST_BYTES = 10_000_000
NOT = "not "


def read_examples(topic: Topic) -> list[Example]:
    """All examples but URLs, which are fetched by the crawl. What cannot be used is refused by name."""
    found = [
        example
        for patterns, relevant in ((topic.relevant_examples, True), (topic.irrelevant_examples, False))
        for pattern in patterns
        if not is_url(pattern)
        for example in _read(pattern, relevant)
    ]
    _refuse_contradictions(found, topic)
    return found


def _read(pattern: str, relevant: bool) -> Iterable[Example]:
    if pattern.startswith(SHIPPED_EXAMPLES):
        return _shipped(pattern.removeprefix(SHIPPED_EXAMPLES).strip(), relevant)
    root = Path(pattern).anchor
    try:
        paths = sorted(path for path in Path(root).glob(str(Path(pattern).relative_to(root))) if path.is_file())
    except (ValueError, IndexError, NotImplementedError):
        paths = []  # "**.txt" is no pattern, nor is "/"
    if not paths:
        raise TopicError(f'No file matches the example "{pattern}". Patterns are relative to the topic file.')
    return [Example(_page(path), relevant, group=str(path)) for path in paths]


def _shipped(name: str, relevant: bool) -> list[Example]:
    rows = example_rows()
    known = {topic for topic, _ in rows}
    topic = name.removeprefix(NOT)
    if topic not in known:
        raise TopicError(f'There are no shipped examples for "{topic}".{nearest(topic, known)}')
    wanted = name == topic
    return [
        Example(page, relevant, group=f"shipped {at}") for at, (of, page) in enumerate(rows) if (of == topic) is wanted
    ]


def _page(path: Path) -> PageText:
    try:
        with path.open("rb") as file:
            body = file.read(MOST_BYTES)
    except OSError as error:
        raise TopicError(f"The example {path} cannot be read: {error.strerror}.") from error
    if path.suffix.lower() in HTML:
        document = parse(Fetched(f"file://{path}", 200, "text/html", body, None, 0.0))
        page = PageText.of(document)
    else:
        title, _, text = body.decode("utf-8", "replace").strip().partition("\n")
        page = PageText(title, "", f"{title}\n{text}")
    if not words(page.text) or (path.suffix.lower() not in HTML and b"\0" in body):
        raise TopicError(f"The example {path} has no text. Leave it out, or save the page with its text.")
    return page


def _refuse_contradictions(examples: Iterable[Example], topic: Topic) -> None:
    by_text: dict[str, Example] = {}
    for example in examples:
        other = by_text.setdefault(example.page.text, example)
        if other.relevant != example.relevant:
            raise TopicError(
                f"The examples of topic {topic.name} contradict each other: {other.group} and {example.group} have the "
                "same text, and one is called relevant, the other not. Keep one of them."
            )
    both = set(topic.relevant_examples) & set(topic.irrelevant_examples)
    if both:
        raise TopicError(f"The examples of topic {topic.name} call {min(both)} both relevant and irrelevant. Keep one.")
