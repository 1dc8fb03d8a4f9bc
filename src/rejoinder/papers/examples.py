"""Questions for the tables: read where the data set is here, filtered, spread over the set."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path

from rejoinder.datasets.catalogue import find_source, open_dataset
from rejoinder.datasets.entries import FileCounts
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


def open_examples(choice: str, folder: Path | None) -> Iterable[Example]:
    """Return the examples of NAME:SPLIT, or of a file: a list, or a stream of a large set."""
    stream = ExampleStream(lambda: open_dataset(choice, folder=folder))
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
    source = find_source(choice, folder)
    counts = source.counts if source else None
    told: list[str] = []

    def read() -> Iterator[Example]:
        return _compare_counts(open_dataset(choice, folder=folder), choice, counts, tell)

    def tell(text: str) -> None:
        if not told:
            say(text)
        told.append(text)

    return ExampleStream(read)


def read_available(choice: str, folder: Path | None, say: Say) -> list[Example]:
    """Read NAME:SPLIT, or a file; report a missing data set and return nothing."""
    return list(open_available(choice, folder, say))


def _compare_counts(
    examples: Iterable[Example], choice: str, known: FileCounts | None, tell: Say
) -> Iterator[Example]:
    """Yield the examples, then tell if there are others than in the published file."""
    questions = candidates = 0
    for example in examples:
        questions += 1
        candidates += len(example.candidates)
        yield example
    if known and known != FileCounts(questions, candidates if known.candidates else None):
        of = f" with {known.candidates:,} candidates" if known.candidates else ""
        tell(
            f"{choice}: {questions:,} questions with {candidates:,} candidates; the published file"
            f" has {known.questions:,} questions{of}: this is another release"
        )


def describe_source(choice: str, folder: Path | None) -> str:
    """Return how the files of a set differ from what a paper measured; empty if they do not."""
    source = find_source(choice, folder)
    return source.note if source else ""


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
