"""The documents of an index and their sentences in SQLite, the source of truth.

A document's number is never reused and its content never changes, so derived data is keyed by
the number.  A document carries the generation that added it, and a removed document leaves its
number and generation behind until all derived data has caught up.

SQLite detects damage to its pages, but not to the values in them: each document has a checksum
over everything that is stored of it.
"""

import json
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b
from typing import Any, Literal, NamedTuple, overload

from rejoinder.documents.parsed import ParsedDocument, Sentence
from rejoinder.index.sqlite.database import Database
from rejoinder.types import Document

Encode = Callable[[str], bytes]
"""Tokenizes a sentence (`WordPiece.encode`)."""
Place = tuple[int, int]
"""The number of a document, and the position of a sentence there."""

_DOCUMENT = "id, name, title, metadata, sentences"
_CHECKED = "id, name, title, metadata, text, sentences"
_SENTENCE = 'position, text, start, "end", line, page, paragraph, is_heading, tokens'


class FileState(NamedTuple):
    """A file's state when it was read; it is read again when this has changed."""

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


@dataclass(frozen=True, slots=True)
class ListedDocument(StoredDocument):
    """A document of the index."""

    bytes: int
    """The size of its file."""
    state: Literal["ready", "waiting"]
    """`waiting` until the full-text index has caught up."""


class Counts(NamedTuple):
    """How much an index holds."""

    documents: int
    sentences: int
    candidates: int
    """Sentences that may answer: all but headings."""


class DocumentStore(Database):
    """The documents of one SQLite file."""

    def get_files(self) -> dict[bytes, FileState]:
        """Return the state in which each file was read."""
        return {row[0]: FileState(*row[1:]) for row in self.query("SELECT * FROM files")}

    def put_file(self, path: bytes, state: FileState) -> None:
        """Store the state in which a file was read."""
        self.query("INSERT OR REPLACE INTO files VALUES (?, ?, ?, ?, ?)", (path, *state))

    def add_document(
        self, file: bytes, document: ParsedDocument, encode: Encode, generation: int
    ) -> StoredDocument:
        """Add a document with its sentences; those without tokens are tokenized."""
        count = len(document.sentences)
        values = (
            document.name,
            document.title,
            json.dumps(dict(document.metadata), ensure_ascii=False),
            zlib.compress(document.text.encode(), 1),
            count,
        )
        ((number,),) = self.query(
            "INSERT INTO documents(file, name, title, metadata, text, sentences, generation)"
            " VALUES (?, ?, ?, ?, ?, ?, ?) RETURNING id",
            (file, *values, generation),
        )
        rows = [
            (
                number,
                *sentence[:-2],
                int(sentence.is_heading),
                encode(sentence.text) if sentence.tokens is None else sentence.tokens,
            )
            for sentence in document.sentences
        ]
        self.run_many("INSERT INTO sentences VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", rows)
        self._put_checksum((number, *values), rows)
        return StoredDocument(number, document.name, document.title, document.metadata, count)

    def remove_file(self, path: bytes, generation: int) -> list[int]:
        """Remove a file with its documents, and return their numbers."""
        numbers = [row[0] for row in self.query("SELECT id FROM documents WHERE file = ?", (path,))]
        self._remove(numbers, generation)
        self.query("DELETE FROM files WHERE path = ?", (path,))
        return numbers

    def remove_document(self, number: int, generation: int) -> None:
        """Remove a document, and its file with the file's last document."""
        ((file,),) = self.query("SELECT file FROM documents WHERE id = ?", (number,))
        self._remove([number], generation)
        if not self.query("SELECT 1 FROM documents WHERE file = ? LIMIT 1", (file,)):
            self.query("DELETE FROM files WHERE path = ?", (file,))

    def replace_tokens(self, encode: Encode) -> None:
        """Tokenize all sentences again, with another tokenizer."""
        for values in self.query(f"SELECT {_CHECKED} FROM documents"):
            number = values[0]
            rows = [
                (number, *sentence[:-1], encode(sentence.text))
                for sentence in self.get_sentences(number)
            ]
            self.run_many(
                "UPDATE sentences SET tokens = ? WHERE document = ? AND position = ?",
                ((row[-1], *row[:2]) for row in rows),
            )
            self._put_checksum(values, rows)

    def get_documents(self, *, after: int = 0) -> list[StoredDocument]:
        """Return the documents that were added after a generation, in order."""
        return self._select_documents("generation > ? ORDER BY id", after)

    def find_documents(
        self, column: Literal["id", "name"], values: Iterable[int | str]
    ) -> list[StoredDocument]:
        """Return the documents with these numbers or names that are still there, in order."""
        where = f"{column} IN (SELECT value FROM json_each(?)) ORDER BY id"
        return self._select_documents(where, json.dumps(list(values)))

    def list_documents(
        self, *, searchable: int, after: int = 0, limit: int, contains: str = ""
    ) -> tuple[list[ListedDocument], int]:
        """Return documents whose number is above `after`, in order, and the total count.

        Args:
            searchable: the generation up to which documents are ready.
            contains: only documents with this in their name or title, ignoring case.
        """
        pattern = "%" + "".join(f"\\{c}" if c in "\\%_" else c for c in contains) + "%"
        where = "(name LIKE :pattern ESCAPE '\\' OR title LIKE :pattern ESCAPE '\\')"
        rows = self.query(
            "SELECT id, name, title, documents.metadata, sentences, coalesce(size, 0),"
            " CASE WHEN generation <= :searchable THEN 'ready' ELSE 'waiting' END"
            " FROM documents LEFT JOIN files ON files.path = documents.file"
            f" WHERE id > :after AND {where} ORDER BY id LIMIT :limit",
            {"searchable": searchable, "after": after, "limit": limit, "pattern": pattern},
        )
        counted = f"SELECT count(*) FROM documents WHERE {where}"
        ((total,),) = self.query(counted, {"pattern": pattern})
        with self.decoding():
            return [
                ListedDocument(id_, name, title, json.loads(metadata), *rest)
                for id_, name, title, metadata, *rest in rows
            ], total

    def get_removed(self, *, after: int) -> list[int]:
        """Return the numbers of documents that were removed after a generation."""
        rows = self.query("SELECT document FROM removed WHERE generation > ?", (after,))
        return [row[0] for row in rows]

    def forget_removed(self, *, until: int) -> None:
        """Drop the numbers of removed documents, once all derived data has caught up."""
        self.query("DELETE FROM removed WHERE generation <= ?", (until,))

    def get_sentences(self, number: int) -> list[Sentence]:
        """Return the sentences of a document, in order."""
        rows = self.query(
            f"SELECT {_SENTENCE} FROM sentences WHERE document = ? ORDER BY position", (number,)
        )
        return [Sentence(*row) for row in rows]

    def get_sentence(self, number: int, position: int) -> Sentence | None:
        """Return a sentence of a document; None where it was removed."""
        rows = self.query(
            f"SELECT {_SENTENCE} FROM sentences WHERE document = ? AND position = ?",
            (number, position),
        )
        return Sentence(*rows[0]) if rows else None

    def find_sentences(self, places: Iterable[Place]) -> dict[Place, Sentence]:
        """Return the sentences at these places that are still there."""
        # CROSS JOIN: look up each place by the primary key, never scan the sentences.
        rows = self.query(
            f"SELECT document, {_SENTENCE} FROM json_each(?) AS place CROSS JOIN sentences"
            " ON document = json_extract(place.value, '$[0]')"
            " AND position = json_extract(place.value, '$[1]')",
            (json.dumps(list(places)),),
        )
        return {(row[0], row[1]): Sentence(*row[1:]) for row in rows}

    def get_text(self, number: int) -> str:
        """Return the text that a document's offsets count in; empty where it was removed."""
        rows = self.query("SELECT text FROM documents WHERE id = ?", (number,))
        with self.decoding():
            return zlib.decompress(rows[0][0]).decode() if rows else ""

    def count(self) -> Counts:
        """Return how many documents and sentences there are."""
        ((documents,),) = self.query("SELECT count(*) FROM documents")
        ((sentences, headings),) = self.query(
            "SELECT count(*), coalesce(sum(is_heading), 0) FROM sentences"
        )
        return Counts(documents, sentences, sentences - headings)

    def has_valid_checksum(self, number: int) -> bool:
        """Whether a document and its sentences are as they were stored."""
        stored = self.query("SELECT checksum FROM checksums WHERE document = ?", (number,))
        values = self.query(f"SELECT {_CHECKED} FROM documents WHERE id = ?", (number,))
        rows = self.query("SELECT * FROM sentences WHERE document = ? ORDER BY position", (number,))
        return bool(stored and values) and stored[0][0] == _checksum(values[0], rows)

    def _select_documents(self, where: str, value: object) -> list[StoredDocument]:
        rows = self.query(f"SELECT {_DOCUMENT} FROM documents WHERE {where}", (value,))
        with self.decoding():
            return [
                StoredDocument(id_, name, title, json.loads(metadata), sentences)
                for id_, name, title, metadata, sentences in rows
            ]

    def _put_checksum(self, document: tuple[Any, ...], sentences: list[tuple[Any, ...]]) -> None:
        self.query(
            "INSERT OR REPLACE INTO checksums VALUES (?, ?)",
            (document[0], _checksum(document, sentences)),
        )

    def _remove(self, numbers: Sequence[int], generation: int) -> None:
        for place in ("sentences WHERE document", "documents WHERE id", "checksums WHERE document"):
            self.run_many(f"DELETE FROM {place} = ?", ((number,) for number in numbers))
        removed = ((number, generation) for number in numbers)
        self.run_many("INSERT INTO removed VALUES (?, ?)", removed)


