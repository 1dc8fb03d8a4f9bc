from dataclasses import asdict

import pytest

from rejoinder.datasets.readers.judged import Judged, to_unordered_example
from rejoinder.datasets.statistics import Statistics, compute_statistics

EXAMPLES = [
    to_unordered_example("1", "who sleeps", [Judged("bees sleep", True), Judged("no", False)]),
    to_unordered_example("2", "when", [Judged("a b c", False)]),
    to_unordered_example("3", "why oh why", []),
    to_unordered_example(
        "4", "how so", [Judged("x y", True), Judged("z w", True), Judged("v", False)]
    ),
]


def test_figures_are_computed_over_all_questions() -> None:
    statistics = compute_statistics(iter(EXAMPLES), split_words=str.split)

    assert statistics == Statistics(
        questions=4,
        candidates=6,
        answered_share=2 / 4,
        candidates_per_question=6 / 4,
        answers_per_question=3 / 4,
        words_per_question=(2 + 1 + 3 + 2) / 4,
        words_per_candidate=((2 + 1) + 3 + (2 + 2 + 1)) / 6,
    )


def test_figures_by_name() -> None:
    statistics = compute_statistics(EXAMPLES, split_words=str.split)

    assert asdict(statistics) == pytest.approx(
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


def test_lengths_depend_on_the_word_splitter() -> None:
    statistics = compute_statistics(EXAMPLES[:1], split_words=list)

    assert statistics.words_per_question == len("who sleeps")
    assert statistics.words_per_candidate == (len("bees sleep") + len("no")) / 2


def test_nothing_has_averages_of_zero() -> None:
    assert set(asdict(compute_statistics([], split_words=str.split)).values()) == {0}
