"""Reads HTML: the main content of a page as blocks.

The parser is libxml2's, by lxml: it knows the line of each element and repairs what browsers
repair.  Parsing takes a sixth of the time that reading takes, so a faster parser gains little.
"""

import re
from collections.abc import Iterator
from typing import IO, Any

from lxml import etree

from rejoinder.documents.blocks import Block, ExtractedDocument, fold, sanitize
from rejoinder.documents.encoding import decode
from rejoinder.documents.formats.html.drafts import to_blocks
from rejoinder.documents.formats.html.walker import Walker
from rejoinder.errors import InputError

_CHARSET = re.compile(
    rb"""<(?:meta[^>]{0,200}?charset|\?xml[^>]{0,80}?encoding)\s*=\s*["']?\s*([\w.:-]{1,40})""",
    re.IGNORECASE,
)


def read(file: IO[bytes]) -> Iterator[ExtractedDocument]:
    """Yield one document: a page without scripts, styles and navigation."""
    root = parse(file.read())
    yield ExtractedDocument(read_title(root), read_blocks(root))


def parse(raw: bytes) -> Any:
    """Return the root element of a page; None if it holds nothing."""
    declared = _CHARSET.search(raw[:2048])
    text = decode(raw, declared=declared[1].decode("ascii") if declared else None)
    page = sanitize(text).encode("utf-8")  # NUL would end the page for libxml2
    root, is_too_deep = _parse(page)
    if is_too_deep:
        # Formatting that is never closed nests paragraph in paragraph, down to libxml2's limit.
        root, is_too_deep = _parse(_FORMATTING.sub(b"", page))
    if is_too_deep:
        raise InputError("nested too deep to read")  # all below that depth would be missing
    return root


_FORMATTING = re.compile(rb"</?(?:font|span|big|small|[biu]|em|strong|tt|center)\b[^<>]*>", re.I)


def _parse(page: bytes) -> tuple[Any, bool]:
    """Return the root element, and whether the page ends early because it is too deep."""
    parser = etree.HTMLParser(
        encoding="utf-8", huge_tree=True, remove_comments=True, remove_pis=True, no_network=True
    )
    parser.feed(page)
    try:
        root = parser.close()
    except etree.XMLSyntaxError:  # nothing but white space or comments, or no memory to begin with
        root = None
    log = parser.feed_error_log
    if any(entry.type == etree.ErrorTypes.ERR_NO_MEMORY for entry in log):
        raise MemoryError  # libxml2 would give the beginning of the page for all of it
    return root, root is not None and bool(log) and log[
        -1
    ].type == etree.ErrorTypes.ERR_RESOURCE_LIMIT


def read_title(root: Any) -> str:
    """Return what `<title>` says."""
    title = None if root is None else root.find("head/title")
    if root is not None and title is None:
        title = root.find("body/title")  # a page with its head inside its body
    return "" if title is None else fold(sanitize("".join(title.itertext())))


def read_blocks(root: Any) -> Iterator[Block]:
    """Yield the blocks of a page."""
    if root is not None:
        walker = Walker()
        walker.walk(root)
        yield from to_blocks(walker.drafts)
