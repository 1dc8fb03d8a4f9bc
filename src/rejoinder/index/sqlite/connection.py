"""Opens the SQLite file of an index in the way that its place allows.

SQLite reads through a small file beside its own, which must be made first.  Where nothing can be
made, on a full disk or in a folder that is read-only, the file is read as if it never changed;
should it change nonetheless, it is opened anew.
"""

import os
import sqlite3
from pathlib import Path

from rejoinder.errors import StoreError

NO_ROOM = (
    sqlite3.SQLITE_IOERR_SHMOPEN,
    sqlite3.SQLITE_IOERR_SHMSIZE,
    sqlite3.SQLITE_IOERR_SHMMAP,
)
"""What SQLite says where the file beside its own cannot be made."""

Stamp = tuple[int, int, int]
"""When the file was changed last, how long it is, and how long its journal is."""


class Connection:
    """A connection that may be replaced while nothing is being written."""

    def __init__(self, path: Path) -> None:
        """Open the file.

        Raises:
            StoreError: it cannot be opened.
        """
        self._path = path
        self._stamp: Stamp | None = None
        self._open = self._connect()

    def get(self, *, writes: bool = False) -> sqlite3.Connection:
        """Return the connection.

        Args:
            writes: where the file was only readable, whether it still is will be tried.
        """
        if self._stamp and (writes or self._stamp != self._read_stamp()):
            self._open.close()
            self._open = self._connect()
        return self._open

    def close(self) -> None:
        """Close the file."""
        self._open.close()

    def _connect(self) -> sqlite3.Connection:
        self._stamp = None
        if not os.access(self._path.parent, os.W_OK):
            return self._connect_unchanging()
        try:
            return _connect(self._path, "")
        except sqlite3.Error as error:
            if getattr(error, "sqlite_errorcode", None) in NO_ROOM:
                return self._connect_unchanging()
            raise StoreError(f"{self._path}: {error}") from error

    def _connect_unchanging(self) -> sqlite3.Connection:
        stamp = self._read_stamp()
        has_journal = bool(stamp[-1])
        try:
            found = _connect(self._path, "?mode=ro" + ("" if has_journal else "&immutable=1"))
        except sqlite3.Error as error:
            raise StoreError(
                f"{self._path}: {error}; nothing can be written there:"
                " is the disk full, or read-only?"
            ) from error
        self._stamp = None if has_journal else stamp
        return found

    def _read_stamp(self) -> Stamp:
        journal = self._path.with_name(f"{self._path.name}-wal")
        try:
            found = self._path.stat()
            return (
                found.st_mtime_ns,
                found.st_size,
                journal.stat().st_size if journal.exists() else 0,
            )
        except FileNotFoundError:  # which is SQLite's to tell
            return 0, 0, 0


def _connect(path: Path, mode: str) -> sqlite3.Connection:
    connection = sqlite3.connect(
        path.absolute().as_uri() + mode,
        uri=True,
        timeout=30,
        isolation_level=None,
        check_same_thread=False,
    )
    try:
        connection.execute("PRAGMA synchronous = FULL")  # what is acknowledged outlives a power cut
        connection.execute("PRAGMA secure_delete = ON")
        connection.execute("PRAGMA cache_size = -64000")
    except sqlite3.Error:
        connection.close()
        raise
    return connection
