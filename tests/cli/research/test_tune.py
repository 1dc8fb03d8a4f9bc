import json
import tomllib
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from tests.evaluation.test_replay import make_examples

from rejoinder.cli import main
from rejoinder.datasets.readers.jsonl import write_examples


def run(*arguments: str | Path | float) -> Result:
    return CliRunner().invoke(main, [*map(str, arguments)])


def rank(scorer: Path) -> Any:
    arguments = ["rank", "red cat", "--scorer", str(scorer), "--json"]
    return json.loads(CliRunner().invoke(main, arguments, input="a dog\na red cat\n").stdout)


@pytest.fixture
def dataset(tmp_path: Path) -> Path:
    path = tmp_path / "dev.jsonl"
    write_examples(path, make_examples(count=60, size=3))
    return path


SCORERS = ("--scorer", "jaccard", "--scorer", "bm25")


def test_tune_prints_the_frontier_and_writes_the_cascade(dataset: Path, tmp_path: Path) -> None:
    target, plot = tmp_path / "c.toml", tmp_path / "c.png"

    result = run("tune", dataset, *SCORERS, "--to", target, "--plot", plot, "--size", 15)

    assert result.exit_code == 0, result.output
    assert "recall@10" in result.stdout
    assert "*" in result.stdout
    assert plot.stat().st_size > 1000
    written = tomllib.loads(target.read_text(encoding="utf-8"))
    assert written["tuned"]["questions"] == 60
    assert written["tuned"]["candidates"] == 15
    chosen = {name: written["tuned"][name] for name in ("P@1", "predicted_ms")}
    points = [{name: point[name] for name in chosen} for point in written["frontier"]]
    assert chosen in points
    assert points == sorted(points, key=lambda point: (point["predicted_ms"], point["P@1"]))
    assert all(stage["cost"].keys() >= {"fixed_ms"} for stage in written["stage"])
    assert rank(target)["scorer"] == "c"


def test_tune_as_json(dataset: Path, tmp_path: Path) -> None:
    options = ("--to", tmp_path / "c.toml", "--budget-ms", 10_000, "--json", "--questions", 5)

    result = json.loads(run("tune", dataset, *SCORERS, *options).stdout)

    assert result["questions"] == 5
    assert result["chosen"]["P@1"] == result["frontier"][-1]["P@1"]
    assert result["chosen"]["measured_ms"] > 0
    assert {row["scorer"] for row in result["scorers"]} == {"jaccard", "bm25"}


def test_calibrate_writes_a_threshold_that_rank_uses(dataset: Path, tmp_path: Path) -> None:
    target, plot = tmp_path / "c.toml", tmp_path / "c.png"
    run("tune", dataset, *SCORERS, "--to", target)

    options = ("--unanswerable", 0.3, "--answer-rate", 0.5, "--test", dataset, "--plot", plot)
    result = run("calibrate", target, dataset, *options)

    assert result.exit_code == 0, result.output
    assert "(held-out folds)" in result.stdout
    assert plot.stat().st_size > 1000
    written = tomllib.loads(target.read_text(encoding="utf-8"))
    assert written["calibration"]["facts"]["unanswerable"] == 0.3
    assert written["tuned"]["questions"] == 60
    assert 0 < rank(target)["confidence"] < 1


def test_calibrate_fits_when_the_last_stage_stops(dataset: Path, tmp_path: Path) -> None:
    target = tmp_path / "c.toml"
    target.write_text(
        '[[stage]]\nscorer = "random"\nkeep = 20\n[[stage]]\nscorer = "word-overlap"\n',
        encoding="utf-8",
    )

    result = run("calibrate", target, dataset, "--stop", 0.3)

    assert result.exit_code == 0, result.output
    (header, row) = result.stdout.splitlines()[-2:]
    assert header.split(maxsplit=2)[:2] == ["candidates", "read"]
    written = tomllib.loads(target.read_text(encoding="utf-8"))
    assert written["stage"][1]["stop"]["risk"] == 0.3
    assert float(row.split()[0]) <= float(row.split()[1])


def test_calibrating_a_plain_scorer_writes_a_cascade_of_it(dataset: Path, tmp_path: Path) -> None:
    target = tmp_path / "new" / "c.toml"

    result = run("calibrate", "jaccard", dataset, "--to", target, "--json", "--questions", 50)

    assert result.exit_code == 0, result.output
    (found,) = json.loads(result.stdout).values()
    assert found["questions"] == 50
    written = tomllib.loads(target.read_text(encoding="utf-8"))
    assert written["stage"] == [{"scorer": "jaccard"}]


