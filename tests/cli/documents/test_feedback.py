import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from rejoinder.cli import main
from rejoinder.datasets.readers.jsonl import read_examples

QUESTION = "when is green tea brewed?"
HOT = "Green tea is brewed at 75 °C."
MILK = "Milk will spoil it."


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "tea.md").write_text(f"# Tea\n\n{HOT} {MILK} Tea is very old.\n", encoding="utf-8")
    CliRunner().invoke(main, ["index", "add", str(docs), "--index", str(tmp_path / "index")])
    return tmp_path / "index"


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(main, ["feedback", *map(str, arguments)])


def read_marks(folder: Path) -> list[dict[str, object]]:
    return [
        json.loads(line)
        for line in run("list", "--index", folder, "--json").stdout.split("\n")[:-1]
    ]


def test_a_sentence_that_ask_prints_can_be_marked(folder: Path) -> None:
    ask = ["ask", QUESTION, "--index", str(folder), "--min-confidence", "0"]
    printed = CliRunner().invoke(main, ask).stdout
    result = run("right", QUESTION, printed.splitlines()[0], "--index", folder)
    run("wrong", QUESTION, MILK, "--index", folder)

    assert result.exit_code == 0, result.output
    assert result.stdout == "saved: right; 1 mark in the index\n"
    assert run("list", "--index", folder).stdout.splitlines() == [
        "mark   question                   sentence",
        f"right  {QUESTION}  {HOT}",
        f"wrong  {QUESTION}  {MILK}",
    ]


def test_a_mark_is_taken_back(folder: Path) -> None:
    run("right", QUESTION, HOT, "--index", folder)

    removed = run("remove", QUESTION, HOT, "--index", folder)

    assert removed.stdout == "mark removed; 0 marks in the index\n"
    assert read_marks(folder) == []
    assert "is not marked for" in run("remove", QUESTION, HOT, "--index", folder).stderr


def test_an_index_without_marks_says_so(folder: Path) -> None:
    assert run("list", "--index", folder, "--json").output == ""
    assert "no answer is marked" in run("list", "--index", folder).stderr


def test_a_file_of_marks_has_the_format_of_list(folder: Path, tmp_path: Path) -> None:
    file = tmp_path / "marks.jsonl"
    rows = [
        {"question": QUESTION, "sentence": HOT, "right": True},
        {"question": QUESTION, "sentence": "Tea is new.", "right": False},
        {"question": QUESTION, "sentence": MILK, "right": False},
    ]
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")

    result = run("add", file, "--index", folder)

    assert result.stdout == "2 marks added, 1 skipped\n"
    assert result.stderr.startswith("skipped: the index has no sentence 'Tea is new.'")
    assert read_marks(folder) == [rows[0], rows[2]]


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("{", "not JSON"),
        ('{"question": "a", "sentence": "b"}', "field 'right' is missing"),
        ('{"question": "a", "sentence": "b", "right": 1}', "field 'right' must be"),
        ('{"question": " ", "sentence": "b", "right": true}', "the question is empty"),
        ('{"question": "\\ud800", "sentence": "b", "right": true}', "the question is not text"),
    ],
)
def test_a_file_that_breaks_the_format_is_one_line(
    folder: Path, tmp_path: Path, line: str, problem: str
) -> None:
    file = tmp_path / "marks.jsonl"
    good = json.dumps({"question": QUESTION, "sentence": HOT, "right": True})
    file.write_text(f"{good}\n{line}\n", encoding="utf-8")

    result = run("add", file, "--index", folder)

    assert result.exit_code == 1
    assert problem in result.stderr
    assert len(result.stderr.splitlines()) == 1
    assert read_marks(folder) == []


def test_an_unknown_sentence_is_one_line(folder: Path, tmp_path: Path) -> None:
    result = run("wrong", QUESTION, "Tea is", "--index", folder)

    assert result.exit_code == 1
    assert result.stderr == (
        "Error: the index has no sentence 'Tea is'; give all of it, as `ask` prints it\n"
    )
    assert "no index there" in run("list", "--index", tmp_path / "nowhere").stderr


def test_the_export_is_a_data_set(folder: Path, tmp_path: Path) -> None:
    run("right", QUESTION, HOT, "--index", folder)
    file = tmp_path / "mine.jsonl"
    file.write_text(run("export", "--index", folder).stdout, encoding="utf-8")

    (example,) = read_examples(file)

    assert example.question == QUESTION
    assert [item.text for item in example.candidates] == [HOT, MILK, "Tea is very old."]
    assert example.labels == (True, False, False)
    run("remove", QUESTION, HOT, "--index", folder)
    assert "no answer is marked right" in run("export", "--index", folder).stderr
