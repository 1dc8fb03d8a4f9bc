import json
from dataclasses import replace
from math import exp
from pathlib import Path

import numpy as np
import pytest

from rejoinder.datasets.readers.judged import Judged, to_ordered_example
from rejoinder.errors import InputError, UnknownNameError
from rejoinder.models.registry import open_scorer
from rejoinder.models.scorer import Candidates, Scores
from rejoinder.training.distillation import (
    Teachers,
    ask_teacher,
    drop_suspects,
    follow,
    join_lists,
    open_teachers,
    teach,
)
from rejoinder.training.mixing import Part
from rejoinder.types import Candidate, Document, Example, to_candidates

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


class Numbers:
    """Scores a candidate by the number that its text is, and counts how often it is asked."""

    def __init__(self, name: str = "numbers", *, times: float = 1.0) -> None:
        self.name = name
        self.asked = 0
        self._times = times

    def score(self, question: str, candidates: Candidates) -> Scores:
        self.asked += 1
        return np.array([self._times * float(item.text) for item in to_candidates(candidates)])


def make_list(id_: str, *judged: tuple[float, bool], documents: str = "") -> Example:
    """Return a list whose candidates have these scores; `documents` has a letter for each."""
    names = documents or "d" * len(judged)
    candidates = tuple(
        Candidate(str(at), str(score), None if name == "-" else Document(name))
        for at, ((score, _), name) in enumerate(zip(judged, names, strict=True))
    )
    return Example(id_, f"question {id_}", candidates, tuple(label for _, label in judged))


def get_scores(example: Example) -> list[float]:
    return [float(item.text) for item in example.candidates]


def test_opinions_follow_the_softmax_and_the_best_one_its_sigmoid() -> None:
    opinions = follow([False, False, False], [1.0, 2.0, -1.0], share=1.0)

    best = 1 / (1 + exp(-2))
    assert opinions == pytest.approx([best * exp(-1), best, best * exp(-3)], abs=1e-6)
    total = exp(1) + exp(2) + exp(-1)
    assert opinions[1] / sum(opinions) == pytest.approx(exp(2) / total, abs=1e-5)


def test_a_target_of_a_followed_teacher_is_a_mean_of_label_and_opinion() -> None:
    assert follow([True, False], [0.0, 0.0], share=0.25) == [0.875, 0.125]
    assert follow([True, False], [-9.0, 9.0], share=0.0) == [1.0, 0.0]
    assert follow([False, True], [100.0, -100.0], share=0.5) == [0.5, 0.5]
    assert follow([], [], share=0.5) == []


def test_a_list_without_an_answer_is_followed_by_its_scores() -> None:
    (target,) = follow([False], [-3.0], share=1.0)

    assert target == pytest.approx(1 / (1 + exp(3)), abs=1e-6)


@pytest.mark.parametrize(
    ("judged", "documents", "kept"),
    [
        # A better sentence of another document goes, an equal or a worse one stays.
        ([(2, True), (3, False), (2, False), (1, False)], "abbb", [2, 2, 1]),
        # Sentences of the answer's own document stay.
        ([(2, True), (3, False), (4, False)], "aab", [2, 3]),
        # The best of several answers counts, and each of their documents.
        ([(5, True), (2, True), (3, False), (6, False), (7, False)], "abcbc", [5, 2, 3, 6]),
        # Without documents nobody knows what the annotators read.
        ([(2, True), (3, False), (1, False)], "---", [2, 1]),
        # A list without an answer is kept as it is.
        ([(2, False), (3, False)], "ab", [2, 3]),
        ([], "", []),
    ],
)
def test_a_wrong_candidate_of_another_document_that_beats_the_answers_is_dropped(
    judged: list[tuple[float, bool]], documents: str, kept: list[float]
) -> None:
    example = make_list("q", *judged, documents=documents)

    cleaned, scores = drop_suspects(example, get_scores(example))

    assert get_scores(cleaned) == scores == kept
    labels = dict(zip(example.candidates, example.labels, strict=True))
    assert cleaned.labels == tuple(labels[item] for item in cleaned.candidates)
    assert (cleaned.id, cleaned.question) == (example.id, example.question)


