import gzip
from collections.abc import Callable
from pathlib import Path

import pytest

from rejoinder.datasets.files import parse_label, read_fields, read_lines
from rejoinder.errors import DataError

Write = Callable[[str, str], Path]


def test_only_a_line_feed_ends_a_line(write: Write) -> None:
    path = write("a.txt", "one\u2028still one\x85and on\nsecond")

    assert list(read_lines(path)) == [(1, "one\u2028still one\x85and on"), (2, "second")]


def test_windows_line_ends_and_a_byte_order_mark_are_removed(write: Write) -> None:
    path = write("a.txt", "\ufeffone\r\n\ufefftwo\r\n")

    assert list(read_lines(path)) == [(1, "one"), (2, "\ufefftwo")]


def test_compressed_files_are_decompressed(write: Write) -> None:
    path = write("a.txt.gz", "one\ntwo\n")

    assert list(read_lines(path)) == [(1, "one"), (2, "two")]


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"nowhere\.txt: No such file or directory"):
        list(read_lines(tmp_path / "nowhere.txt"))


def test_a_folder_is_not_a_file(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r": Is a directory$"):
        list(read_lines(tmp_path))


@pytest.mark.parametrize("name", ["a.txt", "a.txt.gz"])
def test_an_empty_file_is_an_error(write: Write, name: str) -> None:
    with pytest.raises(DataError, match=rf"{name}: the file is empty$"):
        list(read_lines(write(name, "")))


def test_corrupt_compressed_data_names_the_line_it_reached(write: Write) -> None:
    path = write("a.txt.gz", "")
    lines = "".join(f"line {number * 7919 % 10007}\n" for number in range(5000))
    raw = gzip.compress(lines.encode())
    path.write_bytes(raw[: len(raw) // 2])

    with pytest.raises(DataError, match=r"a\.txt\.gz:\d\d+: the compressed data is corrupt"):
        list(read_lines(path))


def test_plain_text_under_a_compressed_name_is_corrupt(tmp_path: Path) -> None:
    path = tmp_path / "a.gz"
    path.write_text("plain text")

    with pytest.raises(DataError, match=r"a\.gz:1: the compressed data is corrupt \(Not a gzipped"):
        list(read_lines(path))


def test_bytes_that_are_not_utf_8_are_named_with_their_column(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(b"fine\nca\xe9\n")

    with pytest.raises(DataError, match=r"a\.txt:2: not UTF-8: byte 0xe9 at column 3$"):
        list(read_lines(path))


@pytest.mark.parametrize(("line", "found"), [("only one", 1), ("a\tb\tc", 3), ("", 1)])
def test_a_wrong_number_of_columns_names_the_line(write: Write, line: str, found: int) -> None:
    path = write("a.tsv", f"a\tb\n{line}\n")

    with pytest.raises(DataError, match=rf"a\.tsv:2: expected 2 columns, found {found}$"):
        list(read_fields(path, 2))


def test_labels_are_0_and_1(tmp_path: Path) -> None:
    assert parse_label("1", tmp_path, 1)
    assert not parse_label("0", tmp_path, 1)


@pytest.mark.parametrize("label", ["", "2", "1.0", " 1", "yes"])
def test_another_label_is_an_error(label: str) -> None:
    with pytest.raises(DataError, match=rf"a\.tsv:7: label must be 0 or 1, found '{label}'$"):
        parse_label(label, Path("a.tsv"), 7)


def test_a_table_that_ends_inside_a_line_seems_truncated(write: Write) -> None:
    text, problem = "q\ta\t1\nq\tb", r"a\.txt:2: expected 3 columns, found 2"

    for whole, hint in (
        (text, "; the file seems to be truncated: get it again"),
        (f"{text}\n{text}\n", ""),
        (f"{text}\n", ""),
    ):
        with pytest.raises(DataError, match=rf"{problem}{hint}$"):
            list(read_fields(write("a.txt", whole), 3))
