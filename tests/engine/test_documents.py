from pathlib import Path

import pytest

from rejoinder.engine.documents import find_files, read_document
from rejoinder.errors import InputError


def test_a_document_knows_its_title_sentences_and_lines(tmp_path: Path) -> None:
    path = tmp_path / "tea.md"
    path.write_text("# Tea\n\nIt is hot.\nIt is\ngreen.\n", encoding="utf-8")

    read = read_document(path)

    assert read.document.title == "Tea"
    assert read.document.sentences == ("Tea", "It is hot.", "It is green.")
    assert [read.find_line(sentence.start) for sentence in read.sentences] == [1, 3, 4]


def test_without_a_heading_the_file_names_the_document(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("It is hot.", encoding="utf-8")

    assert read_document(path).document.title == "notes"


def test_a_byte_order_mark_is_not_text(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(b"\xef\xbb\xbfIt is hot.")

    assert read_document(path).text == "It is hot."


def test_an_empty_file_is_a_document_without_sentences(tmp_path: Path) -> None:
    path = tmp_path / "empty.txt"
    path.touch()

    assert read_document(path).document.sentences == ()


def test_what_is_not_text_is_named(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(b"ab\xff")

    with pytest.raises(InputError, match=r"a\.txt: not UTF-8 text \(byte 3\)"):
        read_document(path)
    with pytest.raises(InputError, match=r"none\.txt: No such file"):
        read_document(tmp_path / "none.txt")


def test_folders_are_searched_in_order_and_hidden_or_other_files_left_out(tmp_path: Path) -> None:
    for name in ("b.md", "a.txt", "c.png", ".hidden.txt", "sub/d.rst", ".git/e.txt"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.touch()
    (tmp_path / "sub" / "loop").symlink_to(tmp_path)

    found = [str(path.relative_to(tmp_path)) for path in find_files([tmp_path])]

    assert found == ["a.txt", "b.md", "sub/d.rst"]


def test_a_named_file_may_end_in_anything_and_counts_once(tmp_path: Path) -> None:
    path = tmp_path / "README"
    path.touch()

    assert find_files([path, path]) == [path]


def test_nothing_to_read_is_said(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"nothing to read in .*; files end in \.markdown, \.md"):
        find_files([tmp_path])
    with pytest.raises(InputError, match="no such file or folder"):
        find_files([tmp_path / "nowhere"])
