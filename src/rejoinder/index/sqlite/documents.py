"""The documents of an index and their sentences in SQLite, the source of truth.

A document's number is never reused and its content never changes, so derived data is keyed by
the number.  A document carries the generation that added it, and a removed document leaves its
number and generation behind until all derived data has caught up.

SQLite detects damage to its pages, but not to the values in them: each document has a checksum
over everything that is stored of it.
"""

import json
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from typing import Literal, NamedTuple

from rejoinder.documents.blocks import KINDS, Kind, fold
from rejoinder.documents.parsed import Sentence
from rejoinder.documents.passages import Section
from rejoinder.index.sqlite.checksum import CONTENT, Checksum
from rejoinder.index.sqlite.database import Database
from rejoinder.types import Where

Encode = Callable[[str], bytes]
"""Tokenizes a sentence (`WordPiece.encode`)."""
Place = tuple[int, int]
"""The number of a document, and the position of a sentence there."""

MAX_TERM = 200
"""Characters of the term of a definition that is shown above its sentences."""
MAX_DEFINITION = 500
"""Sentences of a definition."""
_DEFINITION = KINDS.index("definition")
_PLAIN = str.maketrans("\u2018\u2019\u201c\u201d\u2013\u2014", "''\"\"--") | {ord("\u2026"): "..."}
_DOCUMENT = "id, name, title, metadata, sentences"
_SENTENCE = 'position, text, start, "end", line, page, block, may_answer, tokens'
Sort = Literal["added", "newest", "name", "sentences"]
"""The order of a list of documents."""
_ORDERS: Mapping[Sort, tuple[str, str]] = {
    "added": ("id > :after", "id"),
    "newest": ("(:after = 0 OR id < :after)", "id DESC"),
    "name": ("true", "coalesce(nullif(title, ''), name) COLLATE NOCASE, id"),
    "sentences": ("true", "sentences DESC, id"),
}
"""The condition of the documents behind a page, and their order."""
SEPARATOR = "\n"
"""Between the headings of a stored path."""
POSITION_BITS = 32
"""A place is one number in SQL: the number of the document above the bits of the position."""


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


class FoundSentence(NamedTuple):
    """A sentence as a search reads it, and the document that it is of."""

    number: int
    """The number of the document."""
    position: int
    text: str
    tokens: bytes | None
    name: str
    title: str
    metadata: str
    """As JSON."""
    sentences: int
    """How many sentences the document has."""
    path: str | None
    """The headings above it, the title included, as they are stored (`split_path`)."""


class LocatedSentence(NamedTuple):
    """Where a sentence is: in the file, in the text of its document, and below which headings."""

    line: int | None
    start: int
    end: int
    page: int | None
    path: tuple[str, ...]
    """The headings above it, the title included."""
    anchor: str
    file: bytes
    """The path of the document's file, or the key of an upload; empty if it came without."""
    state: FileState | None
    """The file when it was read."""


class StoredBlock(NamedTuple):
    """A block of a document, `text[start:end]` of its text."""

    kind: Kind
    path: tuple[str, ...]
    """The headings above it, the title included."""
    start: int
    end: int


class Counts(NamedTuple):
    """How much an index holds."""

    documents: int
    sentences: int


class MetadataCount(NamedTuple):
    """A value of a metadata key, and how often there is one."""

    key: str
    value: str
    documents: int
    """How many documents have this value."""
    distinct: int
    """How many values the key has."""
    keyed: int
    """How many documents have the key."""


class ListedNumbers(NamedTuple):
    """The numbers of some documents."""

    generation: int
    total: int
    """How many documents there are."""
    added: int
    """How many were added after the generation that was asked for."""
    numbers: list[int]


