"""Reads the user's files into documents whose sentences know their place."""

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from rejoinder.errors import InputError
from rejoinder.records import Document
from rejoinder.text.sentences import Sentence, split_sentences

SUFFIXES = frozenset({".txt", ".text", ".md", ".markdown", ".rst"})


@dataclass(frozen=True, slots=True)
class ReadDocument:
    """A document with the text that it was read from."""

    document: Document
    text: str
    sentences: tuple[Sentence, ...]

    def find_line(self, start: int) -> int:
        """Return the number of the line that holds a character, from 1."""
        return self.text.count("\n", 0, start) + 1


def find_files(paths: Iterable[Path]) -> list[Path]:
    """Return the files that are meant: named ones, and the readable ones below folders.

    Hidden files and folders are passed over, and links to folders are not followed, so a
    folder that links to itself does no harm.

    Raises:
        InputError: a path does not exist, or there is nothing to read.
    """
    named = list(paths)
    files: list[Path] = []
    for path in named:
        if path.is_dir():
            files.extend(_walk(path))
        elif path.exists():
            files.append(path)
        else:
            raise InputError(f"{path}: no such file or folder")
    if not files:
        places = ", ".join(map(str, named))
        raise InputError(f"nothing to read in {places}; files end in {', '.join(sorted(SUFFIXES))}")
    return list(dict.fromkeys(files))


def read_document(path: Path) -> ReadDocument:
    """Read one UTF-8 text or Markdown file.

    The title is the first heading where the file begins with one, else the file's name.

    Raises:
        InputError: the file cannot be read or is not UTF-8 text.
    """
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: not UTF-8 text (byte {error.start + 1})") from error
    sentences = tuple(split_sentences(text))
    title = path.stem
    if sentences and sentences[0].is_heading:
        title = sentences[0].cut_from(text)
    document = Document(str(path), title, tuple(item.cut_from(text) for item in sentences))
    return ReadDocument(document, text, sentences)


def _walk(folder: Path) -> Iterator[Path]:
    for place, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(files):
            path = Path(place, name)
            if path.suffix.lower() in SUFFIXES and not name.startswith("."):
                yield path
