"""This tree's reader, and small adapters that make blocks with other libraries.

`python -m benchmarks.manuals.alternatives NAME FOLDER` reads every file below a folder that the
reader knows, and writes the JSON lines that `pages.py` reads.  All blocks go through the same
`documents/segment.py`, so that sentences and what may answer are decided in one way.
"""

import json
import sys
from collections.abc import Callable, Iterable, Iterator
from importlib import import_module
from itertools import chain
from pathlib import Path
from typing import Any

from lxml import html

from benchmarks.manuals.readers import READERS
from rejoinder.documents.blocks import Block, Kind, Outline, fold
from rejoinder.documents.discovery import find_files
from rejoinder.documents.parsed import SegmentedBlock
from rejoinder.documents.reading import read_file
from rejoinder.documents.sandbox import SandboxedReader
from rejoinder.documents.segment import segment
from rejoinder.errors import InputError

KINDS: dict[str, Kind] = {
    **dict.fromkeys(("p", "div", "dt", "dd", "dl", "ul", "ol", "blockquote"), "paragraph"),
    **dict.fromkeys(("table", "section", "article", "main", "body"), "paragraph"),
    **dict.fromkeys(("h1", "h2", "h3", "h4", "h5", "h6"), "heading"),
    "li": "item",
    "pre": "code",
    "tr": "row",
    "caption": "caption",
}
"""HTML elements that begin a block."""
SILENT = ("script", "style", "nav", "noscript", "template", "head")

Reader = Callable[[Path], Iterable[Block]]


def main() -> None:
    name, folder = sys.argv[1], Path(sys.argv[2])
    pages = read_rejoinder(folder) if name == "rejoinder" else read_alternative(folder, name)
    for path, problem, title, blocks in pages:
        rows = [
            [block.kind, block.text, block.path, [[s.text, s.may_answer] for s in block.sentences]]
            for block in blocks
        ]
        print(json.dumps([str(path.relative_to(folder)), problem, title, rows]))


Read = Iterator[tuple[Path, str, str, Iterable[SegmentedBlock]]]
"""Path, problem, title and blocks."""


def read_rejoinder(folder: Path) -> Read:
    with SandboxedReader() as sandbox:
        for path in find_files([folder]):
            try:
                for document in read_file(path, sandbox=sandbox):
                    yield path, "", document.title, list(document.blocks)
            except InputError as error:
                yield path, str(error), "", ()


def read_alternative(folder: Path, name: str) -> Read:
    for path in sorted(folder.rglob(f"*.{READERS[name][0]}")):
        yield path, "", "", segment(ADAPTERS[name](path))


def read_with_lxml(path: Path) -> Iterator[Block]:
    """Yield the text of every block element, without any choice of the main content."""
    tree = html.fromstring(path.read_bytes() or b"<p>")
    for element in tree.xpath("|".join(f"//{tag}" for tag in SILENT)):
        element.drop_tree()
    return _make_blocks(_walk_lxml(tree))


def _walk_lxml(tree: Any) -> Iterator[tuple[str, str]]:
    words: list[str] = []
    open_tags = ["body"]
    for event, element in html.etree.iterwalk(tree, events=("start", "end", "comment", "pi")):
        is_block = element.tag in KINDS
        if is_block:
            yield open_tags[-1], "".join(words)
            words = []
        if event == "start":
            open_tags += [element.tag] if is_block else []
            words.append(element.text or "")
        else:
            open_tags = open_tags[:-1] if is_block else open_tags
            words.append(element.tail or "")


def read_with_selectolax(path: Path) -> Iterator[Block]:
    """Yield the text of the same elements, found with selectolax's Lexbor parser."""
    from selectolax.lexbor import LexborHTMLParser

    tree = LexborHTMLParser(path.read_bytes())
    tree.strip_tags(list(SILENT))
    return _make_blocks(_walk_selectolax(tree.root))


def _walk_selectolax(root: Any) -> Iterator[tuple[str, str]]:
    words: list[str] = []
    block = root
    for node in root.traverse(include_text=True) if root else ():
        if node.tag in KINDS or node.tag == "-text":
            owner = node
            while owner.parent and owner.tag not in KINDS:
                owner = owner.parent
            if owner.mem_id != block.mem_id:
                yield block.tag, "".join(words)
                words, block = [], owner
            words.append(node.text_content or "" if node.tag == "-text" else "")
    if block:
        yield block.tag, "".join(words)


def read_with_trafilatura(path: Path) -> Iterator[Block]:
    """Yield the blocks of trafilatura's XML, with its default choice of the main content."""
    from lxml import etree
    from trafilatura import extract

    found = extract(path.read_bytes(), output_format="xml", include_comments=False)
    tree = etree.fromstring(found.encode()) if found else None
    return _make_blocks(_walk_trafilatura(tree) if tree is not None else ())


def _walk_trafilatura(tree: Any) -> Iterator[tuple[str, str]]:
    tags = {"item": "li", "row": "tr", "code": "pre"}
    for element in tree.iter("head", "p", "item", "row", "code", "quote"):
        if next(element.iterancestors("item", "row", "code", "p"), None) is None:
            words = list(element.itertext())
            heading = element.get("rend", "h2") if element.tag == "head" else element.tag
            yield tags.get(heading, heading), (" " if element.tag == "row" else "").join(words)


def read_with_resiliparse(path: Path) -> Iterator[Block]:
    """Yield the paragraphs of resiliparse's main content, as plain text."""
    from resiliparse.extract.html2text import extract_plain_text
    from resiliparse.parse.encoding import bytes_to_str, detect_encoding

    raw = path.read_bytes()
    text = extract_plain_text(
        bytes_to_str(raw, detect_encoding(raw)), main_content=True, alt_texts=False
    )
    return _make_blocks(("p", paragraph) for paragraph in text.split("\n\n"))


def read_with_pypdf(path: Path) -> Iterator[Block]:
    """Yield the pages of pypdf as paragraphs."""
    pypdf = import_module("pypdf")
    return _read_lines(page.extract_text() for page in pypdf.PdfReader(path).pages)


def read_with_pdfplumber(path: Path) -> Iterator[Block]:
    """Yield the pages of pdfplumber as paragraphs."""
    with import_module("pdfplumber").open(path) as file:
        for page in file.pages:
            yield from _read_lines([page.extract_text()])
            page.close()


def _read_lines(pages: Iterable[str]) -> Iterator[Block]:
    """Yield paragraphs; a line that ends far left of the others ends one."""
    for page in pages:
        lines: list[str] = []
        width = max(map(len, page.splitlines()), default=0)
        for line in chain(page.splitlines(), [""]):
            lines.append(line)
            if len(line) < 0.75 * width:
                yield from _make_blocks([("p", "\n".join(lines))])
                lines = []


def _make_blocks(pieces: Iterable[tuple[str, str]]) -> Iterator[Block]:
    outline = Outline()
    for tag, piece in pieces:
        kind = KINDS.get(tag, "paragraph")
        text = piece.strip("\n") if kind == "code" else fold(piece)
        if text.strip():
            path = outline.enter(int(tag[1]), text) if kind == "heading" else outline.path
            yield Block(kind, text, path)


ADAPTERS: dict[str, Reader] = {
    "trafilatura": read_with_trafilatura,
    "resiliparse": read_with_resiliparse,
    "selectolax": read_with_selectolax,
    "lxml": read_with_lxml,
    "pypdf": read_with_pypdf,
    "pdfplumber": read_with_pdfplumber,
}

if __name__ == "__main__":
    main()
