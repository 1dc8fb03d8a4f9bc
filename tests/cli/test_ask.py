import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from rejoinder.cli import main


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(main, ["ask", *map(str, arguments)])


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    (tmp_path / "tea.md").write_text("# Tea\n\nGreen tea is brewed at 75 °C.\n", encoding="utf-8")
    return tmp_path


def test_prints_the_sentence_and_where_it_stands(docs: Path) -> None:
    result = run("when is green tea brewed?", docs)

    assert result.exit_code == 0
    assert result.stdout == f"Green tea is brewed at 75 °C.\n    {docs}/tea.md:3 (Tea)\n"
    assert result.stderr == "1 sentence in 1 document\n"


def test_json_has_offsets(docs: Path) -> None:
    (answer,) = json.loads(run("green tea", docs, "--json").stdout)["answers"]

    assert answer["sentence"] == "Green tea is brewed at 75 °C."
    assert (answer["source"]["start"], answer["source"]["end"]) == (7, 36)


def test_says_that_there_is_no_answer(docs: Path) -> None:
    assert run("xylophone", docs).stdout == "No sentence here shares a word with the question.\n"
    assert json.loads(run("xylophone", docs, "--json").stdout)["answers"] == []


def test_an_unreadable_file_of_a_folder_is_skipped_and_said(docs: Path) -> None:
    (docs / "bad.txt").write_bytes(b"\xff")

    result = run("green tea", docs)

    assert result.exit_code == 0
    assert f"skipped {docs}/bad.txt: not UTF-8 text" in result.stderr


def test_a_named_file_that_cannot_be_read_is_an_error(docs: Path) -> None:
    bad = docs / "bad.txt"
    bad.write_bytes(b"\xff")

    result = run("green tea", bad)

    assert result.exit_code == 1
    assert result.stderr == f"Error: {bad}: not UTF-8 text (byte 1)\n"


def test_reads_the_current_folder_by_default(docs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(docs)

    assert "Green tea" in run("green tea").stdout


def test_an_empty_question_is_one_line(docs: Path) -> None:
    result = run(" ", docs)

    assert result.exit_code == 1
    assert result.stderr == "Error: the question is empty\n"
