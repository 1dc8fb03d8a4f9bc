"""Parsed documents: blocks with their sentences, ready to be stored."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from rejoinder.documents.blocks import Kind


class Sentence(NamedTuple):
    """A sentence with its place in the document's text and in the file.

    Readers make it, and the index stores it as it is.
    """

    position: int
    """Counts from 0 inside the document."""
    text: str
    """On one line, but code after its lead-in keeps its lines."""
    start: int
    """The sentence is `text[start:end]` of the document's text, in code points."""
    end: int
    line: int | None = None
    page: int | None = None
    block: int = 0
    """The number of its block, which counts from 0 inside the document."""
    may_answer: bool = True
    """Whether it may be given as an answer; all others are context."""
    tokens: bytes | None = None
    """The WordPiece tokens (`WordPiece.encode`), once they are known."""


class SegmentedBlock(NamedTuple):
    """A block with its sentences; see `Block` for the other fields."""

    number: int
    kind: Kind
    text: str
    path: tuple[str, ...]
    anchor: str
    gap: str
    start: int
    """The block is `text[start : start + len(block.text)]` of the document's text."""
    sentences: tuple[Sentence, ...]


@dataclass(frozen=True, slots=True)
class ParsedDocument:
    """A document whose blocks are read as a stream, once."""

    name: str
    title: str
    blocks: Iterable[SegmentedBlock] = field(repr=False)
    metadata: Mapping[str, str] = field(default_factory=dict)
