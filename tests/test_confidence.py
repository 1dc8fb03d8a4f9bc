import argparse
from pathlib import Path

import numpy as np
import pytest
from benchmarks import confidence, corpus_lists
from benchmarks.confidence import Asked, Observation, ask, describe, sample_foreign
from benchmarks.corpora.questions import Question

from rejoinder.cascade.calibration import Calibration, Logistic
from rejoinder.cascade.cascade import Cascade, Stage
from rejoinder.index.index import Index
from rejoinder.models.lexical.scorers import WordOverlap
from rejoinder.types import Document

QUESTION = Question("1", "Who built the tower?", "a", golds=frozenset(["adabuiltthetower"]))
CALIBRATED = Cascade("c", [Stage(WordOverlap())], calibration=Calibration(Logistic(-2.5, 1.0)))


@pytest.fixture
def index(tmp_path: Path) -> Index:
    index = Index(tmp_path / "index", create=True)
    index.add_documents(
        [Document("tower", "Tower", ("Ada built the tower.", "The tower is old.", "It is high."))]
    )
    return index


def test_a_right_answer_is_observed_and_taken_out(index: Index) -> None:
    with index:
        own = ask(index, CALIBRATED, QUESTION)
        removed = ask(index, CALIBRATED, QUESTION, without=QUESTION.accepts)

    assert (own.is_right, own.is_answerable) == (True, True)
    assert (removed.is_right, removed.is_answerable) == (False, False)
    assert own.confidence > removed.confidence
    assert (own.is_stated, removed.is_stated) == (True, False)  # 3 and 2 shared words


def test_goals_are_printed_beside_their_figures() -> None:
    figures = dict.fromkeys((goal.figure for goal in confidence.GOALS), 0.2)
    corpora = {name: {"own": figures, "all": figures} for name in ("pooled", "manuals")}

    lines = confidence.show_goals(corpora).splitlines()

    assert [line.split()[0] for line in lines] == [goal.corpus for goal in confidence.GOALS]
    assert lines[0].endswith("0.200  at most 0.05: missed")
    assert lines[3].endswith("unanswerable questions refused         0.200  at least 0.80: missed")
    assert lines[5].endswith("0.200  at most 0.40: reached")


def test_figures_of_some_questions() -> None:
    rows = [
        Observation(0.9, True, True, True),
        Observation(0.8, True, False, True),
        Observation(0.2, False, True, True),
        Observation(0.1, False, False, False),
    ]

    figures = describe(Asked.from_rows(rows))

    assert figures["questions"] == 4
    assert figures["precision_at_rate"] == {"0.25": 1.0, "0.5": 0.5, "0.75": 0.6667}
    assert figures["precision_of_half"] == 0.5
    assert figures["right_stated"] == 0.5
    assert figures["answerable_refused"] == pytest.approx(1 / 3, abs=1e-4)
    assert figures["unanswerable_refused"] == 1.0
    assert figures["distinct_confidences"] == 1.0
    assert figures["calibration_error"] == pytest.approx((0.1 + 0.8 + 0.8 + 0.1) / 4)
    assert [row["questions"] for row in figures["reliability"]] == [1, 1, 1, 1]
    assert describe(Asked.from_rows(rows[:3]))["unanswerable_refused"] is None


def test_foreign_questions_are_those_of_the_manuals() -> None:
    questions = sample_foreign("pooled", None, 12)

    assert len(questions) == 12
    assert {question.group for question in questions} == {"manuals"}
    assert all(question.is_answerable for question in questions)


def test_a_plot_is_written(tmp_path: Path) -> None:
    rows = [Observation(0.1 * at, at > 5, at > 5, True) for at in range(10)]

    confidence.plot(tmp_path / "plot.png", {"pooled": Asked.from_rows(rows)})

    assert (tmp_path / "plot.png").read_bytes().startswith(b"\x89PNG")
    assert np.isfinite(describe(Asked.from_rows(rows))["calibration_error"])


def test_lists_to_calibrate_on_ask_held_out_questions_of_the_same_corpus(tmp_path: Path) -> None:
    given = argparse.Namespace(
        calibration=True, in_document=False, to=tmp_path, manuals=tmp_path, data=None
    )
    data = corpus_lists.choose_data(given)
    options = corpus_lists.make_options(given, tmp_path / "exclude.txt")

    asked = [name for name in data if not name.endswith("@0")]
    assert asked == list(corpus_lists.HELD_OUT)
    assert {name.partition(":")[0] for name in data if name.endswith("@0")} == {
        name.partition(":")[0] for name in corpus_lists.DATA
    }
    assert all(":dev" in name for name in asked)
    assert options.found == corpus_lists.FOUND
    assert options.exclude == tmp_path / "exclude.txt"


def test_lists_inside_documents_ask_questions_that_may_be_trained_on(tmp_path: Path) -> None:
    given = argparse.Namespace(calibration=False, in_document=True, to=tmp_path, data=None)
    data = corpus_lists.choose_data(given)
    options = corpus_lists.make_options(given, tmp_path / "exclude.txt")

    assert {name.partition("@")[0] for name in data} <= {
        name.partition("@")[0] for name in corpus_lists.DATA
    }
    assert options.in_document
    assert options.unanswerable == 0
    assert options.exclude == tmp_path / "exclude.txt"


def test_lists_inside_documents_to_calibrate_on_ask_held_out_questions(tmp_path: Path) -> None:
    given = argparse.Namespace(calibration=True, in_document=True, to=tmp_path, data=None)
    options = corpus_lists.make_options(given, tmp_path / "exclude.txt")

    assert corpus_lists.choose_data(given) == list(corpus_lists.HELD_OUT)
    assert options.in_document
    assert options.unanswerable == corpus_lists.UNANSWERABLE


def test_no_manual_of_the_benchmark_is_trained_on() -> None:
    from benchmarks.manuals.packages import MANUALS

    assert not MANUALS.keys() & corpus_lists.MANUALS.keys()
