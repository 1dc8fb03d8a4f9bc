"""The truth of an index: documents, their sentences and the generation, in one SQLite file.

A document's number is never used twice and what it stands for never changes, so everything
derived from it can be keyed by the number.  Each committed change counts the generation up; a
document carries the generation that added it, and what was removed leaves its number and
generation behind until the derived stores have followed.
"""

import json
import os
import sqlite3
import threading
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any, NamedTuple

from rejoinder.documents.read import ReadDocument, ReadSentence
from rejoinder.errors import StoreError
from rejoinder.index.schema import FORMAT, SCHEMA, UPGRADES
from rejoinder.records import Mark


class FileState(NamedTuple):
    """What says whether a file has to be read again."""

    size: int
    modified: int
    digest: bytes
    metadata: str


@dataclass(frozen=True, slots=True)
class StoredDocument:
    """A document of the index, without its sentences."""

    id: int
    name: str
    title: str
    metadata: Mapping[str, str]
    sentences: int


class ListedDocument(NamedTuple):
    """A document as a list shows it: with its file's size, and the change that added it."""

    document: StoredDocument
    size_bytes: int
    generation: int


class StoredSentence(NamedTuple):
    """A sentence of the index; `text` stands at `start` to `stop` of the document's text."""

    document: int
    position: int
    start: int
    stop: int
    line: int | None
    page: int | None
    paragraph: int
    is_heading: int
    text: str
    tokens: bytes | None


class StoredMark(NamedTuple):
    """A mark, and the first place where its sentence stands."""

    mark: Mark
    document: int
    position: int


