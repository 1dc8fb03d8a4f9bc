"""The truth of an index: documents and their sentences, in SQLite.

A document's number is never used twice and what it stands for never changes, so everything
derived from it can be keyed by the number.  A document carries the generation that added it, and
what was removed leaves its number and generation behind until the derived stores have followed.
"""

import json
import zlib
from collections.abc import Callable, Sequence
from typing import Any

from rejoinder.documents.read import ReadDocument, ReadSentence
from rejoinder.index.sqlite.checksums import seal
from rejoinder.index.sqlite.database import Database
from rejoinder.index.sqlite.records import (
    FileState,
    ListedDocument,
    StoredDocument,
    StoredSentence,
)


class Store(Database):
    """The documents of one SQLite file."""

    def get_files(self) -> dict[bytes, FileState]:
        """Return the state in which each file was read."""
        return {row[0]: FileState(*row[1:]) for row in self.query("SELECT * FROM files")}

    def put_file(self, path: bytes, state: FileState) -> None:
        """Note the state in which a file was read."""
        self.query("INSERT OR REPLACE INTO files VALUES (?, ?, ?, ?, ?)", (path, *state))

    def add_document(
        self, file: bytes, document: ReadDocument, tokens: Sequence[bytes | None], generation: int
    ) -> int:
        """Add a document with its sentences, and return its number."""
        ((number,),) = self.query(
            "INSERT INTO documents(file, name, title, metadata, text, sentences, generation)"
            " VALUES (?, ?, ?, ?, ?, ?, ?) RETURNING id",
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
        self.run_many(
            "INSERT INTO sentences VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                (number, position, *_to_row(sentence), pieces)
                for position, (sentence, pieces) in enumerate(
                    zip(document.sentences, tokens, strict=True)
                )
            ),
        )
        seal(self, number)
        return int(number)

    def remove_file(self, path: bytes, generation: int) -> list[int]:
        """Remove a file with its documents, and return their numbers."""
        rows = self.query("SELECT id FROM documents WHERE file = ?", (path,))
        numbers = [row[0] for row in rows]
        self._remove(numbers, generation)
        self.query("DELETE FROM files WHERE path = ?", (path,))
        return numbers

    def remove_document(self, number: int, generation: int) -> StoredDocument | None:
        """Remove a document, and its file with the last one; None where it is not there."""
        found = self.get_document(number)
        if found is None:
            return None
        ((file,),) = self.query("SELECT file FROM documents WHERE id = ?", (number,))
        self._remove([number], generation)
        if not self.query("SELECT 1 FROM documents WHERE file = ? LIMIT 1", (file,)):
            self.query("DELETE FROM files WHERE path = ?", (file,))
        return found

    def replace_tokens(self, encode: Callable[[str], bytes]) -> None:
        """Cut all sentences again, with another tokenizer."""
        for document in self.get_documents():
            self.run_many(
                "UPDATE sentences SET tokens = ? WHERE document = ? AND position = ?",
                [
                    (encode(row.text), row.document, row.position)
                    for row in self.get_sentences(document.id)
                ],
            )
            seal(self, document.id)

    def get_documents(self, *, after: int = 0) -> list[StoredDocument]:
        """Return the documents that were added after a generation, in order."""
        rows = self.query(
            "SELECT id, name, title, metadata, sentences FROM documents"
            " WHERE generation > ? ORDER BY id",
            (after,),
        )
        with self.decoding():
            return [_to_document(row) for row in rows]

    def get_document(self, number: int) -> StoredDocument | None:
        """Return a document; None where it was removed."""
        rows = self.query(
            "SELECT id, name, title, metadata, sentences FROM documents WHERE id = ?", (number,)
        )
        with self.decoding():
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
        rows = self.query(
            "SELECT id, name, title, documents.metadata, sentences, coalesce(size, 0), generation"
            " FROM documents LEFT JOIN files ON files.path = documents.file"
            f" WHERE id > :after AND {where} ORDER BY id LIMIT :limit",
            {"after": after, "limit": limit, "pattern": pattern},
        )
        ((total,),) = self.query(
            f"SELECT count(*) FROM documents WHERE {where}", {"pattern": pattern}
        )
        return [ListedDocument(_to_document(row[:5]), row[5], row[6]) for row in rows], total

    def get_removed(self, *, after: int) -> list[int]:
        """Return the numbers of documents that were removed after a generation."""
        rows = self.query("SELECT document FROM removed WHERE generation > ?", (after,))
        return [row[0] for row in rows]

    def forget_removed(self, *, until: int) -> None:
        """Drop the numbers of removed documents that all derived stores have followed."""
        self.query("DELETE FROM removed WHERE generation <= ?", (until,))

    def get_sentences(
        self, number: int, first: int = 0, last: int | None = None
    ) -> list[StoredSentence]:
        """Return sentences of a document in order, from a position up to and with another."""
        rows = self.query(
            "SELECT * FROM sentences WHERE document = ? AND position BETWEEN ? AND ?"
            " ORDER BY position",
            (number, first, 2**62 if last is None else last),
        )
        return [StoredSentence(*row) for row in rows]

    def get_text(self, number: int) -> str:
        """Return the text that a document's offsets count in; empty where it was removed."""
        rows = self.query("SELECT text FROM documents WHERE id = ?", (number,))
        with self.decoding():
            return zlib.decompress(rows[0][0]).decode() if rows else ""

    def count(self) -> tuple[int, int, int]:
        """Return how many documents there are, sentences, and sentences that may answer."""
        ((documents,),) = self.query("SELECT count(*) FROM documents")
        ((sentences, headings),) = self.query(
            "SELECT count(*), coalesce(sum(is_heading), 0) FROM sentences"
        )
        return documents, sentences, sentences - headings

    def _remove(self, numbers: Sequence[int], generation: int) -> None:
        for place in ("sentences WHERE document", "documents WHERE id", "seals WHERE document"):
            self.run_many(f"DELETE FROM {place} = ?", ((number,) for number in numbers))
        self.run_many(
            "INSERT INTO removed VALUES (?, ?)", ((number, generation) for number in numbers)
        )


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
