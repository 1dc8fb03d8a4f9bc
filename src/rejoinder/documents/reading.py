"""Reads one file, of any known format, into documents."""

import os
import stat
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from rejoinder.documents.discovery import TABLES, show_path
from rejoinder.documents.encoding import decode
from rejoinder.documents.parsed import (
    ExtractedText,
    ParsedDocument,
    Sentence,
    locate_lines,
    sanitize,
)
from rejoinder.documents.sandbox import FORMATS, SandboxedReader
from rejoinder.errors import InputError
from rejoinder.text.sentences import split_sentences
from rejoinder.types import Document

MAX_FILE_BYTES = 200_000_000


def read_file(
    path: Path, *, sandbox: SandboxedReader, name: str | None = None
) -> list[ParsedDocument]:
    """Read the documents of a file: one, or one per row of a table.

    The title is the one that the file gives, else its first heading where it begins with
    one, else the file's name.  In document ids and errors the file is called `name`, or by
    its path.
    """
    shown = name or show_path(path)
    stem = Path(shown).stem
    try:
        stat_file(path)
        is_sandboxed = path.suffix.lower() in FORMATS
        extracts = [sandbox.read(path)] if is_sandboxed else _read_here(path)
        return [parse_document(shown, stem, extract) for extract in _number_rows(extracts)]
    except InputError as error:
        raise InputError(f"{shown}: {error}") from error
    except OSError as error:
        raise InputError(f"{shown}: {error.strerror}") from error


def stat_file(path: Path) -> os.stat_result:
    """Return the status of a file; refuse one that is too large, or a pipe, which would block."""
    status = path.stat()
    if not stat.S_ISREG(status.st_mode):
        raise InputError("not a file")
    if status.st_size > MAX_FILE_BYTES:
        size, most = status.st_size // 1_000_000, MAX_FILE_BYTES // 1_000_000
        raise InputError(f"{size} MB, more than {most} MB; split it")
    return status


def parse_document(name: str, stem: str, extract: ExtractedText) -> ParsedDocument:
    """Split a text into sentences; `stem` is the title where there is no other."""
    sentences = tuple(_locate_sentences(extract))
    title = extract.title or (stem if not extract.row else f"{stem} {extract.row}")
    if not extract.title and sentences and sentences[0].is_heading:
        title = sentences[0].text
    full_name = f"{name}#{extract.row}" if extract.row else name
    return ParsedDocument(full_name, sanitize(title), extract.text, sentences, extract.metadata)


def convert_document(document: Document, metadata: Mapping[str, str]) -> ParsedDocument:
    """Return a document from memory in the form of a file's; its own sentences are kept."""
    id_, title = document.id, sanitize(document.title)
    if not id_ or sanitize(id_) != id_:
        raise InputError(f"document {id_!r}: the id must be text without control characters")
    if not document.sentences and not document.text:
        raise InputError(f"document {id_!r} has neither text nor sentences")
    merged = {**document.metadata, **metadata}
    values = {sanitize(str(key)): sanitize(str(value)) for key, value in merged.items()}
    if not document.sentences:
        text = sanitize(document.text)
        extract = ExtractedText(text, title, locations=locate_lines(text), metadata=values)
        return parse_document(id_, id_, extract)
    sentences, start = [], 0
    for position, given in enumerate(document.sentences):
        text = " ".join(sanitize(given).split())
        if not text:
            raise InputError(f"document {id_!r}: sentence {position} is empty")
        sentences.append(Sentence(position, text, start, start + len(text)))
        start += len(text) + 1
    text = "\n".join(sentence.text for sentence in sentences)
    return ParsedDocument(id_, title or id_, text, tuple(sentences), values)


def _read_here(path: Path) -> Iterable[ExtractedText]:
    text, suffix = decode(path.read_bytes()), path.suffix.lower()
    if suffix not in TABLES:
        return [ExtractedText(sanitize(text), locations=locate_lines(text))]
    from rejoinder.documents.tables import read_csv, read_jsonl

    return read_jsonl(text) if suffix == ".jsonl" else read_csv(text)


def _number_rows(extracts: Iterable[ExtractedText]) -> Iterator[ExtractedText]:
    """Yield the extracts; a number tells rows of the same name apart."""
    seen: dict[str, int] = {}
    for extract in extracts:
        row = extract.row
        seen[row] = seen.get(row, 0) + 1
        yield extract if seen[row] == 1 else replace(extract, row=f"{row}~{seen[row]}")


def _locate_sentences(extract: ExtractedText) -> Iterator[Sentence]:
    text, locations = extract.text, extract.locations
    paragraph, end = 0, 0
    for position, span in enumerate(split_sentences(text)):
        if span.is_heading or text.count("\n", end, span.start) > 1:
            paragraph += 1
        number = locations.find(span.start) if locations else None
        yield Sentence(
            position,
            span.extract(text),
            span.start,
            span.end,
            number if locations and locations.unit == "line" else None,
            number if locations and locations.unit == "page" else None,
            paragraph,
            span.is_heading,
        )
        end = span.end
        paragraph += span.is_heading
