"""What an index holds of files, documents and sentences, as values."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple


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
