"""One module per format: `read` turns a file into documents of blocks.

To add a format, write its module and add its suffixes to `FORMATS`.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from hashlib import sha256
from importlib import import_module
from pathlib import PurePath
from typing import IO

from rejoinder.documents.blocks import Block, ExtractedDocument

FORMATS = {
    ".txt": "text",
    ".text": "text",
    ".md": "markup.markdown",
    ".markdown": "markup.markdown",
    ".rst": "markup.rst",
    ".rst.txt": "markup.rst",  # Sphinx publishes its sources like this
    ".adoc": "markup.asciidoc",
    ".asciidoc": "markup.asciidoc",
    ".man": "markup.man",
    ".srt": "subtitles",
    ".vtt": "subtitles",
    ".jsonl": "json_lines",
    ".csv": "tables",
    ".tsv": "tables",
    ".html": "html",
    ".htm": "html",
    ".xhtml": "html",
    ".pdf": "pdf",
    ".epub": "epub",
    ".docx": "office.docx",
    ".odt": "office.odt",
    ".ods": "office.odt",
    ".odp": "office.odt",
    ".pptx": "office.pptx",
    ".xlsx": "office.xlsx",
    ".ipynb": "notebook",
    ".eml": "mail",
    ".mbox": "mail",
}
"""The modules of this package, by suffix."""

SAFE = frozenset({"text", "tables", "json_lines"})
"""Formats that need no sandbox: their readers take linear time and little memory."""

UNNAMED = "text"
"""The format of a file that the user names, whatever its suffix."""

_MAN = re.compile(r"\.[1-9][a-z]{0,5}")
_TEXTS = frozenset({"readme", "install", "news", "changes", "changelog", "authors", "faq", "todo"})


def find_format(name: str) -> tuple[str, str] | None:
    """Return the suffix and the format of a file, or None for a file that is not read.

    >>> find_format("guide.PDF"), find_format("ls.1.gz"), find_format("photo.png")
    (('.pdf', 'pdf'), ('.1', 'markup.man'), None)
    """
    path = PurePath(name.lower().removesuffix(".gz"))
    for suffix in ("".join(path.suffixes[-2:]), path.suffix):
        if suffix in FORMATS:
            return suffix, FORMATS[suffix]
    if _MAN.fullmatch(path.suffix):
        return path.suffix, "markup.man"
    return ("", "text") if path.name in _TEXTS else None


def find_suffix(name: str) -> str | None:
    """Return the whole suffix by which a file is recognised, or None for one that is not read."""
    found = find_format(name)
    if found is None:
        return None
    return (found[0] or ".txt") + (".gz" if name.lower().endswith(".gz") else "")


MAX_HEADING = 300
"""Characters of a heading in a path, which every block below it repeats, and of an anchor."""
MAX_TITLE = 500
"""Characters of a title, which every answer repeats."""
MAX_ROW = 500
"""Characters of the name that a row of a table gives itself."""


def read(file: IO[bytes], format_: str) -> Iterator[ExtractedDocument]:
    """Yield the documents of a file; the format's module is imported with its first file."""
    module = import_module(f"{__name__}.{format_}")
    for document in module.read(file):
        yield replace(
            document,
            title=document.title[:MAX_TITLE],
            row=_shorten_row(document.row),
            blocks=_shorten_places(document.blocks),
        )


def _shorten_row(name: str) -> str:
    """Return a name that is still another one for another row."""
    if len(name) <= MAX_ROW:
        return name
    return f"{name[: MAX_ROW - 20]}~{sha256(name.encode()).hexdigest()[:16]}"


def _shorten_places(blocks: Iterable[Block]) -> Iterator[Block]:
    """Yield blocks; a book without line ends in its first heading would else repeat it all."""
    for block in blocks:
        if any(len(heading) > MAX_HEADING for heading in block.path):
            block = block._replace(path=tuple(heading[:MAX_HEADING] for heading in block.path))
        if len(block.anchor) > MAX_HEADING:
            block = block._replace(anchor="")
        yield block
