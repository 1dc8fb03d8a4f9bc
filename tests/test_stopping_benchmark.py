"""The benchmark of stages that stop reading."""

import argparse
from collections.abc import Iterator
from pathlib import Path

import pytest
from benchmarks import stopping
from benchmarks.corpora.questions import Question
from benchmarks.stopping import ALL, compare, find_all, list_rules, make_variants, time_all

from rejoinder.cascade.calibration import Calibration, Logistic
from rejoinder.cascade.cascade import Cascade, Stage
from rejoinder.cascade.stopping import StoppingRule
from rejoinder.index.index import Index
from rejoinder.models.lexical.scorers import Bm25, WordOverlap
from rejoinder.models.passages import PassageScorer
from rejoinder.types import Document

AT_ONCE = StoppingRule(risk=0.5, intercept=-9.0, best=0.0, gap=0.0, unread=0.0, first=1, batch=1)
"""Stops after the first candidate."""
QUESTION = Question("1", "Who built the old tower?", "a", golds=frozenset(["adabuilttheoldtower"]))
UNANSWERED = Question("2", "Who painted the tower?", "a")


@pytest.fixture
def index(tmp_path: Path) -> Iterator[Index]:
    with Index(tmp_path / "index", create=True) as index:
        sentences = ("Ada built the old tower.", "The tower is old.", "The tower is very high.")
        index.add_documents([Document("tower", "Tower", sentences)])
        yield index


@pytest.fixture
def cascade() -> Cascade:
    stages = [
        Stage(Bm25(), 3),
        Stage(PassageScorer(WordOverlap()), 3, stop=AT_ONCE),
        Stage(WordOverlap(), stop=AT_ONCE),
    ]
    return Cascade("c", stages, calibration=Calibration(Logistic(-2.5, 1.0)))


@pytest.fixture
def options(tmp_path: Path) -> argparse.Namespace:
    return argparse.Namespace(risk=[0.0, 0.5], keep=[1], scores=tmp_path / "scores")


def test_each_variant_reads_what_its_name_says(
    index: Index, cascade: Cascade, options: argparse.Namespace
) -> None:
    variants = make_variants(cascade, options, "pooled")

    rows = compare(variants, find_all(index, [QUESTION, UNANSWERED], cascade))

    assert {name: row["read"] for name, row in rows.items()} == {
        ALL: [3, 3],
        "risk 0": [3, 3],
        "risk 0.5": [1, 1],
        "keep 1": [3, 1],
        "keep 1, stops": [1, 1],
    }
    assert rows[ALL]["difference"] == [0, 0]
    assert all(0 <= row["calibration_error"] <= 1 for row in rows.values())
    assert sorted(path.name for path in options.scores.iterdir()) == [
        "pooled-2.jsonl",
        "pooled-3.jsonl",
    ]


def test_right_sentences_are_taken_out_of_answerable_questions(
    index: Index, cascade: Cascade
) -> None:
    own, without, unanswered = find_all(index, [QUESTION, UNANSWERED], cascade)

    assert (own.is_own, without.is_own, unanswered.is_own) == (True, False, True)
    assert [len(item.found) for item in (own, without, unanswered)] == [3, 2, 3]
    assert all(item.passage for item in own.found)


def test_only_the_first_answer_is_judged(
    index: Index, cascade: Cascade, options: argparse.Namespace
) -> None:
    wrong = Question("1", QUESTION.text, "b", golds=frozenset(["thetowerisveryhigh"]))

    rows = compare(
        make_variants(cascade, options, "pooled"), find_all(index, [QUESTION, wrong], cascade)
    )

    assert rows[ALL]["first"] == 50


def test_answers_are_timed_in_turns(
    index: Index, cascade: Cascade, options: argparse.Namespace
) -> None:
    times = time_all(make_variants(cascade, options, None), index, [QUESTION])

    assert set(times) == {ALL, "risk 0", "risk 0.5", "keep 1", "keep 1, stops"}
    assert all(0 < row["p50_ms"] <= row["p95_ms"] for row in times.values())


def test_rules_are_listed_by_their_stage(cascade: Cascade) -> None:
    assert list_rules(cascade) == {1: AT_ONCE, 2: AT_ONCE}


def test_the_table_names_what_each_stage_reads(capsys: pytest.CaptureFixture[str]) -> None:
    row = {"read": [9.5, 4.25], "first": 71.0, "difference": [-1.0, 0.5], "calibration_error": 0.02}

    stopping.show("pooled", {"risk 0.1": row | {"p50_ms": 12.0, "p95_ms": 20.0}})

    line = capsys.readouterr().out.split()
    assert line[:6] == ["pooled", "risk", "0.1", "9.50", "4.25", "read"]
    assert line[-4:] == ["p50_ms", "12.0", "p95_ms", "20.0"]
