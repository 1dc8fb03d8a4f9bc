"""Reads TREC-QA (Wang et al. 2007) as JSON lines and as the older pseudo-XML.

Both list the correct sentences first.  That order would leak the labels, so both readers
shuffle the candidates of each question by a fixed seed.  The sentences come from many
articles, so they have no document and no position.

The pseudo-XML escapes nothing: a sentence may contain `<num>` or `&`.  It is read line by line:

    <QApairs id='32.1'>
    <question>          then the words, tab-separated, and lines of tags and numbers
    </question>
    <positive>          the same for each sentence; <negative> if it is not an answer
    </positive>
    </QApairs>
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import msgspec

from rejoinder.datasets.files import read_lines
from rejoinder.datasets.json_rows import read_json_lines
from rejoinder.datasets.readers.judged import Judged, shuffle, to_unordered_example
from rejoinder.errors import DataError
from rejoinder.types import Example


class _Candidate(msgspec.Struct):
    sentence: str
    label: Literal[0, 1]


class _Row(msgspec.Struct):
    question: str
    candidates: tuple[_Candidate, ...]


_Lines = Iterator[tuple[int, str]]
_OPENING = re.compile(r"<QApairs id='([^']+)'>")


def read_trecqa(path: Path, *, seed: int = 0) -> Iterator[Example]:
    """Yield one example per JSON line (question, candidates); ids count from 0."""
    for index, (_, row) in enumerate(read_json_lines(path, _Row)):
        judged = [Judged(item.sentence, item.label == 1) for item in row.candidates]
        shuffled = shuffle(judged, seed=seed, index=index)
        yield to_unordered_example(str(index), row.question, shuffled)


def read_trecqa_xml(path: Path, *, seed: int = 0) -> Iterator[Example]:
    """Yield one example per <QApairs>, under its own id."""
    lines = read_lines(path)
    for index, (number, line) in enumerate(lines):
        opening = _OPENING.fullmatch(line)
        if opening is None:
            problem = f"expected <QApairs id='…'>, found {line[:40]!r}"
            raise DataError(problem, path=path, line=number)
        question, judged = _read_block(opening[1], lines, path, number)
        yield to_unordered_example(opening[1], question, shuffle(judged, seed=seed, index=index))


def _read_block(id: str, lines: _Lines, path: Path, opened: int) -> tuple[str, list[Judged]]:
    question = None
    judged = []
    for number, line in lines:
        match line:
            case "<question>":
                question = _read_words("</question>", lines, path, number)
            case "<positive>":
                judged.append(Judged(_read_words("</positive>", lines, path, number), True))
            case "<negative>":
                judged.append(Judged(_read_words("</negative>", lines, path, number), False))
            case "</QApairs>" if question is not None:
                return question, judged
            case _:
                expected = "</QApairs> or a sentence" if question is not None else "<question>"
                problem = f"expected {expected}, found {line[:40]!r}"
                raise DataError(problem, path=path, line=number)
    raise DataError(f"<QApairs id='{id}'> is never closed", path=path, line=opened)


def _read_words(closing: str, lines: _Lines, path: Path, opened: int) -> str:
    """Return the words of the first line, and skip the rest up to the closing tag."""
    words = None
    for _, line in lines:
        if line == closing:
            break
        words = " ".join(line.split()) if words is None else words
    else:
        raise DataError(f"{closing} is missing", path=path, line=opened)
    if not words:
        raise DataError(f"no words before {closing}", path=path, line=opened)
    return words
