"""Word vectors come from any file that gensim reads, unpacked once; what is not such a file is refused by name."""

from __future__ import annotations

import gzip
import json
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from gensim.models import FastText, KeyedVectors, Word2Vec
from gensim.models.fasttext import save_facebook_model

from tres_crawler import vectors as module
from tres_crawler.cards import sha256_of
from tres_crawler.errors import ModelError
from tres_crawler.resources import shipped
from tres_crawler.vectors import SHIPPED, Vectors, load_vectors

WORDS = ["the", "tennis", "court", "baké", "swim"]
NUMBERS = np.random.default_rng(5).normal(size=(5, 6)).astype(np.float32)


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache of the test's own."""
    folder = tmp_path / "cache"
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder))
    return folder


@pytest.fixture
def models(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the shipped vectors that may be damaged."""
    folder = tmp_path / "models"
    folder.mkdir()
    for name in (SHIPPED, "glove-100d.json"):
        shutil.copy(shipped("models") / name, folder)
    monkeypatch.setattr(module, "shipped", lambda _: folder)
    return folder


def of_file(path: Path) -> Vectors:
    return load_vectors(str(path))


def is_mapped(vectors: Vectors) -> bool:
    """Whether the matrix is a view of a file."""
    return isinstance(vectors.matrix, np.memmap)


def a_set_of_vectors() -> KeyedVectors:
    keyed = KeyedVectors(6)
    keyed.add_vectors(WORDS, NUMBERS)
    return keyed


# ---- the shipped ones ----


def test_the_shipped_vectors_are_those_their_card_describes() -> None:
    found = load_vectors()
    card = json.loads((shipped("models") / "glove-100d.json").read_text())
    assert found.matrix.shape == (card["words"], card["dimensions"]) == (80_000, 100)
    assert found.identity == card["sha256"]
    tennis, football, parliament = (found.phrase(word) for word in ("tennis", "football", "parliament"))
    assert tennis is not None and football is not None and parliament is not None
    assert tennis @ football > 0.5 > tennis @ parliament


def test_the_shipped_vectors_are_unpacked_once_and_then_mapped(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = load_vectors()
    monkeypatch.setattr(module, "_read", lambda _: pytest.fail("unpacked again"))
    second = load_vectors()
    assert is_mapped(first)
    assert is_mapped(second)
    assert np.array_equal(first.matrix[:500], second.matrix[:500])
    assert first.keyed.index_to_key == second.keyed.index_to_key
    assert sorted(file.suffix for file in (cache / "tres_crawler").iterdir()) == [".npy", ".txt"], "no parts are left"


def test_where_nothing_can_be_cached_the_vectors_are_kept_in_memory(cache: Path, tmp_path: Path) -> None:
    cache.write_text("a file, where a folder would have to be")
    a_set_of_vectors().save_word2vec_format(str(tmp_path / "v.txt"))
    found = of_file(tmp_path / "v.txt")
    assert not is_mapped(found)
    assert np.allclose(found.matrix, NUMBERS)


@pytest.mark.parametrize("suffix", [".npy", ".txt"])
@pytest.mark.parametrize("left", [0, 150], ids=["empty", "cut off"])
def test_a_damaged_cache_is_made_again(cache: Path, tmp_path: Path, suffix: str, left: int) -> None:
    keyed = KeyedVectors(6)
    keyed.add_vectors([f"word{n}" for n in range(200)], np.ones((200, 6), np.float32))
    keyed.save_word2vec_format(str(tmp_path / "v.txt"))
    of_file(tmp_path / "v.txt")
    (cached,) = (cache / "tres_crawler").glob(f"*{suffix}")
    cached.write_bytes(cached.read_bytes()[:left])
    found = of_file(tmp_path / "v.txt")
    assert len(found.keyed.index_to_key) == len(found.matrix) == 200
    assert is_mapped(of_file(tmp_path / "v.txt"))


def test_a_file_that_changed_is_read_again(tmp_path: Path) -> None:
    path = tmp_path / "v.txt"
    path.write_text("1 2\ntennis 1 0\n")
    before = of_file(path)
    path.write_text("1 3\ntennis 1 0 0\n")
    after = of_file(path)
    assert (before.dimensions, after.dimensions) == (2, 3)
    assert before.identity != after.identity


def test_vectors_that_are_not_what_their_card_says_are_refused_by_name(models: Path) -> None:
    body = bytearray((models / SHIPPED).read_bytes())
    body[5000] ^= 1
    (models / SHIPPED).write_bytes(body)
    with pytest.raises(ModelError, match=r"glove-100d\.npz is not the one its card glove-100d\.json describes"):
        load_vectors()


def test_missing_vectors_or_a_missing_or_damaged_card_are_told_by_name(models: Path) -> None:
    (models / "glove-100d.json").write_text("{")
    with pytest.raises(ModelError, match=r"card glove-100d\.json is not valid JSON"):
        load_vectors()
    (models / "glove-100d.json").unlink()
    with pytest.raises(ModelError, match=r"glove-100d\.npz cannot be read"):
        load_vectors()


@pytest.mark.parametrize("part", ["codes", "scale", "words"])
def test_vectors_of_another_shape_are_refused_by_name(models: Path, part: str) -> None:
    path = models / SHIPPED
    with np.load(path) as packed:
        arrays = dict(packed)
    arrays[part] = arrays[part][:-9]
    np.savez_compressed(path, **arrays)
    (models / "glove-100d.json").write_text(json.dumps({"sha256": sha256_of(path)}))
    with pytest.raises(ModelError, match=r"glove-100d\.npz are of another shape"):
        load_vectors()


# ---- plainer forms ----


@pytest.fixture(scope="module")
def known(tmp_path_factory: pytest.TempPathFactory) -> Vectors:
    path = tmp_path_factory.mktemp("forms") / "v.txt"
    known = ["tennis", "match", "berry", "coach", "swim", "bake", "player", "bus", "is"]
    path.write_text(f"{len(known)} 2\n" + "".join(f"{word} {n} 1\n" for n, word in enumerate(known)))
    return of_file(path)


@pytest.mark.parametrize(
    ("word", "plain"),
    [
        ("tennis", "tennis"),
        ("TENNIS", "tennis"),
        ("matches", "match"),
        ("players", "player"),
        ("player's", "player"),
        ("coach’s", "coach"),
        ("berries", "berry"),
        ("coaching", "coach"),
        ("baking", "bake"),
        ("baked", "bake"),
        ("swimming", "swim"),
        ("Coached", "coach"),
        ("buses", "bus"),
    ],
)
def test_a_word_is_found_in_a_plainer_form(known: Vectors, word: str, plain: str) -> None:
    assert known.row(word) == known.keyed.key_to_index[plain]
    assert known.row(word) == known.keyed.key_to_index[plain], "the second look is the same"


@pytest.mark.parametrize("word", ["zorblax", "ising", "s", "", "'s", "matchbox"])
def test_a_word_without_a_plainer_form_has_no_row(known: Vectors, word: str) -> None:
    assert known.row(word) == -1


def test_a_text_is_the_mean_of_its_known_words_and_nothing_without_any(known: Vectors) -> None:
    rows = known.rows(["zorblax", "tennis", "matches"])
    assert rows.tolist() == [0, 1]
    assert not known.mean(known.rows(["zorblax"])).any()
    assert known.phrase("zorblax!") is None
    both = known.phrase("Tennis zorblax match")
    assert both is not None
    assert np.linalg.norm(both) == pytest.approx(1.0)


def test_frequent_words_count_little_in_the_mean_of_a_text() -> None:
    vectors = load_vectors()
    the, tennis = vectors.row("the"), vectors.row("tennis")
    mean = vectors.mean(np.array([the, tennis], dtype=np.int32))
    near_the, near_tennis = vectors.units(np.array([the, tennis], dtype=np.int32)) @ mean
    assert near_tennis > 0.95 > near_the


# ---- other files ----


def word2vec_text(keyed: KeyedVectors, folder: Path) -> Path:
    keyed.save_word2vec_format(str(folder / "v.txt"))
    return folder / "v.txt"


def word2vec_binary(keyed: KeyedVectors, folder: Path) -> Path:
    keyed.save_word2vec_format(str(folder / "v.bin"), binary=True)
    return folder / "v.bin"


def packed_binary(keyed: KeyedVectors, folder: Path) -> Path:
    body = word2vec_binary(keyed, folder).read_bytes()
    (folder / "v.bin.gz").write_bytes(gzip.compress(body))
    return folder / "v.bin.gz"


def packed_text(keyed: KeyedVectors, folder: Path) -> Path:
    (folder / "v.txt.gz").write_bytes(gzip.compress(word2vec_text(keyed, folder).read_bytes()))
    return folder / "v.txt.gz"


def glove_text(keyed: KeyedVectors, folder: Path) -> Path:
    lines = word2vec_text(keyed, folder).read_text().splitlines(keepends=True)
    (folder / "glove.txt").write_text("".join(lines[1:]))
    return folder / "glove.txt"


def gensim_native(keyed: KeyedVectors, folder: Path) -> Path:
    keyed.save(str(folder / "v.kv"))
    return folder / "v.kv"


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # gensim leaves a GloVe file open
@pytest.mark.parametrize(
    "write", [word2vec_text, word2vec_binary, packed_binary, packed_text, glove_text, gensim_native]
)
def test_a_file_in_any_usual_format_gives_its_words_and_vectors(
    tmp_path: Path, write: Callable[[KeyedVectors, Path], Path]
) -> None:
    path = write(a_set_of_vectors(), tmp_path)
    for _ in ("read", "from the cache"):
        found = of_file(path)
        assert found.keyed.index_to_key == WORDS
        assert np.allclose(found.matrix, NUMBERS, atol=1e-5)
        assert found.row("Courts") == 2


def test_a_fasttext_file_and_a_whole_gensim_model_are_read(tmp_path: Path) -> None:
    texts = [["tennis", "court", "match"]] * 20
    fasttext = FastText(texts, vector_size=8, min_count=1, bucket=50, epochs=1, workers=1, seed=1)
    save_facebook_model(fasttext, str(tmp_path / "f.bin"))
    found = of_file(tmp_path / "f.bin")
    assert sorted(found.keyed.index_to_key) == ["court", "match", "tennis"]
    assert np.allclose(found.matrix[found.row("tennis")], fasttext.wv["tennis"], atol=1e-5)
    whole = Word2Vec(texts, vector_size=8, min_count=1, epochs=1, workers=1, seed=1)
    whole.save(str(tmp_path / "w.model"))
    found = of_file(tmp_path / "w.model")
    assert np.allclose(found.matrix[found.row("tennis")], whole.wv["tennis"])


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # gensim leaves such files open
@pytest.mark.parametrize(
    ("name", "body"),
    [
        ("empty.txt", b""),
        ("blank.txt", b"\n\n"),
        ("prose.txt", b"It rained all day.\nNobody came.\n"),
        ("none.txt", b"0 4\n"),
        ("cut.txt", b"2 4\ntennis 1 2 3 4\n"),
        ("cut.bin", b"3 4\ntennis \x00\x00"),
        ("junk.bin", bytes(range(256)) * 20),
        ("junk.kv", b"junk"),
        ("junk.gz", b"junk"),
        ("junk.npz", b"junk"),
    ],
)
def test_a_file_that_holds_no_vectors_is_refused_by_name(tmp_path: Path, name: str, body: bytes) -> None:
    (tmp_path / name).write_bytes(body)
    with pytest.raises(ModelError, match=f"{name} holds no word vectors"):
        of_file(tmp_path / name)


def test_a_missing_file_is_told_with_the_setting_that_names_it(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"nowhere\.bin cannot be read: No such file.*relevance\.vectors"):
        of_file(tmp_path / "nowhere.bin")
    with pytest.raises(ModelError, match="holds no word vectors"):
        of_file(tmp_path)
