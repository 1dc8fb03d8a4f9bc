import csv
import gzip
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from rejoinder.documents.discovery import show_path
from rejoinder.documents.sandbox import SandboxedReader
from rejoinder.errors import InputError
from tests.documents.parsed import read_whole
from tests.systems import needs_pipes


def test_a_document_knows_its_title_sentences_and_lines(
    tmp_path: Path, sandbox: SandboxedReader
) -> None:
    path = tmp_path / "tea.md"
    path.write_text(
        "# Tea\n\nIt is always hot.\nIt is\nalways green.\n\nMilk spoils it.\n", encoding="utf-8"
    )

    (document,) = read_whole(path, sandbox)

    assert document.name == str(path)
    assert document.title == "Tea"
    assert [item.text for item in document.sentences] == [
        "Tea",
        "It is always hot.",
        "It is always green.",
        "Milk spoils it.",
    ]
    assert [item.line for item in document.sentences] == [1, 3, 4, 7]
    assert [item.block for item in document.sentences] == [0, 1, 1, 2]
    assert [item.may_answer for item in document.sentences] == [False, True, True, False]
    assert [block.path for block in document.blocks] == [(), ("Tea",), ("Tea",)]
    green = document.sentences[2]
    assert document.text[green.start : green.end] == "It is\nalways green."


def test_without_a_heading_the_file_names_the_document(
    tmp_path: Path, sandbox: SandboxedReader
) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("It is hot.", encoding="utf-8")

    (document,) = read_whole(path, sandbox)

    assert document.title == "notes"


def test_the_name_of_a_gzipped_file_is_that_of_what_is_in_it(
    tmp_path: Path, sandbox: SandboxedReader
) -> None:
    path = tmp_path / "notes.txt.gz"
    path.write_bytes(gzip.compress(b"It is hot."))

    (document,) = read_whole(path, sandbox)

    assert (document.name, document.title) == (str(path), "notes")


def test_an_empty_file_is_a_document_without_sentences(
    tmp_path: Path, sandbox: SandboxedReader
) -> None:
    path = tmp_path / "empty.txt"
    path.touch()

    (document,) = read_whole(path, sandbox)

    assert document.sentences == []


@pytest.mark.parametrize("ending", ["\n", "\r\n", "\r"])
def test_lines_are_counted_whatever_ends_them(
    tmp_path: Path, sandbox: SandboxedReader, ending: str
) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(ending.join(["One is here.", "", "Two is here."]).encode())

    (document,) = read_whole(path, sandbox)

    assert [item.line for item in document.sentences] == [1, 3]


def test_control_characters_do_not_come_through(tmp_path: Path, sandbox: SandboxedReader) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(b"It is \x1b[31mred\x1b[0m and it rings\x07.")

    (document,) = read_whole(path, sandbox)

    assert "\x1b" not in document.text
    assert "\x07" not in document.sentences[0].text


def test_an_unreadable_file_is_named(tmp_path: Path, sandbox: SandboxedReader) -> None:
    (tmp_path / "a.txt").write_bytes(os.urandom(4000) + b"\0\xff")

    with pytest.raises(InputError, match=r"a\.txt: not text$"):
        read_whole(tmp_path / "a.txt", sandbox)
    with pytest.raises(InputError, match=r"none\.txt: No such file"):
        read_whole(tmp_path / "none.txt", sandbox)
    with pytest.raises(InputError, match=r": not a file$"):
        read_whole(tmp_path, sandbox)


@needs_pipes
def test_a_pipe_is_not_waited_for(tmp_path: Path, sandbox: SandboxedReader) -> None:
    os.mkfifo(tmp_path / "pipe.txt")

    with pytest.raises(InputError, match="not a file"):
        read_whole(tmp_path / "pipe.txt", sandbox)


def test_a_huge_file_is_refused(tmp_path: Path, sandbox: SandboxedReader) -> None:
    path = tmp_path / "huge.txt"
    with path.open("wb") as file:
        file.truncate(1_000_000_000)  # takes no room: it is a hole

    with pytest.raises(InputError, match=r"huge\.txt: 1000 MB, more than 200 MB; split it"):
        read_whole(path, sandbox)


def test_strange_names_can_be_printed_and_stored(tmp_path: Path, sandbox: SandboxedReader) -> None:
    path = Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff\x1b[31m\nred.txt"))
    path.write_text("It is hot.", encoding="utf-8")

    (document,) = read_whole(path, sandbox)

    assert document.name == f"{tmp_path}/\\xff\\x1b[31m\\nred.txt"
    assert show_path(path).isprintable()


def test_rows_are_documents_with_metadata(tmp_path: Path, sandbox: SandboxedReader) -> None:
    path = tmp_path / "notes.jsonl"
    path.write_text(
        '{"id": "a", "title": "Tea", "text": "It is hot.", "year": 1999, "tags": []}\n'
        "\n"
        '{"text": "It is cold."}\n'
        '{"id": "a", "text": "It is lukewarm."}\n',
        encoding="utf-8",
    )

    first, second, third = read_whole(path, sandbox)

    assert [first.name, second.name, third.name] == [f"{path}#a", f"{path}#3", f"{path}#a~2"]
    assert (first.title, second.title) == ("Tea", "notes 3")
    assert first.metadata == {"year": "1999"}
    assert [item.line for item in (*first.sentences, *second.sentences)] == [1, 3]


def test_csv_finds_its_columns(tmp_path: Path, sandbox: SandboxedReader) -> None:
    path = tmp_path / "notes.csv"
    path.write_text('Title;Text;Lang\nTea;"It is; hot.\nVery."; en\nshort\n', encoding="utf-8")

    (document,) = read_whole(path, sandbox)

    assert document.title == "Tea"
    assert [item.text for item in document.sentences] == ["It is; hot.", "Very."]
    assert document.metadata == {"lang": " en"}


@pytest.mark.parametrize(
    ("name", "content", "problem"),
    [
        ("a.jsonl", '{"text": "It is."}\n{', "line 2 is not JSON"),
        ("a.jsonl", "[" * 100_000, "line 1 is not JSON"),
        ("a.jsonl", '{"body": "It is."}', "line 1 is not an object with a 'text'"),
    ],
)
def test_a_bad_table_is_named(
    tmp_path: Path, sandbox: SandboxedReader, name: str, content: str, problem: str
) -> None:
    path = tmp_path / name
    path.write_text(content, encoding="utf-8")

    with pytest.raises(InputError, match=problem):
        read_whole(path, sandbox)


@pytest.fixture
def _csv_limit() -> Iterator[None]:
    """Restore the limit of csv, which is one for the whole process."""
    limit = csv.field_size_limit()
    yield
    csv.field_size_limit(limit)


@pytest.mark.usefixtures("_csv_limit")
def test_a_field_that_is_too_long_is_named(
    tmp_path: Path, sandbox: SandboxedReader, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rejoinder.documents.formats.tables.MAX_FIELD", 10)
    path = tmp_path / "a.csv"
    path.write_text("text\nIt is much too long.\n", encoding="utf-8")

    with pytest.raises(InputError, match="after line 1: field larger than field limit"):
        read_whole(path, sandbox)
