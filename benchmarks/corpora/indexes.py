"""The indexes of the corpora, built through the product, and their sentences."""

import json
import shutil
import sys
from collections.abc import Iterable
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

import numpy as np

from benchmarks.manuals.readers import ROOT
from rejoinder.documents.passages import iterate_passages
from rejoinder.documents.reading import convert_document
from rejoinder.index.index import Index
from rejoinder.index.sqlite.documents import DocumentStore
from rejoinder.models.sentence_encoder.encoder import Matrix, SentenceEncoder
from rejoinder.types import Document, Source

PARTS = ("documents", "index", "text", "models/sentence_encoder", "weights/static-encoder")
"""The packages and weights that decide what an index holds."""


class Entry(NamedTuple):
    """A sentence of an index."""

    document: int
    position: int
    title: str
    text: str
    may_answer: bool


def compute_source_digest() -> str:
    """Return a digest of the source that builds indexes: another source needs another index."""
    digest = sha256()
    for part in PARTS:
        for path in sorted((ROOT / "src" / "rejoinder" / part).rglob("*.*")):
            if path.name == "manifest.json" or path.suffix == ".py":
                digest.update(path.read_bytes())
    return digest.hexdigest()[:12]


def build_index(folder: Path, content: Path | list[Document]) -> Index:
    """Open an index of a folder of files or of documents; build it where there is none."""
    if not folder.exists():
        print(f"building {folder}", file=sys.stderr)
        partial = folder.with_suffix(".partial")
        shutil.rmtree(partial, ignore_errors=True)
        with Index(partial, create=True) as index:
            if isinstance(content, Path):
                index.add([content])
            else:
                index.add_documents(content)
        partial.rename(folder)
    return Index(folder)


def write_documents(documents: Iterable[Document], folder: Path) -> Path:
    """Write JSON lines with the name, title and blocks of documents, each a list of sentences.

    Returns the path; its name holds a digest, so that other documents get another index.
    """
    lines = []
    for document in documents:
        parsed = convert_document(document, {})
        blocks = [[item.text for item in block.sentences] for block in parsed.blocks]
        lines.append(json.dumps([parsed.name, parsed.title, blocks]) + "\n")
    content = "".join(lines).encode("utf-8")
    path = folder / f"pooled-{sha256(content).hexdigest()[:12]}.jsonl"
    path.write_bytes(content)
    return path.resolve()


def encode_sentences(store: DocumentStore, encoder: SentenceEncoder) -> tuple[list[str], Matrix]:
    """Return all sentences that may answer, and their vectors, shape (sentences, width)."""
    texts, parts = [], []
    for document in store.get_documents():
        passages = list(iterate_passages(store.iterate_blocks(document.id)))
        texts += [passage.sentence.text for passage in passages]
        parts.append(encoder.encode_passages(document.title, passages))
    return texts, np.concatenate(parts)


def list_entries(index: Index) -> list[Entry]:
    """Return all sentences of an index, in document order."""
    return [
        Entry(document.id, row.position, document.title, row.text, bool(row.may_answer))
        for document in index.store.get_documents()
        for row in index.store.get_sentences(document.id)
    ]


class Blocks:
    """Finds the block around a sentence: what a user is shown of its place."""

    def __init__(self, index: Index) -> None:
        self._index = index
        self._get_rows = lru_cache(64)(index.store.get_sentences)

    def show(self, document: int, position: int) -> str:
        """Return the text of the block of a sentence."""
        rows = self._get_rows(document)
        block = rows[position].block
        return " ".join(row.text for row in rows if row.block == block)

    def show_source(self, source: Source) -> str:
        """Return the text of the block of an answer's source."""
        (document, *_) = self._index.store.find_documents("name", [source.document])
        rows = self._get_rows(document.id)
        position = next(row.position for row in rows if row.start == source.start)
        return self.show(document.id, position)