def test_calibrating_on_several_sets_with_long_lists_among_them(
    dataset: Path, tmp_path: Path
) -> None:
    other = tmp_path / "other.jsonl"
    write_examples(other, make_examples(count=40, size=4))
    options = ("--unanswerable", 0.5, "--size", 12, "--to", tmp_path / "c.toml", "--json")

    result = run("calibrate", "jaccard", dataset, other, *options)

    assert result.exit_code == 0, result.output
    (found,) = json.loads(result.stdout).values()
    assert found["questions"] == 100
    assert 35 < found["answerable"] < 65
    written = tomllib.loads((tmp_path / "c.toml").read_text(encoding="utf-8"))
    assert written["calibration"]["facts"]["dataset"] == f"{dataset} {other}"


def test_scores_are_cached(dataset: Path, tmp_path: Path) -> None:
    cache, options = tmp_path / "scores.jsonl", ("--to", tmp_path / "c.toml", "--json")
    first = run("tune", dataset, *SCORERS, *options, "--score-cache", cache)
    size = cache.stat().st_size

    again = run("tune", dataset, *SCORERS, *options, "--score-cache", cache)

    assert size > 0
    assert cache.stat().st_size == size
    recalls = [
        {row["scorer"]: row["recall"] for row in json.loads(result.stdout)["scorers"]}
        for result in (first, again)
    ]
    assert recalls[0] == recalls[1]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["calibrate", "bm25", "DEV"],
            "bm25 is not a cascade file; name the file",
        ),
        (
            ["calibrate", "bm25", "DEV", "--to", "X", "--precision", "1", "--answer-rate", "1"],
            "give a precision or an answer rate, not both",
        ),
        (["tune", "EMPTY", "--scorer", "bm25", "--to", "X"], "no question has an answer"),
        (["tune", "wikiqua", "--scorer", "bm25", "--to", "X"], "did you mean 'wikiqa'"),
        (["tune", "wikiqa:tets", "--scorer", "bm25", "--to", "X"], "unknown split of wikiqa"),
        (
            ["tune", "DEV", "--scorer", "bm25", "--to", "X", "--plot", "x.nonsense"],
            "cannot plot x.nonsense",
        ),
    ],
)
def test_a_mistake_is_one_line(
    dataset: Path, tmp_path: Path, arguments: list[str], message: str
) -> None:
    empty = tmp_path / "empty.jsonl"
    empty.write_text('{"question": "q", "candidates": []}\n', encoding="utf-8")
    places = {"DEV": dataset, "EMPTY": empty, "X": tmp_path / "x.toml"}

    result = run(*(places.get(item, item) for item in arguments))

    assert result.exit_code == 1
    assert "Error: " in result.stderr.splitlines()[-1]
    assert message in result.stderr.splitlines()[-1]


def test_calibrate_fits_how_sentences_are_rated(dataset: Path, tmp_path: Path) -> None:
    path = tmp_path / "c.toml"
    path.write_text(
        '[[stage]]\nscorer = "jaccard"\nkeep = 9\n[[stage]]\nscorer = "bm25"\n', encoding="utf-8"
    )

    result = run("calibrate", path, dataset, "--sentences")
    as_json = run("calibrate", path, dataset, "--sentences", "--json", "--questions", 50)
    refused = run("calibrate", path, dataset, "--sentences", "--precision", 0.5)

    assert result.exit_code == 0, result.output
    assert "answers kept" in result.stdout
    assert f"wrote {path}: sentences are highlighted from" in result.stderr
    written = tomllib.loads(path.read_text(encoding="utf-8"))["sentences"]
    assert list(written["stages"]) == ["jaccard", "bm25"]
    assert json.loads(as_json.stdout)[str(dataset)]["questions"] == 50
    assert refused.exit_code == 2
    assert "--sentences cannot be used with --precision" in refused.stderr


def test_calibrate_leaves_questions_out(dataset: Path, tmp_path: Path) -> None:
    path = tmp_path / "c.toml"
    path.write_text('[[stage]]\nscorer = "jaccard"\n', encoding="utf-8")
    questions = {json.loads(line)["question"] for line in dataset.read_text("utf-8").splitlines()}
    left, *others = sorted(questions)
    excluded = tmp_path / "excluded.txt"
    excluded.write_text("\n".join(f"{one.upper()} ?!" for one in others), encoding="utf-8")
    empty = tmp_path / "empty.txt"
    empty.write_text("?\n", encoding="utf-8")

    result = run("calibrate", path, dataset, "--sentences", "--exclude", excluded, "--json")
    alone = run("calibrate", path, dataset, "--exclude", excluded)
    nothing = run("calibrate", path, dataset, "--sentences", "--exclude", empty)
    missing = run("calibrate", path, dataset, "--sentences", "--exclude", tmp_path / "no.txt")

    assert json.loads(result.stdout)[str(dataset)]["questions"] < 40, left
    assert (alone.exit_code, nothing.exit_code, missing.exit_code) == (2, 1, 1)
    assert "--exclude needs --sentences" in alone.stderr
    assert "empty.txt has no question; give one per line" in nothing.stderr
    assert "cannot read" in missing.stderr
