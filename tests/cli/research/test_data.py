import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from rejoinder.cli import main
from rejoinder.datasets.catalogue import DATASETS

QUESTION = {
    "id": "q",
    "question": "Who came?",
    "sentences": ["She came.", "It rained all day."],
    "labels": [1, 0],
    "document": "A day",
    "in_document_order": True,
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "pool").mkdir()
    import gzip

    with gzip.open(tmp_path / "pool" / "qamr.jsonl.gz", "wt", encoding="utf-8") as file:
        file.write(json.dumps(QUESTION) + "\n")
    return tmp_path


@pytest.fixture(autouse=True)
def _no_other_data(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("REJOINDER_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(main, ["data", *map(str, arguments)])


def test_every_data_set_is_listed_with_its_licence(folder: Path) -> None:
    result = run("list", "--data", folder)

    lines = result.stdout.splitlines()
    assert [line.split()[0] for line in lines[1:]] == list(DATASETS)
    (qamr,) = (line for line in lines if line.startswith("qamr "))
    assert str(folder / "pool") in qamr
    assert "MIT" in qamr


def test_the_list_as_json(folder: Path) -> None:
    listed = {item["name"]: item for item in json.loads(run("list", "--json").stdout)}

    assert listed["wikiqa"]["location"] is None
    assert {"name": "test", "questions": 633, "candidates": 6165, "location": None} in listed[
        "wikiqa"
    ]["splits"]


def test_check_counts_and_names_the_difference(folder: Path) -> None:
    result = run("check", "qamr", "--data", folder)

    assert result.exit_code == 1
    assert ["train", "questions", "1", "34128", "the", "distributed", "files"] in [
        line.split() for line in result.stdout.splitlines()
    ]
    assert "split 'train' has 1 questions, the published file 34128" in result.stderr


def test_check_as_json(folder: Path) -> None:
    checks = json.loads(run("check", "qamr", "--data", folder, "--json").stdout)

    of_train = [item for item in checks if item["split"] == "train"]
    figures = {item["figure"]: item["computed"] for item in of_train}
    assert figures["words_per_candidate"] == (2 + 4) / 2
    assert figures["answered_share"] == 1.0
    assert {item["is_wrong"] for item in of_train if item["figure"] == "questions"} == {True}


def test_check_of_missing_data_names_the_searched_folders(folder: Path) -> None:
    result = run("check", "wikiqa", "--data", folder)

    assert result.exit_code == 1
    assert "wikiqa: no files of split 'train' (looked for wikiqa/WikiQA-train.tsv" in result.stderr
    assert result.stderr.count("\n") == 1


@pytest.mark.parametrize("command", ["check", "get"])
def test_a_typo_suggests_the_nearest(command: str) -> None:
    result = run(command, "trec-qa")

    assert result.exit_code == 1
    assert "unknown data set 'trec-qa'; did you mean 'trecqa'?" in result.stderr


def test_data_without_a_download_is_a_one_line_error(tmp_path: Path) -> None:
    target = tmp_path / "fetched"

    result = run("get", "wikiqa", "--data", target)

    assert result.exit_code == 1
    assert "accept its licence at" in result.stderr
    assert result.stderr.count("\n") == 1
    assert not target.exists()
