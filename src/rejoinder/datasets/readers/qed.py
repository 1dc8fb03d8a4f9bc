"""Reads QED (Lamm et al. 2020): paragraphs of Natural Questions, cut into sentences.

Sentences begin where `sentence_starts` says; what stands before the first start belongs
to none.  A paragraph without starts (a table, say) gives a question without candidates.
A sentence is an answer where an answer's span, [start, end) in characters, touches it.
The span [-1, -1] says that the answer was not found in the paragraph.
"""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path

from rejoinder.datasets.json_objects import JsonObject, read_json_lines
from rejoinder.datasets.readers.judged import Judged, to_ordered_example
from rejoinder.types import Example

_NOWHERE = [-1, -1]


def read_qed(paths: Sequence[Path]) -> Iterator[Example]:
    """Yield one example per line of these files, in their order."""
    for path in paths:
        for row in read_json_lines(path):
            yield to_ordered_example(
                row.get_id("example_id"),
                row.get("question_text", str),
                _read_judged(row),
                title=row.get("title_text", str),
            )


def _read_judged(row: JsonObject) -> list[Judged]:
    text = row.get("paragraph_text", str)
    spans = _read_spans(row, text)
    return [
        Judged(text[start:end].strip(), any(first < end and start < last for first, last in spans))
        for start, end in pairwise(_read_borders(row, text))
    ]


def _read_borders(row: JsonObject, text: str) -> list[int]:
    """Return where sentences start, and the end of the text."""
    borders = [*row.get_list("sentence_starts", int), len(text)]
    for start, end in pairwise([-1, *borders]):
        if start >= end:
            raise row.error(f"sentence starts must rise up to {len(text)}, found {end}")
    return borders


def _read_spans(row: JsonObject, text: str) -> list[list[int]]:
    spans = [span for span in row.get_list("answer_spans", list) if span != _NOWHERE]
    for span in spans:
        match span:
            case [int(start), int(end)] if 0 <= start <= end <= len(text):
                continue
        raise row.error(f"answer span {span} does not fit a text of {len(text)} characters")
    return spans
