"""Word vectors in the formats in which they are published, read one word at a time.

Text: a word and its numbers, separated by spaces (GloVe); with a first line of two counts
(word2vec, fastText, Numberbatch); plain or .gz.  Binary: word2vec's.  Numberbatch writes
words as `/c/en/word` in its multilingual files, and joins the words of a phrase by `_`.
"""

import gzip
import re
from collections.abc import Callable, Collection, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import IO

import numpy as np

from rejoinder.datasets.files import read_lines
from rejoinder.errors import DataError
from rejoinder.models.static_vectors.vectors import Matrix, StaticVectors, quantise_rows
from rejoinder.text.wordpiece import pretokenize
from rejoinder.types import Example

MAX_WIDTH = 65_536
MOST_FREQUENT = 50_000
"""Published files are sorted by frequency; this many words are loaded for texts not seen yet."""

_COUNT = re.compile(r"0*[1-9][0-9]{0,11}")
_Rows = Iterator[tuple[str, Callable[[], Matrix]]]
"""Words, each with a function that parses its vector."""


def load_published_vectors(path: Path, examples: Iterable[Example]) -> StaticVectors:
    """Load the vectors of the examples' words and of the file's most frequent words.

    Raises:
        DataError: the file is corrupt, or has none of the words.
    """
    needed = {
        word
        for example in examples
        for text in (example.question, *(item.text for item in example.candidates))
        for word in pretokenize(text)
    }
    seen = 0

    def is_selected(word: str) -> bool:
        nonlocal seen
        seen += 1
        return word in needed or (seen <= MOST_FREQUENT and pretokenize(word) == [word])

    words, matrix = read_vector_file(path, is_selected, required=needed)
    return StaticVectors(words, *quantise_rows(matrix), are_pieces=False)


def read_vector_file(
    path: Path, is_selected: Callable[[str], bool], *, required: Collection[str]
) -> tuple[list[str], Matrix]:
    """Return the selected words and one row per word; the first of equal words counts.

    A file with none of the required words is of another language or kind.

    Raises:
        DataError: the file is corrupt, vectors differ in width, a number is invalid, or it
            has no required word.
    """
    read = _read_binary if path.name.removesuffix(".gz").endswith(".bin") else _read_text
    vectors: dict[str, Matrix] = {}
    for word, parse in read(path):
        if is_selected(word) and word not in vectors:
            vectors[word] = parse()
    if not any(word in vectors for word in required):
        raise DataError("holds none of the words of the texts", path=path)
    return list(vectors), np.stack(list(vectors.values()))


def _read_text(path: Path) -> _Rows:
    width = 0
    for number, line in read_lines(path):
        fields = line.rstrip(" ").split(" ")
        if number == 1 and len(fields) == 2:
            width = _parse_count(fields[1], path, MAX_WIDTH)
            continue
        width = width or len(fields) - 1
        if len(fields) <= width or width < 2:
            problem = f"expected a word and {width} numbers, found {len(fields)} fields"
            raise DataError(problem, path=path, line=number)
        # GloVe's largest file has words with spaces in them: the numbers come last.
        word = " ".join(fields[:-width])
        if len(fields) > width + 1 and _is_number(fields[-width - 1]):
            problem = f"expected {width} numbers as before, found {len(fields) - 1}"
            raise DataError(problem, path=path, line=number)
        yield _clean(word), partial(_parse_vector, fields[-width:], path, number)


def _parse_vector(fields: list[str], path: Path, line: int) -> Matrix:
    try:
        vector = np.array(fields, dtype=np.float32)
    except ValueError as error:
        raise DataError(f"not a number: {error}", path=path, line=line) from error
    if not np.isfinite(vector).all():
        raise DataError("a number is not finite", path=path, line=line)
    return vector


def _read_binary(path: Path) -> _Rows:
    try:
        with gzip.open(path, "rb") if path.suffix == ".gz" else path.open("rb") as file:
            counts = file.readline().decode("ascii", "replace").split()
            if len(counts) != 2:
                raise DataError("expected two counts on the first line", path=path, line=1)
            total = _parse_count(counts[0], path)
            width = _parse_count(counts[1], path, MAX_WIDTH)
            for number in range(total):
                word = _read_word(file)
                raw = file.read(4 * width)
                if len(raw) < 4 * width:
                    problem = f"ends in the middle of word {number + 1} of {total}"
                    raise DataError(problem, path=path)
                yield _clean(word), partial(_parse_bytes, raw)
    except (OSError, EOFError) as error:
        raise DataError(f"cannot be read: {error}", path=path) from error


def _parse_bytes(raw: bytes) -> Matrix:
    return np.frombuffer(raw, dtype="<f4")


def _read_word(file: IO[bytes] | gzip.GzipFile) -> str:
    letters = bytearray()
    while (letter := file.read(1)) not in (b" ", b""):
        if letter != b"\n":
            letters += letter
    return letters.decode("utf-8", "replace")


def _parse_count(text: str, path: Path, limit: int | None = None) -> int:
    if not _COUNT.fullmatch(text):
        raise DataError(f"expected a count, found {text[:50]!r}", path=path, line=1)
    if limit is not None and int(text) > limit:
        problem = f"expected at most {limit} numbers a word, found {int(text)}"
        raise DataError(problem, path=path, line=1)
    return int(text)


def _clean(word: str) -> str:
    if word.startswith("/c/"):
        language, _, bare = word[3:].partition("/")
        return bare if language == "en" else ""
    return word


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
