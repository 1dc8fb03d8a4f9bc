"""Reads PDF files: a first pass finds lines, a second one makes blocks of them."""

from collections.abc import Iterable, Iterator
from typing import IO, Any, NamedTuple

import pypdfium2

from rejoinder.documents.blocks import Block, ExtractedDocument, fold, sanitize
from rejoinder.documents.formats.pdf.blocks import PageAssembler
from rejoinder.documents.formats.pdf.glyphs import read_spans
from rejoinder.documents.formats.pdf.headings import HeadingFinder, OutlineEntry, read_outline
from rejoinder.documents.formats.pdf.hyphens import Hyphens
from rejoinder.documents.formats.pdf.layout import RunningLines, order_lines, remove_contents
from rejoinder.documents.formats.pdf.lines import TextLine, join_spans
from rejoinder.documents.formats.pdf.rules import Rule, read_rules
from rejoinder.errors import InputError


class _PageLines(NamedTuple):
    lines: list[TextLine]
    rules: list[Rule]


def read(file: IO[bytes]) -> Iterable[ExtractedDocument]:
    """Yield the document; a PDF that is encrypted or holds no text is refused."""
    try:
        with pypdfium2.PdfDocument(file.read()) as pdf:
            title = fold(sanitize(pdf.get_metadata_value("Title")))
            outline = read_outline(pdf)
            pages = [_read_page(pdf, number) for number in range(len(pdf))]
    except pypdfium2.PdfiumError as error:
        raise InputError(f"not a PDF that can be read ({error})") from error
    if not any(page.lines for page in pages):
        raise InputError("a PDF without text (scanned pages?)")
    yield ExtractedDocument(title or _find_title(pages), _make_blocks(pages, outline))


def _read_page(pdf: Any, number: int) -> _PageLines:
    page = pdf[number]
    textpage = page.get_textpage()
    try:
        fragments = join_spans(read_spans(textpage.raw))
        levels = {round(fragment.baseline) for fragment in fragments}
        # Rules matter only where text stands side by side, other than in a running head.
        rules = read_rules(page.raw) if len(fragments) > len(levels) + 1 else []
        return _PageLines(order_lines(fragments, rules, number + 1), rules)
    finally:
        textpage.close()
        page.close()


def _make_blocks(
    pages: list[_PageLines], outline: dict[int, list[OutlineEntry]]
) -> Iterator[Block]:
    running = RunningLines([page.lines for page in pages])
    texts = [remove_contents(running.remove(page.lines)) for page in pages]
    if not any(texts):  # all pages alike, such as forms
        texts = [page.lines for page in pages]
    hyphens = Hyphens(line.text for lines in texts for line in lines)
    builder = PageAssembler(HeadingFinder(texts, outline), hyphens)
    for number, (lines, page) in enumerate(zip(texts, pages, strict=True)):
        yield from builder.add_page(lines, page.rules, number)
    yield from builder.close()


def _find_title(pages: list[_PageLines]) -> str:
    """Return the largest text of the first page, where it is larger than the rest."""
    lines = pages[0].lines
    sizes = [round(line.size, 1) for line in lines]
    largest = max(sizes, default=0.0)
    shown = [line for line, size in zip(lines, sizes, strict=True) if size == largest]
    if not shown or len(shown) > 3 or largest < 1.1 * min(sizes):
        return ""
    return " ".join(line.text for line in shown)
