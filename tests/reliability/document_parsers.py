"""The readers of documents as parsers, one or more per format, with valid files as seeds."""

import gzip
import io
import tempfile
from functools import partial
from pathlib import Path

from rejoinder.documents import formats, sandbox
from rejoinder.documents.parsed import SegmentedBlock
from rejoinder.documents.reading import parse_document
from rejoinder.documents.segment import MAX_BLOCK
from rejoinder.errors import InputError
from rejoinder.text.sentences import MAX_SENTENCE
from tests.reliability.mutations import pack
from tests.reliability.parser import Parser


def read_document(raw: bytes, format_: str) -> None:
    """Read the documents of a file to their end, as the index does.

    This happens in the process of the fuzzer, because a sandbox would hide exceptions.
    """
    try:
        for document in formats.read(io.BytesIO(raw), format_):
            parsed = parse_document("a", "a", document, is_record=bool(document.row))
            _store([parsed.title, document.row, *document.metadata, *document.metadata.values()])
            for block in parsed.blocks:
                _check_block(block)
    except RecursionError as error:
        if format_ in formats.SAFE:
            raise
        raise InputError("the sandbox refuses what is nested too deep") from error


def _check_block(block: SegmentedBlock) -> None:
    _store([block.text, block.anchor, block.gap, *block.path])
    assert len(block.text) <= MAX_BLOCK or len(block.sentences) <= 1, len(block.text)
    for sentence in block.sentences:
        assert 0 <= sentence.start - block.start <= sentence.end - block.start <= len(block.text)
        assert 0 < len(sentence.text) <= MAX_SENTENCE


def _store(texts: list[str]) -> None:
    """Fail where SQLite would."""
    for text in texts:
        text.encode()


def read_gzipped(raw: bytes, format_: str) -> None:
    """Read a gzipped file."""
    with tempfile.NamedTemporaryFile(suffix=".gz") as packed:
        packed.write(raw)
        packed.flush()
        with sandbox._open(Path(packed.name)) as file:
            read_document(file.read(), format_)


def read_seeds(name: str) -> tuple[bytes, ...]:
    """Return the seeds in a folder; a folder in it holds the parts of an archive."""
    return tuple(
        pack({str(part.relative_to(path)): part.read_bytes() for part in _find_files(path)})
        if path.is_dir()
        else path.read_bytes()
        for path in sorted((Path(__file__).parent / "seeds" / name).iterdir())
    )


def _find_files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())


FORMATS = {
    "text": "text",
    "markdown": "markup.markdown",
    "rst": "markup.rst",
    "asciidoc": "markup.asciidoc",
    "man": "markup.man",
    "subtitles": "subtitles",
    "csv": "tables",
    "jsonl": "json_lines",
    "html": "html",
    "pdf": "pdf",
    "epub": "epub",
    "word": "office.docx",
    "opendocument": "office.odt",
    "powerpoint": "office.pptx",
    "excel": "office.xlsx",
    "notebook": "notebook",
    "mail": "mail",
    "mailbox": "mail",
}
"""Modules of readers, by the folders of their seeds."""

DOCUMENT_PARSERS: dict[str, Parser] = {
    **{
        f"document, {name}": Parser(partial(read_document, format_=format_), read_seeds(name))
        for name, format_ in FORMATS.items()
    },
    "document, gzipped": Parser(
        partial(read_gzipped, format_="text"),
        tuple(gzip.compress(seed, mtime=0) for seed in read_seeds("text")),
    ),
}
"""Parsers of documents, by the names that reports use."""
