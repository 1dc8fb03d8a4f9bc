"""Baselines on real data; skipped where the data is not on this machine."""

import json
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from benchmarks.generated import write_nq_dev
from click.testing import CliRunner

from rejoinder.cli import main
from rejoinder.datasets.catalogue import open_dataset
from rejoinder.datasets.stream import ExampleStream
from rejoinder.evaluation import Protocol, evaluate
from rejoinder.models.registry import list_named
from rejoinder.papers import baselines as baselines_module
from rejoinder.papers.baselines import (
    BASELINES,
    Baseline,
    BaselineFigure,
    BaselineTable,
    compare_baselines,
    reproduce_baselines,
)
from rejoinder.types import Candidate, Example


def measured(
    table: BaselineTable, folder: Path
) -> dict[tuple[str, str], tuple[float, float, float]]:
    examples = list(open_dataset(table.test, folder=folder))
    return {
        (item.scorer, item.measure): (item.published, item.measured, item.in_our_words)
        for item in compare_baselines(table, examples)
    }


def test_wikiqa_matches_the_published_figures(data_folder: Path) -> None:
    figures = measured(BASELINES[0], data_folder)

    for measure, expected in (("MAP", 64.21), ("MRR", 64.27), ("P@1", 46.09)):
        assert figures["original-order", measure][1] == pytest.approx(expected, abs=0.02)
        for scorer in ("word-overlap+order", "word-overlap"):
            published, theirs, _ = figures[scorer, measure]
            assert theirs == pytest.approx(published, abs=0.3)
    assert 67.5 <= figures["word-overlap+order", "MAP"][2] <= 69.5


def test_squad_is_within_a_point_of_the_published_figures(data_folder: Path) -> None:
    figures = measured(BASELINES[1], data_folder)

    for scorer in ("original-order", "word-overlap", "word-overlap+order"):
        published, theirs, _ = figures[scorer, "P@1"]
        assert theirs == pytest.approx(published, abs=1.0)


def test_the_order_of_trecqa_leaks_nothing(data_folder: Path) -> None:
    examples = list(open_dataset("trecqa", split="test", folder=data_folder))

    report = evaluate("original-order", examples, protocol=Protocol("mixed"))

    assert len(report.rankings) == 68
    assert 0.35 < report.means["MAP"] < 0.45


@pytest.mark.parametrize(("questions", "count"), [("answered", 243), ("mixed", 237), ("all", 633)])
def test_protocols_keep_the_documented_questions(
    data_folder: Path, questions: str, count: int
) -> None:
    arguments = ["evaluate", "original-order", "wikiqa", "--split", "test", "--json"]

    result = CliRunner().invoke(
        main, [*arguments, "--data", str(data_folder), "--protocol", questions]
    )

    assert json.loads(result.stdout)["questions"] == count


def test_all_lexical_scorers_take_seconds_on_wikiqa(data_folder: Path) -> None:
    examples = list(open_dataset("wikiqa", split="test", folder=data_folder))

    start = time.process_time()
    for name in list_named():
        evaluate(name, examples, protocol=Protocol())

    assert time.process_time() - start < 10


def test_the_command_prints_each_figure(data_folder: Path) -> None:
    result = CliRunner().invoke(
        main, ["reproduce", "baselines", "--data", str(data_folder), "--json"]
    )

    rows = json.loads(result.stdout)
    wanted = {"dataset": "wikiqa", "scorer": "original-order", "measure": "MAP"}
    (row,) = (row for row in rows if wanted.items() <= row.items())
    assert (row["published"], row["measured"], row["questions"]) == (64.21, 64.21, 243)
    assert "left out: nq-la" in result.stderr


def test_the_command_reports_missing_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("REJOINDER_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))

    result = CliRunner().invoke(main, ["reproduce", "baselines"])

    assert result.exit_code == 1
    assert result.stderr.splitlines()[-1] == (
        "Error: none of the data sets was found; give their folder as --data"
    )


def test_a_small_table_is_compared_with_the_published_one() -> None:
    pair = (Candidate("0", "a cow", position=0), Candidate("1", "a red cat!", position=1))
    examples = [Example("1", "red cat", pair, (False, True))]
    row = Baseline("word-overlap", "pessimistic", {"P@1": 50.0})

    (figure,) = compare_baselines(BaselineTable("mine:test", "whitespace", (row,)), examples)

    # "cat!" is no shared word for white space, but "red" is.
    assert (figure.published, figure.measured, figure.in_our_words) == (50.0, 100.0, 100.0)
    assert (figure.dataset, figure.split, figure.ties) == ("mine", "test", "pessimistic")


def test_pages_of_natural_questions_are_read_as_streams(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_nq_dev(tmp_path, 0.001)
    written: list[bool] = []
    compare = baselines_module.compare_baselines

    def note(table: BaselineTable, examples: object, seeds: int) -> Iterator[BaselineFigure]:
        written.append(isinstance(examples, ExampleStream))
        return compare(replace(table, words="unicode"), examples, seeds)  # type: ignore[arg-type]

    monkeypatch.setattr(baselines_module, "compare_baselines", note)
    monkeypatch.delenv("REJOINDER_DATA", raising=False)

    figures = reproduce_baselines(tmp_path, seeds=2)

    assert written == [True]
    assert {item["dataset"] for item in figures} == {"nq-la"}
    assert {item["questions"] for item in figures} == {4}
