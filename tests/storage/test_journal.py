from pathlib import Path

import pytest

from rejoinder.errors import InputError
from rejoinder.storage.journal import append_kept, read_kept


def test_lines_are_read_as_they_were_kept(tmp_path: Path) -> None:
    path = tmp_path / "kept.jsonl"
    assert read_kept(path) == []

    append_kept(path, {"a": 1})
    append_kept(path, {"b": "é\u2028"})

    assert read_kept(path) == [{"a": 1}, {"b": "é\u2028"}]


@pytest.mark.parametrize("torn", ['{"b": ', '{"b": 2}'])
def test_a_torn_line_is_cut_off(tmp_path: Path, torn: str) -> None:
    path = tmp_path / "kept.jsonl"
    path.write_text('{"a": 1}\n' + torn)

    assert read_kept(path) == [{"a": 1}]
    append_kept(path, {"c": 3})
    assert read_kept(path) == [{"a": 1}, {"c": 3}]


def test_a_first_line_that_is_torn_leaves_nothing(tmp_path: Path) -> None:
    path = tmp_path / "kept.jsonl"
    path.write_text('{"a"')

    assert read_kept(path) == []
    assert path.read_bytes() == b""


@pytest.mark.parametrize("content", ["letter\n", "[1]\n"])
def test_another_file_is_refused(tmp_path: Path, content: str) -> None:
    path = tmp_path / "letter.txt"
    path.write_text(content)

    with pytest.raises(InputError, match=r"letter.txt: not a file that work was kept in"):
        read_kept(path)
    assert path.read_text() == content


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot write"):
        append_kept(tmp_path / "no" / "kept.jsonl", {})
    with pytest.raises(InputError, match="directory"):
        read_kept(tmp_path)
