"""Reads candidates without a question: one per line, or JSON lines.

A JSON line is a candidate of our own format (`jsonl.py`) without its label: `text`, and
optionally `id`, `document` (its id), `title` and `position`.  The lines of one document become
its sentences, which are the context of its candidates.
"""

from collections.abc import Iterable
from dataclasses import replace
from itertools import chain
from pathlib import Path

import msgspec

from rejoinder.datasets.files import decode_lines, read_lines
from rejoinder.datasets.json_rows import Id, parse_json_lines
from rejoinder.types import Candidate, Document, to_candidates

STDIN = Path("<stdin>")
MAX_POSITION = 100_000
"""Candidates at later positions are not part of the context."""


class _Row(msgspec.Struct):
    text: str
    id: Id | None = None
    document: Id | None = None
    title: str | None = None
    position: int | None = None


def read_candidates(source: Path | Iterable[bytes], *, in_order: bool = False) -> list[Candidate]:
    """Return the candidates of a file, or of an open stream.

    Lines are JSON if the file is called .jsonl, or if the first line begins with a brace;
    otherwise each line that is not blank is a candidate.

    Args:
        in_order: the lines are one text in its order.  A position in a JSON line overrides it.

    Raises:
        DataError: the file is missing, empty, not UTF-8, or a line is malformed.
    """
    path = source if isinstance(source, Path) else STDIN
    lines = read_lines(source) if isinstance(source, Path) else decode_lines(source, STDIN)
    first = next(lines)
    lines = chain([first], lines)
    if ".jsonl" in path.suffixes or first[1].lstrip().startswith("{"):
        rows = (row for _, row in parse_json_lines(lines, path, _Row))
        return _build(rows, in_order)
    texts = [line for _, line in lines if line.strip()]
    candidates = to_candidates(texts, in_order=in_order)
    if not in_order:
        return list(candidates)
    document = Document(path.name, "", tuple(texts))
    return [replace(candidate, document=document) for candidate in candidates]


def _build(rows: Iterable[_Row], in_order: bool) -> list[Candidate]:
    """Return the candidates with documents built from all their lines.

    A missing position is an empty sentence; of two lines with one position the first counts.
    """
    titles: dict[str, str] = {}
    texts: dict[str, dict[int, str]] = {}
    candidates = []
    for place, row in enumerate(rows):
        document = None
        if row.document is not None:
            document = Document(str(row.document))
            titles[document.id] = titles.get(document.id) or row.title or ""
        position = place if in_order and row.position is None else row.position
        item = Candidate(str(place if row.id is None else row.id), row.text, document, position)
        if document:
            known = texts.setdefault(document.id, {})
            if position is not None and 0 <= position <= MAX_POSITION:
                known.setdefault(position, item.text)
        candidates.append(item)
    documents = {id_: Document(id_, titles[id_], _fill_gaps(known)) for id_, known in texts.items()}
    return [
        replace(item, document=documents[item.document.id]) if item.document else item
        for item in candidates
    ]


def _fill_gaps(known: dict[int, str]) -> tuple[str, ...]:
    return tuple(known.get(place, "") for place in range(max(known, default=-1) + 1))
