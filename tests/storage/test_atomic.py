from pathlib import Path

import pytest

from rejoinder.storage.atomic import atomic_write, created_folder


def test_a_file_is_replaced_when_complete(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("old")

    with atomic_write(path) as file:
        file.write(b"new")
        assert path.read_text() == "old"

    assert path.read_text() == "new"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_an_unfinished_file_leaves_no_trace(tmp_path: Path, error: type[BaseException]) -> None:
    path = tmp_path / "a.txt"
    path.write_text("old")

    def write_half() -> None:
        with atomic_write(path) as file:
            file.write(b"ne")
            raise error

    with pytest.raises(error):
        write_half()

    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_folders_are_created(tmp_path: Path) -> None:
    with created_folder(tmp_path / "a" / "b"):
        pass

    assert (tmp_path / "a" / "b").is_dir()


def test_a_failure_removes_created_folders(tmp_path: Path) -> None:
    (tmp_path / "old").mkdir()

    with pytest.raises(ValueError, match="no"), created_folder(tmp_path / "old" / "a" / "b"):
        raise ValueError("no")

    assert list(tmp_path.rglob("*")) == [tmp_path / "old"]


def test_a_folder_with_other_files_stays(tmp_path: Path) -> None:
    def fail_later() -> None:
        with created_folder(tmp_path / "a"):
            (tmp_path / "a" / "theirs").touch()
            raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        fail_later()

    assert (tmp_path / "a" / "theirs").exists()
