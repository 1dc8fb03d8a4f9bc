"""Encode a table of documents for an index: a pure function on Arrow record batches.

Sentence splitting and tokenisation are the costly part of building an index and need only the
text, so workers do them; one writer then adds the results to the index (`add_parts`).
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import pyarrow as pa

from rejoinder.batch.schemas import DOCUMENTS, ENCODED, check_columns
from rejoinder.documents.blocks import ExtractedDocument, sanitize
from rejoinder.documents.formats.text import read_text
from rejoinder.documents.parsed import ParsedDocument, SegmentedBlock, Sentence
from rejoinder.documents.reading import parse_document
from rejoinder.errors import InputError
from rejoinder.index.index import Index
from rejoinder.text.wordpiece import WordPiece


def encode_table(
    batch: pa.RecordBatch, *, tokenizer: WordPiece, first_row: int = 0
) -> pa.RecordBatch:
    """Return each document with its sentences and tokens, with the columns of `ENCODED`.

    Args:
        first_row: the index of the first row in its file, for error messages.

    Raises:
        InputError: a column is missing or of another type, or a row has no id or text.
    """
    check_columns(batch.schema, DOCUMENTS)
    rows = []
    for place, row in enumerate(batch.to_pylist()):
        if not row["id"] or row["text"] is None:
            problem = "the id is empty" if not row["id"] else "the text is null"
            raise InputError(f"row {first_row + place}: {problem}")
        rows.append(_encode(row, tokenizer))
    return pa.RecordBatch.from_pylist(rows, schema=ENCODED)


def _encode(row: Mapping[str, Any], tokenizer: WordPiece) -> dict[str, Any]:
    extracted = ExtractedDocument(sanitize(row.get("title") or ""), read_text(row["text"]))
    document = parse_document(row["id"], row["id"], extracted, is_record=True)
    blocks = [
        block._asdict()
        | {
            "sentences": [
                sentence._replace(tokens=tokenizer.encode(sentence.text))._asdict()
                for sentence in block.sentences
            ]
        }
        for block in document.blocks
    ]
    return {"name": document.name, "title": document.title, "blocks": blocks}


def add_parts(index: Index, batches: Iterable[pa.RecordBatch]) -> Iterator[int]:
    """Add encoded documents to an index; yield how many, once each batch is on disk.

    A document replaces the one of the same name, so parts may be added twice.
    """
    with index.writing() as writer:
        for batch in batches:
            with writer.change() as change:
                for document in to_documents(batch):
                    change.replace(document)
            yield batch.num_rows
        writer.commit()


def to_documents(batch: pa.RecordBatch) -> Iterator[ParsedDocument]:
    """Yield the documents of encoded rows, with the tokens of their sentences."""
    for row in batch.to_pylist():
        yield ParsedDocument(row["name"], row["title"], _decode(row["blocks"]))


def _decode(blocks: Iterable[Mapping[str, Any]]) -> Iterator[SegmentedBlock]:
    position = 0
    for number, fields in enumerate(blocks):
        sentences = tuple(
            Sentence(position=place, block=number, **item)
            for place, item in enumerate(fields["sentences"], position)
        )
        position += len(sentences)
        yield SegmentedBlock(
            number,
            fields["kind"],
            fields["text"],
            tuple(fields["path"]),
            "",
            fields["gap"],
            fields["start"],
            sentences,
        )
