"""Tells when the files of a data set are of another release than the published one."""

from collections.abc import Callable, Iterator
from pathlib import Path

from rejoinder.datasets.catalogue import DATASETS, find_source, open_dataset, resolve_split
from rejoinder.datasets.entries import FileCounts
from rejoinder.types import Example

Say = Callable[[str], None]


def open_compared(
    choice: str, say: Say, *, split: str | None = None, folder: Path | None = None
) -> Iterator[Example]:
    """Open NAME[:SPLIT], or a file, as `open_dataset` does, and count what is read.

    Args:
        say: receives one message if the counts differ from those of the published files, when
            they were read to their end.
    """
    opened = open_dataset(choice, split=split, folder=folder)
    name, split = resolve_split(choice, split)
    source = None if split is None else find_source(f"{name}:{split}", folder)
    if source is None or source.counts is None:
        return opened
    place = DATASETS[name].by_hand or f"get it from {DATASETS[name].homepage}"
    return _count(opened, f"{name}:{split}", source.counts, place, say)


def _count(
    examples: Iterator[Example], name: str, known: FileCounts, place: str, say: Say
) -> Iterator[Example]:
    questions = candidates = 0
    for example in examples:
        questions += 1
        candidates += len(example.candidates)
        yield example
    if known != FileCounts(questions, candidates if known.candidates else None):
        of = f" with {known.candidates:,} candidates" if known.candidates else ""
        say(
            f"{name}: {questions:,} questions with {candidates:,} candidates; the published file"
            f" has {known.questions:,} questions{of}: this is another release; to have the"
            f" expected one, {place}"
        )


def say_once(say: Say) -> Say:
    """Return a function that passes on each message only once: a stream is read repeatedly."""
    told: set[str] = set()

    def tell(text: str) -> None:
        if text not in told:
            told.add(text)
            say(text)

    return tell
