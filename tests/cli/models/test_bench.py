import json
from pathlib import Path

from click.testing import CliRunner
from tests.evaluation.test_replay import make_examples

from rejoinder.cascade.file import read_cascade_file
from rejoinder.cascade.loading import find_cascade
from rejoinder.cli import main
from rejoinder.datasets.readers.jsonl import write_examples


def test_every_scorer_is_timed_at_every_length() -> None:
    result = CliRunner().invoke(main, ["bench", "jaccard", "original-order", "--json"])

    found = json.loads(result.stdout)
    assert [(item["scorer"], item["candidates"]) for item in found] == [
        (scorer, count) for scorer in ("jaccard", "original-order") for count in (10, 100, 1000)
    ]
    assert all(0 < item["median_ms"] <= item["p95_ms"] for item in found)


def test_bm25_is_timed_by_default() -> None:
    header, *rows = CliRunner().invoke(main, ["bench"]).stdout.splitlines()

    assert header.split() == ["scorer", "candidates", "median", "ms", "p95", "ms"]
    assert [row.split()[:2] for row in rows] == [["bm25", "10"], ["bm25", "100"], ["bm25", "1000"]]


def test_an_unknown_provider_is_one_line() -> None:
    result = CliRunner().invoke(main, ["bench", "jaccard", "--provider", "gpu"])

    assert result.exit_code == 1
    assert "unknown execution provider 'gpu'" in result.output


def test_what_runs_transformers_is_said_beside_the_table() -> None:
    result = CliRunner().invoke(main, ["bench", "jaccard"])

    assert "transformers run in" in result.stderr


def test_the_frontier_that_the_default_was_chosen_from_is_shown() -> None:
    result = CliRunner().invoke(main, ["bench", "--frontier", "--json"])

    stored = read_cascade_file(find_cascade("default")).frontier
    assert [item["cascade"] for item in json.loads(result.stdout)] == [
        point.cascade for point in stored
    ]
    assert len(stored) > 5
    table = CliRunner().invoke(main, ["bench", "--frontier"]).stdout.splitlines()
    assert table[0].split() == ["file", "cascade", "P@1", "predicted", "ms"]
    assert len(table) == len(stored) + 1


def test_a_file_without_a_frontier_is_named(tmp_path: Path) -> None:
    path = tmp_path / "c.toml"
    path.write_text('[[stage]]\nscorer = "jaccard"\n', encoding="utf-8")

    result = CliRunner().invoke(main, ["bench", str(path), "--frontier"])

    assert result.exit_code == 1
    assert "c.toml stores no frontier; `rejoinder tune` writes one" in result.output


def test_accuracy_is_measured_beside_the_time_with_and_without_budgets(tmp_path: Path) -> None:
    path = tmp_path / "dev.jsonl"
    write_examples(path, make_examples(count=12, size=6))

    result = CliRunner().invoke(
        main, ["bench", "jaccard", "--on", str(path), "--questions", "9", "--json"]
    )

    points = json.loads(result.stdout)
    assert [point["budget_ms"] for point in points] == [1, 2, 5, 10, 20, 50, None]
    assert {point["questions"] for point in points} == {9}
    assert all(0 <= point["accuracy"] <= 1 for point in points)
    assert all(0 < point["median_ms"] <= point["p95_ms"] for point in points)


def test_a_stored_frontier_is_not_measured() -> None:
    result = CliRunner().invoke(main, ["bench", "--frontier", "--on", "wikiqa"])

    assert result.exit_code == 2
    assert "leave it out with --on" in result.output
