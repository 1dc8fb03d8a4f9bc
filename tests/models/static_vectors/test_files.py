import gzip
from pathlib import Path

import numpy as np
import pytest

from rejoinder.errors import DataError
from rejoinder.models.static_vectors.files import read_vector_file
from rejoinder.models.static_vectors.vectors import Matrix

GLOVE = "the 0.1 0.2 0.3\ncat 1 2 3\n. . . 7 8 9\n"


def read(path: Path, *words: str) -> tuple[list[str], Matrix]:
    return read_vector_file(path, lambda word: word in words, required=words)


def write(path: Path, content: str | bytes) -> Path:
    raw = content.encode() if isinstance(content, str) else content
    path.write_bytes(gzip.compress(raw) if path.suffix == ".gz" else raw)
    return path


@pytest.mark.parametrize("name", ["glove.txt", "glove.txt.gz"])
def test_glove_text_is_read_plain_or_compressed(tmp_path: Path, name: str) -> None:
    words, matrix = read(write(tmp_path / name, GLOVE), "cat", "dog")

    assert words == ["cat"]
    assert matrix.tolist() == [[1, 2, 3]]


def test_a_word_may_hold_spaces(tmp_path: Path) -> None:
    assert read(write(tmp_path / "v.txt", GLOVE), ". . .")[1].tolist() == [[7, 8, 9]]


def test_a_first_line_of_counts_is_no_word(tmp_path: Path) -> None:
    path = write(tmp_path / "fasttext.vec", "2 3\n2 1 1 1\ncat 1 2 3 \n")

    assert read(path, "2", "cat")[0] == ["2", "cat"]


def test_numberbatch_words_of_english_lose_their_prefix(tmp_path: Path) -> None:
    path = write(tmp_path / "n.txt", "3 2\n/c/de/cat 9 9\n/c/en/cat 1 2\n/c/en/dog 3 4\n")

    words, matrix = read(path, "cat", "dog")

    assert words == ["cat", "dog"]
    assert matrix.tolist() == [[1, 2], [3, 4]]


@pytest.mark.parametrize("name", ["w.bin", "w.bin.gz"])
def test_word2vec_binary_is_read(tmp_path: Path, name: str) -> None:
    rows = np.array([[1, 2], [3, 4]], dtype="<f4")
    content = b"2 2\n" + b"cat " + rows[0].tobytes() + b"\n" + "hütte ".encode() + rows[1].tobytes()

    words, matrix = read(write(tmp_path / name, content), "cat", "hütte")

    assert words == ["cat", "hütte"]
    assert matrix.tolist() == rows.tolist()


def test_the_first_of_two_equal_words_counts(tmp_path: Path) -> None:
    assert read(write(tmp_path / "v.txt", "a 1 2\na 3 4\n"), "a")[1].tolist() == [[1, 2]]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("v.txt", "a 1 2 3\nb 1 2\n", r"v\.txt:2: expected a word and 3 numbers, found 3 fields"),
        ("v.txt", "a 1 2\nb 1 2 3\n", r"v\.txt:2: expected 2 numbers as before, found 3"),
        ("v.txt", "a 1 x\n", r"v\.txt:1: not a number"),
        ("v.txt", "a 1 nan\n", r"v\.txt:1: a number is not finite"),
        ("v.txt", "word\n", r"v\.txt:1: expected a word and 0 numbers"),
        ("v.txt", "3 x\na 1 2\n", r"v\.txt:1: expected a count, found 'x'"),
        ("v.txt", "3 \u00b2\na 1 2\n", r"v\.txt:1: expected a count, found '\u00b2'"),
        ("v.txt", f"3 {10**20}\na 1 2\n", r"v\.txt:1: expected a count, found '1000"),
        ("v.bin", f"1 {10**9}\na 1 2\n", r"v\.bin:1: expected at most 65536 numbers a word"),
        ("v.txt", "zzz 1 2\n", r"v\.txt: holds none of the words"),
        ("v.txt", "", r"v\.txt: the file is empty"),
        ("v.bin", b"2 2\na \0\0", r"v\.bin: ends in the middle of word 1 of 2"),
        ("v.bin", b"hello\n", r"v\.bin:1: expected two counts"),
    ],
)
def test_a_corrupt_file_is_reported_with_its_line(
    tmp_path: Path, name: str, content: str | bytes, message: str
) -> None:
    with pytest.raises(DataError, match=message):
        read(write(tmp_path / name, content), "a", "b")


@pytest.mark.parametrize("name", ["v.txt.gz", "v.bin.gz"])
def test_a_truncated_gz_is_named(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    content = b"1 2\n" + b"a " + np.random.default_rng(0).bytes(8000)
    path.write_bytes(gzip.compress(content if ".bin" in name else GLOVE.encode() * 500)[:-30])

    with pytest.raises(DataError, match=r"v\.(txt|bin)\.gz"):
        read(path, "unheard-of")


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"none\.bin: .*No such file"):
        read(tmp_path / "none.bin", "a")
