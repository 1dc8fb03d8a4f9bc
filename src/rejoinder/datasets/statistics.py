"""Counts what a data set holds: questions, candidates, answers, and their lengths."""

from collections.abc import Callable, Iterable, Sized
from dataclasses import dataclass

from rejoinder.types import Example


@dataclass(frozen=True, slots=True)
class Statistics:
    """Totals over the questions of one split; the averages follow from them."""

    questions: int = 0
    candidates: int = 0
    answered: int = 0
    """Questions with at least one correct candidate."""
    answers: int = 0
    """Correct candidates."""
    question_words: int = 0
    candidate_words: int = 0

    @property
    def answered_share(self) -> float:
        """The part of the questions that are answered, from 0 to 1."""
        return _divide(self.answered, self.questions)

    @property
    def candidates_per_question(self) -> float:
        """How long a list is on average."""
        return _divide(self.candidates, self.questions)

    @property
    def answers_per_question(self) -> float:
        """How many candidates of a list are correct on average."""
        return _divide(self.answers, self.questions)

    @property
    def words_per_question(self) -> float:
        """How long a question is on average."""
        return _divide(self.question_words, self.questions)

    @property
    def words_per_candidate(self) -> float:
        """How long a candidate is on average."""
        return _divide(self.candidate_words, self.candidates)

    def to_dict(self) -> dict[str, float]:
        """Return the counts and averages that papers print, by the names used here."""
        return {name: getattr(self, name) for name in FIGURES}


FIGURES = (
    "questions",
    "candidates",
    "answered_share",
    "candidates_per_question",
    "answers_per_question",
    "words_per_question",
    "words_per_candidate",
)


def compute_statistics(examples: Iterable[Example], *, cut: Callable[[str], Sized]) -> Statistics:
    """Read the examples once and return their statistics.

    Args:
        cut: cuts a text into words.  Lengths mean nothing without saying how.

    >>> from rejoinder.types import Candidate
    >>> pair = (Candidate("a", "It is red."), Candidate("b", "It rained."))
    >>> examples = [Example("1", "Which colour?", pair, (True, False))]
    >>> found = compute_statistics(examples, cut=str.split)
    >>> found.candidates_per_question, found.words_per_candidate  # 2 / 1, (3 + 2) / 2
    (2.0, 2.5)
    """
    total = Statistics()
    for example in examples:
        total = Statistics(
            questions=total.questions + 1,
            candidates=total.candidates + len(example.candidates),
            answered=total.answered + any(example.labels),
            answers=total.answers + sum(example.labels),
            question_words=total.question_words + len(cut(example.question)),
            candidate_words=total.candidate_words
            + sum(len(cut(candidate.text)) for candidate in example.candidates),
        )
    return total


def _divide(total: int, count: int) -> float:
    return total / count if count else 0.0
