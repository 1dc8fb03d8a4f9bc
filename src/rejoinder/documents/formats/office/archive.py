"""Opens office files: zip archives of XML parts, read as streams within limits.

Python's own zip and XML serve all of them (docs/decisions/0012).  A zip bomb stops at a limit,
and a document type, the only way to define entities that explode, is refused.
"""

import posixpath
import struct
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import IO, Generic, NamedTuple, TypeVar
from xml.etree import ElementTree

from rejoinder.documents.blocks import fold, sanitize
from rejoinder.errors import InputError

MAX_XML_BYTES = 400_000_000
"""Of all parts that are read, unpacked."""
MAX_TREE_BYTES = 20_000_000
"""Of a part that is read as a tree: properties, styles, relations."""

_PIECE = 65_536
_COMPRESSIONS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)  # the formats allow no other
_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_OLE_ENCRYPTED = "EncryptedPackage".encode("utf-16-le")

# A corrupt zip raises one of many errors: for a negative offset, a wrong length, a missing part,
# an unknown encoding.
_CORRUPT_ZIP = (zipfile.BadZipFile, zlib.error, struct.error, EOFError, OSError, OverflowError)
_CORRUPT = (*_CORRUPT_ZIP, ElementTree.ParseError, LookupError, RuntimeError, ValueError)

_Found = TypeVar("_Found")


class PartHandler(Generic[_Found]):
    """Receives the elements of an XML part under their local names.

    Elements whose name is in `skipped` are passed over with all they contain.
    """

    skipped: frozenset[str] = frozenset()

    def __init__(self) -> None:
        self._skipped_depth = 0
        self._local_names: dict[str, str] = {}

    def begin(self, name: str, attributes: Mapping[str, str]) -> None:
        """Receive the start of an element."""

    def finish(self, name: str) -> None:
        """Receive the end of an element."""

    def text(self, text: str) -> None:
        """Receive a piece of text."""

    def take(self) -> list[_Found]:
        """Return what has been found since the last call."""
        raise NotImplementedError

    def skip(self) -> None:
        """Pass over the rest of the element whose start was received last."""
        self._skipped_depth = 1

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        """Implement the parser's interface."""
        if self._skipped_depth:
            self._skipped_depth += 1
            return
        name = self._local_names.get(tag) or self._local_names.setdefault(tag, local_name(tag))
        if name in self.skipped:
            self._skipped_depth = 1
        else:
            self.begin(name, attributes)

    def end(self, tag: str) -> None:
        """Implement the parser's interface."""
        if self._skipped_depth:
            self._skipped_depth -= 1
        else:
            self.finish(self._local_names[tag])

    def data(self, text: str) -> None:
        """Implement the parser's interface."""
        if not self._skipped_depth:
            self.text(text)

    def doctype(self, *_: str | None) -> None:
        """Implement the parser's interface."""
        raise ValueError("it declares a document type")


class Relation(NamedTuple):
    """A link from one part of an archive to another."""

    id: str
    kind: str
    """The last word of its type: slide, officeDocument, …"""
    part: str


