"""Writes a document into SQLite while it is read."""

import json
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from rejoinder.documents.blocks import KINDS
from rejoinder.documents.parsed import ParsedDocument, SegmentedBlock, Sentence
from rejoinder.documents.passages import Section
from rejoinder.index.sqlite.checksum import Checksum
from rejoinder.index.sqlite.documents import (
    SEPARATOR,
    DocumentStore,
    Encode,
    StoredDocument,
    compute_digest,
)

_TEXT_PART = 100_000
"""Characters of a document's text that are stored together."""


class DocumentWriter:
    """Writes the blocks of one document, so that a large one never is in memory whole."""

    def __init__(self, store: DocumentStore, document: StoredDocument, encode: Encode) -> None:
        self.document = document
        self._store = store
        self._encode = encode
        self._checksum = Checksum()
        self._text: list[str] = []
        self._size = 0
        self._parts = 0
        self._blocks: list[tuple[Any, ...]] = []
        self._sentences: list[tuple[Any, ...]] = []
        self._count = 0

    @classmethod
    def begin(
        cls,
        store: DocumentStore,
        file: bytes,
        document: ParsedDocument,
        encode: Encode,
        generation: int,
    ) -> "DocumentWriter":
        """Store a document of a file, whose blocks are then written."""
        metadata = json.dumps(dict(document.metadata), ensure_ascii=False)
        ((number,),) = store.query(
            "INSERT INTO documents(file, name, title, metadata, generation)"
            " VALUES (?, ?, ?, ?, ?) RETURNING id",
            (file, document.name, document.title, metadata, generation),
        )
        stored = StoredDocument(number, document.name, document.title, document.metadata, 0)
        return cls(store, stored, encode)

    def write(self, blocks: Iterable[SegmentedBlock]) -> Iterator[Section]:
        """Write blocks while they are read, and yield each with the tokens of its sentences."""
        for block in blocks:
            sentences = [self._tokenize(sentence) for sentence in block.sentences]
            self._add(block, sentences)
            yield block.path, sentences

    def _tokenize(self, sentence: Sentence) -> Sentence:
        if sentence.tokens is not None:
            return sentence
        return sentence._replace(tokens=self._encode(sentence.text))

    def _add(self, block: SegmentedBlock, sentences: Sequence[Sentence]) -> None:
        number, end = self.document.id, block.start + len(block.text)
        path = SEPARATOR.join(block.path)
        kind = KINDS.index(block.kind)
        self._blocks.append((number, block.number, kind, path, block.anchor, block.start, end))
        self._text += [block.gap, block.text]
        self._size += len(block.gap) + len(block.text)
        for sentence in sentences:
            row = (number, *sentence[:-2], int(sentence.may_answer), sentence.tokens)
            self._sentences.append((*row, compute_digest(sentence.text)))
        self._count += len(sentences)
        if self._size > _TEXT_PART:
            self._flush()

    def finish(self) -> StoredDocument:
        """Write the rest, and return the document."""
        self._flush()
        document = replace(self.document, sentences=self._count)
        self._store.query(
            "UPDATE documents SET sentences = ? WHERE id = ?", (self._count, document.id)
        )
        self._store.put_checksum(document.id, self._checksum)
        return document

    def _flush(self) -> None:
        packed = zlib.compress("".join(self._text).encode(), 1)
        rows = {
            "texts": [(self.document.id, self._parts, packed)],
            "blocks": self._blocks,
            "sentences": self._sentences,
        }
        for table, own in rows.items():
            if own:
                marks = ", ".join("?" * len(own[0]))
                self._store.run_many(f"INSERT INTO {table} VALUES ({marks})", own)
                self._checksum.add(table, own)
        self._parts += 1
        self._text, self._size, self._blocks, self._sentences = [], 0, [], []
