"""Reads question TAB sentence TAB label, without a header: the format of several data sets.

- untokenised WikiQA, and SelQA's TSV: labels 0 and 1, sentences in document order.
- YahooQA (Tay et al. 2017, arXiv:1707.06372): five answers per question, one of them its
  own.  They come from different threads, so there is no document, and their order is
  shuffled because it means nothing.
"""

from collections.abc import Callable, Iterator
from itertools import groupby
from pathlib import Path

from rejoinder.datasets import files
from rejoinder.datasets.readers.judged import (
    Judged,
    shuffle,
    to_ordered_example,
    to_unordered_example,
)
from rejoinder.types import Example

ParseLabel = Callable[[str, Path, int], bool]
"""Takes a label with its file and line."""


def read_pairs(path: Path, *, parse_label: ParseLabel = files.parse_label) -> Iterator[Example]:
    """Yield one example per question; its sentences are one document in its order.

    The file has no question ids: consecutive lines with the same question belong together,
    and questions are numbered from 0.
    """
    for number, (question, judged) in enumerate(_group(path, parse_label)):
        yield to_ordered_example(str(number), question, judged)


def read_yahooqa(path: Path, *, seed: int = 0) -> Iterator[Example]:
    """Yield one example per question, its answers shuffled by the seed."""
    for index, (question, judged) in enumerate(_group(path, files.parse_label)):
        shuffled = shuffle(judged, seed=seed, index=index)
        yield to_unordered_example(str(index), question, shuffled)


def _group(path: Path, parse_label: ParseLabel) -> Iterator[tuple[str, list[Judged]]]:
    rows = (
        (question, Judged(sentence, parse_label(label, path, number)))
        for number, (question, sentence, label) in files.read_fields(path, 3)
    )
    for question, group in groupby(rows, key=lambda row: row[0]):
        yield question, [judged for _, judged in group]
