import json

from click.testing import CliRunner

from rejoinder.cli import main


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
