"""`tres topic` as a person uses it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.commands import RunningWeb, running_simweb, tres
from tests.texts import COOKING, GARDEN

TRAINED = {"FETCH__DELAY_SECONDS": "0", "RELEVANCE__MODEL": "bilstm"}
TOPIC = 'keywords = ["soup"]\nseeds = ["http://a.example/"]\n'


@pytest.fixture(scope="module")
def web(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningWeb]:
    with running_simweb(tmp_path_factory.mktemp("web"), "--sites", "200", "--pages", "6000", "--seed", "4") as running:
        yield running


def test_the_shipped_topics_are_listed(tmp_path: Path) -> None:
    told = tres("topic", "list", cwd=tmp_path).stdout
    assert all(name in told for name in ("sports", "food", "hardware"))


def test_a_topic_with_one_keyword_or_unknown_ones_is_called_weak(tmp_path: Path) -> None:
    (tmp_path / "one.toml").write_text(TOPIC)
    (tmp_path / "odd.toml").write_text(TOPIC.replace("soup", "zorblax"))
    assert "1 keyword; five to twenty" in tres("topic", "check", "one.toml", cwd=tmp_path).stdout
    told = tres("topic", "check", "odd.toml", cwd=tmp_path).stdout
    assert "no word vector for zorblax" in told
    assert "only pages that use these very words" in told


def test_contradictory_and_empty_examples_are_refused_by_name(tmp_path: Path) -> None:
    for name, text in (("a.txt", COOKING), ("b.txt", COOKING), ("c.txt", " \n")):
        (tmp_path / name).write_text(text)
    start = TOPIC + "[examples]\n"
    (tmp_path / "both.toml").write_text(start + 'relevant = ["a.txt"]\nirrelevant = ["b.txt"]')
    (tmp_path / "empty.toml").write_text(start + 'relevant = ["c.txt"]')
    (tmp_path / "none.toml").write_text(start + 'relevant = ["missing/*.html"]')
    for topic, said in (("both", "contradict each other"), ("empty", "has no text"), ("none", "No file matches")):
        refused = tres("topic", "check", f"{topic}.toml", cwd=tmp_path)
        assert (refused.returncode, said in refused.stderr) == (2, True), refused.stderr


def test_expansion_finds_words_in_the_examples_and_keeps_to_bans(tmp_path: Path) -> None:
    (tmp_path / "yes.txt").write_text(COOKING)
    (tmp_path / "no.txt").write_text(GARDEN)
    head = (
        'keywords = ["soup", "bread", "onion"]\nban = ["garlic"]\npin = ["stock pot"]\nseeds = ["http://a.example/"]\n'
    )
    (tmp_path / "t.toml").write_text(head + '[examples]\nrelevant = ["yes.txt"]\nirrelevant = ["no.txt"]\n')
    ended = tres("topic", "expand", "t.toml", "--json", cwd=tmp_path, RELEVANCE__BOOTSTRAP_PAGES="0")
    assert ended.returncode == 0, ended.stderr
    found = {keyword["text"]: keyword for keyword in json.loads(ended.stdout)["keywords"]}
    assert found["tomato"]["origin"] == "found"
    assert found["stock pot"]["origin"] == "pinned"
    assert "garlic" not in found
    assert "committee" not in found


def test_training_without_labels_speaks_of_agreement_and_not_of_precision(tmp_path: Path, web: RunningWeb) -> None:
    topic = str(web.topics / "food.toml")
    ended = tres("topic", "train", topic, "--connect-to", web.address, cwd=tmp_path, **TRAINED)
    assert ended.returncode == 0, ended.stderr
    assert "Agreement with keywords and word vectors" in ended.stdout
    assert "Precision and recall: unknown" in ended.stdout


def test_a_crawl_can_be_judged_again(tmp_path: Path, web: RunningWeb) -> None:
    quick = {**TRAINED, "RELEVANCE__MODEL": "svm", "RELEVANCE__BOOTSTRAP_PAGES": "0"}
    crawled = tres(
        "crawl",
        web.topics / "food.toml",
        "--pages",
        "80",
        "--policy",
        "best-first",
        "--connect-to",
        web.address,
        "--json",
        cwd=tmp_path,
        **quick,
    )
    before = json.loads(crawled.stdout)
    ended = tres("topic", "rejudge", "1", "--json", cwd=tmp_path)
    assert ended.returncode == 0, ended.stderr
    told = json.loads(ended.stdout)
    assert told["before"]["relevant_pages"] == before["relevant_pages"]
    assert told["version"] == 2
    status = json.loads(tres("status", "1", "--json", cwd=tmp_path).stdout)
    assert status["relevant_pages"] == told["after"]["relevant_pages"]
    assert status["judge"]["version"] == 2
