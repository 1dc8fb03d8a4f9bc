"""Reads YahooQA (Tay et al. 2017, arXiv:1707.06372) as pairs of question and answer.

Five answers belong to a question, one of them its own.  They come from different
threads, so there is no document, and their order means nothing: it is shuffled.
"""

from collections.abc import Iterator
from pathlib import Path

from rejoinder.datasets.readers.judged import shuffle, to_unordered_example
from rejoinder.datasets.readers.pairs import group_pairs
from rejoinder.types import Example


def read_yahooqa(path: Path, *, seed: int = 0) -> Iterator[Example]:
    """Yield one example per question, its answers shuffled by the seed."""
    for index, pairs in enumerate(group_pairs(path)):
        judged = shuffle(pairs.judged, seed=seed, index=index)
        yield to_unordered_example(str(index), pairs.question, judged)
