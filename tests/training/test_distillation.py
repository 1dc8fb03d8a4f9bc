from pathlib import Path

import pytest

from rejoinder.datasets.readers.judged import Judged, to_ordered_example
from rejoinder.models.registry import open_scorer
from rejoinder.models.scorer import Candidates, Scores
from rejoinder.training.distillation import ask_teacher, join_lists, soften
from rejoinder.types import Example

EXAMPLES = [
    to_ordered_example(
        f"q{at}",
        f"Where is the number {at}?",
        [Judged(f"The number {at} is here.", True), Judged(f"Rain fell on day {at}.", False)],
        title=f"Page {at}",
    )
    for at in range(40)
]


class Counting:
    """Word overlap that counts how often it is asked."""

    name = "counting"

    def __init__(self) -> None:
        self.asked = 0
        self._scorer = open_scorer("word-overlap")

    def score(self, question: str, candidates: Candidates) -> Scores:
        self.asked += 1
        return self._scorer.score(question, candidates)


def test_about_half_of_the_lists_are_joined_with_another() -> None:
    joined = join_lists(EXAMPLES)
    assert [example.id for example in joined] == [example.id for example in EXAMPLES]
    assert 8 < sum(len(example.candidates) > 2 for example in joined) < 32


def test_candidates_of_another_document_are_appended_as_negatives() -> None:
    longer = next(example for example in join_lists(EXAMPLES) if len(example.candidates) > 2)
    documents = [item.document.title for item in longer.candidates if item.document]
    assert documents[0] == documents[1] != documents[2] == documents[3]
    assert longer.labels == (True, False, False, False)
    assert len({item.id for item in longer.candidates}) == 4


def test_joining_adds_no_candidate_twice() -> None:
    assert [len(example.candidates) for example in join_lists(EXAMPLES[:1], share=1.0)] == [2]


def test_joining_depends_on_the_seed_alone() -> None:
    assert join_lists(EXAMPLES, seed=1) == join_lists(EXAMPLES, seed=1)
    assert join_lists(EXAMPLES, seed=1) != join_lists(EXAMPLES, seed=2)


def test_a_target_is_a_mean_of_label_and_probability() -> None:
    targets = soften([True, True, False], [100.0, -100.0, 0.0], share=0.7)
    assert targets == pytest.approx([1.0, 0.3, 0.35])


def test_the_teacher_scores_each_list_once(tmp_path: Path) -> None:
    teacher, kept, seen = Counting(), tmp_path / "kept.jsonl", []
    first = ask_teacher(
        teacher, EXAMPLES, kept=kept, on_done=lambda done, of: seen.append((done, of))
    )
    again = ask_teacher(teacher, EXAMPLES, kept=kept)
    assert again == first
    assert teacher.asked == len(EXAMPLES) + 1  # one list again: is it the same teacher?
    assert seen[-1] == (40, 40)


def test_an_empty_data_set_needs_no_teacher(tmp_path: Path) -> None:
    nothing: list[Example] = []
    assert ask_teacher(Counting(), join_lists(nothing), kept=tmp_path / "k") == []
