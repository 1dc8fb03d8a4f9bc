"""Pages: the files of the manuals as a reader extracts them, in one form for all readers."""

import json
import re
import subprocess
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

MAX_BLOCK = 1500


class ReadSentence(NamedTuple):
    """A sentence of a page."""

    text: str
    is_offered: bool
    """Whether it may be given as an answer."""


class ReadBlock(NamedTuple):
    """A block of a page."""

    kind: str
    text: str
    path: tuple[str, ...]
    sentences: tuple[ReadSentence, ...]


class Page(NamedTuple):
    """One document of a file."""

    file: str
    """Below the folder of all manuals, so its first part is the package."""
    title: str
    blocks: tuple[ReadBlock, ...]
    problem: str = ""
    """Why the file could not be read."""

    @property
    def package(self) -> str:
        """The package whose manual it belongs to."""
        return self.file.split("/", 1)[0]

    @property
    def format(self) -> str:
        """One of html, pdf and text."""
        return find_format(self.file)

    @property
    def offered(self) -> Iterator[str]:
        """The sentences that may answer."""
        for block in self.blocks:
            for sentence in block.sentences:
                if sentence.is_offered:
                    yield sentence.text


def find_format(file: str) -> str:
    """Return html, pdf or text."""
    suffix = Path(file.removesuffix(".gz")).suffix.lower()
    return {".html": "html", ".htm": "html", ".pdf": "pdf"}.get(suffix, "text")


def read_pages(command: Sequence[str], environment: Mapping[str, str]) -> Iterator[Page]:
    """Run a reader of `readers.py` in a process of its own, and yield its pages.

    It writes one JSON list per document: file, problem, title, and blocks as kind, text, path and
    sentences.
    """
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=environment, text=True) as process:
        assert process.stdout is not None
        for line in process.stdout:
            file, problem, title, blocks = json.loads(line)
            yield Page(file, title, tuple(_to_block(*block) for block in blocks), problem)
    if process.returncode:
        raise SystemExit(f"the reader failed: {' '.join(command)[:200]}")


def _to_block(
    kind: str, text: str, path: Sequence[str], sentences: Sequence[Sequence[object]]
) -> ReadBlock:
    found = tuple(ReadSentence(str(text), bool(offered)) for text, offered in sentences)
    return ReadBlock(kind, text, tuple(path), found)


def normalize(text: str) -> str:
    """Return the letters and digits of a text, in lower case, super- and subscripts as plain ones.

    Sphinx's links to the source, `[source]`, are left out.

    >>> normalize("up to 2³¹-1, or 2^31 - 1")
    'upto2311or2311'
    """
    plain = unicodedata.normalize("NFKC", text.replace("[source]", ""))
    return "".join(filter(str.isalnum, plain.casefold()))


def normalize_row(text: str) -> str:
    """Return a table row in the same form, without the column headings that a reader added.

    >>> normalize_row("Option: -v; Effect: shows more")
    'vshowsmore'
    """
    return normalize(" ".join(_HEADING.sub("", cell) for cell in text.split("; ")))


_HEADING = re.compile(r"^[^:;]{1,80}: ")
