from pathlib import Path

import pytest

from rejoinder.errors import InputError
from rejoinder.storage.journal import append_journal, read_journal


def test_entries_are_read_as_they_were_appended(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    assert read_journal(path) == []

    append_journal(path, {"a": 1})
    append_journal(path, {"b": "é\u2028"})

    assert read_journal(path) == [{"a": 1}, {"b": "é\u2028"}]


@pytest.mark.parametrize("rest", ['{"b": ', '{"b": 2}'])
def test_an_incomplete_line_is_dropped(tmp_path: Path, rest: str) -> None:
    path = tmp_path / "journal.jsonl"
    path.write_text('{"a": 1}\n' + rest)

    assert read_journal(path) == [{"a": 1}]
    append_journal(path, {"c": 3})
    assert read_journal(path) == [{"a": 1}, {"c": 3}]


def test_an_incomplete_first_line_leaves_nothing(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    path.write_text('{"a"')

    assert read_journal(path) == []
    assert path.read_bytes() == b""


@pytest.mark.parametrize("content", ["letter\n", "[1]\n"])
def test_another_file_is_refused(tmp_path: Path, content: str) -> None:
    path = tmp_path / "letter.txt"
    path.write_text(content)

    with pytest.raises(InputError, match=r"letter.txt: not a file of saved results"):
        read_journal(path)
    assert path.read_text() == content


def test_a_path_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot write"):
        append_journal(tmp_path / "no" / "journal.jsonl", {})
    with pytest.raises(InputError, match="directory"):
        read_journal(tmp_path)
