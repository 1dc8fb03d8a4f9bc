"""Reads and writes our own format: JSON lines, each one question with its candidates.

    {"id": "q1", "question": "Who?",
     "candidates": [{"id": "s1", "text": "She.", "label": 1, "document": "d", "position": 0}],
     "documents": [{"id": "d", "title": "A page", "sentences": ["She.", "Not he."]}]}

Required are `question`, `candidates`, and in each of them `text` and `label`.  A question may have
`answer_strings`, the words in sentences that answer it.  A candidate may have
`headings`, a list of those above it, the `retrieval_score` of a search, and its `passage`.
"""

import gzip
import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Literal

import msgspec

from rejoinder.datasets.json_rows import Id, read_json_lines
from rejoinder.errors import InputError
from rejoinder.storage.files import atomic_write
from rejoinder.types import Candidate, Document, Example


class _Document(msgspec.Struct):
    id: Id
    title: str | None = None
    sentences: tuple[str, ...] | None = None

    def build(self) -> Document:
        return Document(str(self.id), self.title or "", self.sentences or ())


class _Candidate(msgspec.Struct):
    text: str
    label: Literal[0, 1]
    id: Id | None = None
    document: Id | None = None
    position: int | None = None
    headings: tuple[str, ...] | None = None
    retrieval_score: float | None = None
    passage: str | None = None

    def __post_init__(self) -> None:
        if self.position is not None and self.position < 0:
            raise ValueError(f"field 'position' must be 0 or more, found {self.position}")

    def build(self, place: int, documents: dict[str, Document]) -> Candidate:
        document = None
        if self.document is not None:
            document = documents.setdefault(str(self.document), Document(str(self.document)))
        return Candidate(
            str(place if self.id is None else self.id),
            self.text,
            document,
            self.position,
            self.headings or (),
            retrieval_score=self.retrieval_score,
            passage=self.passage,
        )


class _Row(msgspec.Struct):
    question: str
    candidates: tuple[_Candidate, ...]
    id: Id | None = None
    answer_strings: tuple[str, ...] | None = None
    documents: tuple[_Document, ...] | None = None

    def __post_init__(self) -> None:
        lengths: dict[str, int] = {}
        for place, document in enumerate(self.documents or ()):
            id = str(document.id)
            if id in lengths:
                raise ValueError(f"documents[{place}]: document {id!r} is listed twice")
            lengths[id] = len(document.sentences or ())
        for place, candidate in enumerate(self.candidates):
            if candidate.document is None or candidate.position is None:
                continue
            length = lengths.get(str(candidate.document), 0)
            if length and candidate.position >= length:
                known = f"document {str(candidate.document)!r} has {length} sentences"
                problem = f"field 'position' is {candidate.position}, but {known}"
                raise ValueError(f"candidates[{place}]: {problem}")


def read_examples(path: Path) -> Iterator[Example]:
    """Yield one example per line, in file order.

    Without ids, questions are numbered in the file and candidates in their list, from 0.
    A candidate may refer to a document that is not listed in its line.
    """
    for number, (_, row) in enumerate(read_json_lines(path, _Row)):
        documents = {str(item.id): item.build() for item in row.documents or ()}
        yield Example(
            str(number if row.id is None else row.id),
            row.question,
            tuple(item.build(place, documents) for place, item in enumerate(row.candidates)),
            tuple(item.label == 1 for item in row.candidates),
            row.answer_strings or (),
        )


def write_examples(path: Path, examples: Iterable[Example]) -> None:
    """Write the examples, compressed if the name ends in .gz; all of them or nothing.

    Raises:
        InputError: the file cannot be written, or two documents of a question have one id.
    """
    try:
        with atomic_write(path) as file:
            if path.suffix != ".gz":
                file.writelines(map(to_line, examples))
                return
            with gzip.GzipFile(fileobj=file, mode="wb", filename="", mtime=0) as packed:
                packed.writelines(map(to_line, examples))
    except OSError as error:
        raise InputError(f"cannot write {path}: {error.strerror or error}") from error


def to_line(example: Example) -> bytes:
    """Return an example as a line of the file."""
    documents: dict[str, Document] = {}
    for candidate in example.candidates:
        document = candidate.document
        if document and documents.setdefault(document.id, document) != document:
            problem = f"two different documents have the id {document.id!r}"
            raise InputError(f"question {example.id!r}: {problem}")
    row: dict[str, Any] = {
        "id": example.id,
        "question": example.question,
        "candidates": [
            _to_row(candidate, label)
            for candidate, label in zip(example.candidates, example.labels, strict=True)
        ],
    }
    if example.answer_strings:
        row["answer_strings"] = list(example.answer_strings)
    described = [
        {"id": item.id, "title": item.title, "sentences": list(item.sentences)}
        for item in documents.values()
        if item.title or item.sentences  # else it is already named by its candidates
    ]
    if described:
        row["documents"] = described
    try:
        return json.dumps(row, ensure_ascii=False).encode() + b"\n"
    except UnicodeEncodeError:
        # A lone surrogate cannot be encoded as UTF-8; escaped, it can be read back.
        return json.dumps(row).encode() + b"\n"


def _to_row(candidate: Candidate, label: bool) -> dict[str, Any]:
    row: dict[str, Any] = {"id": candidate.id, "text": candidate.text, "label": int(label)}
    if candidate.document is not None:
        row["document"] = candidate.document.id
    if candidate.position is not None:
        row["position"] = candidate.position
    if candidate.headings:
        row["headings"] = list(candidate.headings)
    if candidate.retrieval_score is not None:
        row["retrieval_score"] = round(candidate.retrieval_score, 6)
    if candidate.passage is not None:
        row["passage"] = candidate.passage
    return row
