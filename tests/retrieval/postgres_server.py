"""A PostgreSQL server of a test's own: Debian's binaries, a temporary folder, a socket in it."""

import os
import pwd
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.batch.clusters import end_with_parent

START_SECONDS = 60
_INIT = ["-A", "trust", "-U", "test", "-E", "UTF8", "--locale", "C.UTF-8", "-N"]


def find_binaries() -> Path | None:
    """Return the folder of `initdb` and `postgres`; None where they are not installed."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    return found[-1].parent if found else None


@contextmanager
def postgres_server() -> Iterator[str]:
    """Give the address of a server that listens on nothing but a socket in its folder."""
    binaries = find_binaries()
    assert binaries
    # Directly below the temporary folder: another user must be able to enter, and a socket's
    # path must be short.
    folder = Path(tempfile.mkdtemp(prefix="rejoinder-pg-"))
    user = _choose_user()
    if user:
        shutil.chown(folder, user)
    try:
        subprocess.run(
            [binaries / "initdb", "-D", folder / "data", *_INIT],
            check=True,
            capture_output=True,
            user=user,
            cwd=folder,
        )
        options = ["-c", "listen_addresses=", "-c", f"unix_socket_directories={folder}"]
        with (folder / "log").open("wb") as log:
            server = subprocess.Popen(
                [binaries / "postgres", "-D", folder / "data", *options],
                stdout=log,
                stderr=log,
                user=user,
                cwd=folder,
                preexec_fn=end_with_parent,
            )
        try:
            _wait(folder, server)
            yield f"host={folder} user=test dbname=postgres"
        finally:
            server.terminate()
            server.wait(START_SECONDS)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _choose_user() -> str | None:
    """Return whom the server runs as: PostgreSQL refuses to be root."""
    if os.geteuid() != 0:
        return None
    names = {entry.pw_name for entry in pwd.getpwall()}
    return "postgres" if "postgres" in names else "nobody"


def _wait(folder: Path, server: "subprocess.Popen[bytes]") -> None:
    end = time.monotonic() + START_SECONDS
    while not (folder / ".s.PGSQL.5432").exists():
        log = (folder / "log").read_text(errors="replace")
        assert server.poll() is None, log
        assert time.monotonic() < end, log
        time.sleep(0.05)
