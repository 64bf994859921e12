"""The relevance benchmark at its smallest: what it reports, not how good any judge is."""

from __future__ import annotations

import json
import lzma
from collections.abc import Mapping, Sequence
from pathlib import Path
from random import Random

import pytest

from tests.commands import tres
from tres_crawler.errors import ConfigError
from tres_crawler.experiments.relevance import relevance
from tres_crawler.experiments.relevance.data import SOURCES, Folder
from tres_crawler.experiments.relevance.options import PARTS, Options, Sizes
from tres_crawler.experiments.report import Report
from tres_crawler.records import Example
from tres_crawler.simweb.topics import KEYWORDS

TINY = Sizes(
    relevant=30,
    webs=1,
    sites=60,
    pages=1500,
    tested=150,
    labels=(60,),
    bootstrap=20,
    anchors=400,
    timed=16,
    seconds=0.3,
)
FRAMES = (
    "Everyone spoke of {} and {} that year.",
    "Nothing is as useful as a {} near a {}.",
    "She wrote about {}, {} and little else.",
    "We saw the {} long before the {}.",
)
TOPICS = ("Sports", "Food", "Hardware", "Arts", "Science")


def written(folder: Path, without: str = "") -> Path:
    """Labelled text as the benchmark wants it, made up here; each file has each topic from six hands."""
    rng = Random(1)
    folder.mkdir(parents=True)
    for name, source in SOURCES.items():
        topics = ("Hardware",) if source.counterpart else TOPICS
        rows = [
            _row(rng, f"{name}-{topic}-{at}", topic, f"hand {topic} {at % 6}") for topic in topics for at in range(40)
        ]
        kept = [{key: value for key, value in row.items() if key != without} for row in rows]
        with lzma.open(folder / f"{name}.jsonl.xz", "wt", encoding="utf-8") as file:
            file.writelines(f"{json.dumps(row)}\n" for row in kept)
    return folder


def _row(rng: Random, name: str, topic: str, hand: str) -> dict[str, str]:
    known = KEYWORDS[topic.lower()].split()
    text = " ".join(frame.format(*rng.sample(known, 2)) for frame in rng.sample(FRAMES, 3))
    return {"id": name, "topic": topic, "title": hand, "text": text, "source": hand, "list": hand}


def of_part(report: Report, part: str) -> Sequence[Mapping[str, object]]:
    return [row for row in report.rows if row["part"] == part]


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return written(tmp_path_factory.mktemp("labelled") / "text")


async def test_every_part_is_reported_with_one_set_of_columns_and_its_checks(data: Path, tmp_path: Path) -> None:
    said: list[str] = []
    options = Options(("food",), PARTS, data, tmp_path / "plots", TINY)
    report = await relevance(options, said.append)
    told = json.loads(report.json())
    assert told["bench"] == "relevance"
    assert set(told["settings"]["part_seconds"]) == set(PARTS)
    for part in (*PARTS, "event loop"):
        assert len({tuple(row) for row in of_part(report, part)}) == 1
    models = {row["model"]: row for row in of_part(report, "classify")}
    assert set(models) == {"bilstm", "kwbilstm", "svm", "linear", "prior"}
    assert models["svm"]["prevalence"] == pytest.approx(0.2, abs=0.05)
    starts = [(row["start"], row["model"]) for row in of_part(report, "bootstrap")]
    assert starts[:3] == [("keywords alone", "prior"), ("keywords + 1 seed", "bilstm"), ("60 labels", "bilstm")]
    assert {"keyword match", "mean-vector cosine", "prior", "student, 60 labels", "network, 60 labels"} <= {
        row["way"] for row in of_part(report, "anchors")
    }
    assert {row["at_once"] for row in of_part(report, "speed")} == {1, 16, 64, 256}
    assert {row["on"] for row in of_part(report, "calibration")} == {"simulated web", "labelled text"}
    assert (tmp_path / "plots" / "reliability-food.png").stat().st_size > 1000
    named = [check["name"] for check in told["checks"]]
    assert sum("less that of" in name for name in named) == 2
    assert "p99 lag of the event loop, ms" in named
    assert len(list(report.tables())) == len(PARTS) + 2


def test_irrelevant_pages_come_from_the_files_of_the_relevant_ones(data: Path) -> None:
    found = Folder(data).examples("sports", 40)

    def files(relevant: bool) -> set[str]:
        return {example.group.split()[0] for example in found if example.relevant is relevant}

    assert files(True) == files(False)
    assert sum(not example.relevant for example in found) == 4 * sum(example.relevant for example in found)


def test_pages_are_spread_over_books_and_a_books_title_is_not_shown(data: Path) -> None:
    books = [example for example in Folder(data).examples("Food", 40) if example.group.startswith("gutenberg")]
    assert not any(example.page.title for example in books)
    assert {_count(books, group) for group in {book.group for book in books if book.relevant}} <= {2, 3}


def _count(examples: Sequence[Example], group: str) -> int:
    return sum(example.group == group and example.relevant for example in examples)


def test_the_command_leaves_out_what_needs_labelled_text(tmp_path: Path) -> None:
    done = tres("bench", "relevance", "--part", "classify", cwd=tmp_path)
    assert done.returncode != 0
    assert "--data" in done.stderr


@pytest.mark.parametrize(
    ("topics", "parts", "said"),
    [(["sprots"], [], "sprots.*sports"), ([], ["speeed"], "speeed.*speed"), ([], ["keywords"], "needs a folder")],
)
def test_a_wrong_choice_is_named(topics: list[str], parts: list[str], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        Options.of(topics, parts, None, None, quick=True)


def test_without_labelled_text_the_other_parts_are_chosen() -> None:
    assert Options.of([], [], None, None, quick=True).parts == PARTS[2:]


def test_a_missing_folder_or_file_is_named(data: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"no folder .*nowhere"):
        Folder(tmp_path / "nowhere")
    (written(tmp_path / "text") / "foldoc.jsonl.xz").unlink()
    with pytest.raises(ConfigError, match=r"lacks foldoc\.jsonl\.xz"):
        Folder(tmp_path / "text")
    (tmp_path / "text" / "foldoc.jsonl.xz").write_bytes(b"no xz")
    with pytest.raises(ConfigError, match=r"foldoc\.jsonl\.xz is not JSON lines"):
        Folder(tmp_path / "text")
    with pytest.raises(ConfigError, match='no rows of topic "games"'):
        Folder(data).examples("games", 40)


def test_a_missing_column_is_named_with_its_line(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"link_lists\.jsonl\.xz, line 1: no text in column list"):
        Folder(written(tmp_path / "text", without="list"))
