"""Reads EPUB books: a zip of XHTML chapters, and a package file that names their order."""

import posixpath
from collections.abc import Iterator
from typing import IO, Any, NamedTuple
from urllib.parse import unquote

from lxml import etree

from rejoinder.documents.blocks import Block, ExtractedDocument, fold, sanitize
from rejoinder.documents.formats.html import parse, read_blocks
from rejoinder.documents.formats.office.archive import Archive
from rejoinder.errors import InputError

_CONTAINER = "META-INF/container.xml"
_ENCRYPTION = "META-INF/encryption.xml"
_CHAPTERS = frozenset({"application/xhtml+xml", "text/html", "application/x-dtbook+xml", ""})


class _Chapter(NamedTuple):
    part: str  # in the archive
    href: str  # as the package names it


def read(file: IO[bytes]) -> Iterator[ExtractedDocument]:
    """Yield one document: the chapters of a book, in reading order."""
    archive = Archive(file, "an EPUB book")
    name = _find_package(archive)
    package = _parse_xml(archive, name)
    chapters = list(_find_chapters(package, posixpath.dirname(name)))
    encrypted = _find_encrypted(archive)
    if any(chapter.part in encrypted for chapter in chapters):
        raise InputError("encrypted (DRM); only a copy without it can be read")
    title = next(_find(package, "title"), None)
    text = "" if title is None else fold(sanitize("".join(title.itertext())))
    yield ExtractedDocument(text, _read_chapters(archive, chapters))


def _read_chapters(archive: Archive, chapters: list[_Chapter]) -> Iterator[Block]:
    """Yield the blocks of all chapters; lines of parts mean nothing to a reader of the book."""
    for chapter in chapters:
        if chapter.part in archive:
            for block in read_blocks(parse(archive.read(chapter.part))):
                anchor = f"{chapter.href}#{block.anchor}" if block.anchor else chapter.href
                yield block._replace(line=None, anchor=anchor)


def _find_package(archive: Archive) -> str:
    files = _find(_parse_xml(archive, _CONTAINER), "rootfile")
    paths = (unquote(file.get("full-path") or "") for file in files)
    package = next((path for path in paths if path in archive), None)
    if package is None:
        raise InputError("not an EPUB book that can be read (it has no package file)")
    return package


def _find_chapters(package: Any, folder: str) -> Iterator[_Chapter]:
    """Yield the chapters in reading order, without the one that is a table of contents."""
    items = {item.get("id"): item for item in _find(package, "item")}
    for reference in _find(package, "itemref"):
        item = items.pop(reference.get("idref"), None)  # a chapter is read once
        if item is None or "nav" in (item.get("properties") or "").split():
            continue
        href = unquote(item.get("href") or "")
        if href and (item.get("media-type") or "") in _CHAPTERS:
            yield _Chapter(posixpath.normpath(posixpath.join(folder, href)), href)


def _find_encrypted(archive: Archive) -> frozenset[str]:
    if _ENCRYPTION not in archive:
        return frozenset()
    references = _find(_parse_xml(archive, _ENCRYPTION), "CipherReference")
    return frozenset(unquote(reference.get("URI") or "") for reference in references)


def _parse_xml(archive: Archive, part: str) -> Any:
    if part not in archive:
        raise InputError(f"not an EPUB book that can be read (it has no {part})")
    parser = etree.XMLParser(resolve_entities=False, no_network=True, recover=True)
    try:
        root = etree.fromstring(archive.read(part), parser)
    except etree.XMLSyntaxError:
        root = None
    if root is None:
        raise InputError(f"not an EPUB book that can be read ({part} is not XML)")
    return root


def _find(root: Any, name: str) -> Iterator[Any]:
    """Yield the elements of a name, whatever their namespace."""
    return root.iter(f"{{*}}{name}")  # type: ignore[no-any-return]
