"""Questions for the tables: read where the data set is here, filtered, spread over the set."""

from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from pathlib import Path

from rejoinder.datasets.catalogue import DATASETS, find_source, open_dataset
from rejoinder.datasets.releases import open_compared, say_once
from rejoinder.datasets.stream import ExampleStream
from rejoinder.datasets.transforms.long_lists import extend_lists
from rejoinder.errors import MissingDataError
from rejoinder.types import Example

LARGE_POOL = 2000
"""Questions that are more than enough to draw negatives from."""
LARGE_SETS = ("asnq", "asnq-pages", "nq-la")
"""Data sets that are read again for each pass instead of kept in memory."""
Say = Callable[[str], None]


def is_large(choice: str) -> bool:
    """Whether NAME[:SPLIT][@WEIGHT] is read again for each pass instead of kept in memory.

    >>> is_large("nq-la:dev"), is_large("asnq@0.5"), is_large("wikiqa")
    (True, True, False)
    """
    return choice.partition("@")[0].partition(":")[0] in LARGE_SETS


def open_examples(choice: str, folder: Path | None, say: Say = lambda _: None) -> Iterable[Example]:
    """Return the examples of NAME:SPLIT, or of a file: a list, or a stream of a large set.

    A file of another size than the published one is reported when it was read to its end.
    """
    tell = say_once(say)
    stream = ExampleStream(lambda: open_compared(choice, tell, folder=folder))
    return stream if is_large(choice) else list(stream)


def open_available(choice: str, folder: Path | None, say: Say) -> Iterable[Example]:
    """Open NAME:SPLIT, or a file, as a stream; report a missing data set and return nothing.

    A file of another size than the published one is reported when it was read to its end.
    """
    try:
        open_dataset(choice, folder=folder)
    except MissingDataError as error:
        say(f"left out: {error}")
        return ()
    tell = say_once(say)
    return ExampleStream(lambda: open_compared(choice, tell, folder=folder))


def read_available(choice: str, folder: Path | None, say: Say) -> list[Example]:
    """Read NAME:SPLIT, or a file; report a missing data set and return nothing."""
    return list(open_available(choice, folder, say))


def describe_source(choice: str, folder: Path | None) -> str:
    """Return how the files of a set differ from what a paper measured; empty if they do not."""
    source = find_source(choice, folder)
    return source.note if source else ""


def describe_sources(choices: Iterable[str], folder: Path | None) -> list[str]:
    """Return for each training set that differs from the paper's how it does; for a caption."""
    lines = []
    for choice in choices:
        name = choice.partition("@")[0]
        whole = f"{name}:train" if name in DATASETS else name
        if note := describe_source(whole, folder):
            lines.append(f"Training on {name}: {note}.")
    return lines


def keep_answered(examples: Iterable[Example]) -> list[Example]:
    """Return the questions that have an answer."""
    return [example for example in examples if any(example.labels)]


def spread_evenly(examples: Sequence[Example], count: int) -> list[Example]:
    """Return at most `count` questions, at equal distances over the set."""
    step = max(1, len(examples) // count)
    return list(examples[::step][:count])


def choose_answered(examples: Iterable[Example], count: int | None) -> list[Example]:
    """Return at most `count` answered questions, at equal distances; reads a stream twice.

    Without a count, return all of them.
    """
    if count is None:
        return keep_answered(examples)
    total = sum(any(example.labels) for example in examples)
    step = max(1, total // count)
    answered = (example for example in examples if any(example.labels))
    return list(islice(answered, 0, step * count, step))


def build_lists(
    examples: Sequence[Example], *, size: int, questions: int | None = None
) -> list[Example]:
    """Return answerable questions, spread evenly over the set, with long candidate lists."""
    chosen = choose_answered(examples, questions)
    ids = {item.id for item in chosen}
    # The negatives of a small set come from all of its questions.
    pool = examples if len(examples) <= LARGE_POOL else chosen
    return list(
        islice((item for item in extend_lists(pool, size=size) if item.id in ids), len(chosen))
    )
