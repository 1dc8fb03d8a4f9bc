"""A prompt on the terminal: line editing, and a history that outlives the process."""

import logging
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from types import ModuleType

import click

from rejoinder.cli.output import say
from rejoinder.errors import RejoinderError
from rejoinder.storage.files import atomic_write, get_state_folder

try:
    import readline
except ImportError:  # not on every system; the terminal still edits a line
    readline = None  # type: ignore[assignment]

_log = logging.getLogger(__name__)

PROMPT = "? "
LAST = frozenset({"exit", "quit"})
"""Lines that end the prompt, as Ctrl-D does."""
MAX_HISTORY = 1_000
"""Lines of the history that are kept when a prompt starts."""


def read_typed() -> Iterator[str]:
    """Yield the lines that a user types, until Ctrl-D, `exit` or `quit`.

    Ctrl-C cancels the line, and blank lines are skipped.  A pasted text of several lines is one
    line.
    """
    history = _History(get_state_folder() / "history")
    while True:
        try:
            line = " ".join(_read_line().split())
        except KeyboardInterrupt:
            say("")
            continue
        except EOFError:
            say("")  # else the shell's prompt would follow on this line
            return
        except UnicodeDecodeError:
            say("Error: the line is not UTF-8")
            continue
        if line in LAST:
            return
        if line:
            history.add(line)
            yield line


@contextmanager
def go_on() -> Iterator[None]:
    """Print an error as one line, and cancel on Ctrl-C, so that the next line can be typed."""
    try:
        yield
    except RejoinderError as error:
        say(f"Error: {error}")
    except KeyboardInterrupt:
        say("cancelled")


def _read_line() -> str:
    """Return a line; the prompt is a message, and no part of results that go to a file."""
    if sys.stdout.isatty():
        return input(PROMPT)
    click.echo(PROMPT, nl=False, err=True)
    return input()


class _History:
    """The lines that were typed, in a file that only the user can read.

    Each line is appended as it is typed, so that several prompts keep the lines of all.
    """

    def __init__(self, path: Path) -> None:
        self._path: Path | None = path
        self._last = ""
        lines = self._load(path)
        if readline is None:
            _warn_without_readline()
        else:
            _fill(readline, lines)

    def add(self, line: str) -> None:
        """Add a line, unless it repeats the last one."""
        if line == self._last:
            return
        self._last = line
        if readline is not None:
            readline.add_history(line)
        if self._path is not None:
            try:
                handle = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
                with os.fdopen(handle, "wb") as file:
                    file.write(_encode(line))
            except OSError as error:
                self._give_up(error)

    def _load(self, path: Path) -> list[str]:
        """Return the last lines of the file, and drop earlier ones from it."""
        try:
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            if not path.exists():
                return []
            lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
            path.chmod(0o600)
            if len(lines) > MAX_HISTORY:
                lines = lines[-MAX_HISTORY:]
                with atomic_write(path) as file:
                    Path(file.name).chmod(0o600)
                    file.writelines(map(_encode, lines))
        except OSError as error:
            self._give_up(error)
            return []
        self._last = lines[-1] if lines else ""
        return lines

    def _give_up(self, error: OSError) -> None:
        say(f"questions are not kept for next time: {self._path}: {error.strerror}")
        self._path = None


@cache
def _warn_without_readline() -> None:
    """Log it once in a process."""
    _log.warning("this system has no readline: the arrow keys bring back no earlier question")


def _fill(editor: ModuleType, lines: list[str]) -> None:
    """Replace the history of the line editor."""
    editor.set_auto_history(False)
    editor.clear_history()
    for line in lines:
        editor.add_history(line)


def _encode(line: str) -> bytes:
    return line.encode("utf-8", errors="replace") + b"\n"
