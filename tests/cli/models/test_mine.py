"""From a corpus to mined lists, and from them to a selector that reads headings."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

torch = pytest.importorskip("torch")

from rejoinder.bundle.folder import open_bundle  # noqa: E402
from rejoinder.cli import main  # noqa: E402
from rejoinder.datasets.readers.jsonl import read_examples  # noqa: E402

MANUAL = """# The cave manual

The manual is about caves and water.

## Where the water is cold

The water of the deep cave is cold in summer.

## Where the water is warm

The water of the lake is warm in summer.

## How caves are formed

Most caves are formed by melted water.
"""


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(main, [*map(str, arguments)])


@pytest.fixture
def manual(tmp_path: Path) -> Path:
    path = tmp_path / "manual.md"
    path.write_text(MANUAL, encoding="utf-8")
    return path


def test_lists_are_mined_from_data_sets_and_documents(
    dataset: Path, manual: Path, tmp_path: Path
) -> None:
    target = tmp_path / "lists.jsonl.gz"

    result = run(
        *("mine", dataset, "--documents", manual, "--to", target),
        *("--candidates", "5", "--unanswerable", "0", "--untitled", "0", "--seed", "3"),
    )

    assert result.exit_code == 0, result.output
    lists = list(read_examples(target))
    candidates = sum(len(example.candidates) for example in lists)
    assert result.stderr.splitlines()[-3:] == [
        "indexing 8 documents",
        f"reading {manual}",
        f"wrote 12 lists with {candidates} candidates to {target}: 4 of headings,"
        " 0 without an answer",
    ]
    assert result.stdout == ""
    assert len(lists) == 12
    assert all(any(example.labels) for example in lists)
    assert max(len(example.candidates) for example in lists) == 5


def test_the_options_of_mining_are_read(dataset: Path, manual: Path, tmp_path: Path) -> None:
    (tmp_path / "exclude.txt").write_text("where is the ice?\n", encoding="utf-8")
    target = tmp_path / "lists.jsonl"

    result = run(
        *("mine", f"{dataset}@0.5", "--documents", manual, "--documents", tmp_path / "exclude.txt"),
        *("--exclude", tmp_path / "exclude.txt", "--headings", "1", "--to", target),
        *("--unanswerable", "1", "--untitled", "1"),
    )

    assert result.exit_code == 0, result.output
    lists = list(read_examples(target))
    assert 3 <= len(lists) <= 5  # half of eight questions, and a heading
    assert not any(any(example.labels) for example in lists)
    assert "where is the ice?" not in [example.question for example in lists]
    texts = {item.text for example in lists for item in example.candidates}
    assert "the ice is here" not in texts
    assert all(item.document is None for example in lists for item in example.candidates)
    assert ": 1 of headings," in result.stderr


@pytest.mark.parametrize(
    ("arguments", "status", "problem"),
    [
        ([], 1, "Error: nothing to mine: name a DATASET, or --documents"),
        (["wikqa"], 1, "unknown data set 'wikqa'; did you mean 'wikiqa'?"),
        (["DATASET", "--exclude", "nowhere.txt"], 1, "nowhere.txt: No such file or directory"),
        (["--documents", "nowhere"], 1, "nowhere"),
        (["DATASET", "--candidates", "2"], 2, "Invalid value for '--candidates': 2"),
        (["DATASET", "--untitled", "2"], 2, "Invalid value for '--untitled': 2"),
        (["DATASET", "--in-document", "--found", "3"], 2, "cannot use --found; leave out one or"),
        (
            ["DATASET", "--in-document", "--documents", "x", "--headings", "5000"],
            2,
            "cannot use --documents, --headings; leave out one or",
        ),
    ],
)
def test_a_mistake_is_one_line_and_leaves_nothing(
    dataset: Path, tmp_path: Path, arguments: list[str], status: int, problem: str
) -> None:
    given = [argument.replace("DATASET", str(dataset)) for argument in arguments]

    result = run("mine", *given, "--to", tmp_path / "lists.jsonl")

    assert result.exit_code == status
    assert problem in result.stderr.splitlines()[-1]
    assert "Traceback" not in result.output
    assert not (tmp_path / "lists.jsonl").exists()


def test_the_lists_of_own_documents_need_no_search(dataset: Path, tmp_path: Path) -> None:
    result = run("mine", dataset, "--in-document", "--to", tmp_path / "lists.jsonl")

    assert "--in-document" not in result.stderr, "nothing was given that it would ignore"


def test_the_file_to_write_is_required(dataset: Path) -> None:
    result = run("mine", dataset)

    assert result.exit_code == 2
    assert "Missing option '--to'" in result.stderr


def test_from_documents_to_a_selector_that_reads_headings(
    manual: Path, encoder: Path, tmp_path: Path
) -> None:
    lists, bundle, index = tmp_path / "lists.jsonl.gz", tmp_path / "m", tmp_path / "index"
    mined = run("mine", "--documents", manual, "--untitled", "0", "--to", lists)
    assert mined.exit_code == 0, mined.output

    trained = run(
        *("train", "selector", lists, "--encoder", encoder, "--context", "headings"),
        *("--teacher", "word-overlap", "--teacher", "jaccard@0.5", "--teacher-share", "0.25"),
        *("--no-int8", "--to", bundle),
    )

    assert trained.exit_code == 0, trained.output
    cache = tmp_path / "m.teacher.jsonl"
    assert (
        f"scoring with word-overlap and jaccard@0.5; the scores are cached in {cache}"
        in trained.stderr.splitlines()
    )
    rows = [json.loads(line) for line in cache.read_text(encoding="utf-8").splitlines()]
    assert [row["scorer"] for row in rows] == ["word-overlap"] * 4 + ["jaccard"] * 4
    assert open_bundle(bundle).manifest.config["context"]["form"] == "headings"
    assert run("models", "verify", bundle).exit_code == 0
    run("index", "add", manual, "--index", index)
    asked = run("ask", "where is the water cold?", "--index", index, "--scorer", bundle, "--json")
    assert asked.exit_code == 0, asked.output
    assert json.loads(asked.stdout)["answers"]


@pytest.mark.parametrize(
    ("arguments", "status", "problem"),
    [
        (["--teacher", "word-overlap@x"], 1, "word-overlap@x: the weight after @ must be a number"),
        (["--teacher", "wordoverlap"], 1, "unknown scorer 'wordoverlap'"),
        (["--teacher-share", "2"], 2, "Invalid value for '--teacher-share': 2"),
        (["--context", "prefix"], 2, "'prefix' is not one of 'none', 'title', 'headings'"),
    ],
)
def test_a_wrong_teacher_or_context_is_one_line(
    dataset: Path, encoder: Path, tmp_path: Path, arguments: list[str], status: int, problem: str
) -> None:
    result = run(
        "train", "selector", dataset, "--encoder", encoder, "--to", tmp_path / "m", *arguments
    )

    assert result.exit_code == status
    assert problem in result.stderr.splitlines()[-1]
    assert not (tmp_path / "m").exists()
