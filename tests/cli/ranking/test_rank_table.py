import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner, Result
from tests.batch.tables import make_rows, read_ranked, write_questions

from rejoinder.cli import main


def run(*arguments: object) -> Result:
    return CliRunner().invoke(main, ["rank-table", *map(str, arguments)])


def test_a_table_is_ranked_and_summed_up(tmp_path: Path) -> None:
    source = write_questions(tmp_path / "in.parquet", 6, group=3)

    result = run(source, tmp_path / "out", "--scorer", "bm25", "--top", 2)
    again = run(source, tmp_path / "out", "--scorer", "bm25", "--top", 2)

    assert result.exit_code == 0, result.output
    assert result.stderr == "6 rows in 2 partitions\n"
    assert again.stderr == "6 rows in 2 partitions, 2 of them done before\n"
    assert {len(answers) for answers in read_ranked(tmp_path / "out")["answers"]} == {2}


def test_json_is_one_object(tmp_path: Path) -> None:
    rows = [{**row, "language": "en"} for row in make_rows(2)]
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "in.parquet")

    result = run(tmp_path / "in.parquet", tmp_path / "out", "--scorer", "bm25", "--json")

    assert json.loads(result.stdout) == {"rows": 2, "partitions": 1, "done_before": 0}
    assert result.stderr == "ignored columns: language\n"


def test_bad_input_is_one_line(tmp_path: Path) -> None:
    result = run(tmp_path / "in.parquet", tmp_path / "out", "--scorer", "bm25")

    assert result.exit_code == 1
    assert result.stderr == f"Error: {tmp_path / 'in.parquet'}: no parquet file there\n"


def test_min_confidence_decides_which_questions_have_no_answer(tmp_path: Path) -> None:
    source = write_questions(tmp_path / "in.parquet", 3)

    for name, min_confidence in (("lax", 0), ("strict", 1)):
        result = run(source, tmp_path / name, "--min-confidence", min_confidence)
        assert result.exit_code == 0, result.output

    assert read_ranked(tmp_path / "lax")["abstains"].to_pylist() == [False] * 3
    assert read_ranked(tmp_path / "strict")["abstains"].to_pylist() == [True] * 3
    again = run(source, tmp_path / "strict", "--min-confidence", 0.5)
    assert "holds the output of another job (different: min_confidence)" in again.output


def test_a_scorer_without_a_confidence_leaves_no_output(tmp_path: Path) -> None:
    source = write_questions(tmp_path / "in.parquet", 2)

    result = run(source, tmp_path / "out", "--scorer", "bm25", "--min-confidence", 0.5)

    assert result.exit_code == 1
    assert result.stderr.startswith("Error: min_confidence needs a confidence, and bm25 has none")
    assert not (tmp_path / "out").exists()


def test_an_unknown_scorer_leaves_no_output(tmp_path: Path) -> None:
    source = write_questions(tmp_path / "in.parquet", 2)

    result = run(source, tmp_path / "out", "--scorer", "nope")

    assert result.exit_code == 1
    assert result.stderr.startswith("Error: unknown scorer 'nope'; known: ")
    assert not (tmp_path / "out").exists()


def test_two_engines_are_one_too_many(tmp_path: Path) -> None:
    source = write_questions(tmp_path / "in.parquet", 2)

    result = run(source, tmp_path / "out", "--spark", "local[1]", "--dask")

    assert result.stderr == "Error: give only one of --dask and --spark\n"


@pytest.mark.parametrize(
    "option", [["--dask", "tcp://127.0.0.1:1"], ["--spark", "spark://127.0.0.1:1"]]
)
def test_a_cluster_that_is_not_there_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, option: list[str]
) -> None:
    monkeypatch.setattr("rejoinder.batch.dask.CONNECT_SECONDS", 1)
    source = write_questions(tmp_path / "in.parquet", 2)

    result = run(source, tmp_path / "out", "--scorer", "bm25", *option)

    assert result.exit_code == 1
    assert result.stderr.startswith("Error: no ")
    assert result.stderr.endswith(f" at {option[1]}\n")