class Store:
    """One SQLite file; many may read while one writes."""

    def __init__(self, path: Path, *, create: bool = False) -> None:
        self.path = path
        self._lock = threading.RLock()
        if not create and not path.exists():
            raise StoreError(f"{path.parent}: no index there; make one with 'rejoinder index add'")
        self._connection = _connect(path)
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
        rows = self._query("SELECT value FROM meta WHERE key = ?", (key,))
        return rows[0][0] if rows else None

    @property
    def generation(self) -> int:
        """How many changes were committed."""
        with self._decoding():
            return int(self.get("generation"))

    @contextmanager
    def changing(self) -> Iterator[int]:
        """Give the generation of one change; all of it is committed at the end, or nothing."""
        with self._writing():
            generation = self.generation + 1
            yield generation
            self.set("generation", generation)

    def set(self, key: str, value: Any) -> None:
        """Keep a fact about the index itself."""
        with self._lock, self._translating():
            self._connection.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (key, value))

    def get_files(self) -> dict[bytes, FileState]:
        """Return the state in which each file was read."""
        return {row[0]: FileState(*row[1:]) for row in self._query("SELECT * FROM files")}

    def put_file(self, path: bytes, state: FileState) -> None:
        """Note the state in which a file was read."""
        with self._lock:
            self._connection.execute(
                "INSERT OR REPLACE INTO files VALUES (?, ?, ?, ?, ?)", (path, *state)
            )

    def add_document(
        self, file: bytes, document: ReadDocument, tokens: Sequence[bytes | None], generation: int
    ) -> int:
        """Add a document with its sentences, and return its number."""
        with self._lock:
            cursor = self._connection.execute(
                "INSERT INTO documents(file, name, title, metadata, text, sentences, generation)"
                " VALUES (?, ?, ?, ?, ?, ?, ?)",
                (
                    file,
                    document.name,
                    document.title,
                    json.dumps(dict(document.metadata), ensure_ascii=False),
                    zlib.compress(document.text.encode(), 1),
                    len(document.sentences),
                    generation,
                ),
            )
            id_ = cursor.lastrowid
            assert id_ is not None
            self._connection.executemany(
                "INSERT INTO sentences VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    (id_, position, *_to_row(sentence), pieces)
                    for position, (sentence, pieces) in enumerate(
                        zip(document.sentences, tokens, strict=True)
                    )
                ),
            )
            self._seal(id_)
            return id_

    def remove_file(self, path: bytes, generation: int) -> list[int]:
        """Remove a file with its documents, and return their numbers."""
        numbers = [
            row[0] for row in self._query("SELECT id FROM documents WHERE file = ?", (path,))
        ]
        with self._lock:
            run = self._connection.executemany
            run("DELETE FROM sentences WHERE document = ?", ((number,) for number in numbers))
            run("DELETE FROM documents WHERE id = ?", ((number,) for number in numbers))
            run("DELETE FROM seals WHERE document = ?", ((number,) for number in numbers))
            run("INSERT INTO removed VALUES (?, ?)", ((number, generation) for number in numbers))
            self._connection.execute("DELETE FROM files WHERE path = ?", (path,))
        return numbers

    def replace_tokens(self, encode: Callable[[str], bytes]) -> None:
        """Cut all sentences again, with another tokenizer."""
        with self._lock:
            for document in self.get_documents():
                self._connection.executemany(
                    "UPDATE sentences SET tokens = ? WHERE document = ? AND position = ?",
                    [
                        (encode(row.text), row.document, row.position)
                        for row in self.get_sentences(document.id)
                    ],
                )
                self._seal(document.id)

    def get_documents(self, *, after: int = 0) -> list[StoredDocument]:
        """Return the documents that were added after a generation, in order."""
        rows = self._query(
            "SELECT id, name, title, metadata, sentences FROM documents"
            " WHERE generation > ? ORDER BY id",
            (after,),
        )
        with self._decoding():
            return [_to_document(row) for row in rows]

    def get_document(self, number: int) -> StoredDocument | None:
        """Return a document; None where it was removed."""
        rows = self._query(
            "SELECT id, name, title, metadata, sentences FROM documents WHERE id = ?", (number,)
        )
        with self._decoding():
            return _to_document(rows[0]) if rows else None

    def list_documents(
        self, *, after: int = 0, limit: int, contains: str = ""
    ) -> tuple[list[ListedDocument], int]:
        """Return documents whose number is above `after`, in order, and how many there are.

        Args:
            contains: only documents with this in their name or title; case does not count.
        """
        pattern = "%" + "".join(f"\\{c}" if c in "\\%_" else c for c in contains) + "%"
        where = "(name LIKE :pattern ESCAPE '\\' OR title LIKE :pattern ESCAPE '\\')"
        rows = self._query(
            "SELECT id, name, title, documents.metadata, sentences, coalesce(size, 0), generation"
            " FROM documents LEFT JOIN files ON files.path = documents.file"
            f" WHERE id > :after AND {where} ORDER BY id LIMIT :limit",
            {"after": after, "limit": limit, "pattern": pattern},
        )
        ((total,),) = self._query(
            f"SELECT count(*) FROM documents WHERE {where}", {"pattern": pattern}
        )
        return [ListedDocument(_to_document(row[:5]), row[5], row[6]) for row in rows], total

    def remove_document(self, number: int, generation: int) -> StoredDocument | None:
        """Remove a document, and its file with the last one; None where it is not there."""
        found = self.get_document(number)
        if found is None:
            return None
        with self._lock:
            ((file,),) = self._query("SELECT file FROM documents WHERE id = ?", (number,))
            run = self._connection.execute
            run("DELETE FROM sentences WHERE document = ?", (number,))
            run("DELETE FROM documents WHERE id = ?", (number,))
            run("DELETE FROM seals WHERE document = ?", (number,))
            run("INSERT INTO removed VALUES (?, ?)", (number, generation))
            if not self._query("SELECT 1 FROM documents WHERE file = ? LIMIT 1", (file,)):
                run("DELETE FROM files WHERE path = ?", (file,))
        return found

    def get_removed(self, *, after: int) -> list[int]:
        """Return the numbers of documents that were removed after a generation."""
        rows = self._query("SELECT document FROM removed WHERE generation > ?", (after,))
        return [row[0] for row in rows]

    def forget_removed(self, *, until: int) -> None:
        """Drop the numbers of removed documents that all derived stores have followed."""
        with self._lock, self._translating():
            self._connection.execute("DELETE FROM removed WHERE generation <= ?", (until,))

    def get_sentences(
        self, number: int, first: int = 0, last: int | None = None
    ) -> list[StoredSentence]:
        """Return sentences of a document in order, from a position up to and with another."""
        rows = self._query(
            "SELECT * FROM sentences WHERE document = ? AND position BETWEEN ? AND ?"
            " ORDER BY position",
            (number, first, 2**62 if last is None else last),
        )
        return [StoredSentence(*row) for row in rows]

    def get_text(self, number: int) -> str:
        """Return the text that a document's offsets count in; empty where it was removed."""
        rows = self._query("SELECT text FROM documents WHERE id = ?", (number,))
        with self._decoding():
            return zlib.decompress(rows[0][0]).decode() if rows else ""

    def count(self) -> tuple[int, int, int]:
        """Return how many documents there are, sentences, and sentences that may answer."""
        ((documents,),) = self._query("SELECT count(*) FROM documents")
        ((sentences, headings),) = self._query(
            "SELECT count(*), coalesce(sum(is_heading), 0) FROM sentences"
        )
        return documents, sentences, sentences - headings

    def find_texts(self, texts: Iterable[str]) -> frozenset[str]:
        """Return those that a sentence of the index reads word for word.

        Reads all sentences once, however many texts there are.
        """
        rows = self._query(
            "SELECT DISTINCT text FROM sentences"
            " WHERE text IN (SELECT value FROM json_each(?)) AND NOT is_heading",
            (json.dumps(list(texts)),),
        )
        return frozenset(row[0] for row in rows)

    def put_marks(self, marks: Iterable[Mark]) -> None:
        """Keep marks; of the same question and sentence, the last one counts."""
        with self._writing():
            self._connection.executemany(
                "INSERT OR REPLACE INTO feedback(question, sentence, is_right) VALUES (?, ?, ?)",
                ((mark.question, mark.sentence, int(mark.is_right)) for mark in marks),
            )

    def remove_mark(self, question: str, sentence: str) -> bool:
        """Take a mark back, and return whether there was one."""
        removed = self._query(
            "DELETE FROM feedback WHERE question = ? AND sentence = ? RETURNING id",
            (question, sentence),
        )
        return bool(removed)

    def get_marks(self) -> list[StoredMark]:
        """Return the marks whose sentences still stand, in the order of marking."""
        # CROSS JOIN: sentences are read once, and each looked up among the marks.
        rows = self._query(
            "SELECT feedback.id, question, sentence, is_right, document, position"
            " FROM sentences CROSS JOIN feedback ON feedback.sentence = sentences.text"
            " WHERE NOT is_heading"
        )
        found: dict[int, StoredMark] = {}
        for id_, question, sentence, is_right, document, position in rows:
            mark = Mark(question, sentence, bool(is_right))
            found.setdefault(id_, StoredMark(mark, document, position))
        return [found[id_] for id_ in sorted(found)]

    def find_damage(self) -> list[str]:
        """Return what SQLite finds wrong with its file."""
        with self._decoding():
            found = [row[0] for row in self._query("PRAGMA integrity_check")]
        return [] if found == ["ok"] else found

    def is_sealed(self, number: int) -> bool:
        """Whether a document is as it was stored; of one from before seals it is believed."""
        rows = self._query("SELECT digest FROM seals WHERE document = ?", (number,))
        return not rows or rows[0][0] == self._digest(number)

    def compact(self) -> None:
        """Write the file anew without what was removed, and empty its journal.

        Marks whose sentences are gone hold removed text, so they go too.
        """
        with self._lock, self._translating():
            self._connection.execute(
                "DELETE FROM feedback WHERE sentence NOT IN (SELECT text FROM sentences"
                " WHERE text IN (SELECT sentence FROM feedback))"
            )
            self._connection.execute("VACUUM")
            ((is_busy, _, _),) = self._query("PRAGMA wal_checkpoint(TRUNCATE)")
        if is_busy:
            raise StoreError(f"{self.path}: others are reading; compact again when they are done")

    def _query(
        self, sql: str, values: tuple[Any, ...] | Mapping[str, Any] = ()
    ) -> list[tuple[Any, ...]]:
        with self._lock, self._translating():
            return self._connection.execute(sql, values).fetchall()

    def _seal(self, number: int) -> None:
        values = (number, self._digest(number))
        self._connection.execute("INSERT OR REPLACE INTO seals VALUES (?, ?)", values)

    def _digest(self, number: int) -> bytes:
        digest = blake2b(digest_size=16)
        for row in self._query(
            "SELECT id, name, title, metadata, text, sentences FROM documents WHERE id = ?",
            (number,),
        ):
            digest.update(repr(row).encode("utf-8", "surrogatepass"))
        for sentence in self.get_sentences(number):
            digest.update(repr(tuple(sentence)).encode("utf-8", "surrogatepass"))
        return digest.digest()

    def _has_table(self, name: str) -> bool:
        return bool(self._query("SELECT 1 FROM sqlite_master WHERE name = ?", (name,)))

    def _make_tables(self) -> None:
        # One script, so that an index that was never finished has no tables at all.
        facts = f"INSERT INTO meta VALUES ('format', {FORMAT}), ('generation', 0);"
        self._connection.execute("PRAGMA journal_mode = WAL")
        self._connection.executescript(f"BEGIN IMMEDIATE; {SCHEMA} {facts} COMMIT;")

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
            with self._writing():
                for old in range(self.get("format"), FORMAT):  # another may have done it meanwhile
                    for statement in UPGRADES[old]:
                        self._connection.execute(statement)
                self.set("format", FORMAT)
        except StoreError as error:
            raise StoreError(
                f"{error}; it is of format {found}: open it once where it can be written,"
                f" which upgrades it to {FORMAT}"
            ) from error

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """Commit everything that is done inside, or nothing."""
        with self._lock, self._translating():
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield
                self._connection.execute("COMMIT")
            except BaseException:
                with suppress(sqlite3.Error):  # a full disk has rolled it back already
                    self._connection.execute("ROLLBACK")
                raise

    @contextmanager
    def _decoding(self) -> Iterator[None]:
        """Tell that what was read back is not what was stored."""
        try:
            yield
        except (zlib.error, ValueError, TypeError) as error:
            raise StoreError(
                f"{self.path}: torn ({error}); delete the folder and add files again"
            ) from error

    @contextmanager
    def _translating(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise StoreError(f"{self.path}: {error}") from error


def _connect(path: Path) -> sqlite3.Connection:
    try:
        connection = sqlite3.connect(
            path.absolute().as_uri() + _find_mode(path),
            uri=True,
            timeout=30,
            isolation_level=None,
            check_same_thread=False,
        )
        connection.execute("PRAGMA synchronous = FULL")  # what is acknowledged outlives a power cut
        connection.execute("PRAGMA secure_delete = ON")
        connection.execute("PRAGMA cache_size = -64000")
    except sqlite3.Error as error:
        raise StoreError(f"{path}: {error}") from error
    return connection


def _find_mode(path: Path) -> str:
    """Return how to open the file: where nothing can be written, SQLite must not try to."""
    if os.access(path.parent, os.W_OK):
        return ""
    journal = path.with_name(f"{path.name}-wal")
    has_journal = journal.exists() and journal.stat().st_size
    return "?mode=ro" if has_journal else "?mode=ro&immutable=1"


def _to_row(sentence: ReadSentence) -> tuple[Any, ...]:
    return (
        sentence.start,
        sentence.end,
        sentence.line,
        sentence.page,
        sentence.paragraph,
        int(sentence.is_heading),
        sentence.text,
    )


def _to_document(row: tuple[Any, ...]) -> StoredDocument:
    id_, name, title, metadata, sentences = row
    return StoredDocument(id_, name, title, json.loads(metadata), sentences)
