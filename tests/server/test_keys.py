from pathlib import Path

import pytest

from rejoinder.errors import DataError, InputError
from rejoinder.server.keys import add_key, read_keys


def test_only_the_hash_is_stored(tmp_path: Path) -> None:
    path = tmp_path / "keys.txt"

    first, second = add_key(path, "one"), add_key(path, "two words")

    text = path.read_text()
    assert first not in text
    assert second not in text
    assert path.stat().st_mode & 0o077 == 0
    keys = read_keys(path)
    assert (keys.find(first), keys.find(second)) == ("one", "two words")
    assert keys.find(first + "x") is None
    assert keys.find("") is None


def test_comments_and_empty_lines_say_nothing(tmp_path: Path) -> None:
    path = tmp_path / "keys.txt"
    key = add_key(path, "one")
    path.write_text("# keys\n\n" + path.read_text())

    assert read_keys(path).find(key) == "one"


def test_a_file_without_keys_opens_nothing(tmp_path: Path) -> None:
    path = tmp_path / "keys.txt"
    with pytest.raises(InputError, match="cannot be read as keys"):
        read_keys(path)
    path.write_text("# none\n")
    with pytest.raises(InputError, match="no key in it"):
        read_keys(path)
    path.write_text("# none\nhunter2\n")
    with pytest.raises(DataError, match=r"keys\.txt:2: not 'sha256:"):
        read_keys(path)


@pytest.mark.parametrize("name", ["", " ", "a\nb"])
def test_a_key_needs_a_name_on_one_line(tmp_path: Path, name: str) -> None:
    with pytest.raises(InputError, match="no name for a key"):
        add_key(tmp_path / "keys.txt", name)


def test_a_file_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be written"):
        add_key(tmp_path / "missing" / "keys.txt", "one")
