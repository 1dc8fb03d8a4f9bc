"""Reads Natural Questions (Kwiatkowski et al. 2019) as NQ-LA: selecting the long answer.

Reads the simplified JSON lines.  Candidates are the top-level paragraphs of the page, without
lists and tables.  A paragraph is an answer if any annotator chose exactly it as the long
answer; a question whose long answer is a list or a table is kept, without an answer.
"""

import re
from collections.abc import Iterator
from pathlib import Path

from rejoinder.datasets.files import JsonObject, read_json_lines
from rejoinder.datasets.readers.judged import Judged, to_ordered_example
from rejoinder.types import Example

_TAG = re.compile(r"</?[A-Z]\S*>")
"""HTML tags among the tokens of a page: <P>, </Li>, <Td_colspan="2">."""


def read_natural_questions(path: Path) -> Iterator[Example]:
    """Yield one example per line: the paragraphs of a page, in its order."""
    for row in read_json_lines(path):
        tokens = row.get("document_text", str).split(" ")
        chosen = {
            _read_span(annotation.get_object("long_answer"))
            for annotation in row.get_objects("annotations")
        }
        yield to_ordered_example(
            row.get_id("example_id"),
            row.get("question_text", str),
            [
                Judged(_to_text(tokens[start:end]), (start, end) in chosen)
                for start, end in _find_paragraphs(row, tokens)
            ],
            title=row.get_optional("document_title", str, ""),
        )


def _find_paragraphs(row: JsonObject, tokens: list[str]) -> Iterator[tuple[int, int]]:
    for candidate in row.get_objects("long_answer_candidates"):
        start, end = _read_span(candidate)
        if not 0 <= start < end <= len(tokens):
            raise candidate.error(f"tokens {start} to {end} of a page of {len(tokens)}")
        if candidate.get_optional("top_level", bool, True) and tokens[start] == "<P>":
            yield start, end


def _read_span(row: JsonObject) -> tuple[int, int]:
    return row.get("start_token", int), row.get("end_token", int)


def _to_text(tokens: list[str]) -> str:
    return " ".join(token for token in tokens if token and not _TAG.fullmatch(token))
