"""Reads the files that are new or have changed since an index has read them.

An update that finds nothing to read imports no reader, and starts no sandbox.
"""

import hashlib
import json
import os
import stat
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from rejoinder.documents.discovery import show_path, stat_file
from rejoinder.documents.formats import find_format
from rejoinder.documents.parsed import ParsedDocument, SegmentedBlock
from rejoinder.errors import InputError
from rejoinder.index.report import FileEvent
from rejoinder.index.sqlite.documents import FileState
from rejoinder.types import FileChange

if TYPE_CHECKING:
    from rejoinder.documents.sandbox import SandboxedReader

MAX_HELD_SENTENCES = 20_000
"""A file with more is written while it is read, in a transaction of its own.

Smaller files are read to their end first: readers of the index wait while one is written.
"""

SUFFIX = "suffix"
"""The metadata key for the suffix of a document's file."""
FOLDER = "folder"
"""The metadata key for its folder."""
UPLOADED = "uploaded:"
"""Prefix of the key and the documents of an upload; no absolute path begins like this."""


@dataclass(frozen=True, slots=True)
class ReadFile:
    """The outcome for a file before it is committed, with its documents where it was read."""

    raw: bytes
    event: FileEvent
    state: FileState | None = None
    documents: Iterable[ParsedDocument] = ()
    sentences: int = 0
    """How many sentences are in memory."""

    @property
    def is_read(self) -> bool:
        """Whether its documents are new."""
        return self.event.what in {"added", "changed"}

    @property
    def is_large(self) -> bool:
        """Whether it is written while it is read."""
        return self.sentences > MAX_HELD_SENTENCES


class FileReader:
    """Reads files that are new or have changed.

    Args:
        known: the files of the index.
        given: the metadata of all files as JSON; None keeps those of each file.
    """

    def __init__(self, known: Mapping[bytes, FileState], given: str | None) -> None:
        self.known = known
        self._given = given
        self._opened = ExitStack()

    def __enter__(self) -> "FileReader":
        return self

    def __exit__(self, *_: object) -> None:
        self._opened.close()

    @cached_property
    def _sandbox(self) -> "SandboxedReader":
        from rejoinder.documents.sandbox import SandboxedReader

        return self._opened.enter_context(SandboxedReader())

    def read_all(self, files: Iterable[Path]) -> Iterator[ReadFile]:
        """Yield the outcome for each file; the sandbox reads the next one meanwhile."""
        previous: tuple[Path, ReadFile] | None = None
        for path in files:
            planned = self.plan(path, show_path(path))
            if planned.is_read:
                self._prefetch(path)
            if previous:
                yield self.read(*previous)
            previous = path, planned
        if previous:
            yield self.read(*previous)

    def _prefetch(self, path: Path) -> None:
        from rejoinder.documents.reading import prefetch_file

        prefetch_file(path, sandbox=self._sandbox)

    def plan(self, path: Path, shown: str, raw: bytes | None = None) -> ReadFile:
        """Return the outcome for a file that is not read, or its state before it is read."""
        raw = os.fsencode(path) if raw is None else raw
        known = self.known.get(raw)
        try:
            status = stat_file(path)
            metadata = self._given or (known.metadata if known else "{}")
            stamp = status.st_size, status.st_mtime_ns
            if known and (*stamp, metadata) == (*known[:2], known.metadata):
                return ReadFile(raw, FileEvent("unchanged", shown))
            with path.open("rb") as file:
                digest = hashlib.file_digest(file, "sha256").digest()
        except (InputError, OSError) as error:
            return ReadFile(raw, FileEvent("skipped", shown, reason=explain(error, shown)))
        state = FileState(*stamp, digest, metadata)
        if known and (known.digest, known.metadata) == (digest, metadata):
            return ReadFile(raw, FileEvent("unchanged", shown), state)
        return ReadFile(raw, FileEvent("changed" if known else "added", shown), state)

    def read(self, path: Path, planned: ReadFile) -> ReadFile:
        """Read a file unless it is unchanged; of a large one, only the beginning."""
        if not planned.is_read or planned.state is None:
            return planned
        from rejoinder.documents.reading import read_file

        shown = planned.event.path
        suffix, _ = find_format(path.name) or (path.suffix.lower(), "")
        own = json.loads(planned.state.metadata)
        prefix = UPLOADED if planned.raw.startswith(UPLOADED.encode()) else ""
        # Last, so that no row of a table claims that its document is from another place.
        derived = {SUFFIX: suffix, FOLDER: find_folder(prefix + shown)}
        documents = (
            replace(
                document,
                name=prefix + document.name,
                metadata={**document.metadata, **own, **derived},
            )
            for document in read_file(path, sandbox=self._sandbox, name=shown)
        )
        try:
            held, sentences = _hold(documents)
        except InputError as error:
            reason = explain(error, shown)
            return ReadFile(planned.raw, FileEvent("skipped", shown, reason=reason))
        return replace(planned, documents=held, sentences=sentences)


def _hold(documents: Iterator[ParsedDocument]) -> tuple[Iterable[ParsedDocument], int]:
    """Return the documents, read into memory as far as `MAX_HELD_SENTENCES`."""
    held: list[ParsedDocument] = []
    sentences = 0
    for document in documents:
        blocks: list[SegmentedBlock] = []
        rest = iter(document.blocks)
        for block in rest:
            blocks.append(block)
            sentences += len(block.sentences)
            if sentences > MAX_HELD_SENTENCES:
                partial = replace(document, blocks=chain(blocks, rest))
                return chain(held, [partial], documents), sentences
        held.append(replace(document, blocks=blocks))
    return held, sentences


def find_folder(name: str) -> str:
    """Return the folder of a file or an upload.

    >>> find_folder("/notes/tea.md"), find_folder("uploaded:tea.md"), find_folder("tea.md")
    ('/notes', 'uploaded:', '')
    """
    folder, mark, _ = name.rpartition("/")
    if mark:
        return folder or "/"
    return UPLOADED if name.startswith(UPLOADED) else ""


def explain(error: InputError | OSError, shown: str) -> str:
    """Return why a file was skipped, without its name."""
    if isinstance(error, OSError):
        return error.strerror or "cannot be read"
    return str(error).removeprefix(f"{shown}: ")


def compare_file(raw: bytes, state: FileState) -> FileChange | None:
    """Return what has become of a file since it was read; None for an upload.

    A file that was touched, copied or checked out again has another time, and is read: it is
    unchanged if its content is the same.

    Args:
        raw: its path, or the key of an upload.
    """
    path = Path(os.fsdecode(raw))
    if not path.is_absolute():
        return None
    try:
        status = path.stat()
    except OSError:
        return "gone"
    if not stat.S_ISREG(status.st_mode):
        return "gone"
    if status.st_size != state.size:
        return "changed"
    is_same = status.st_mtime_ns == state.modified or (
        _compute_digest(raw, status.st_ino, status.st_mtime_ns) == state.digest
    )
    return "unchanged" if is_same else "changed"


@lru_cache(maxsize=4096)
def _compute_digest(raw: bytes, inode: int, modified: int) -> bytes:  # noqa: ARG001
    """Return the checksum of a file's content, computed once for each state; empty if unreadable.

    Args:
        inode: of the file now, like the time `modified`: another file is read again.
    """
    try:
        with Path(os.fsdecode(raw)).open("rb") as file:
            return hashlib.file_digest(file, "sha256").digest()
    except OSError:
        return b""
