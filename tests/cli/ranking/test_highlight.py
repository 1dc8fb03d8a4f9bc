import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from rejoinder.cli import main

ROOT = Path(__file__).parents[3]
CAVES = ROOT / "examples/docs/glacier-caves.md"
QUESTION = "how are glacier caves formed?"


def run(*arguments: str | Path | float, given: str | bytes | None = None) -> Result:
    return CliRunner().invoke(main, ["highlight", *map(str, arguments)], input=given)


def test_the_sentences_that_answer_are_printed_with_their_place() -> None:
    result = run(QUESTION, CAVES, "--threshold", 0.5, "--explain")

    sentence, place, *rest = result.stdout.splitlines()
    assert sentence.startswith("Most glacier caves are formed by meltwater")
    assert place.startswith(f"    {CAVES}:8  9")
    assert "selector" in "\n".join(rest)


def test_a_text_on_stdin_is_pruned() -> None:
    text = "# Tea\n\nIt rained. Ada Byron wrote it.\n\nBees dance."

    result = run("who wrote it?", "-", "--prune", "--threshold", 0.5, given=text)

    assert result.stdout == "# Tea\n\nAda Byron wrote it.\n"
    assert "dropped" in result.stderr


def test_json_has_every_sentence() -> None:
    result = run(QUESTION, CAVES, "--json", "--prune", "--threshold", 1.0)

    body = json.loads(result.stdout)
    assert len(body["sentences"]) == 8
    assert body["pruned"]["text"] == ""
    assert "text" not in body


def test_a_page_is_read_as_a_document(tmp_path: Path) -> None:
    page = tmp_path / "a.html"
    page.write_text(
        "<html><title>Caves</title><body><h1>Glacier caves</h1><p>Guides go in only in winter."
        "</p><p>Most glacier caves are formed by meltwater in summer.</p></body></html>",
        encoding="utf-8",
    )

    result = run(QUESTION, page)

    assert result.stdout.startswith("Most glacier caves are formed by meltwater in summer.\n")


def test_other_languages_get_a_note() -> None:
    result = run("Wie hoch ist der Turm?", "-", given="Der Turm ist 30 Meter hoch.")

    assert "another language" in result.stderr


def test_a_page_on_stdin_is_refused_in_one_line() -> None:
    result = run(QUESTION, "-", given="<html><p>Ice melts.")

    assert result.exit_code == 1
    assert result.stderr == "Error: text 0 is HTML; give its text, or add the file to an index\n"


def test_nothing_found_is_said(tmp_path: Path) -> None:
    empty = tmp_path / "empty.txt"
    empty.write_text("", encoding="utf-8")

    result = run(QUESTION, empty)
    pruned = run(QUESTION, empty, "--prune")

    assert (result.exit_code, result.stdout) == (0, "")
    assert "no sentence reaches 0." in result.stderr
    assert (pruned.stdout, pruned.stderr) == ("", "dropped 0% of 0 characters\n")


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ((" ", CAVES), "the question is empty"),
        ((QUESTION, ROOT / "gone.md"), "gone.md: No such file"),
        ((QUESTION, ROOT), "not a file"),
        ((QUESTION, CAVES, "--scorer", "bm25"), "bm25 does not rate single sentences"),
    ],
)
def test_errors_are_one_line(arguments: tuple[str | Path, ...], problem: str) -> None:
    result = run(*arguments)

    assert result.exit_code == 1
    assert problem in result.stderr
    assert result.stderr.count("\n") == 1
