"""Documents and blocks of JSON lines and tables."""

import csv
import io
import tracemalloc
from collections.abc import Iterator
from types import ModuleType

import pytest

from rejoinder.documents.blocks import Block, ExtractedDocument
from rejoinder.documents.formats import json_lines, tables
from rejoinder.errors import InputError


@pytest.fixture(autouse=True)
def _csv_limit() -> Iterator[None]:
    """Restore the limit of csv, which is one for the whole process."""
    limit = csv.field_size_limit()
    yield
    csv.field_size_limit(limit)


def read(text: str, encoding: str = "utf-8") -> list[ExtractedDocument]:
    return list(tables.read(io.BytesIO(text.encode(encoding))))


def read_json(text: str, encoding: str = "utf-8") -> list[ExtractedDocument]:
    return list(json_lines.read(io.BytesIO(text.encode(encoding))))


def read_rows(text: str) -> list[tuple[str, int | None]]:
    (document,) = read(text)
    return [(block.text, block.line) for block in document.blocks]


def test_json_lines_are_documents_with_metadata() -> None:
    first, second = read_json(
        '{"id": "a", "title": " Tea", "text": "It is hot.\\n\\nVery.", "year": 1999, "tags": []}\n'
        "\r\n"
        '{"text": "It is cold.\\u001b"}'
    )

    assert (first.title, first.row, first.metadata) == ("Tea", "a", {"year": "1999"})
    assert list(first.blocks) == [
        Block("paragraph", "It is hot.", line=1, gap=""),
        Block("paragraph", "Very.", line=1, gap="\n\n"),
    ]
    assert (second.title, second.row, second.metadata) == ("", "3", {})
    assert [(block.text, block.line) for block in second.blocks] == [("It is cold.", 3)]


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-32"])
def test_json_lines_are_known_in_all_encodings(encoding: str) -> None:
    (document,) = read_json(' {"text": "żółw"}', encoding)

    assert [block.text for block in document.blocks] == ["żółw"]


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ('{"text": "It is."}\n{', "line 2 is not JSON"),
        ("[" * 100_000, "line 1 is not JSON"),
        ('{"text": 1}', "line 1 is not an object with a 'text'"),
        ("[1]", "line 1 is not an object with a 'text'"),
        ("It is hot.", "line 1 is not JSON"),
    ],
)
def test_bad_json_lines_are_refused(content: str, problem: str) -> None:
    with pytest.raises(InputError, match=f"^{problem}$"):
        read_json(content)


@pytest.mark.parametrize("content", ["", " \n,,\n"])
def test_an_empty_table_is_refused(content: str) -> None:
    with pytest.raises(InputError, match=r"^an empty table$"):
        read(content)


def test_csv_rows_with_a_text_are_documents() -> None:
    first, second = read(
        'Title;Text ;Lang\r\nTea;"It is; hot.\r\nVery."; en\r\nshort\r\n;Milk.\r\n'
    )

    assert (first.title, first.row, first.metadata) == ("Tea", "3", {"lang": " en"})
    assert [(block.text, block.line) for block in first.blocks] == [("It is; hot.\nVery.", 2)]
    assert (second.title, second.row) == ("", "5")


def test_csv_rows_without_a_text_are_blocks() -> None:
    content = '\ntea,leaves,remark\nSencha,3 g,"two\nlines"\n\nAssam,,\x1bx,more\n'

    assert read_rows(content) == [
        ("tea: Sencha; leaves: 3 g; remark: two lines", 3),
        ("tea: Assam; remark: x; more", 6),
    ]


def test_the_first_line_tells_the_delimiter_and_the_header() -> None:
    assert read_rows("tea\tleaves\nSencha\t3, or 4\n") == [("tea: Sencha; leaves: 3, or 4", 2)]
    assert read_rows("tea\nSencha\n") == [("tea: Sencha", 2)]
    assert read_rows("1,2\r3,4\r") == [("1; 2", 1), ("3; 4", 2)]
    assert read_rows("tea,leaves\n") == [("tea; leaves", 1)]


def test_a_field_that_is_too_long_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "MAX_FIELD", 10)

    with pytest.raises(InputError, match="after line 1: field larger than field limit"):
        read("text\nIt is much too long.\n")


def test_a_line_that_is_too_long_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "MAX_LINE", 300_000)
    content = '{"text": "It is hot."}\n' + "[" * 400_000

    with pytest.raises(InputError, match="line 2 has more than 300,000 characters"):
        read_json(content)


@pytest.mark.parametrize(
    ("module", "row"),
    [(json_lines, '{"text": "It is %s hot."}\n'), (tables, "tea,It is %s hot.\n")],
)
def test_memory_does_not_grow_with_the_file(module: ModuleType, row: str) -> None:
    file = io.BytesIO((row % ("very " * 400)).encode() * 5_000)
    tracemalloc.start()
    count = sum(1 for document in module.read(file) for _ in document.blocks)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert count > 4_990
    assert peak < 4_000_000
