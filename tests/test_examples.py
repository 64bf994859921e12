"""The examples that a topic names become labelled pages, or are refused by name."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.texts import COOKING, GARDEN
from tres_crawler.errors import TopicError
from tres_crawler.examples import read_examples
from tres_crawler.records import Topic
from tres_crawler.topic import load_topic, parse_topic

START = 'name = "food"\nkeywords = ["soup"]\nseeds = ["http://a.test/"]\n[examples]\n'


def topic(folder: Path, relevant: str, irrelevant: str = "") -> Topic:
    """The topic of a file in `folder` that names these examples."""
    path = folder / "food.toml"
    path.write_text(f"{START}relevant = [{relevant}]\nirrelevant = [{irrelevant}]\n")
    return load_topic(path)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Folders of examples beside a topic file."""
    for name in ("yes", "yes/deep", "no"):
        (tmp_path / name).mkdir()
    (tmp_path / "yes/a.txt").write_text(f"A soup\n{COOKING}\n")
    (tmp_path / "yes/b.html").write_text(
        f"<title>Söup</title><meta name=description content='About soup'><nav>Home</nav><p>{COOKING} Enjoy.</p>"
    )
    (tmp_path / "yes/deep/c.txt").write_text("Bread\nis baked in an oven.")
    (tmp_path / "no/d.txt").write_text(GARDEN)
    return tmp_path


def test_files_are_found_by_patterns_beside_the_topic_file(folder: Path) -> None:
    found = read_examples(topic(folder, '"yes/*.txt", "yes/*.html"', '"no/*"'))
    assert [(Path(example.group).name, example.relevant) for example in found] == [
        ("a.txt", True),
        ("b.html", True),
        ("d.txt", False),
    ]
    assert all(example.is_label and example.weight == 1.0 for example in found)
    text, html, _ = found
    assert (text.page.title, text.page.text) == ("A soup", f"A soup\n{COOKING}")
    assert (html.page.title, html.page.description) == ("Söup", "About soup")
    assert "Enjoy." in html.page.text
    assert "Home" not in html.page.text, "only the main text of a page is an example"


def test_a_pattern_may_reach_into_every_folder_and_out_of_its_own(folder: Path) -> None:
    names = {Path(example.group).name for example in read_examples(topic(folder, '"yes/**/*.txt"'))}
    assert names == {"a.txt", "c.txt"}
    assert len(read_examples(topic(folder / "no", '"../yes/a.txt"'))) == 1
    assert len(read_examples(topic(folder, f'"{folder}/yes/a.txt"'))) == 1


def test_the_name_of_the_topics_own_folder_is_no_pattern(folder: Path) -> None:
    odd = folder / "my [old] topics*"
    (odd / "yes").mkdir(parents=True)
    (odd / "yes/a.txt").write_text(COOKING)
    (example,) = read_examples(topic(odd, '"yes/*.txt"'))
    assert example.group == str(odd / "yes/a.txt")


def test_shipped_examples_are_named_by_their_topic_and_by_all_others(folder: Path) -> None:
    found = read_examples(topic(folder, '"shipped:food"', '"shipped: not food"'))
    relevant = [example for example in found if example.relevant]
    assert (len(relevant), len(found)) == (60, 900)
    assert len({example.group for example in found}) == 900
    with pytest.raises(TopicError, match=r'no shipped examples for "fod"\. Did you mean "food"'):
        read_examples(topic(folder, '"shipped:fod"'))


def test_urls_are_left_to_the_crawl(folder: Path) -> None:
    named = topic(folder, '"http://B.test", "yes/a.txt"')
    assert named.relevant_examples[0] == "http://b.test/"
    assert len(read_examples(named)) == 1


@pytest.mark.parametrize("pattern", ["nowhere/*.txt", "yes", "yes/**.txt", ".", "yes/[", "/"])
def test_a_pattern_that_matches_no_file_is_told(folder: Path, pattern: str) -> None:
    with pytest.raises(TopicError, match="No file matches the example"):
        read_examples(topic(folder, f'"{pattern}"'))


@pytest.mark.parametrize(
    ("name", "body"),
    [
        ("empty.txt", b""),
        ("blank.txt", b" \n\t\n"),
        ("signs.txt", "?! … 😀\n---\n".encode()),
        ("empty.html", b"<html><title>Soup</title>"),
        ("picture.txt", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\1\0 soup and bread \0\xff\xfe"),
        ("junk.html", b"\x00\x01\x02"),
    ],
)
def test_a_file_without_usable_text_is_refused_by_name(folder: Path, name: str, body: bytes) -> None:
    (folder / name).write_bytes(body)
    with pytest.raises(TopicError, match=f"The example .*{name} has no text"):
        read_examples(topic(folder, f'"{name}"'))


def test_examples_that_contradict_each_other_are_refused_with_both_names(folder: Path) -> None:
    (folder / "no/copy.txt").write_text(f"A soup\n{COOKING}")
    with pytest.raises(TopicError, match=r"food contradict each other: .*a\.txt and .*copy\.txt have the same text"):
        read_examples(topic(folder, '"yes/a.txt"', '"no/*.txt"'))
    with pytest.raises(TopicError, match=r"call http://b\.test/ both relevant and irrelevant"):
        read_examples(topic(folder, '"http://b.test/"', '"http://B.test"'))


def test_a_copy_with_the_same_label_is_no_contradiction(folder: Path) -> None:
    (folder / "yes/copy.txt").write_text(f"A soup\n{COOKING}")
    assert len(read_examples(topic(folder, '"yes/*.txt"'))) == 2


def test_a_request_may_name_urls_and_shipped_examples_but_no_files() -> None:
    given = {"name": "x", "keywords": ["soup"], "seeds": ["http://a.test/"]}
    fine = parse_topic({**given, "examples": {"relevant": ["http://b.test", "shipped:food"]}}, "body")
    assert fine.relevant_examples == ("http://b.test/", "shipped:food")
    for pattern in ("/etc/passwd", "yes/*.txt", "file:///etc/passwd", "../secret"):
        with pytest.raises(TopicError, match="is a file, which only a topic file may name"):
            parse_topic({**given, "examples": {"irrelevant": [pattern]}}, "body")
