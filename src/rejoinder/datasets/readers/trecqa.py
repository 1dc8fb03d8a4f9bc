"""Reads TREC-QA (Wang et al. 2007) as JSON lines and as the older pseudo-XML.

Both list the correct sentences first.  That order would give the labels away, so both
readers shuffle the candidates of each question by a fixed seed, and give them neither a
document nor a position: the sentences come from many articles.

The pseudo-XML escapes nothing, so that a sentence may hold `<num>` or `&`.  It is read
by its lines:

    <QApairs id='32.1'>
    <question>          then the words, tab-separated, and lines of tags and numbers
    </question>
    <positive>          the same for each sentence; <negative> where it is no answer
    </positive>
    </QApairs>
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from rejoinder.datasets.files import JsonObject, read_json_lines, read_lines
from rejoinder.datasets.readers.judged import Judged, shuffle, to_unordered_example
from rejoinder.errors import DataError
from rejoinder.types import Example


class _Question(NamedTuple):
    id: str
    text: str
    judged: list[Judged]


def read_trecqa(path: Path, *, seed: int = 0) -> Iterator[Example]:
    """Yield one example per JSON line (question, candidates); ids count from 0."""
    rows = enumerate(read_json_lines(path))
    return _to_examples((_to_question(row, str(number)) for number, row in rows), seed)


def read_trecqa_xml(path: Path, *, seed: int = 0) -> Iterator[Example]:
    """Yield one example per <QApairs>, under its own id."""
    return _to_examples(_read_xml(path), seed)


def _to_examples(questions: Iterator[_Question], seed: int) -> Iterator[Example]:
    for index, question in enumerate(questions):
        judged = shuffle(question.judged, seed=seed, index=index)
        yield to_unordered_example(question.id, question.text, judged)


def _to_question(row: JsonObject, id: str) -> _Question:
    judged = [
        Judged(item.get("sentence", str), item.get_label("label"))
        for item in row.get_objects("candidates")
    ]
    return _Question(id, row.get("question", str), judged)


_Lines = Iterator[tuple[int, str]]
_OPENING = re.compile(r"<QApairs id='([^']+)'>")


def _read_xml(path: Path) -> Iterator[_Question]:
    lines = read_lines(path)
    for number, line in lines:
        opening = _OPENING.fullmatch(line)
        if opening is None:
            problem = f"expected <QApairs id='…'>, found {line[:40]!r}"
            raise DataError(problem, path=path, line=number)
        yield _read_block(opening[1], lines, path, number)


def _read_block(id: str, lines: _Lines, path: Path, opened: int) -> _Question:
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
                return _Question(id, question, judged)
            case _:
                expected = "</QApairs> or a sentence" if question is not None else "<question>"
                problem = f"expected {expected}, found {line[:40]!r}"
                raise DataError(problem, path=path, line=number)
    raise DataError(f"<QApairs id='{id}'> is never closed", path=path, line=opened)


def _read_words(closing: str, lines: _Lines, path: Path, opened: int) -> str:
    """Return the words of the first line, and skip what stands until the closing tag."""
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
