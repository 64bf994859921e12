"""A topic file is read whole, or refused with its name and the key at fault."""

from __future__ import annotations

from pathlib import Path

import pytest

from tres_crawler.errors import TopicError
from tres_crawler.examples import read_examples
from tres_crawler.records import Topic
from tres_crawler.topic import find_topic, load_topic, shipped_topics

WHOLE = """
name = " databases "
keywords = ["database", " query planner ", ""]
seeds = ["HTTPS://www.Example.org", "http://b.test/x#part"]
[examples]
relevant = ["yes/*.html"]
irrelevant = ["no/*.html"]
[crawl]
max_pages = 300
max_per_site = "5:2"
"""
START = 'keywords = ["a"]\nseeds = ["http://a.test/"]\n'


def written(folder: Path, text: str) -> Path:
    path = folder / "chess.toml"
    path.write_text(text)
    return path


def test_a_whole_file_gives_a_whole_topic(tmp_path: Path) -> None:
    assert load_topic(written(tmp_path, WHOLE)) == Topic(
        name="databases",
        keywords=("database", "query planner"),
        seeds=("https://www.example.org/", "http://b.test/x"),
        relevant_examples=(str(tmp_path / "yes/*.html"),),
        irrelevant_examples=(str(tmp_path / "no/*.html"),),
        crawl={"max_pages": 300, "max_per_site": "5:2"},
    )


def test_a_topic_without_a_name_is_called_after_its_file(tmp_path: Path) -> None:
    assert load_topic(written(tmp_path, START)) == Topic("chess", ("a",), ("http://a.test/",))


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('seeds = ["http://a.test/"]', '"keywords" is empty'),
        ('keywords = [" "]\nseeds = ["http://a.test/"]', '"keywords" is empty'),
        ('keywords = "a"\nseeds = ["http://a.test/"]', '"keywords" must be a list of texts'),
        ('keywords = ["a"]', "no seeds"),
        ('keywords = ["a"]\nseeds = [3]', '"seeds" must be a list of texts'),
        (
            'keywords = ["a"]\nseeds = ["http://a.test/", "ftp://a.test/"]',
            'seed "ftp://a.test/" is not an http or https',
        ),
        ('keywords = ["a"]\nseeds = ["www.example.org"]', 'seed "www.example.org" is not an http or https URL'),
        ("name = 3\n" + START, '"name" must be a text'),
        ('name = " "\n' + START, '"name" must be a text'),
        ("crawl = 3\n" + START, '"crawl" must be a table'),
        (START + '[examples]\nrelevant = "x"', '"relevant" must be a list of texts'),
        (START + "[crawl]\nmax_pages = 0", '"crawl.max_pages"'),
        (START + '[crawl]\npolicy = "best"', '"crawl.policy"'),
        (START + "name databases", "at line 3"),
    ],
)
def test_a_fault_is_told_with_the_file_and_the_key(tmp_path: Path, text: str, told: str) -> None:
    path = written(tmp_path, text)
    with pytest.raises(TopicError) as caught:
        load_topic(path)
    assert str(path) in str(caught.value)
    assert told in str(caught.value)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("keyword = []\n" + START, 'Unknown key "keyword". Did you mean "keywords"?'),
        (START + "[examples]\nirelevant = []", 'Unknown key "examples.irelevant". Did you mean "irrelevant"?'),
        (START + "[crawl]\nmax_page = 3", 'Unknown key "crawl.max_page". Did you mean "max_pages"?'),
        (
            START + "[fetch]\nslots = 3",
            'Unknown key "fetch". Allowed: ban, crawl, examples, keywords, name, pin, recrawl, seeds.',
        ),
    ],
)
def test_an_unknown_key_is_refused_with_the_nearest_valid_one(tmp_path: Path, text: str, told: str) -> None:
    with pytest.raises(TopicError) as caught:
        load_topic(written(tmp_path, text))
    assert told in str(caught.value)


def test_a_missing_file_is_told(tmp_path: Path) -> None:
    with pytest.raises(TopicError, match=r"There is no file .*nowhere\.toml"):
        load_topic(tmp_path / "nowhere.toml")


def test_pinned_and_banned_words_are_read(tmp_path: Path) -> None:
    topic = load_topic(written(tmp_path, 'pin = ["gambit ", ""]\nban = ["board"]\n' + START))
    assert (topic.pin, topic.ban) == (("gambit",), ("board",))
    with pytest.raises(TopicError, match='"ban" must be a list of texts'):
        load_topic(written(tmp_path, 'ban = "board"\n' + START))


@pytest.mark.parametrize("name", ["sports", "food", "hardware"])
def test_a_shipped_topic_is_found_by_its_name_and_has_all_that_a_crawl_needs(name: str) -> None:
    topic = find_topic(name)
    assert topic.name == name
    assert len(topic.keywords) >= 10
    assert all(seed.startswith("https://") for seed in topic.seeds)
    examples = read_examples(topic)
    assert sum(example.relevant for example in examples) == 60
    assert sum(not example.relevant for example in examples) == 840


def test_the_shipped_topics_are_those_of_the_paper() -> None:
    assert list(shipped_topics()) == ["food", "hardware", "sports"]


def test_a_name_that_is_no_topic_is_told_with_those_that_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(TopicError, match=r'There is no topic "sprots".*food, hardware, sports'):
        find_topic("sprots")
    with pytest.raises(TopicError, match=r"There is no file sports\.toml"):
        find_topic("sports.toml")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sports").write_text(START)
    assert find_topic("sports").keywords == ("a",), "a file comes before a shipped topic of the same name"
    assert find_topic(str(written(tmp_path, START))).name == "chess"
