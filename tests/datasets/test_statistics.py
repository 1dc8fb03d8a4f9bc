import pytest

from rejoinder.datasets.readers.judged import Judged, to_unordered_example
from rejoinder.datasets.statistics import FIGURES, Statistics, compute_statistics

EXAMPLES = [
    to_unordered_example("1", "who sleeps", [Judged("bees sleep", True), Judged("no", False)]),
    to_unordered_example("2", "when", [Judged("a b c", False)]),
    to_unordered_example("3", "why oh why", []),
    to_unordered_example(
        "4", "how so", [Judged("x y", True), Judged("z w", True), Judged("v", False)]
    ),
]


def test_totals_are_counted_over_all_questions() -> None:
    found = compute_statistics(iter(EXAMPLES), cut=str.split)

    assert found == Statistics(
        questions=4,
        candidates=6,
        answered=2,
        answers=3,
        question_words=2 + 1 + 3 + 2,
        candidate_words=(2 + 1) + 3 + (2 + 2 + 1),
    )


def test_averages_follow_from_the_totals() -> None:
    found = compute_statistics(EXAMPLES, cut=str.split)

    assert found.to_dict() == pytest.approx(
        {
            "questions": 4,
            "candidates": 6,
            "answered_share": 2 / 4,
            "candidates_per_question": 6 / 4,
            "answers_per_question": 3 / 4,
            "words_per_question": 8 / 4,
            "words_per_candidate": 11 / 6,
        }
    )
    assert tuple(found.to_dict()) == FIGURES


def test_the_cut_decides_the_lengths() -> None:
    found = compute_statistics(EXAMPLES[:1], cut=list)

    assert found.words_per_question == len("who sleeps")
    assert found.words_per_candidate == (len("bees sleep") + len("no")) / 2


def test_nothing_has_averages_of_zero() -> None:
    assert set(compute_statistics([], cut=str.split).to_dict().values()) == {0}
