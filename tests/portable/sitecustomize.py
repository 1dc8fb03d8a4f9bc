"""Take from Python what only POSIX has, as on Windows; Python imports this when it starts.

Tests put this folder first on $PYTHONPATH, so that the children of a process lose it, too.
"""

import builtins
import errno
import os
import signal
from typing import Any, NoReturn

MODULES = {"fcntl", "grp", "pty", "pwd", "readline", "resource", "syslog", "termios", "tty"}
NEED_POSIX = {"mcp", "psutil"}
"""Libraries that import these modules where the system is not Windows."""
# Not `getuid`, `uname` and the like: on Linux, libraries need them.
OF_OS = (
    *("O_DIRECTORY", "O_NOCTTY", "O_NOFOLLOW", "fchmod", "fork", "getpgid", "mkfifo"),
    *("nice", "pread", "sched_getaffinity", "sched_setaffinity", "setsid", "statvfs"),
)
OF_SIGNAL = ("SIGHUP", "SIGUSR1", "SIGUSR2", "SIGALRM", "alarm", "setitimer")

import_module = builtins.__import__
open_file = os.open


def import_portable(
    name: str, globals: dict[str, Any] | None = None, *given: Any, **named: Any
) -> Any:
    """Import a module that every system has."""
    package = (globals or {}).get("__name__", "").partition(".")[0]
    if name in MODULES and package not in NEED_POSIX:
        raise ModuleNotFoundError(f"No module named {name!r}", name=name)
    return import_module(name, globals, *given, **named)


def open_no_folder(path: Any, *given: Any, **named: Any) -> int:
    """Open a file, and refuse a folder as Windows does."""
    if os.path.isdir(path):  # noqa: PTH112 (pathlib is not imported yet)
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), path)
    return open_file(path, *given, **named)


def refuse(*_: object) -> NoReturn:
    """Behave as the event loop of Windows."""
    raise NotImplementedError


def remove() -> None:
    """Remove modules, names and the handling of signals."""
    import asyncio.unix_events

    builtins.__import__ = import_portable  # type: ignore[assignment]
    os.open = open_no_folder
    for place, names in ((os, OF_OS), (signal, OF_SIGNAL)):
        for name in names:
            delattr(place, name)
    loop = asyncio.unix_events._UnixSelectorEventLoop
    loop.add_signal_handler = refuse  # type: ignore[assignment]


if __name__ == "sitecustomize":  # pytest imports it, too, to look for doctests
    remove()
