"""Reads one file, of any format that we know, into documents."""

import os
import stat
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from rejoinder.documents.discovery import show_path
from rejoinder.documents.encoding import decode
from rejoinder.documents.extract import Extract, clean, count_lines
from rejoinder.documents.sandbox import READERS, Child
from rejoinder.documents.tables import read_csv, read_jsonl
from rejoinder.errors import InputError
from rejoinder.text.sentences import split_sentences

MAX_FILE_BYTES = 200_000_000


class ReadSentence(NamedTuple):
    """A sentence, on one line, and where it stands in the document's text and in the file."""

    text: str
    start: int
    end: int
    line: int | None
    page: int | None
    paragraph: int
    is_heading: bool


@dataclass(frozen=True, slots=True)
class ReadDocument:
    """A document with the text that it was read from."""

    name: str
    title: str
    text: str = field(repr=False)
    sentences: tuple[ReadSentence, ...] = field(repr=False)
    metadata: Mapping[str, str] = field(default_factory=dict)


def read_file(path: Path, *, child: Child, name: str | None = None) -> list[ReadDocument]:
    """Read the documents of a file: one, or one per row of a table.

    The title is the one that the file gives, else its first heading where it begins with
    one, else the file's name.

    Args:
        name: what to call the file; its path if not said.

    Raises:
        InputError: the file cannot be read, with its name and the reason.
    """
    shown = name or show_path(path)
    stem = Path(shown).stem
    try:
        check_file(path)
        if path.suffix.lower() in READERS:
            extracts: Iterable[Extract] = [child.read(path)]
        else:
            extracts = _read_here(path)
        return [to_document(shown, stem, extract) for extract in _name_rows(extracts)]
    except InputError as error:
        raise InputError(f"{shown}: {error}") from error
    except OSError as error:
        raise InputError(f"{shown}: {error.strerror}") from error


def check_file(path: Path) -> os.stat_result:
    """Return what the system knows about a file that may be read.

    Raises:
        InputError: it is no file (a pipe would be waited for), or too large.
    """
    found = path.stat()
    if not stat.S_ISREG(found.st_mode):
        raise InputError("not a file")
    if found.st_size > MAX_FILE_BYTES:
        size, most = found.st_size // 1_000_000, MAX_FILE_BYTES // 1_000_000
        raise InputError(f"{size} MB, more than {most} MB; split it")
    return found


def _read_here(path: Path) -> Iterable[Extract]:
    text = decode(path.read_bytes())
    match path.suffix.lower():
        case ".jsonl":
            return read_jsonl(text)
        case ".csv" | ".tsv":
            return read_csv(text)
        case _:
            return [Extract(clean(text), places=count_lines(text))]


def _name_rows(extracts: Iterable[Extract]) -> Iterator[Extract]:
    """Yield the extracts; two rows of one name are told apart by a number."""
    seen: dict[str, int] = {}
    for extract in extracts:
        seen[extract.row] = seen.get(extract.row, 0) + 1
        if seen[extract.row] == 1:
            yield extract
        else:
            row = f"{extract.row}~{seen[extract.row]}"
            yield Extract(extract.text, extract.title, row, extract.places, extract.metadata)


def to_document(path: str, stem: str, extract: Extract) -> ReadDocument:
    """Return a document of a file with its sentences; `stem` is its title where it gives none."""
    sentences = tuple(_place_sentences(extract))
    title = extract.title or (stem if not extract.row else f"{stem} {extract.row}")
    if not extract.title and sentences and sentences[0].is_heading:
        title = sentences[0].text
    name = f"{path}#{extract.row}" if extract.row else path
    return ReadDocument(name, clean(title), extract.text, sentences, extract.metadata)


def _place_sentences(extract: Extract) -> Iterator[ReadSentence]:
    text, places = extract.text, extract.places
    paragraph, end = 0, 0
    for found in split_sentences(text):
        if found.is_heading or text.count("\n", end, found.start) > 1:
            paragraph += 1
        place = places.find(found.start) if places else None
        yield ReadSentence(
            found.extract(text),
            found.start,
            found.end,
            place if places and places.unit == "line" else None,
            place if places and places.unit == "page" else None,
            paragraph,
            found.is_heading,
        )
        end = found.end
        paragraph += found.is_heading
