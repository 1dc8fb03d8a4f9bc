"""Reads candidates without a question: one per line, or JSON lines.

A JSON line is a candidate of our own format (`jsonl.py`) without its label: `text`, and
where known `id`, `document` (its id), `title` and `position`.
"""

from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path

from rejoinder.data.files import decode_lines, read_lines
from rejoinder.data.json_objects import JsonObject, parse_json_lines
from rejoinder.records import Candidate, Document, to_candidates

STDIN = Path("<stdin>")


def read_candidates(source: Path | Iterable[bytes], *, in_order: bool = False) -> list[Candidate]:
    """Return the candidates of a file, or of an open stream.

    Lines are JSON where the file's name says so (.jsonl), or where the first line begins
    with a brace; else each line that is not blank is a candidate.

    Args:
        in_order: the lines are one text in its order.  A position in a JSON line goes first.

    Raises:
        DataError: the file is missing, empty, not UTF-8, or a line is not what it must be.
    """
    path = source if isinstance(source, Path) else STDIN
    lines = read_lines(source) if isinstance(source, Path) else decode_lines(source, STDIN)
    first = next(lines)
    lines = chain([first], lines)
    if ".jsonl" in path.suffixes or first[1].lstrip().startswith("{"):
        return list(_read_objects(parse_json_lines(lines, path), in_order))
    texts = [line for _, line in lines if line.strip()]
    return list(to_candidates(texts, in_order=in_order))


def _read_objects(rows: Iterable[JsonObject], in_order: bool) -> Iterator[Candidate]:
    documents: dict[str, Document] = {}
    for place, row in enumerate(rows):
        id_ = row.get_id("id") if row.has("id") else str(place)
        document = None
        if row.has("document"):
            name = row.get_id("document")
            document = documents.setdefault(
                name, Document(name, row.get_optional("title", str, ""))
            )
        position = place if in_order else None
        if row.has("position"):
            position = row.get("position", int)
        yield Candidate(id_, row.get("text", str), document, position)
