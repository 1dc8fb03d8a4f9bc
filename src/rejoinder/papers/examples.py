"""Questions for the tables: read where the data set is here, filtered, spread over the set."""

from collections.abc import Callable, Sequence
from itertools import islice
from pathlib import Path

from rejoinder.datasets.catalogue import open_dataset
from rejoinder.datasets.transforms.long_lists import extend_lists
from rejoinder.errors import MissingDataError
from rejoinder.types import Example

LARGE_POOL = 2000
"""Questions that are more than enough to draw negatives from."""


def read_available(choice: str, folder: Path | None, say: Callable[[str], None]) -> list[Example]:
    """Read NAME:SPLIT, or a file; report a missing data set and return nothing."""
    try:
        return list(open_dataset(choice, folder=folder))
    except MissingDataError as error:
        say(f"left out: {error}")
        return []


def keep_answered(examples: Sequence[Example]) -> list[Example]:
    """Return the questions that have an answer."""
    return [example for example in examples if any(example.labels)]


def spread_evenly(examples: Sequence[Example], count: int) -> list[Example]:
    """Return at most `count` questions, at equal distances over the set."""
    step = max(1, len(examples) // count)
    return list(examples[::step][:count])


def build_lists(examples: Sequence[Example], *, size: int, questions: int) -> list[Example]:
    """Return answerable questions, spread evenly over the set, with long candidate lists."""
    chosen = spread_evenly(keep_answered(examples), questions)
    ids = {item.id for item in chosen}
    # The negatives of a small set come from all of its questions.
    pool = examples if len(examples) <= LARGE_POOL else chosen
    return list(
        islice((item for item in extend_lists(pool, size=size) if item.id in ids), questions)
    )
