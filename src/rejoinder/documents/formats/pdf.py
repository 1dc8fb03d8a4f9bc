"""Extracts the text of PDF files, page by page (pypdfium2; docs/decisions/0012)."""

import re
from collections.abc import Iterator
from typing import Any

from rejoinder.documents.parsed import ExtractedText, join_blocks, sanitize
from rejoinder.errors import InputError


def read_pdf(raw: bytes) -> ExtractedText:
    """Return the text of all pages; a PDF that is encrypted or holds no text is refused."""
    import pypdfium2

    try:
        with pypdfium2.PdfDocument(raw) as file:
            title = file.get_metadata_value("Title")
            pages = [_read_page(page.get_textpage()) for page in file]
    except pypdfium2.PdfiumError as error:
        raise InputError(f"not a PDF that can be read ({error})") from error
    if not any(pages):
        raise InputError("a PDF without text (scanned pages?)")
    return join_blocks(sanitize(title).strip(), pages, "page", range(1, len(pages) + 1))


def _read_page(page: Any) -> str:
    text: str = page.get_text_bounded()
    lines = _BROKEN_WORD.sub("", text).splitlines()
    return "\n".join(_split_paragraphs([sanitize(line).strip() for line in lines]))


# pdfium writes U+FFFE for a hyphen that only breaks the line.
_BROKEN_WORD = re.compile("[\ufffe\x02](?:\r?\n)?")
_BEGINS = re.compile(r"[A-Z0-9•‣◦*“\"]")


def _split_paragraphs(lines: list[str]) -> Iterator[str]:
    """Yield lines, with an empty line after a short one that ends a paragraph.

    A page has no empty lines of its own.  A heading or the last line of a paragraph is much
    shorter than most lines, and the next line begins like a sentence.
    """
    lengths = sorted(map(len, lines))
    width = lengths[3 * len(lengths) // 4] if lengths else 0  # the longest may belong to a table
    for line, following in zip(lines, [*lines[1:], ""], strict=False):
        yield line
        if line and len(line) < 0.7 * width and _BEGINS.match(following):
            yield ""
