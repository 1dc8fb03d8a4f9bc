"""The SQLite file of an index: opened, brought to this format, changed all at once or not at all.

Each committed change counts the generation up, so that what is derived from the file can tell
how far it has followed.
"""

import sqlite3
import threading
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from rejoinder.errors import StoreError
from rejoinder.index.sqlite.connection import Connection
from rejoinder.index.sqlite.schema import FORMAT, SCHEMA, UPGRADES

Values = tuple[Any, ...] | Mapping[str, Any]


class Database:
    """One SQLite file; many may read while one writes."""

    def __init__(self, path: Path, *, create: bool = False) -> None:
        self.path = path
        self._lock = threading.RLock()
        if not create and not path.exists():
            raise StoreError(f"{path.parent}: no index there; make one with 'rejoinder index add'")
        self._connection = Connection(path)
        with self._translating():
            if create and not self._has_table("meta"):
                self._make_tables()
            self._check_format()
            self._upgrade()

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    def get(self, key: str) -> Any:
        """Return one of the facts about the index itself; None where it is not known."""
        rows = self.query("SELECT value FROM meta WHERE key = ?", (key,))
        return rows[0][0] if rows else None

    def set(self, key: str, value: Any) -> None:
        """Keep a fact about the index itself."""
        self.query("INSERT OR REPLACE INTO meta VALUES (?, ?)", (key, value))

    @property
    def generation(self) -> int:
        """How many changes were committed."""
        with self.decoding():
            return int(self.get("generation"))

    @contextmanager
    def changing(self) -> Iterator[int]:
        """Give the generation of one change; all of it is committed at the end, or nothing."""
        with self.writing():
            generation = self.generation + 1
            yield generation
            self.set("generation", generation)

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Commit everything that is done inside, or nothing; it counts as no change."""
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
        """Run one statement, and return the rows it gives."""
        with self._lock, self._translating():
            return self._connection.get().execute(sql, values).fetchall()

    def run_many(self, sql: str, values: Iterable[tuple[Any, ...]]) -> None:
        """Run one statement for each row of values."""
        with self._lock, self._translating():
            self._connection.get().executemany(sql, values)

    @contextmanager
    def decoding(self) -> Iterator[None]:
        """Tell that what was read back is not what was stored."""
        try:
            yield
        except (zlib.error, ValueError, TypeError) as error:
            raise StoreError(
                f"{self.path}: torn ({error}); delete the folder and add files again"
            ) from error

    def find_damage(self) -> list[str]:
        """Return what SQLite finds wrong with its file."""
        with self.decoding():
            found = [row[0] for row in self.query("PRAGMA integrity_check")]
        return [] if found == ["ok"] else found

    def compact(self) -> None:
        """Write the file anew without what was removed, and empty its journal."""
        with self._lock:
            self.query("VACUUM")
            ((is_busy, _, _),) = self.query("PRAGMA wal_checkpoint(TRUNCATE)")
        if is_busy:
            raise StoreError(f"{self.path}: others are reading; compact again when they are done")

    def _has_table(self, name: str) -> bool:
        return bool(self.query("SELECT 1 FROM sqlite_master WHERE name = ?", (name,)))

    def _make_tables(self) -> None:
        # One script, so that an index that was never finished has no tables at all.
        facts = f"INSERT INTO meta VALUES ('format', {FORMAT}), ('generation', 0);"
        connection = self._connection.get(writes=True)
        connection.execute("PRAGMA journal_mode = WAL")
        connection.executescript(f"BEGIN IMMEDIATE; {SCHEMA} {facts} COMMIT;")

    def _check_format(self) -> None:
        found = self.get("format")
        if found is None or found < min(UPGRADES):
            raise StoreError(f"{self.path}: not an index; delete the folder and add files again")
        if found > FORMAT:
            raise StoreError(
                f"{self.path}: written in format {found}, this rejoinder reads up to {FORMAT};"
                " upgrade rejoinder"
            )

    def _upgrade(self) -> None:
        """Bring an older file to this format: all of it in one transaction, or nothing."""
        found = self.get("format")
        if found == FORMAT:
            return
        try:
            with self.writing():
                for old in range(self.get("format"), FORMAT):  # another may have done it meanwhile
                    for statement in UPGRADES[old]:
                        self.query(statement)
                self.set("format", FORMAT)
        except StoreError as error:
            raise StoreError(
                f"{error}; it is of format {found}: open it once where it can be written,"
                f" which upgrades it to {FORMAT}"
            ) from error

    @contextmanager
    def _translating(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise StoreError(f"{self.path}: {error}") from error
