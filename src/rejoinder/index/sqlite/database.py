"""The SQLite file of an index: connection, schema, transactions.

Each committed change increments the generation, so that the data derived from this file can
tell whether it is stale.

Another file may take the place of this one, or none: `is_current` compares their identities.  From
its creation to the end of the first addition an index is marked as incomplete.
"""

import os
import sqlite3
import threading
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from rejoinder.errors import StoreError

FORMAT = 6

SCHEMA = """
CREATE TABLE meta(key TEXT PRIMARY KEY, value) WITHOUT ROWID;
CREATE TABLE files(
    path BLOB PRIMARY KEY, size INTEGER, modified INTEGER, digest BLOB, metadata TEXT
) WITHOUT ROWID;
CREATE TABLE documents(
    id INTEGER PRIMARY KEY AUTOINCREMENT, file BLOB, name TEXT, title TEXT,
    metadata TEXT, sentences INTEGER, generation INTEGER
);
CREATE INDEX documents_by_file ON documents(file);
CREATE INDEX documents_by_name ON documents(name);
CREATE INDEX documents_by_generation ON documents(generation);
CREATE TABLE texts(document INTEGER, number INTEGER, text BLOB, PRIMARY KEY(document, number));
CREATE TABLE blocks(
    document INTEGER, number INTEGER, kind INTEGER, path TEXT, anchor TEXT, start INTEGER,
    "end" INTEGER, PRIMARY KEY(document, number)
) WITHOUT ROWID;
CREATE TABLE sentences(
    document INTEGER, position INTEGER, text TEXT, start INTEGER, "end" INTEGER, line INTEGER,
    page INTEGER, block INTEGER, may_answer INTEGER, tokens BLOB, digest INTEGER,
    PRIMARY KEY(document, position)
) WITHOUT ROWID;
CREATE INDEX sentences_by_digest ON sentences(digest) WHERE may_answer;
CREATE TABLE checksums(document INTEGER PRIMARY KEY, checksum BLOB);
CREATE TABLE removed(document INTEGER PRIMARY KEY, generation INTEGER);
CREATE TABLE feedback(
    id INTEGER PRIMARY KEY, sentence TEXT, question TEXT, is_right INTEGER,
    UNIQUE(sentence, question)
);
"""

NO_SHARED_MEMORY = (
    sqlite3.SQLITE_IOERR_SHMOPEN,
    sqlite3.SQLITE_IOERR_SHMSIZE,
    sqlite3.SQLITE_IOERR_SHMMAP,
)
"""SQLite's errors where it cannot create its shared-memory file."""

Values = tuple[Any, ...] | Mapping[str, Any]
FileStamp = tuple[int, int, int, int]
"""Inode, modification time and size of the file, and the size of its write-ahead log."""
Identity = tuple[int, int, int, int]
"""Device and inode of a folder, and of the SQLite file in it."""
INCOMPLETE = "incomplete"
"""The setting of an index to which nothing was added completely."""


def read_identity(path: Path) -> Identity | None:
    """Return what tells the file at a path from any other that is open; None if there is none."""
    try:
        folder, file = path.parent.stat(), path.stat()
    except OSError:
        return None
    return folder.st_dev, folder.st_ino, file.st_dev, file.st_ino


class IncompleteError(StoreError):
    """Nothing was added to the index completely yet, so it cannot be read."""

    def __init__(self, folder: Path) -> None:
        super().__init__(
            f"{folder}: the index is incomplete; wait until the first 'rejoinder index add' has"
            " ended, or run it again if it was interrupted"
        )


