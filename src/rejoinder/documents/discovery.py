"""Finds files to read: named ones, and those of a known format below folders."""

import os
import stat
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from rejoinder.documents.formats import FORMATS, find_format
from rejoinder.errors import InputError

MAX_FILE_BYTES = 200_000_000
OUTSIDE = "a link out of its folder; name its target to add it"


@dataclass(slots=True)
class FoundFiles:
    """The files below some paths, and what is not read there."""

    files: list[Path] = field(default_factory=list)
    """The files to read, each once, in order."""
    unlisted: dict[Path, str] = field(default_factory=dict)
    """Folders that cannot be listed, with the reason."""
    unread: Counter[str] = field(default_factory=Counter)
    """How many files of each suffix are in folders but of no format that can be read."""


def find_files(paths: Iterable[Path]) -> list[Path]:
    """Return the files below the paths; refuse paths with nothing to read."""
    named = list(paths)
    found = list_files(named)
    if not found.files:
        reasons = [f"{show_path(folder)}: {reason}" for folder, reason in found.unlisted.items()]
        raise InputError(reasons[0] if reasons else describe_empty(named))
    return found.files


def list_files(paths: Iterable[Path], *, missing_ok: bool = False) -> FoundFiles:
    """Return the files below the paths, perhaps none.

    Hidden files and folders are skipped, and links to folders are not followed, so that a
    folder may link to itself.  Neither is a link to a file outside the folder:
    otherwise a user who can write into the folder could read files of the user who indexes it.

    Args:
        missing_ok: leave out paths that do not exist, and list those that cannot be reached as
            `unlisted`, instead of raising an error.
    """
    found = FoundFiles()
    files: dict[Path, None] = {}
    for path in paths:
        try:
            if path.is_dir():
                files.update(dict.fromkeys(_walk(path, found)))
            elif path.exists():
                files[path] = None
            elif not missing_ok:
                raise InputError(f"{show_path(path)}: no such file or folder")
        except OSError as error:
            if not missing_ok:
                raise InputError(f"{show_path(path)}: {error.strerror}") from error
            found.unlisted[path] = error.strerror or "cannot be read"
    found.files = list(files)
    return found


def leads_outside(path: Path, home: Path) -> bool:
    """Return whether a path is a link out of a folder, which is given without links."""
    try:
        return path.is_symlink() and not path.resolve().is_relative_to(home)
    except (OSError, RuntimeError):  # links in a circle; reading the file says so
        return False


def stat_file(path: Path) -> os.stat_result:
    """Return the status of a file; refuse one that is too large, or a pipe, which would block."""
    status = path.stat()
    if not stat.S_ISREG(status.st_mode):
        raise InputError("not a file")
    if status.st_size > MAX_FILE_BYTES:
        size, most = status.st_size // 1_000_000, MAX_FILE_BYTES // 1_000_000
        raise InputError(f"{size} MB, more than {most} MB; split it")
    return status


def describe_empty(paths: Iterable[Path]) -> str:
    """Return the error message for paths with nothing to read."""
    return f"nothing to read in {', '.join(map(show_path, paths))}; {describe_formats()}"


def describe_formats() -> str:
    """Return which files can be read, for error messages."""
    return f"files end in {', '.join(sorted(FORMATS))}, perhaps with .gz"


def show_path(path: Path) -> str:
    """Return a path as printable text, whatever bytes its name has."""
    readable = os.fsencode(path).decode("utf-8", "backslashreplace")
    return "".join(
        letter if letter.isprintable() else letter.encode("unicode_escape").decode()
        for letter in readable
    )


def _walk(folder: Path, found: FoundFiles) -> Iterator[Path]:
    def note(error: OSError) -> None:
        found.unlisted[Path(error.filename)] = error.strerror or "cannot be read"

    home = folder.resolve()
    for place, folders, files in os.walk(folder, onerror=note):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(files):
            if name.startswith("."):
                continue
            path = Path(place, name)
            if find_format(name) and leads_outside(path, home):
                found.unlisted[path] = OUTSIDE
            elif find_format(name):
                yield path
            else:
                found.unread[path.suffix.lower()] += 1