class Archive:
    """The parts of an office file; `kind` is what errors call it."""

    def __init__(self, file: IO[bytes], kind: str) -> None:
        self._kind = kind
        self._bytes_left = MAX_XML_BYTES
        with self._refuse_corrupt():
            _refuse_ole(file)
            self._zip = zipfile.ZipFile(file)
            self._names = frozenset(self._zip.namelist())

    def __contains__(self, part: str) -> bool:
        return part in self._names

    def stream(self, part: str, handler: PartHandler[_Found]) -> Iterator[_Found]:
        """Yield what a handler finds in a part, while the part is read."""
        with self._refuse_corrupt():
            parser = ElementTree.XMLParser(target=handler)
            for piece in self._unpack(part):
                parser.feed(piece)
                yield from handler.take()
            parser.close()
            yield from handler.take()

    def read(self, part: str) -> bytes:
        """Return the bytes of a part."""
        with self._refuse_corrupt():
            return b"".join(self._unpack(part))

    def parse(self, part: str) -> ElementTree.Element:
        """Return a part as a tree; an empty one where the archive has no such part."""
        if part not in self._names:
            return ElementTree.Element("none")
        with self._refuse_corrupt():
            parser = ElementTree.XMLParser(target=_TreeBuilder())
            size = 0
            for piece in self._unpack(part):
                size += len(piece)
                _limit(MAX_TREE_BYTES - size, f"{part} has", MAX_TREE_BYTES)
                parser.feed(piece)
            root: ElementTree.Element = parser.close()
            return root

    def read_title(self, part: str) -> str:
        """Return the title that the properties of the file give."""
        titles = (e.text for e in self.parse(part).iter() if local_name(e.tag) == "title")
        return fold(sanitize(next(titles, "") or ""))

    def relations(self, part: str) -> list[Relation]:
        """Return the links of a part, in their order; "" is the whole archive."""
        folder, name = posixpath.split(part)
        links = self.parse(posixpath.join(folder, "_rels", f"{name}.rels"))
        return [
            Relation(link.get("Id", ""), link.get("Type", "").rpartition("/")[2], target)
            for link in links
            if link.get("TargetMode") != "External"
            and (target := _resolve(folder, link.get("Target", "")))
        ]

    def find_main_part(self, usual: str) -> str:
        """Return the part that holds the document itself."""
        links = (link for link in self.relations("") if link.kind == "officeDocument")
        return next((link.part for link in links if link.part in self), usual)

    def _unpack(self, part: str) -> Iterator[bytes]:
        info = self._zip.getinfo(part)
        if info.flag_bits & 1:
            raise InputError("encrypted; remove its password")
        if info.compress_type not in _COMPRESSIONS:
            raise ValueError("unknown compression")
        with self._zip.open(info) as file:
            while piece := file.read(_PIECE):
                self._bytes_left -= len(piece)
                _limit(self._bytes_left, "", MAX_XML_BYTES)
                yield piece

    @contextmanager
    def _refuse_corrupt(self) -> Iterator[None]:
        try:
            yield
        except _CORRUPT as error:
            raise InputError(f"not {self._kind} that can be read ({error})") from error


class _TreeBuilder(ElementTree.TreeBuilder):
    """Builds a tree of a part without a document type."""

    doctype = PartHandler.doctype


def local_name(tag: str) -> str:
    """Return a tag without its namespace; strict and transitional files differ in those."""
    return tag.rpartition("}")[2]


def get(attributes: Mapping[str, str], name: str, default: str = "") -> str:
    """Return an attribute by its local name."""
    if name in attributes:
        return attributes[name]
    suffix = "}" + name
    return next((value for key, value in attributes.items() if key.endswith(suffix)), default)


def get_number(attributes: Mapping[str, str], name: str, default: int) -> int:
    """Return an attribute that is a number of up to 7 digits; the default for any other."""
    value = get(attributes, name)
    return int(value) if value.isascii() and value.isdigit() and len(value) < 8 else default


def is_on(attributes: Mapping[str, str], name: str = "val") -> bool:
    """Return whether a switch is on, as it is without a value."""
    return get(attributes, name, "1") not in {"0", "false", "off", "none"}


def _resolve(folder: str, target: str) -> str:
    path = target[1:] if target.startswith("/") else posixpath.join(folder, target)
    return posixpath.normpath(path) if path else ""


def _limit(bytes_left: int, subject: str, most: int) -> None:
    if bytes_left < 0:
        raise InputError(f"{subject} more than {most // 1_000_000} MB when unpacked".strip())


def _refuse_ole(file: IO[bytes]) -> None:
    """Refuse what Office wraps into the container of its old formats: encrypted files."""
    start = file.read(len(_OLE))
    if start == _OLE:
        tail = b""
        while piece := file.read(_PIECE):
            if _OLE_ENCRYPTED in tail + piece:
                raise InputError("encrypted; remove its password")
            tail = piece[-len(_OLE_ENCRYPTED) :]
        raise InputError("in the format of Office 97; save it in the current format")
    file.seek(0)
