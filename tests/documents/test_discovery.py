from pathlib import Path

import pytest

from rejoinder.documents.discovery import find_files
from rejoinder.errors import InputError


def test_folders_are_searched_in_order_and_hidden_or_other_files_left_out(tmp_path: Path) -> None:
    for name in ("b.md", "a.PDF", "c.png", ".hidden.txt", "sub/d.rst", ".git/e.txt"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.touch()
    (tmp_path / "sub" / "loop").symlink_to(tmp_path)

    found = [str(path.relative_to(tmp_path)) for path in find_files([tmp_path])]

    assert found == ["a.PDF", "b.md", "sub/d.rst"]


def test_a_named_file_may_end_in_anything_and_counts_once(tmp_path: Path) -> None:
    path = tmp_path / "README"
    path.touch()

    assert find_files([path, path]) == [path]


def test_nothing_to_read_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"nothing to read in .*; files end in \.adoc, .*\.gz$"):
        find_files([tmp_path])
    with pytest.raises(InputError, match="no such file or folder"):
        find_files([tmp_path / "nowhere"])
