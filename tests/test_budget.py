"""The benchmark of latency budgets."""

from pathlib import Path

from benchmarks.budget import Trial, answer_once, summarise
from benchmarks.corpora.questions import Question

import rejoinder
from rejoinder.engine.engine import Engine
from rejoinder.index.index import Index
from rejoinder.types import Document


def test_an_answer_is_judged_and_timed(tmp_path: Path) -> None:
    question = Question("1", "Who built the tower?", "a", golds=frozenset(["adabuiltthetower"]))
    with Index(tmp_path / "index", create=True) as index:
        sentences = ("Ada built the tower.", "The tower is old.", "The tower is very high.")
        index.add_documents([Document("tower", "Tower", sentences)])
        engine = Engine(index, rejoinder.load())

        whole, late = (answer_once(engine, question, budget) for budget in (None, 0.0))

    assert whole.is_right
    assert (whole.timed_out, late.timed_out) == (False, True)
    assert whole.milliseconds > 0


def test_times_are_compared_with_the_budget() -> None:
    trials = [Trial(float(ms), is_right=ms < 5, timed_out=ms > 7) for ms in range(1, 11)]

    row = summarise(2.0, trials, 5.0)

    assert row["share_within_5_ms_more"] == 0.7
    assert (row["P@1"], row["share_cut"], row["most_ms"]) == (40, 0.3, 10)
    assert row["p50_ms"] == 5.5
    assert row["p95_ms"] < row["p99_ms"] < 10
    assert summarise(None, trials)["share_within_30_ms_more"] is None
