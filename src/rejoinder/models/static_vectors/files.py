"""Reads word vectors in the formats in which they are published, one line at a time.

Text: a word and its numbers, separated by spaces (GloVe); with a first line of two counts
(word2vec, fastText, Numberbatch); plain or .gz.  Binary: word2vec's.  Numberbatch writes
words as `/c/en/word` in its many-language files, and joins words of a phrase by `_`.
"""

import gzip
import re
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import IO, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rejoinder.datasets.files import read_lines
from rejoinder.errors import DataError

MAX_WIDTH = 65_536

Matrix = NDArray[np.float32]

_COUNT = re.compile(r"0*[1-9][0-9]{0,11}")


class WordVectors(NamedTuple):
    """Words, and one row per word."""

    words: list[str]
    matrix: Matrix


def read_vector_file(
    path: Path, is_wanted: Callable[[str], bool], *, required: Collection[str]
) -> WordVectors:
    """Return the vectors of the wanted words, each at its first place in the file.

    Args:
        required: words of which at least one must be there, or the file is of another
            language or kind.

    Raises:
        DataError: the file is torn, vectors differ in width, a number is not one, or no
            required word is in it.
    """
    rows = _read_binary(path) if _is_binary(path) else _read_text(path)
    found: dict[str, Matrix] = {}
    for word, vector in rows:
        if is_wanted(word) and word not in found:
            found[word] = vector()
    if not any(word in found for word in required):
        raise DataError("holds none of the words of the texts", path=path)
    return WordVectors(list(found), np.stack(list(found.values())))


def _is_binary(path: Path) -> bool:
    return path.name.removesuffix(".gz").endswith(".bin")


def _read_text(path: Path) -> Iterator[tuple[str, Callable[[], Matrix]]]:
    width = 0
    for number, line in read_lines(path):
        fields = line.rstrip(" ").split(" ")
        if number == 1 and len(fields) == 2:
            width = _parse_width(fields[1], path)
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
        yield _clean(word), _parser(fields[-width:], path, number)


def _parser(fields: list[str], path: Path, number: int) -> Callable[[], Matrix]:
    def parse() -> Matrix:
        try:
            vector = np.array(fields, dtype=np.float32)
        except ValueError as error:
            raise DataError(f"not a number: {error}", path=path, line=number) from error
        if not np.isfinite(vector).all():
            raise DataError("a number is not finite", path=path, line=number)
        return vector

    return parse


def _read_binary(path: Path) -> Iterator[tuple[str, Callable[[], Matrix]]]:
    try:
        with gzip.open(path, "rb") if path.suffix == ".gz" else path.open("rb") as file:
            counts = file.readline().split()
            if len(counts) != 2:
                raise DataError("expected two counts on the first line", path=path, line=1)
            told = [count.decode("ascii", "replace") for count in counts]
            total, width = _parse_count(told[0], path), _parse_width(told[1], path)
            for number in range(total):
                word = _read_word(file)
                raw = file.read(4 * width)
                if len(raw) < 4 * width:
                    problem = f"ends in the middle of word {number + 1} of {total}"
                    raise DataError(problem, path=path)
                yield _clean(word), lambda raw=raw: np.frombuffer(raw, dtype="<f4")  # type: ignore[misc]
    except (OSError, EOFError) as error:
        raise DataError(f"cannot be read: {error}", path=path) from error


def _read_word(file: IO[bytes] | gzip.GzipFile) -> str:
    letters = bytearray()
    while (letter := file.read(1)) not in (b" ", b""):
        if letter != b"\n":
            letters += letter
    return letters.decode("utf-8", "replace")


def _parse_count(text: str, path: Path) -> int:
    if not _COUNT.fullmatch(text):
        raise DataError(f"expected a count, found {text[:50]!r}", path=path, line=1)
    return int(text)


def _parse_width(text: str, path: Path) -> int:
    width = _parse_count(text, path)
    if width > MAX_WIDTH:
        problem = f"expected at most {MAX_WIDTH} numbers a word, found {width}"
        raise DataError(problem, path=path, line=1)
    return width


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
