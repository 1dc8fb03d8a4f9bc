"""What a search engine stores: one record per sentence, and the schema of all of them.

Records have everything that a question needs, so that a server of questions has no other state.
Words are analysed before they are stored: `terms` are the stems that the embedded index has, with
spaces between them, and an engine splits them at spaces and at nothing else.
"""

from collections.abc import Mapping
from typing import NamedTuple

import msgspec

from rejoinder.documents.blocks import Kind
from rejoinder.errors import StoreError
from rejoinder.index.candidates import drop_title
from rejoinder.index.file_reader import FOLDER
from rejoinder.index.folders import list_ancestors, list_spellings
from rejoinder.index.fulltext.full_text_index import FORMAT as TERMS_FORMAT
from rejoinder.models.sentence_encoder.encoder import Vector
from rejoinder.types import Where

FORMAT = 1
"""The version of the records and of how engines store them."""


class SentenceRecord(NamedTuple):
    """A sentence as a search engine stores it."""

    id: str
    """`document#position`, the same in every engine and every export."""
    document: str
    """The id of the document."""
    revision: str
    """Changes when the document does."""
    position: int
    """Counts from 0 inside the document, without gaps."""
    may_answer: bool
    """Whether a search may find it; all others are context, and have no terms and no vector."""
    text: str
    title: str
    path: tuple[str, ...]
    """The headings above it, outermost first, the title included where it is a heading."""
    term: str
    """The term that it defines, in a list of definitions; else empty."""
    raw: str
    """The document's text from the end of the sentence before it, or from the start of its block,
    to its own end; empty where that is `text`, after a space unless it is the block's first."""
    kind: Kind
    """The kind of its block: paragraph, item, row, …"""
    block: int
    """The number of its block inside the document."""
    start: int
    """The sentence is `text[start:end]` of the document's text, in code points."""
    end: int
    line: int | None
    page: int | None
    anchor: str
    url: str
    metadata: Mapping[str, str]
    """Of the document."""
    tags: tuple[str, ...]
    """`key=value` of the metadata, for filters; a folder has those of the folders above it, too."""
    digest: int
    """The same for copies of a sentence; others may share it."""
    sentences: int
    """How many sentences the document has."""
    passage: str = ""
    """The part of its section that holds it, for stages that read passages; read by id only."""
    terms: Mapping[str, str] | None = None
    """The terms of each field (`index.fulltext.terms.FIELDS`); only written."""
    vector: Vector | None = None
    """Of length 1; only written."""

    @property
    def headings(self) -> tuple[str, ...]:
        """The headings above it, outermost first, without the title."""
        return drop_title(self.path, self.title)


class Schema(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What all records of one name have in common; another schema needs another name."""

    source: str
    """Identifies the index that they were exported from."""
    encoder: str
    """The hash of the encoder of the vectors; empty where there are none."""
    bundle: str
    """The folder of its bundle; empty for the shipped one."""
    width: int
    """Numbers of a vector."""
    format: int = FORMAT
    terms_format: int = TERMS_FORMAT

    def to_json(self) -> str:
        """Return it as JSON."""
        return msgspec.json.encode(self).decode()


def read_schema_json(name: str, text: str | bytes) -> Schema:
    """Return the schema of an engine's index of that name.

    Raises:
        StoreError: it is not a schema of this version of rejoinder.
    """
    try:
        schema = msgspec.json.decode(text, type=Schema)
    except (msgspec.DecodeError, UnicodeError) as error:
        problem = f"its schema is not one of rejoinder ({error})"
        raise StoreError(f"{name}: {problem}; {_OTHER_NAME}") from error
    if (schema.format, schema.terms_format) != (FORMAT, TERMS_FORMAT):
        found = f"{schema.format}.{schema.terms_format}"
        raise StoreError(
            f"{name}: was exported by another version of rejoinder (format {found}, this is"
            f" {FORMAT}.{TERMS_FORMAT}); {_OTHER_NAME}"
        )
    return schema


_OTHER_NAME = "export the index again, under another name"


def make_id(document: str, position: int) -> str:
    """Return the id of a sentence."""
    return f"{document}#{position}"


def make_tags(metadata: Mapping[str, str]) -> tuple[str, ...]:
    """Return the tags of a document.

    >>> make_tags({"lang": "en", "folder": "/notes/tea"})
    ('lang=en', 'folder=/notes/tea', 'folder=/notes', 'folder=/')
    """
    return tuple(
        f"{key}={own}"
        for key, value in metadata.items()
        for own in (list_ancestors(value) if key == FOLDER else [value])
    )


def make_tag_filters(where: Where | None) -> tuple[tuple[str, ...], ...]:
    """Return the tags that a filter asks for: of each group, a record has at least one.

    >>> make_tag_filters({"lang": ["en", "de"], "team": "red"})
    (('lang=en', 'lang=de'), ('team=red',))
    """
    groups = []
    for key, value in (where or {}).items():
        values = [value] if isinstance(value, str) else list(value)
        if key == FOLDER:
            values = sorted({name for each in values for name in list_spellings(each)})
        groups.append(tuple(f"{key}={own}" for own in values))
    return tuple(groups)
