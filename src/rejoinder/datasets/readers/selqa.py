"""Reads SelQA (Jurczyk et al. 2016): the JSON; its TSV has the shape of pairs.py.

The JSON holds whole sections as they were written, with their article; the TSV is
tokenised, names no article and lacks a few of the sentences.
"""

from collections.abc import Iterator
from pathlib import Path

from rejoinder.datasets.json_objects import JsonObject, read_json_list
from rejoinder.datasets.readers.judged import Judged, to_ordered_example
from rejoinder.types import Example


def read_selqa(path: Path) -> Iterator[Example]:
    """Yield one example per question: the sentences of a section, in its order."""
    for number, row in enumerate(read_json_list(path)):
        yield to_ordered_example(
            str(number),
            row.get("question", str),
            _read_judged(row),
            title=row.get("article", str),
        )


def _read_judged(row: JsonObject) -> list[Judged]:
    texts = row.get_list("candidates", str)
    answers = row.get_list("answers", int)
    for answer in answers:
        if not 0 <= answer < len(texts):
            raise row.error(f"answer {answer} is not one of {len(texts)} candidates")
    return [Judged(text, place in answers) for place, text in enumerate(texts)]
