import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from rejoinder.cli import main

LINES = [
    {
        "id": "q1",
        "question": "red cat",
        "candidates": [{"text": "a dog", "label": 0}, {"text": "a red cat", "label": 1}],
    },
    {"id": "q2", "question": "cow", "candidates": [{"text": "a hen", "label": 0}]},
]


@pytest.fixture
def dataset(tmp_path: Path) -> Path:
    path = tmp_path / "mine.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in LINES), encoding="utf-8")
    return path


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(main, [*map(str, arguments)])


def test_json_is_one_object_with_fractions(dataset: Path) -> None:
    result = run("evaluate", "bm25", dataset, "--json")

    assert json.loads(result.stdout) == {
        "dataset": str(dataset),
        "split": None,
        "scorer": "bm25",
        "protocol": "answered",
        "ties": "stable",
        "words": "unicode",
        "questions": 1,
        "candidates": 2,
        "P@1": 1.0,
        "MAP": 1.0,
        "MRR": 1.0,
    }


def test_table_shows_percentages_and_the_protocol(dataset: Path) -> None:
    header, row = run("evaluate", "jaccard", dataset, "--protocol", "all").stdout.splitlines()

    assert header.split() == [
        *("scorer", "dataset", "protocol", "ties", "words", "questions", "P@1", "MAP", "MRR")
    ]
    assert row.split() == [
        *("jaccard", str(dataset), "all", "stable", "unicode", "2", "50.00", "50.00", "50.00")
    ]


def test_measures_can_be_chosen(dataset: Path) -> None:
    result = json.loads(
        run("evaluate", "bm25", dataset, "--measures", "nDCG@3, recall@1", "--json").stdout
    )

    assert result["nDCG@3"] == result["recall@1"] == 1.0
    assert "MAP" not in result


def test_a_measure_that_is_named_twice_counts_once(dataset: Path) -> None:
    header, _ = run("evaluate", "bm25", dataset, "--measures", "MAP,P@1,MAP").stdout.splitlines()

    assert header.split()[-2:] == ["MAP", "P@1"]


@pytest.mark.parametrize("command", [["evaluate", "bm25"], ["compare", "bm25", "jaccard"]])
@pytest.mark.parametrize("names", ["", " , "])
def test_no_measure_is_one_line(command: list[str], names: str, dataset: Path) -> None:
    result = run(*command, dataset, "--measures", names)

    assert result.exit_code == 1
    assert result.stderr == ("Error: no measure is named; known: P@k, MAP, MRR, nDCG@k, recall@k\n")


def test_a_split_may_follow_the_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("REJOINDER_DATA", raising=False)
    result = run("evaluate", "bm25", "wikiqa:dev", "--data", tmp_path)
    both = run("compare", "bm25", "jaccard", "wikiqa:dev", "--split", "test")

    assert "Error: wikiqa: no files of split 'dev'" in result.stderr
    assert both.stderr == "Error: wikiqa:dev is not split 'test'; give one of them\n"


def test_per_question_output_is_complete(dataset: Path, tmp_path: Path) -> None:
    target = tmp_path / "questions.jsonl"

    result = run("evaluate", "bm25", dataset, "--protocol", "all", "--per-question", target)

    lines = [json.loads(line) for line in target.read_text(encoding="utf-8").splitlines()]
    assert [line["id"] for line in lines] == ["q1", "q2"]
    assert [candidate["label"] for candidate in lines[0]["candidates"]] == [1, 0]
    assert f"wrote {target}" in result.stderr


def test_a_file_that_cannot_be_written_is_named(dataset: Path, tmp_path: Path) -> None:
    target = tmp_path / "nowhere" / "out.jsonl"

    result = run("evaluate", "bm25", dataset, "--per-question", target)

    assert result.exit_code == 1
    assert result.stderr == f"Error: cannot write {target}: No such file or directory\n"


def test_seeds_give_deviations(dataset: Path) -> None:
    result = json.loads(run("evaluate", "random", dataset, "--seeds", "4", "--json").stdout)

    assert result["seeds"] == 4
    assert set(result["deviations"]) == {"P@1", "MAP", "MRR"}
    assert "±" in run("evaluate", "random", dataset, "--seeds", "4").stdout


