"""A real process on a pseudo-terminal: what it shows is read, and keys are typed into it."""

import os
import re
import select
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from tests.systems import import_pty

MAX_SECONDS = 60
"""Generous, for a busy machine."""
CTRL_C, CTRL_D, UP = "\x03", "\x04", "\x1b[A"
_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[a-zA-Z]|\x1b[=>]")


class Terminal:
    """A terminal and the process that runs in it."""

    def __init__(self, process: "subprocess.Popen[bytes]", master: int) -> None:
        self.process = process
        self._master = master
        self._raw = b""
        self._seen = 0

    @property
    def shown(self) -> str:
        """Everything that was shown so far, without escape sequences and carriage returns."""
        text = self._raw.decode("utf-8", "replace")
        return _ESCAPES.sub("", text).replace("\r", "")

    def type(self, keys: str) -> None:
        """Press keys, when the process waits for them.

        Python's readline misses a signal between the display of a key and its wait for the next.
        """
        time.sleep(1.0)
        os.write(self._master, keys.encode())

    def wait_for(self, text: str) -> None:
        """Wait until a text is shown after the one that was waited for last."""
        end = time.monotonic() + MAX_SECONDS
        while (place := self.shown.find(text, self._seen)) < 0:
            assert time.monotonic() < end, f"not shown: {text!r} in {self.shown!r}"
            assert self._read(), f"the process ended without {text!r}: {self.shown!r}"
        self._seen = place + len(text)

    def wait(self) -> int:
        """Return the exit status once the process has ended."""
        end = time.monotonic() + MAX_SECONDS
        while self._read():
            assert time.monotonic() < end, f"does not end: {self.shown!r}"
        return self.process.wait(MAX_SECONDS)

    def _read(self) -> bool:
        """Read what is shown next; False once the process has ended and all is read."""
        has_ended = self.process.poll() is not None
        if select.select([self._master], [], [], 0.1)[0]:
            self._raw += os.read(self._master, 65_536)
            return True
        return not has_ended


@contextmanager
def on_terminal(
    *arguments: str | Path,
    folder: Path,
    environment: Mapping[str, str] | None = None,
    output: Path | None = None,
) -> Iterator[Terminal]:
    """Run rejoinder in a folder, on a terminal of its own; stdout may go to a file."""
    master, slave = import_pty().openpty()
    name = os.ttyname(slave)
    # A session's leader gets the first terminal that it opens, and Ctrl-C then is its signal.
    script = 'exec "$@" <"$TERMINAL" >"${OUTPUT:-$TERMINAL}" 2>"$TERMINAL"'
    command = [sys.executable, "-m", "rejoinder", *map(str, arguments)]
    process = subprocess.Popen(
        ["sh", "-c", script, "sh", *command],
        cwd=folder,
        start_new_session=True,
        env={
            **os.environ,
            "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
            "COLUMNS": "200",
            "TERM": "xterm",
            "TERMINAL": name,
            "OUTPUT": str(output or ""),
            **(environment or {}),
        },
    )
    try:
        yield Terminal(process, master)
    finally:
        process.kill()
        process.wait()
        os.close(slave)
        os.close(master)