def test_weighted_scores_of_teachers_are_added_up(tmp_path: Path) -> None:
    examples = [make_list("a", (1, True), (2, False)), make_list("b", (3, True))]
    teachers = Teachers([(Numbers(), 0.5), (Numbers("tens", times=10), 2.0)])
    seen: list[tuple[int, int]] = []

    found = teachers.score(examples, tmp_path / "kept.jsonl", lambda *at: seen.append(at))

    assert found == [[0.5 * 1 + 2 * 10, 0.5 * 2 + 2 * 20], [0.5 * 3 + 2 * 30]]
    assert seen == [(1, 2), (2, 2)] * 2
    rows = [json.loads(line) for line in (tmp_path / "kept.jsonl").read_text().splitlines()]
    assert [(row["scorer"], row["scores"]) for row in rows] == [
        ("numbers", [1, 2]),
        ("numbers", [3]),
        ("tens", [10, 20]),
        ("tens", [30]),
    ]


def test_teachers_are_named_with_their_weights() -> None:
    teachers = open_teachers(["word-overlap", "jaccard@0.25", "bm25@2"])

    assert [(scorer.name, weight) for scorer, weight in teachers.scorers] == [
        ("word-overlap", 1.0),
        ("jaccard", 0.25),
        ("bm25", 2.0),
    ]


def test_a_wrong_weight_and_an_unknown_teacher_are_errors() -> None:
    with pytest.raises(InputError, match="jaccard@half: the weight after @ must be a number"):
        open_teachers(["jaccard@half"])
    with pytest.raises(UnknownNameError, match="unknown scorer 'jacard'"):
        open_teachers(["jacard@0.5"])


def test_taught_parts_have_targets_without_suspects(tmp_path: Path) -> None:
    first = make_list("a", (1, True), (4, False), (0, False), documents="abb")
    second = make_list("b", (2, False), (3, False))
    parts = [Part([first, second]), Part([first], 3.0)]

    taught = teach(parts, Teachers([(Numbers(), 1.0)]), share=0.5, kept=tmp_path / "k")

    best = 1 / (1 + exp(-1))
    expected = [0.5 * best + 0.5, 0.5 * best * exp(-1)]
    unanswered = 1 / (1 + exp(-3))
    examples = list(taught[0].examples)
    assert [get_scores(example) for example in examples] == [[1, 0], [2, 3]]
    assert [example.labels for example in examples] == [(True, False), (False, False)]
    assert taught[0].targets
    assert taught[0].targets[0] == pytest.approx(expected, abs=1e-6)
    assert taught[0].targets[1] == pytest.approx(
        [0.5 * unanswered * exp(-1), 0.5 * unanswered], abs=1e-6
    )
    assert taught[1].targets == taught[0].targets[:1]
    assert [part.weight for part in taught] == [1.0, 3.0]


def test_a_weight_below_1_draws_a_share_once(tmp_path: Path) -> None:
    teacher = Numbers()
    part = Part([make_list(str(at), (at, True), (0, False)) for at in range(1, 21)], 0.25)

    taught, again, other = (
        teach([part], Teachers([(teacher, 1.0)]), share=1.0, kept=tmp_path / "k", seed=seed)[0]
        for seed in (0, 0, 1)
    )

    examples = list(taught.examples)
    assert len({example.id for example in examples}) == 5
    assert taught.weight == 1.0
    assert taught.targets == [
        follow(example.labels, get_scores(example), share=1.0) for example in examples
    ]
    assert taught == again
    assert taught != other


def test_a_second_lesson_reads_the_scores_from_the_file(tmp_path: Path) -> None:
    lists = [make_list(str(at), (at, True), (0, False)) for at in range(6)]
    parts = [Part(lists[:3]), Part(lists[3:])]
    teacher = Numbers()
    seen: list[tuple[int, int]] = []

    first, second = (
        teach(
            parts,
            Teachers([(teacher, 1.0)]),
            share=0.5,
            kept=tmp_path / "k",
            on_done=lambda *at: seen.append(at),
        )
        for _ in range(2)
    )

    assert first == second
    assert teacher.asked == 6 + 2  # one list of each part again: is it the same teacher?
    assert seen == [(1, 3), (2, 3), (3, 3)] * 4
    assert len((tmp_path / "k").read_text().splitlines()) == 6


def test_titles_and_headings_tell_the_lists_of_a_teacher_apart(tmp_path: Path) -> None:
    bare = make_list("a", (1, True), (0, False))
    titled = replace(
        bare, candidates=tuple(replace(item, headings=("Tea",)) for item in bare.candidates)
    )
    teacher = Numbers()

    ask_teacher(teacher, [bare, titled, titled], kept=tmp_path / "k")

    assert teacher.asked == 2
