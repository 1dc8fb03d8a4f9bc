"""Reads question and sentence pairs: question TAB sentence TAB label, without a header.

The shape of the untokenised WikiQA files, of SelQA's TSV, ASNQ and YahooQA.
"""

from collections.abc import Callable, Iterator
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

from rejoinder.datasets import files
from rejoinder.datasets.readers.judged import Judged, to_ordered_example
from rejoinder.types import Example

ParseLabel = Callable[[str, Path, int], bool]


class Pairs(NamedTuple):
    """A question with its sentences, in file order."""

    question: str
    judged: list[Judged]


def read_pairs(path: Path, *, parse_label: ParseLabel = files.parse_label) -> Iterator[Example]:
    """Yield one example per question; its sentences are one document in its order.

    The file names no questions: consecutive lines with the same question belong together,
    and questions are numbered from 0.

    Args:
        parse_label: says whether a label, found in this file on this line, is positive.
    """
    for number, pairs in enumerate(group_pairs(path, parse_label=parse_label)):
        yield to_ordered_example(str(number), pairs.question, pairs.judged)


def group_pairs(path: Path, *, parse_label: ParseLabel = files.parse_label) -> Iterator[Pairs]:
    """Yield the questions of a file with their sentences, saying nothing about order."""
    rows = (
        (question, Judged(sentence, parse_label(label, path, number)))
        for number, (question, sentence, label) in files.read_fields(path, 3)
    )
    for question, group in groupby(rows, key=lambda row: row[0]):
        yield Pairs(question, [judged for _, judged in group])