class StoredSentences(Sequence[str]):
    """The sentences of one document in order, fetched on first access.

    Equal to others of the same document.
    """

    def __init__(self, store: DocumentStore, number: int, count: int) -> None:
        self.number = number
        self._store = store
        self._count = count

    def __len__(self) -> int:
        return self._count

    @overload
    def __getitem__(self, place: int) -> str: ...
    @overload
    def __getitem__(self, place: slice) -> tuple[str, ...]: ...
    def __getitem__(self, place: int | slice) -> str | tuple[str, ...]:
        if isinstance(place, int) and 0 <= place < self._count:
            sentence = self._store.get_sentence(self.number, place)
            return sentence.text if sentence else ""
        return self._texts[place]

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, StoredSentences)
            and other.number == self.number
            and other._store is self._store
        )

    def __hash__(self) -> int:
        return hash(self.number)

    @cached_property
    def _texts(self) -> tuple[str, ...]:
        texts = {row.position: row.text for row in self._store.get_sentences(self.number)}
        # A document that was removed meanwhile keeps its positions, with empty texts.
        return tuple(texts.get(position, "") for position in range(self._count))


def get_number(document: Document | None) -> int:
    """Return the number of a document of an index; -1 for any other document."""
    if document is None or not isinstance(document.sentences, StoredSentences):
        return -1
    return document.sentences.number


def _checksum(document: tuple[Any, ...], sentences: list[tuple[Any, ...]]) -> bytes:
    digest = blake2b(digest_size=16)
    for row in (document, *sentences):
        digest.update(repr(row).encode("utf-8", "surrogatepass"))
    return digest.digest()
