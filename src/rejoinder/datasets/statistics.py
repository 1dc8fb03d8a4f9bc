"""Counts the contents of a data set's files, and compares them with published figures."""

from collections.abc import Callable, Iterable, Sized
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rejoinder.datasets.catalogue import find_data_folders, get_dataset, locate
from rejoinder.errors import MissingDataError
from rejoinder.text.words import get_word_splitter
from rejoinder.types import Example

FILES = "the distributed files"


@dataclass(frozen=True, slots=True)
class Statistics:
    """The figures that papers print about one split."""

    questions: int
    candidates: int
    answered_share: float
    """Share of the questions with at least one correct candidate."""
    candidates_per_question: float
    answers_per_question: float
    """Correct candidates per question."""
    words_per_question: float
    words_per_candidate: float


def compute_statistics(
    examples: Iterable[Example], *, split_words: Callable[[str], Sized]
) -> Statistics:
    """Read the examples once and return their statistics.

    Args:
        split_words: splits a text into words; published lengths depend on it.

    >>> from rejoinder.types import Candidate
    >>> pair = (Candidate("a", "It is red."), Candidate("b", "It rained."))
    >>> examples = [Example("1", "Which colour?", pair, (True, False))]
    >>> statistics = compute_statistics(examples, split_words=str.split)
    >>> statistics.candidates_per_question, statistics.words_per_candidate  # 2 / 1, (3 + 2) / 2
    (2.0, 2.5)
    """
    questions = candidates = answered = answers = question_words = candidate_words = 0
    for example in examples:
        questions += 1
        candidates += len(example.candidates)
        answered += any(example.labels)
        answers += sum(example.labels)
        question_words += len(split_words(example.question))
        candidate_words += sum(len(split_words(candidate.text)) for candidate in example.candidates)
    count = max(questions, 1)
    return Statistics(
        questions,
        candidates,
        answered / count,
        candidates / count,
        answers / count,
        question_words / count,
        candidate_words / max(candidates, 1),
    )


@dataclass(frozen=True, slots=True)
class Check:
    """One figure of one split: computed, and published if it is."""

    split: str
    figure: str
    computed: float
    published: float | None
    source: str
    path: Path

    @property
    def is_wrong(self) -> bool:
        """Whether the local files differ from the distributed ones."""
        return self.source == FILES and self.computed != self.published

    def to_dict(self) -> dict[str, Any]:
        """Return the figure as plain JSON types."""
        return {**asdict(self), "path": str(self.path), "is_wrong": self.is_wrong}


def check(name: str, *, folder: Path | None = None, words: str = "unicode") -> list[Check]:
    """Count every split of a data set whose files are on this machine.

    Raises:
        UnknownNameError: no data set, or word splitter, has this name.
        MissingDataError: none of its splits was found.
        DataError: a file does not have the expected format.
    """
    dataset, split_words = get_dataset(name), get_word_splitter(words)
    checks: list[Check] = []
    missing: MissingDataError | None = None
    for split in dataset.splits:
        try:
            source, paths = locate(dataset, split, find_data_folders(folder))
        except MissingDataError as error:
            missing = missing or error
            continue
        known = {FILES: asdict(source.counts) if source.counts else {}} | {
            item.source: dict(item.figures) for item in dataset.published if item.split == split
        }
        statistics = compute_statistics(source.read(*paths), split_words=split_words)
        path = paths[0] if paths else Path(name)
        for figure, computed in asdict(statistics).items():
            published = {
                at: row[figure] for at, row in known.items() if row.get(figure) is not None
            }
            checks += [
                Check(split, figure, computed, value, at, path)
                for at, value in (published or {"": None}).items()
            ]
    if missing and not checks:
        raise missing
    return checks
