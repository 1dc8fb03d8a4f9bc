import errno
import subprocess
import sys
from pathlib import Path

import filelock
import pytest

from rejoinder.errors import StoreError
from rejoinder.storage import files
from rejoinder.storage.files import (
    atomic_write,
    created_folder,
    get_cache_folder,
    lock_folder,
)

HOLD = (
    "import sys, time; from pathlib import Path\n"
    "from rejoinder.storage.files import lock_folder\n"
    "with lock_folder(Path(sys.argv[1])):\n"
    "    print('held', flush=True); time.sleep(60)"
)


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


def test_a_second_holder_is_refused_without_waiting(tmp_path: Path) -> None:
    with (
        lock_folder(tmp_path),
        pytest.raises(StoreError, match="another process is writing"),
        lock_folder(tmp_path),
    ):
        pass
    with lock_folder(tmp_path):
        pass


def test_a_killed_holder_releases_the_lock(tmp_path: Path) -> None:
    holder = subprocess.Popen([sys.executable, "-c", HOLD, str(tmp_path)], stdout=subprocess.PIPE)
    assert holder.stdout
    assert holder.stdout.readline() == b"held\n"
    with pytest.raises(StoreError, match="another process is writing"), lock_folder(tmp_path):
        pass

    holder.kill()
    holder.wait()
    holder.stdout.close()

    with lock_folder(tmp_path):
        pass


def test_without_locks_one_line_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def refuse(handle: int, *, blocking: bool) -> bool:
        raise OSError(errno.ENOSYS, "flock is not here")

    monkeypatch.setattr(filelock, "lock_descriptor", refuse)
    files._warn_without_locks.cache_clear()

    for _ in range(2):
        with lock_folder(tmp_path):
            pass

    assert [record.getMessage() for record in caplog.records] == [
        "this system has no locks for files: let one process write an index at a time"
    ]


def test_a_lock_that_fails_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(handle: int, *, blocking: bool) -> bool:
        raise OSError(errno.EIO, "the disk is gone")

    monkeypatch.setattr(filelock, "lock_descriptor", fail)

    with pytest.raises(StoreError, match="cannot be locked"), lock_folder(tmp_path):
        pass


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    with (
        pytest.raises(StoreError, match="nowhere: cannot be written"),
        lock_folder(tmp_path / "nowhere"),
    ):
        pass


def test_the_environment_moves_the_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert get_cache_folder() == tmp_path / "rejoinder"

    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    for ignored in ("", "relative/path"):
        monkeypatch.setenv("XDG_CACHE_HOME", ignored)
        assert get_cache_folder() == tmp_path / "home" / ".cache" / "rejoinder"
