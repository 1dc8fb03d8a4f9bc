"""Encodes a table of documents into parts of an index: a pure function on Arrow record batches.

Cutting sentences and word pieces is the costly part of building an index and needs nothing but
the text, so workers do it; one writer then adds the parts (`add_parts`).
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import pyarrow as pa

from rejoinder.batch.schemas import DOCUMENTS, ENCODED, check_columns
from rejoinder.documents.extract import Extract, clean, count_lines
from rejoinder.documents.read import ReadDocument, ReadSentence, to_document
from rejoinder.errors import InputError
from rejoinder.index.index import Index
from rejoinder.index.sqlite.documents import Store
from rejoinder.index.update import take_tokenizer
from rejoinder.text.wordpiece import WordPiece


def encode_table(batch: pa.RecordBatch, *, pieces: WordPiece, first_row: int = 0) -> pa.RecordBatch:
    """Return each document with its sentences and their word pieces; columns as in `ENCODED`.

    Args:
        first_row: where the batch begins in its table, for errors.

    Raises:
        InputError: a column is missing or of another type, or a row has no id or text.
    """
    check_columns(batch.schema, DOCUMENTS)
    rows = []
    for place, row in enumerate(batch.to_pylist()):
        if not row["id"] or row["text"] is None:
            problem = "the id is empty" if not row["id"] else "the text is null"
            raise InputError(f"row {first_row + place}: {problem}")
        rows.append(_encode(row, pieces))
    return pa.RecordBatch.from_pylist(rows, schema=ENCODED)


def _encode(row: Mapping[str, Any], pieces: WordPiece) -> dict[str, Any]:
    text = clean(row["text"])
    document = to_document(
        row["id"], row["id"], Extract(text, clean(row.get("title") or ""), places=count_lines(text))
    )
    return {
        "name": document.name,
        "title": document.title,
        "text": document.text,
        "sentences": [
            {
                "text": sentence.text,
                "start": sentence.start,
                "end": sentence.end,
                "line": sentence.line,
                "paragraph": sentence.paragraph,
                "is_heading": sentence.is_heading,
                "tokens": pieces.encode(sentence.text),
            }
            for sentence in document.sentences
        ],
    }


def add_parts(index: Index, batches: Iterable[pa.RecordBatch], pieces: WordPiece) -> Iterator[int]:
    """Add encoded documents to an index, and give how many after each batch; then it is on disk.

    A document that is there already under its name is replaced, so parts may be added twice.
    """
    with index.changing() as writer:
        take_tokenizer(writer.store, pieces)
        for batch in batches:
            rows = batch.to_pylist()
            writer.change(lambda store, generation: _write(rows, store, generation))  # noqa: B023
            yield len(rows)
        writer.finish()


def _write(
    rows: list[dict[str, Any]], store: Store, generation: int
) -> tuple[list[int], list[int]]:
    added: list[int] = []
    removed: list[int] = []
    for row in rows:
        file = row["name"].encode()
        removed += store.remove_file(file, generation)
        sentences = tuple(_to_sentence(item) for item in row["sentences"])
        document = ReadDocument(row["name"], row["title"], row["text"], sentences)
        tokens = [item["tokens"] for item in row["sentences"]]
        added.append(store.add_document(file, document, tokens, generation))
    return added, removed


def _to_sentence(item: Mapping[str, Any]) -> ReadSentence:
    return ReadSentence(
        item["text"],
        item["start"],
        item["end"],
        item["line"],
        None,
        item["paragraph"],
        item["is_heading"],
    )