def test_every_seed_is_written(dataset: Path, tmp_path: Path) -> None:
    lines, run_, qrels = (tmp_path / name for name in ("q.jsonl", "r.run", "q.qrels"))
    files: list[str | Path] = ["--per-question", lines, "--write-run", run_, "--write-qrels", qrels]

    result = run("evaluate", "random", dataset, "--seeds", "3", *files)

    written = [json.loads(line) for line in lines.read_text(encoding="utf-8").splitlines()]
    assert [line["seed"] for line in written] == [0, 1, 2]
    assert {path.name for path in tmp_path.glob("*.run")} == {"r-0.run", "r-1.run", "r-2.run"}
    assert sorted(qrels.read_text().splitlines()) == ["q1 0 0 0", "q1 0 1 1"]
    assert result.stderr.splitlines() == [
        f"wrote {path}"
        for path in (lines, *(tmp_path / f"r-{seed}.run" for seed in range(3)), qrels)
    ]


def test_a_written_run_is_measured_and_compared(dataset: Path, tmp_path: Path) -> None:
    target = tmp_path / "bm25.run"
    first = run("evaluate", "bm25", dataset, "--write-run", target, "--json")

    again = run("evaluate", target, dataset, "--json")
    compared = run("compare", f"{target},random", "bm25,jaccard", dataset)

    assert json.loads(again.stdout) == json.loads(first.stdout)
    assert compared.exit_code == 0, compared.output
    assert "bm25,jaccard x2" in compared.stdout
    assert "±" in compared.stdout


def test_compare_shows_differences_and_p(dataset: Path) -> None:
    result = run("compare", "original-order", "bm25", dataset)

    header, *rows = result.stdout.splitlines()
    assert header.split() == ["scorer", "measure", "mean", "95", "%", "difference", "95", "%", "p"]
    assert [row.split()[:3] for row in rows] == [
        ["original-order", "P@1", "0.00"],
        ["original-order", "MAP", "50.00"],
        ["original-order", "MRR", "50.00"],
        ["bm25", "P@1", "100.00"],
        ["bm25", "MAP", "100.00"],
        ["bm25", "MRR", "100.00"],
    ]
    assert "+100.00" in rows[3]


def test_compare_as_json(dataset: Path) -> None:
    first, second = json.loads(run("compare", "bm25", "jaccard", dataset, "--json").stdout)

    assert first["differences"] == {}
    assert second["differences"]["MAP"]["mean"] == 0.0


def test_compare_needs_two_scorers(dataset: Path) -> None:
    result = run("compare", "bm25", dataset)

    assert result.exit_code == 1
    assert result.stderr == "Error: compare needs two scorers or more, and then the data set\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["evaluate", "bm52", "DATASET"], "unknown scorer 'bm52'; did you mean 'bm25'?"),
        (["evaluate", "bm25", "wikqa"], "unknown data set 'wikqa'; did you mean 'wikiqa'?"),
        (["evaluate", "bm25", "DATASET", "--protocol", "al"], "unknown protocol 'al'"),
        (["evaluate", "bm25", "DATASET", "--ties", "x"], "unknown tie rule 'x'"),
        (["evaluate", "bm25", "DATASET", "--words", "x"], "unknown word splitter 'x'"),
        (["evaluate", "bm25", "DATASET", "--measures", "map"], "unknown measure 'map'"),
        (["evaluate", "bm25", "DATASET", "--seeds", "2"], "'bm25' draws no random numbers"),
        (["evaluate", "bm25", "none.jsonl"], "none.jsonl: No such file or directory"),
    ],
)
def test_a_mistake_is_one_line_and_exit_1(
    dataset: Path, arguments: list[str], message: str
) -> None:
    result = run(*(str(dataset) if word == "DATASET" else word for word in arguments))

    assert result.exit_code == 1
    assert result.stdout == ""
    assert message in result.stderr
    assert result.stderr.count("\n") == 1


def test_wrong_usage_is_exit_2(dataset: Path) -> None:
    assert run("evaluate", "bm25").exit_code == 2
    assert run("evaluate", "bm25", dataset, "--seeds", "0").exit_code == 2
    assert run("unknown").exit_code == 2


def test_corrupt_data_names_file_and_line(tmp_path: Path) -> None:
    path = tmp_path / "truncated.jsonl"
    path.write_text(json.dumps(LINES[0]) + '\n{"question": "wh', encoding="utf-8")

    result = run("evaluate", "bm25", path)

    assert result.exit_code == 1
    assert result.stderr.startswith(f"Error: {path}:2: not JSON:")
    assert "Traceback" not in result.output
