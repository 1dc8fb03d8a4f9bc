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
from typing import Any

from rejoinder.datasets.files import JsonObject, read_json_lines
from rejoinder.errors import InputError
from rejoinder.storage.files import atomic_write
from rejoinder.types import Candidate, Document, Example


def read_examples(path: Path) -> Iterator[Example]:
    """Yield one example per line, in file order.

    Without ids, questions are numbered in the file and candidates in their list, from 0.
    A candidate may refer to a document that is not listed in its line.
    """
    for number, row in enumerate(read_json_lines(path)):
        documents = _read_documents(row)
        rows = row.get_objects("candidates")
        yield Example(
            row.get_id("id", number),
            row.get("question", str),
            tuple(_to_candidate(item, place, documents) for place, item in enumerate(rows)),
            tuple(item.get_label("label") for item in rows),
            tuple(row.get_list("answer_strings", str)) if row.has("answer_strings") else (),
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


def _read_documents(row: JsonObject) -> dict[str, Document]:
    documents: dict[str, Document] = {}
    for item in row.get_objects("documents") if row.has("documents") else []:
        id = item.get_id("id")
        if id in documents:
            raise item.error(f"document {id!r} is listed twice")
        sentences = item.get_list("sentences", str) if item.has("sentences") else []
        documents[id] = Document(id, item.get_optional("title", str, ""), tuple(sentences))
    return documents


def _to_candidate(row: JsonObject, place: int, documents: dict[str, Document]) -> Candidate:
    document = None
    if row.has("document"):
        id = row.get_id("document")
        document = documents.setdefault(id, Document(id))
    position = _read_position(row, document) if row.has("position") else None
    headings = tuple(row.get_list("headings", str)) if row.has("headings") else ()
    score = row.get_optional("retrieval_score", float, None)
    return Candidate(
        row.get_id("id", place),
        row.get("text", str),
        document,
        position,
        headings,
        retrieval_score=score,
        passage=row.get_optional("passage", str, None),
    )


def _read_position(row: JsonObject, document: Document | None) -> int:
    position = row.get("position", int)
    if position < 0:
        raise row.error(f"field 'position' must be 0 or more, found {position}")
    if document and document.sentences and position >= len(document.sentences):
        known = f"document {document.id!r} has {len(document.sentences)} sentences"
        raise row.error(f"field 'position' is {position}, but {known}")
    return position


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
