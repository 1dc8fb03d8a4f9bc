"""Reads ASNQ (Garg et al. 2019, "TANDA", arXiv:1911.04118): pairs with four labels.

ASNQ is made from Natural Questions, where annotators mark a long answer (a paragraph)
and a short one (a phrase).  The labels of its sentences:

    1  outside the long answer, without the short answer
    2  outside the long answer, with the short answer's words
    3  inside the long answer, without the short answer
    4  inside the long answer, with the short answer

Only 4 is an answer.
"""

from collections.abc import Iterator
from pathlib import Path

from rejoinder.datasets.readers.pairs import read_pairs
from rejoinder.errors import DataError
from rejoinder.types import Example


def read_asnq(path: Path) -> Iterator[Example]:
    """Yield one example per question, its sentences in document order."""
    return read_pairs(path, parse_label=_parse_label)


def _parse_label(text: str, path: Path, line: int) -> bool:
    if text not in ("1", "2", "3", "4"):
        raise DataError(f"label must be 1, 2, 3 or 4, found {text!r}", path=path, line=line)
    return text == "4"
