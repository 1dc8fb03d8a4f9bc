import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from rejoinder.cli import main
from rejoinder.index.index import Index

ANSWER = "Green tea is brewed at 75 °C. It is sold by lighthouse keepers. Do you like it?"


def run(*arguments: str | Path, typed: bytes | None = None) -> Result:
    return CliRunner().invoke(main, ["cite", *map(str, arguments)], input=typed)


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    folder = tmp_path / "docs"
    folder.mkdir()
    (folder / "tea.md").write_text("# Tea\n\nGreen tea is brewed at 75 °C.\n", encoding="utf-8")
    return folder


def test_each_sentence_is_printed_with_its_citation_or_without(docs: Path) -> None:
    result = run(ANSWER, docs)

    assert result.exit_code == 0
    first, citation, place, second, third = result.stdout.splitlines()
    assert first.startswith("+ Green tea is brewed at 75 °C.  9")
    assert citation == "    Green tea is brewed at 75 °C."
    assert place == f"    {docs}/tea.md:3 (Tea)"
    assert second.startswith("? It is sold by lighthouse keepers.  ")
    assert third == "  Do you like it?"
    assert result.stderr == "1 of 2 sentences are supported\n"


def test_the_answer_is_a_file_or_stdin(docs: Path, tmp_path: Path) -> None:
    path = tmp_path / "answer.txt"
    path.write_text(ANSWER, encoding="utf-8")

    expected = run(ANSWER, docs).stdout

    assert run(path, docs).stdout == expected
    assert run("-", docs, typed=ANSWER.encode()).stdout == expected


def test_an_answer_that_is_longer_than_a_path_is_a_text(docs: Path) -> None:
    result = run("Green tea is brewed at 75 °C. " * 100, docs)

    assert "100 of 100 sentences are supported" in result.stderr


def test_an_index_is_cited_with_a_filter(docs: Path, tmp_path: Path) -> None:
    with Index(tmp_path / "index", create=True) as index:
        index.add([docs], metadata={"team": "kitchen"})

    both = [
        json.loads(
            run(
                *(ANSWER, "--index", tmp_path / "index", "--where", f"team={team}", "--json")
            ).stdout
        )
        for team in ("kitchen", "garden")
    ]

    assert [found["supported"] for found in both] == [1, 0]
    (item,) = both[0]["statements"][0]["citations"]
    assert (item["source"]["start"], item["source"]["end"]) == (5, 34)


def test_a_note_says_that_only_english_was_measured(docs: Path) -> None:
    result = run("Grüner Tee wird nicht mit kochendem Wasser aufgegossen.", docs)

    assert "note: the answer seems to be in another language" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["It is."], "give sources or --index, one of the two"),
        (["It is.", "docs", "--index", "index"], "give sources or --index, one of the two"),
        (["", "examples/docs"], "the answer has no sentence"),
        (["It is.", "nowhere"], "nowhere"),
    ],
)
def test_bad_arguments_are_one_line(arguments: list[str], problem: str) -> None:
    result = run(*arguments)

    assert result.exit_code == 1
    assert problem in result.output
    assert len(result.output.splitlines()) == 1


def test_a_file_that_is_not_text_is_no_answer(docs: Path, tmp_path: Path) -> None:
    path = tmp_path / "answer.bin"
    path.write_bytes(b"\xff\xfe\x00")

    result = run(path, docs)

    assert result.exit_code == 1
    assert "is not UTF-8 text (byte 0)" in result.output