class Database:
    """One SQLite file; many may read while one writes."""

    def __init__(self, path: Path, *, create: bool = False) -> None:
        self.path = path
        self._lock = threading.RLock()
        if create and not path.exists():
            _create_file(path)
        # Before it is opened: it is then never the identity of a later file.
        self._identity = read_identity(path)
        if self._identity is None:
            raise StoreError(f"{path.parent}: no index there; make one with 'rejoinder index add'")
        self._connection = Connection(path)
        self._is_new = False
        self._was_complete = False
        try:
            with self._translating():
                tables = {name for (name,) in self.query("SELECT name FROM sqlite_master")}
                if not create and not tables:  # another process is creating it
                    raise IncompleteError(path.parent)
                if create and "meta" not in tables:
                    self._create_tables()
                    self._is_new = True
                self._check_format()
        except BaseException:
            self._connection.close()
            raise

    def close(self) -> None:
        """Close the file; one that was created and is closed empty is meant to be so."""
        if self._is_new and not self._was_complete:
            with suppress(StoreError):
                if not self.generation:
                    self.mark_complete()
        self._connection.close()

    @property
    def is_current(self) -> bool:
        """Whether this file is still the one at its path."""
        return read_identity(self.path) == self._identity

    @property
    def is_complete(self) -> bool:
        """Whether the first addition has ended, or it is this object's to end."""
        if not self._was_complete:
            self._was_complete = self.get(INCOMPLETE) is None
        return self._was_complete or self._is_new

    def mark_complete(self) -> None:
        """Store that the first addition has ended."""
        if self.get(INCOMPLETE) is not None:
            self.query("DELETE FROM meta WHERE key = ?", (INCOMPLETE,))
        self._was_complete = True

    def get(self, key: str) -> Any:
        """Return a setting of the index; None where it is unknown."""
        rows = self.query("SELECT value FROM meta WHERE key = ?", (key,))
        return rows[0][0] if rows else None

    def set(self, key: str, value: Any) -> None:
        """Store a setting of the index."""
        self.query("INSERT OR REPLACE INTO meta VALUES (?, ?)", (key, value))

    @property
    def generation(self) -> int:
        """The number of committed changes."""
        with self.decoding():
            return int(self.get("generation"))

    @contextmanager
    def changing(self) -> Iterator[int]:
        """Yield the generation of one change, which is committed as a whole or not at all."""
        with self.transaction():
            generation = self.generation + 1
            yield generation
            self.set("generation", generation)

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Commit the block's statements, all or none; the generation stays."""
        with self._lock, self._translating():
            connection = self._connection.get(writes=True)
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield
                connection.execute("COMMIT")
            except BaseException:
                with suppress(sqlite3.Error):  # a full disk has rolled it back already
                    connection.execute("ROLLBACK")
                raise

    def query(self, sql: str, values: Values = ()) -> list[tuple[Any, ...]]:
        """Run one statement and return its rows."""
        with self._lock, self._translating():
            return self._connection.get().execute(sql, values).fetchall()

    def stream(self, sql: str, values: Values = ()) -> Iterator[tuple[Any, ...]]:
        """Yield the rows of one statement without holding all of them."""
        with self._lock, self._translating():
            cursor = self._connection.get().execute(sql, values)
        while True:
            with self._lock, self._translating():
                rows = cursor.fetchmany(1_000)
            if not rows:
                return
            yield from rows

    @contextmanager
    def reading(self, sql: str, values: Values = ()) -> Iterator[Iterator[tuple[Any, ...]]]:
        """Yield the rows of one statement, read as they are needed; other threads wait."""
        with self._lock, self._translating():
            cursor = self._connection.get().execute(sql, values)
            try:
                yield cursor
            finally:
                cursor.close()

    def run_many(self, sql: str, values: Iterable[tuple[Any, ...]]) -> None:
        """Run one statement for each row of values."""
        with self._lock, self._translating():
            self._connection.get().executemany(sql, values)

    @contextmanager
    def decoding(self) -> Iterator[None]:
        """Raise a StoreError where stored values cannot be decoded."""
        try:
            yield
        except (zlib.error, ValueError, TypeError) as error:
            raise StoreError(
                f"{self.path}: corrupt ({error}); delete the folder and add the files again"
            ) from error

    def find_damage(self) -> list[str]:
        """Return the problems that SQLite's integrity check reports."""
        with self.decoding():
            problems = [row[0] for row in self.query("PRAGMA integrity_check")]
        return [] if problems == ["ok"] else problems

    def compact(self) -> None:
        """Rewrite the file without removed rows, and empty its write-ahead log."""
        with self._lock:
            self.query("VACUUM")
            ((is_busy, _, _),) = self.query("PRAGMA wal_checkpoint(TRUNCATE)")
        if is_busy:
            raise StoreError(f"{self.path}: others are reading; compact again when they are done")

    def _create_tables(self) -> None:
        # One script, so that an interrupted creation leaves no tables at all.
        settings = f"INSERT INTO meta VALUES ('format', {FORMAT}), ('generation', 0)"
        settings += f", ('{INCOMPLETE}', 1);"
        connection = self._connection.get(writes=True)
        connection.execute("PRAGMA journal_mode = WAL")
        connection.executescript(f"BEGIN IMMEDIATE; {SCHEMA} {settings} COMMIT;")

    def _check_format(self) -> None:
        version = self.get("format")
        if not isinstance(version, int) or version < 1:
            raise StoreError(f"{self.path}: not an index; delete the folder and add files again")
        if version > FORMAT:
            raise StoreError(
                f"{self.path}: has format {version}, but this rejoinder reads format {FORMAT};"
                " upgrade rejoinder"
            )
        if version < FORMAT:
            raise StoreError(
                f"{self.path}: has the old format {version}, not {FORMAT}; add the files to a new"
                " folder with 'rejoinder index add … --index DIR'"
            )

    @contextmanager
    def _translating(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise StoreError(f"{self.path}: {error}") from error


class Connection:
    """A connection that is replaced when a read-only file has changed.

    SQLite reads through a shared-memory file beside its own.  On a full disk or in a read-only
    folder that file cannot be created: then the database is read as immutable, and opened
    again when it changes nonetheless.  Another file that takes its place is not opened.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._stamp: FileStamp | None = None
        self._open = self._connect()

    def get(self, *, writes: bool = False) -> sqlite3.Connection:
        """Return the connection; to write, one that was read-only is opened again."""
        if self._stamp and (writes or self._has_changed(self._stamp)):
            self._open.close()
            self._open = self._connect()
        return self._open

    def close(self) -> None:
        """Close the file."""
        self._open.close()

    def _connect(self) -> sqlite3.Connection:
        self._stamp = None
        if not os.access(self._path.parent, os.W_OK):
            return self._connect_immutable()
        try:
            return _connect(self._path, "?mode=rw")
        except sqlite3.Error as error:
            if getattr(error, "sqlite_errorcode", None) in NO_SHARED_MEMORY:
                return self._connect_immutable()
            raise StoreError(f"{self._path}: {error}") from error

    def _connect_immutable(self) -> sqlite3.Connection:
        stamp = self._read_stamp()
        has_log = bool(stamp[-1])
        try:
            connection = _connect(self._path, "?mode=ro" + ("" if has_log else "&immutable=1"))
        except sqlite3.Error as error:
            raise StoreError(
                f"{self._path}: {error}; nothing can be written there:"
                " is the disk full, or read-only?"
            ) from error
        self._stamp = None if has_log else stamp
        return connection

    def _has_changed(self, known: FileStamp) -> bool:
        """Whether the same file has changed."""
        stamp = self._read_stamp()
        return stamp != known and stamp[0] == known[0]

    def _read_stamp(self) -> FileStamp:
        log = self._path.with_name(f"{self._path.name}-wal")
        try:
            status = self._path.stat()
            log_size = log.stat().st_size if log.exists() else 0
        except FileNotFoundError:  # SQLite reports it
            return 0, 0, 0, 0
        return status.st_ino, status.st_mtime_ns, status.st_size, log_size


def _create_file(path: Path) -> None:
    """Create an empty file, which is an empty database."""
    try:
        path.touch()
    except OSError as error:
        raise StoreError(f"{path}: cannot be created ({error.strerror})") from error


def _connect(path: Path, mode: str) -> sqlite3.Connection:
    connection = sqlite3.connect(
        path.absolute().as_uri() + mode,
        uri=True,
        timeout=30,
        isolation_level=None,
        check_same_thread=False,
    )
    try:
        connection.execute("PRAGMA synchronous = FULL")  # a commit outlives a power cut
        connection.execute("PRAGMA secure_delete = ON")
        connection.execute("PRAGMA cache_size = -64000")
    except sqlite3.Error:
        connection.close()
        raise
    return connection
