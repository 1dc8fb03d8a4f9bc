import signal
import subprocess
import sys
from pathlib import Path

import pytest

from rejoinder.errors import StoreError
from rejoinder.storage.lock import lock_folder

HOLD = (
    "import sys, time; from pathlib import Path\n"
    "from rejoinder.storage.lock import lock_folder\n"
    "with lock_folder(Path(sys.argv[1])):\n"
    "    print('held', flush=True); time.sleep(60)"
)


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

    holder.send_signal(signal.SIGKILL)
    holder.wait()
    holder.stdout.close()

    with lock_folder(tmp_path):
        pass


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    with (
        pytest.raises(StoreError, match="nowhere: cannot be written"),
        lock_folder(tmp_path / "nowhere"),
    ):
        pass