class DocumentStore(Database):
    """The documents of one SQLite file."""

    def get_files(self, places: Iterable[bytes]) -> dict[bytes, FileState]:
        """Return the state of each file that is one of these places or in one."""
        states: dict[bytes, FileState] = {}
        for place in places:
            inside = place.rstrip(b"/") + b"/"
            # Two ranges of the primary key: other files are not read.
            rows = self.query(
                "SELECT * FROM files WHERE path = ?"
                " UNION ALL SELECT * FROM files WHERE path > ? AND path < ?",
                (place, inside, inside[:-1] + b"0"),  # 0 follows /
            )
            states |= {row[0]: FileState(*row[1:]) for row in rows}
        return states

    def get_file(self, number: int) -> tuple[bytes, FileState] | None:
        """Return the file of a document, as it was read; None for a document without one."""
        rows = self.query(
            "SELECT files.* FROM documents JOIN files ON path = file WHERE id = ?", (number,)
        )
        return (rows[0][0], FileState(*rows[0][1:])) if rows else None

    def put_file(self, path: bytes, state: FileState) -> None:
        """Store the state in which a file was read."""
        self.query("INSERT OR REPLACE INTO files VALUES (?, ?, ?, ?, ?)", (path, *state))

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
        for (number,) in self.query("SELECT id FROM documents"):
            self.run_many(
                "UPDATE sentences SET tokens = ? WHERE document = ? AND position = ?",
                (
                    (encode(sentence.text), number, sentence.position)
                    for sentence in self.get_sentences(number)
                ),
            )
            self.put_checksum(number)

    def get_documents(self, *, after: int = 0) -> list[StoredDocument]:
        """Return the documents that were added after a generation, in order."""
        return self._select_documents("generation > ? ORDER BY id", after)

    def find_documents(
        self, column: Literal["id", "name"], values: Iterable[int | str]
    ) -> list[StoredDocument]:
        """Return the documents with these numbers or names that are still there, in order."""
        where = f"{column} IN (SELECT value FROM json_each(?)) ORDER BY id"
        return self._select_documents(where, json.dumps(list(values)))

    def list_numbers(self, where: Where | None = None, *, after: int = 0) -> "ListedNumbers":
        """Return the numbers of documents added after a generation whose metadata match."""
        condition, values = _match(where)
        # One statement, so that all counts are of the same generation.
        ((generation, total, added, numbers),) = self.query(
            "SELECT (SELECT value FROM meta WHERE key = 'generation'),"
            " (SELECT count(*) FROM documents),"
            " (SELECT count(*) FROM documents WHERE generation > ?),"
            f" (SELECT json_group_array(id) FROM documents WHERE generation > ?{condition})",
            (after, after, *values),
        )
        with self.decoding():
            return ListedNumbers(int(generation), total, added, json.loads(numbers))

    def list_documents(
        self,
        *,
        searchable: int,
        after: int = 0,
        limit: int,
        contains: str = "",
        sort: Sort = "added",
    ) -> tuple[list[ListedDocument], int]:
        """Return a page of documents, and how many there are on all pages.

        Args:
            searchable: the generation up to which documents are ready.
            after: begin after this number; where the order is not that of the numbers, skip so
                many documents.
            contains: only documents with this in their name or title, ignoring case.
        """
        pattern = "%" + "".join(f"\\{c}" if c in "\\%_" else c for c in contains) + "%"
        where = "(name LIKE :pattern ESCAPE '\\' OR title LIKE :pattern ESCAPE '\\')"
        condition, order = _ORDERS[sort]
        rows = self.query(
            "SELECT id, name, title, documents.metadata, sentences, coalesce(size, 0),"
            " CASE WHEN generation <= :searchable THEN 'ready' ELSE 'waiting' END"
            " FROM documents LEFT JOIN files ON files.path = documents.file"
            f" WHERE {condition} AND {where} ORDER BY {order} LIMIT :limit"
            " OFFSET :skipped",
            {
                "searchable": searchable,
                "after": after,
                "limit": limit,
                "pattern": pattern,
                "skipped": 0 if "id" in condition else after,
            },
        )
        counted = f"SELECT count(*) FROM documents WHERE {where}"
        ((total,),) = self.query(counted, {"pattern": pattern})
        with self.decoding():
            return [
                ListedDocument(id_, name, title, json.loads(metadata), *rest)
                for id_, name, title, metadata, *rest in rows
            ], total

    def count_values(self, key: str) -> dict[str, int]:
        """Return how many documents have each value of a metadata key."""
        rows = self.query(
            "SELECT own.value, count(*) FROM documents CROSS JOIN json_each(metadata) AS own"
            " WHERE own.key = ? GROUP BY 1",
            (key,),
        )
        return dict(rows)

    def count_metadata(self, *, values: int, leave_out: str = "") -> list[MetadataCount]:
        """Return the most frequent values of each metadata key.

        Args:
            values: at most so many per key.
            leave_out: a key that is not counted.
        """
        rows = self.query(
            "SELECT key, value, documents, distinct_values, keyed FROM ("
            " SELECT *, row_number() OVER"
            " (PARTITION BY key ORDER BY documents DESC, value) AS place,"
            " count(*) OVER (PARTITION BY key) AS distinct_values,"
            " sum(documents) OVER (PARTITION BY key) AS keyed FROM ("
            " SELECT own.key AS key, own.value AS value, count(*) AS documents"
            " FROM documents CROSS JOIN json_each(metadata) AS own"
            " WHERE own.key <> ? GROUP BY 1, 2))"
            " WHERE place <= ? ORDER BY key, place",
            (leave_out, values),
        )
        return [MetadataCount(*row) for row in rows]

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

    def get_texts(self, number: int, positions: range) -> tuple[str, ...]:
        """Return the texts of some sentences of a document; empty where they were removed."""
        rows = self.query(
            "SELECT position, text FROM sentences"
            " WHERE document = ? AND position >= ? AND position < ?",
            (number, positions.start, positions.stop),
        )
        texts = dict(rows)
        return tuple(texts.get(position, "") for position in positions)

    def locate(self, number: int, position: int) -> "LocatedSentence | None":
        """Return where a sentence of a document is; None where it was removed."""
        rows = self.query(
            'SELECT line, sentences.start, sentences."end", page, blocks.path, anchor, file, kind,'
            " block, files.size, modified, files.digest, files.metadata"
            " FROM sentences JOIN documents ON id = sentences.document LEFT JOIN blocks"
            " ON blocks.document = sentences.document AND number = block"
            " LEFT JOIN files ON files.path = file"
            " WHERE sentences.document = ? AND position = ?",
            (number, position),
        )
        if not rows:
            return None
        line, start, end, page, path, anchor, file, kind, block, *state = rows[0]
        headings = split_path(path)
        if kind == _DEFINITION and (term := self._find_term(number, block, position)):
            headings = (*headings, term)
        known = FileState(*state) if state[0] is not None else None
        return LocatedSentence(line, start, end, page, headings, anchor or "", file or b"", known)

    def _find_term(self, number: int, block: int, position: int) -> str:
        """Return the term of a definition for a sentence that is not its first; else nothing."""
        rows = self.query(
            'SELECT text, own.start - coalesce(before."end", -2) FROM sentences'
            " CROSS JOIN blocks AS own ON own.document = sentences.document AND own.number = block"
            " LEFT JOIN blocks AS before"
            " ON before.document = own.document AND before.number = own.number - 1"
            " WHERE sentences.document = ? AND position BETWEEN ? AND ? AND block = ?"
            " ORDER BY position LIMIT 1",
            (number, position - MAX_DEFINITION, position - 1, block),
        )
        # The rest of a long definition is a block of its own, one space behind it.
        if not rows or rows[0][1] < 2:
            return ""
        term, mark, _ = rows[0][0].partition(": ")
        return term if mark and len(term) <= MAX_TERM else ""

    @contextmanager
    def reading_sentences(self, places: Iterable[Place]) -> Iterator[Iterator[FoundSentence]]:
        """Yield the sentences at these places that are still there, in the same order.

        All are found by one statement, and a row is read when it is needed.
        """
        packed = json.dumps([number << POSITION_BITS | position for number, position in places])
        # CROSS JOIN: look up each place by primary keys, in the order given; never scan a table.
        sql = (
            "SELECT sentences.document, position, sentences.text, tokens, name, title,"
            " documents.metadata, documents.sentences, blocks.path FROM json_each(?) AS place"
            f" CROSS JOIN sentences ON sentences.document = place.value >> {POSITION_BITS}"
            f" AND position = place.value & {(1 << POSITION_BITS) - 1}"
            " CROSS JOIN documents ON documents.id = sentences.document"
            " LEFT JOIN blocks ON blocks.document = sentences.document AND number = block"
        )
        with self.reading(sql, (packed,)) as rows:
            yield map(FoundSentence._make, rows)

    def iterate_blocks(self, number: int) -> Iterator[Section]:
        """Yield the heading path and the sentences of each block of a document, in order."""
        columns = _SENTENCE.replace("start", "sentences.start").replace('"end"', 'sentences."end"')
        rows = self.stream(
            f"SELECT path, {columns} FROM sentences CROSS JOIN blocks"
            " ON blocks.document = sentences.document AND number = block"
            " WHERE sentences.document = ? ORDER BY position",
            (number,),
        )
        for _, group in groupby(rows, key=itemgetter(7)):  # the number of the block
            own = list(group)
            yield split_path(own[0][0]), [Sentence(*row[1:]) for row in own]

    def find_copies(self, text: str, *, where: Where | None = None, limit: int = -1) -> list[Place]:
        """Return the places of a sentence that may answer, word for word, in order.

        The forms of quotation marks and dashes do not count.

        Args:
            where: only in documents whose metadata match.
            limit: read at most so many places; -1 for all.
        """
        condition, values = _match(where)
        # The digest's index yields the places in order.
        rows = self.query(
            "SELECT document, position, text FROM sentences CROSS JOIN documents ON id = document"
            f" WHERE digest = ? AND may_answer{condition} ORDER BY document, position LIMIT ?",
            (compute_digest(text), *values, limit),
        )
        return [row[:2] for row in rows if _simplify(row[2]) == _simplify(text)]

    def get_blocks_near(self, number: int, position: int, reach: int) -> list[StoredBlock]:
        """Return the block of a sentence, and up to `reach` blocks before and after it."""
        rows = self.query(
            'SELECT kind, path, blocks.start, blocks."end" FROM sentences CROSS JOIN blocks'
            " ON blocks.document = sentences.document AND number BETWEEN block - ? AND block + ?"
            " WHERE sentences.document = ? AND position = ? ORDER BY number",
            (reach, reach, number, position),
        )
        with self.decoding():
            return [StoredBlock(KINDS[kind], split_path(path), *span) for kind, path, *span in rows]

    def get_text(self, number: int, start: int = 0, end: int | None = None) -> str:
        """Return `text[start:end]` of a document; empty where it was removed.

        The text is stored in parts, and those behind `end` are not read.
        """
        sql = "SELECT text FROM texts WHERE document = ? ORDER BY number"
        parts: list[str] = []
        offset = 0
        """Where the next part begins."""
        with self.decoding(), self.reading(sql, (number,)) as rows:
            for (packed,) in rows:
                part = zlib.decompress(packed).decode()
                parts.append(part[max(0, start - offset) : None if end is None else end - offset])
                offset += len(part)
                if end is not None and offset >= end:
                    break
        return "".join(parts)

    def sample_sentences(self, count: int) -> list[str]:
        """Return sentences that may answer, of documents that are evenly spread."""
        ((last,),) = self.query("SELECT coalesce(max(id), 0) FROM documents")
        rows = [
            self.query(
                "SELECT text FROM sentences WHERE document >= ? AND may_answer LIMIT 1",
                (last * place // count,),
            )
            for place in range(count)
        ]
        return list(dict.fromkeys(row[0][0] for row in rows if row))

    def count(self) -> Counts:
        """Return how many documents and sentences there are."""
        # Documents know how many sentences they have: the sentences are not read.
        ((documents, sentences),) = self.query(
            "SELECT count(*), coalesce(sum(sentences), 0) FROM documents"
        )
        return Counts(documents, sentences)

    @property
    def is_empty(self) -> bool:
        """Whether there are no sentences."""
        return not self.query("SELECT 1 FROM sentences LIMIT 1")

    def count_candidates(self) -> int:
        """Return how many sentences may answer; reads all of them."""
        ((count,),) = self.query("SELECT coalesce(sum(may_answer), 0) FROM sentences")
        return int(count)

    def get_checksums(self) -> dict[int, str]:
        """Return the checksum of each document by its number."""
        rows = self.query("SELECT document, hex(checksum) FROM checksums")
        return dict(rows)

    def get_block_starts(self, number: int) -> dict[int, tuple[Kind, str, int]]:
        """Return the kind, the anchor and the start of each block of a document by its number."""
        sql = "SELECT number, kind, anchor, start FROM blocks WHERE document = ?"
        with self.decoding():
            return {
                block: (KINDS[kind], anchor or "", start)
                for block, kind, anchor, start in self.query(sql, (number,))
            }

    def has_valid_checksum(self, number: int) -> bool:
        """Whether a document and its content are as they were stored."""
        stored = self.query("SELECT checksum FROM checksums WHERE document = ?", (number,))
        return bool(stored) and stored[0][0] == self._finish_checksum(
            number, self._read_content(number)
        )

    def put_checksum(self, number: int, checksum: Checksum | None = None) -> None:
        """Store the checksum of a document; its content is read unless `checksum` has seen it."""
        value = self._finish_checksum(number, checksum or self._read_content(number))
        self.query("INSERT OR REPLACE INTO checksums VALUES (?, ?)", (number, value))

    def _select_documents(self, where: str, value: object) -> list[StoredDocument]:
        rows = self.query(f"SELECT {_DOCUMENT} FROM documents WHERE {where}", (value,))
        with self.decoding():
            return [
                StoredDocument(id_, name, title, json.loads(metadata), sentences)
                for id_, name, title, metadata, sentences in rows
            ]

    def _read_content(self, number: int) -> Checksum:
        checksum = Checksum()
        for table in CONTENT:
            # The second column numbers the rows of a document.
            order = f"SELECT * FROM {table} WHERE document = ? ORDER BY 2"
            checksum.add(table, self.stream(order, (number,)))
        return checksum

    def _finish_checksum(self, number: int, checksum: Checksum) -> bytes:
        rows = self.query(f"SELECT {_DOCUMENT} FROM documents WHERE id = ?", (number,))
        return checksum.compute(rows)

    def _remove(self, numbers: Sequence[int], generation: int) -> None:
        tables = [f"{table} WHERE document" for table in (*CONTENT, "checksums")]
        for place in (*tables, "documents WHERE id"):
            self.run_many(f"DELETE FROM {place} = ?", ((number,) for number in numbers))
        removed = ((number, generation) for number in numbers)
        self.run_many("INSERT INTO removed VALUES (?, ?)", removed)


def compute_digest(text: str) -> int:
    """Return the key by which copies of a sentence are found; different texts may share it."""
    return zlib.crc32(_simplify(text).encode())


def _simplify(text: str) -> str:
    """Return text with one form of quotation marks and dashes: a page's source has others."""
    text = fold(text)
    return text.replace("---", "-").replace("--", "-").translate(_PLAIN)


def _match(where: Where | None) -> tuple[str, list[str]]:
    """Return the SQL condition that a document's metadata match, and its values."""
    condition, values = "", []
    for key, value in (where or {}).items():
        condition += (
            " AND EXISTS (SELECT 1 FROM json_each(metadata) AS own WHERE own.key = ?"
            " AND own.value IN (SELECT value FROM json_each(?)))"
        )
        values += [key, json.dumps([value] if isinstance(value, str) else list(value))]
    return condition, values


def split_path(path: str | None) -> tuple[str, ...]:
    """Return the headings of a stored path, outermost first."""
    return tuple(path.split(SEPARATOR)) if path else ()
