from pathlib import Path

import pytest

from rejoinder.datasets.readers.jsonl import write_examples
from rejoinder.errors import InputError, MissingDataError
from rejoinder.evaluation import Protocol, evaluate
from rejoinder.models.registry import open_scorer
from rejoinder.types import Candidate, Example


def example(id_: str, question: str, *judged: tuple[str, bool]) -> Example:
    candidates = tuple(
        Candidate(f"{id_}-{place}", text, position=place) for place, (text, _) in enumerate(judged)
    )
    return Example(id_, question, candidates, tuple(label for _, label in judged))


EXAMPLES = [
    example("q1", "red cat", ("a dog", False), ("a red cat", True), ("a red dog", False)),
    example("q2", "blue cow", ("a blue cow", False), ("a cow", True)),
    example("q3", "old owl", ("a hen", False)),
    example("q4", "new hat", ("a hat", True)),
]


def test_means_are_over_the_questions_that_count() -> None:
    report = evaluate(open_scorer("word-overlap"), EXAMPLES)

    # q1: right first; q2: right second; q3 does not count; q4: right first
    assert report.means == {
        "P@1": pytest.approx(2 / 3),
        "MAP": pytest.approx((1 + 1 / 2 + 1) / 3),
        "MRR": pytest.approx((1 + 1 / 2 + 1) / 3),
    }
    assert report.to_dict()["questions"] == 3
    assert report.to_dict()["candidates"] == 6


@pytest.mark.parametrize(("questions", "count", "p_at_1"), [("mixed", 2, 1 / 2), ("all", 4, 2 / 4)])
def test_protocols_select_the_questions(questions: str, count: int, p_at_1: float) -> None:
    report = evaluate(open_scorer("word-overlap"), EXAMPLES, protocol=Protocol(questions))

    assert len(report.rankings) == count
    assert report.means["P@1"] == pytest.approx(p_at_1)


def test_each_question_lists_its_candidates_best_first() -> None:
    first = evaluate(open_scorer("word-overlap"), EXAMPLES, measures=["MRR"]).list_questions()[0]

    assert first == {
        "id": "q1",
        "question": "red cat",
        "MRR": 1.0,
        "candidates": [
            {"id": "q1-1", "label": 1, "score": 2.0},
            {"id": "q1-2", "label": 0, "score": 1.0},
            {"id": "q1-0", "label": 0, "score": 0.0},
        ],
    }


def test_nothing_to_measure_is_an_error() -> None:
    with pytest.raises(InputError, match="no question counts under protocol 'answered'"):
        evaluate(open_scorer("bm25"), EXAMPLES[2:3])


def test_seeds_give_mean_and_deviation() -> None:
    report = evaluate("random", EXAMPLES, protocol=Protocol(), seeds=3)

    values = [sum(run["MAP"]) / 3 for run in report.values_by_seed]
    mean = sum(values) / 3
    assert len(set(values)) > 1
    assert report.means["MAP"] == pytest.approx(mean)
    assert report.deviations["MAP"] == pytest.approx(
        (sum((value - mean) ** 2 for value in values) / 2) ** 0.5
    )
    assert report.to_dict()["seeds"] == 3
    assert report.to_dict()["MAP"] == pytest.approx(mean)


def test_one_seed_has_no_deviation() -> None:
    assert "deviations" not in evaluate("random", EXAMPLES, protocol=Protocol()).to_dict()


def test_seeds_of_a_deterministic_scorer_are_refused() -> None:
    with pytest.raises(InputError, match="'bm25' draws no random numbers"):
        evaluate("bm25", EXAMPLES, protocol=Protocol(), seeds=2)
    with pytest.raises(InputError, match="'bm25' draws no random numbers"):
        evaluate(open_scorer("bm25"), EXAMPLES, seeds=2)


def test_a_data_set_is_opened_by_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("REJOINDER_DATA", raising=False)
    path = tmp_path / "mine.jsonl"
    write_examples(path, EXAMPLES)

    report = evaluate("word-overlap", path)

    assert report.means == evaluate(open_scorer("word-overlap"), EXAMPLES).means
    assert (report.dataset, report.split) == (str(path), None)
    with pytest.raises(MissingDataError, match="wikiqa: no files of split 'dev'"):
        evaluate("bm25", "wikiqa:dev", folder=tmp_path)
