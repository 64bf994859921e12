"""Every model that travels with the package is the one its card describes, and shows no text kept for measuring."""

from __future__ import annotations

import json
import lzma
import re
import shutil
from pathlib import Path

import pytest

from tests import shipped_examples
from tres_crawler.cards import checked
from tres_crawler.classify import prior
from tres_crawler.errors import ModelError
from tres_crawler.resources import shipped
from tres_crawler.simweb import prose

MODELS = shipped("models")
FILES = sorted(path for path in MODELS.iterdir() if path.is_file() and path.suffix != ".json")
PIECE = 30
"""Characters of a sentence's unchanging part from which on it is no stock phrase ("Long-time lurker, first post.")."""


def test_every_file_has_a_card_and_every_card_a_file() -> None:
    assert [path.name for path in FILES] == ["examples.xz", "glove-100d.npz", "policy.npz"]
    assert {path.stem for path in MODELS.glob("*.json")} == {path.stem for path in FILES}


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_a_card_says_what_the_file_is_where_it_is_from_and_what_it_hashes_to(path: Path) -> None:
    card = checked(path)
    assert (card["file"], card["bytes"]) == (path.name, path.stat().st_size)
    assert all(card[key] for key in ("name", "format", "licence"))
    assert card.get("source") or card.get("origin")


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_a_file_that_was_changed_is_refused_by_name(path: Path, tmp_path: Path) -> None:
    for file in (path, path.with_suffix(".json")):
        shutil.copy(file, tmp_path)
    copy = tmp_path / path.name
    copy.write_bytes(copy.read_bytes() + b"\0")
    with pytest.raises(ModelError, match=re.escape(path.name)):
        checked(copy)


def test_damaged_examples_are_refused_before_they_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for file in MODELS.glob("examples.*"):
        shutil.copy(file, tmp_path)
    (tmp_path / "examples.xz").write_bytes(b"junk")
    monkeypatch.setattr(prior, "shipped", lambda _: tmp_path)
    with pytest.raises(ModelError, match=r"examples\.xz is not the one its card"):
        prior.example_rows.__wrapped__()


def rows() -> list[dict[str, str]]:
    return [json.loads(line) for line in lzma.decompress((MODELS / "examples.xz").read_bytes()).splitlines()]


def test_the_shipped_examples_are_what_their_program_makes() -> None:
    found = rows()
    assert found == list(shipped_examples.pages())
    assert len(found) == checked(MODELS / "examples.xz")["pages"]


def unchanging(pool: str) -> set[str]:
    """The longest part without slots of each sentence in the paragraphs and common texts of a pool."""
    known = prose.load(pool)
    sentences = [piece for topic in known.topics for facet in topic.facets for piece in facet.pieces]
    parts = {max(sentence.parts, key=len).strip() for sentence in sentences}
    for template in known.common["background"]:
        parts |= {part.strip() for text in template.parts for part in re.split(r"(?<=[.!?])\s+", text)}
    return {part for part in parts if len(part) >= PIECE}


@pytest.mark.parametrize("pool", ["tune", "report"])
def test_no_sentence_kept_for_tuning_or_reporting_is_shown_to_a_judge(pool: str) -> None:
    everything = "\n".join(f"{row['title']}\n{row['text']}" for row in rows())
    kept = unchanging(pool)
    assert len(kept) > 1000
    assert [part for part in kept if part in everything] == []
    assert sum(part in everything for part in unchanging("train")) > 1000, "those to learn from are there"
