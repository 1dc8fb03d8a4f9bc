"""Keeps an index in step with files: reads new and changed ones, drops deleted ones."""

import hashlib
import json
import os
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from rejoinder.documents.discovery import (
    describe_empty,
    describe_formats,
    list_files,
    show_path,
)
from rejoinder.documents.formats import find_format
from rejoinder.documents.parsed import ParsedDocument, SegmentedBlock
from rejoinder.documents.reading import (
    convert_document,
    prefetch_file,
    read_file,
    stat_file,
)
from rejoinder.documents.sandbox import SandboxedReader
from rejoinder.errors import InputError
from rejoinder.index.sqlite.documents import FileState
from rejoinder.index.writer import Writer
from rejoinder.types import Document

if TYPE_CHECKING:
    from rejoinder.index.index import Index

MAX_BATCH_SENTENCES = 5_000
MAX_BATCH_SECONDS = 0.5
"""A batch is committed, and its files acknowledged, after so many sentences or so much time."""

MAX_HELD_SENTENCES = 20_000
"""A file with more is written while it is read, in a transaction of its own.

Smaller files are read to their end first: readers of the index wait while one is written.
"""

UPLOADED = b"uploaded:"
"""Prefix of the key of an upload, which has no file; no absolute path begins like this."""

SUFFIX = "suffix"
"""The metadata key for the suffix of a document's file."""

What = Literal["added", "changed", "unchanged", "removed", "skipped"]


@dataclass(frozen=True, slots=True)
class FileEvent:
    """The outcome for one file; it is on disk when the event is sent."""

    what: What
    path: str
    """The file, or the name of an upload."""
    documents: int = 0
    sentences: int = 0
    reason: str = ""
    """Why it was skipped; empty otherwise."""
    done: int = 0
    """How many files of this update have been read."""
    total: int = 0


@dataclass(slots=True)
class UpdateReport:
    """The outcome of an update."""

    files: dict[What, int] = field(default_factory=dict)
    """The number of files with each outcome."""
    sentences: int = 0
    """The number of sentences read."""
    skipped: list[FileEvent] = field(default_factory=list)
    unread: Counter[str] = field(default_factory=Counter)
    """The number of files in folders that are of no format that can be read, by suffix."""

    def count(self, event: FileEvent) -> None:
        """Count the outcome for one more file."""
        self.files[event.what] = self.files.get(event.what, 0) + 1
        self.sentences += event.sentences
        if event.what == "skipped":
            self.skipped.append(event)


OnEvent = Callable[[FileEvent], None]
OnProgress = Callable[[int, int], None]
"""Called with the number of bytes that were read, and of all."""


def add_files(
    index: "Index",
    paths: Iterable[Path | str],
    metadata: Mapping[str, str] | None,
    on_event: OnEvent | None,
    on_progress: OnProgress | None,
) -> UpdateReport:
    """Bring an index up to date with files and folders (`Index.add`)."""
    named = [Path(path).resolve() for path in paths]
    found = list_files(named)
    given = _to_json(metadata)
    with index.writing() as writer, SandboxedReader() as sandbox:
        known = writer.store.get_files(map(os.fsencode, named))
        missing = known.keys() - {os.fsencode(path) for path in found.files}
        deleted = sorted(missing - _find_below(missing, found.unlisted.keys()))
        if not found.files and not deleted and not found.unlisted:
            raise InputError(describe_empty(named))
        total = len(found.files) + len(deleted) + len(found.unlisted)
        batch = _Batch(writer, total, on_event, _Progress(found.files, on_progress))
        batch.report.unread = found.unread
        for folder, reason in found.unlisted.items():
            batch.add(
                _Read(os.fsencode(folder), FileEvent("skipped", show_path(folder), reason=reason))
            )
        for read in _Reader(known, given, sandbox).read_all(found.files):
            batch.add(read)
        for raw in deleted:
            batch.add(_Read(raw, FileEvent("removed", show_path(Path(os.fsdecode(raw))))))
        return batch.finish()


def add_upload(
    index: "Index", name: str, path: Path, metadata: Mapping[str, str] | None
) -> FileEvent:
    """Add an uploaded file under a name (`Index.add_upload`)."""
    if not find_format(path.name):
        reason = f"cannot be read; {describe_formats()}"
        return FileEvent("skipped", name, reason=reason, done=1, total=1)
    raw = UPLOADED + name.encode()
    given = _to_json(metadata)
    events: list[FileEvent] = []
    with index.writing() as writer, SandboxedReader() as sandbox:
        reader = _Reader(writer.store.get_files([raw]), given, sandbox)
        batch = _Batch(writer, 1, events.append, _Progress([], None))
        batch.add(reader.read(path, reader.plan(path, name, raw)))
        batch.finish()
    return events[0]


def add_documents(
    index: "Index", documents: Iterable[Document], metadata: Mapping[str, str] | None
) -> int:
    """Add documents from memory (`Index.add_documents`)."""
    count = 0
    with index.writing() as writer:
        try:
            for batch in _group(documents, metadata or {}):
                with writer.change() as change:
                    for document in batch:
                        change.replace(document)
                count += len(batch)
        except InputError:
            writer.commit()  # the documents before the bad one stay, and can be searched
            raise
        writer.commit()
    return count


def remove_files(
    index: "Index", paths: Iterable[Path | str], on_event: OnEvent | None
) -> UpdateReport:
    """Remove the documents of files and folders (`Index.remove`)."""
    named = [Path(path).resolve() for path in paths]
    report = UpdateReport()
    with index.writing(adds=False) as writer:
        covered = sorted(writer.store.get_files(map(os.fsencode, named)))
        if not covered:
            raise InputError(f"nothing in the index is from {', '.join(map(show_path, named))}")
        for done, raw in enumerate(covered, start=1):
            with writer.change() as change:
                count = change.remove_file(raw)
            path = show_path(Path(os.fsdecode(raw)))
            event = FileEvent("removed", path, count, done=done, total=len(covered))
            report.count(event)
            if on_event:
                on_event(event)
        writer.commit()
    return report


def check_metadata(metadata: Mapping[str, str]) -> None:
    """Refuse metadata keys that are set by rejoinder."""
    if SUFFIX in metadata:
        raise InputError(
            f"metadata key {SUFFIX!r} is reserved for the suffix of the file; choose another key"
        )


@dataclass(frozen=True, slots=True)
class _Read:
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


class _Reader:
    """Reads files that are new or have changed."""

    def __init__(
        self, known: Mapping[bytes, FileState], given: str | None, sandbox: SandboxedReader
    ) -> None:
        self._known = known
        self._given = given
        self._sandbox = sandbox

    def read_all(self, files: Iterable[Path]) -> Iterator[_Read]:
        """Yield the outcome for each file; the sandbox reads the next one meanwhile."""
        previous: tuple[Path, _Read] | None = None
        for path in files:
            planned = self.plan(path, show_path(path))
            if planned.is_read:
                prefetch_file(path, sandbox=self._sandbox)
            if previous:
                yield self.read(*previous)
            previous = path, planned
        if previous:
            yield self.read(*previous)

    def plan(self, path: Path, shown: str, raw: bytes | None = None) -> _Read:
        """Return the outcome for a file that is not read, or its state before it is read."""
        raw = os.fsencode(path) if raw is None else raw
        known = self._known.get(raw)
        try:
            status = stat_file(path)
            metadata = self._given or (known.metadata if known else "{}")
            stamp = status.st_size, status.st_mtime_ns
            if known and (*stamp, metadata) == (*known[:2], known.metadata):
                return _Read(raw, FileEvent("unchanged", shown))
            with path.open("rb") as file:
                digest = hashlib.file_digest(file, "sha256").digest()
        except (InputError, OSError) as error:
            return _Read(raw, FileEvent("skipped", shown, reason=_explain(error, shown)))
        state = FileState(*stamp, digest, metadata)
        if known and (known.digest, known.metadata) == (digest, metadata):
            return _Read(raw, FileEvent("unchanged", shown), state)
        return _Read(raw, FileEvent("changed" if known else "added", shown), state)

    def read(self, path: Path, planned: _Read) -> _Read:
        """Read a file unless it is unchanged; of a large one, only the beginning."""
        if not planned.is_read or planned.state is None:
            return planned
        shown = planned.event.path
        suffix, _ = find_format(path.name) or (path.suffix.lower(), "")
        own = json.loads(planned.state.metadata)
        documents = (
            replace(document, metadata={SUFFIX: suffix, **document.metadata, **own})
            for document in read_file(path, sandbox=self._sandbox, name=shown)
        )
        try:
            held, sentences = _hold(documents)
        except InputError as error:
            reason = _explain(error, shown)
            return _Read(planned.raw, FileEvent("skipped", shown, reason=reason))
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


def _explain(error: InputError | OSError, shown: str) -> str:
    if isinstance(error, OSError):
        return error.strerror or "cannot be read"
    return str(error).removeprefix(f"{shown}: ")


class _Batch:
    """Files that are committed together."""

    def __init__(
        self, writer: Writer, total: int, on_event: OnEvent | None, progress: "_Progress"
    ) -> None:
        self.report = UpdateReport()
        self._writer = writer
        self._total = total
        self._on_event = on_event
        self._progress = progress
        self._done = 0
        self._reads: list[_Read] = []
        self._sentences = 0
        self._since = time.monotonic()

    def add(self, read: _Read) -> None:
        is_large = read.sentences > MAX_HELD_SENTENCES
        if is_large:
            self._commit()  # one that proves to be broken must not undo the others
        self._reads.append(read)
        self._sentences += read.sentences
        is_old = time.monotonic() - self._since > MAX_BATCH_SECONDS
        if is_large or is_old or self._sentences > MAX_BATCH_SENTENCES:
            self._commit()

    def finish(self) -> UpdateReport:
        self._commit()
        self._writer.commit()
        return self.report

    def _commit(self) -> None:
        reads, self._reads, self._sentences = self._reads, [], 0
        events = [read.event for read in reads]
        if any(read.state or read.event.what == "removed" for read in reads):
            try:
                events = self._write(reads)
            except InputError as error:
                (event,) = events  # only a large file is read this late, and it is alone
                events = [FileEvent("skipped", event.path, reason=_explain(error, event.path))]
        for read, event in zip(reads, events, strict=True):
            self._done += 1
            self._progress.finish(read.raw)
            numbered = replace(event, done=self._done, total=self._total)
            self.report.count(numbered)
            if self._on_event:
                self._on_event(numbered)
        self._since = time.monotonic()

    def _write(self, reads: list[_Read]) -> list[FileEvent]:
        """Write files in one transaction, and return their events with counts."""
        events = []
        with self._writer.change() as change:
            for read in reads:
                if read.event.what in {"added", "changed", "removed"}:
                    change.remove_file(read.raw)
                if read.state:
                    self._writer.store.put_file(read.raw, read.state)
                stored = [
                    change.add(read.raw, self._progress.follow(read.raw, document))
                    for document in read.documents
                ]
                sentences = sum(document.sentences for document in stored)
                events.append(replace(read.event, documents=len(stored), sentences=sentences))
        return events


class _Progress:
    """Reports how many bytes of all files were read."""

    def __init__(self, files: Iterable[Path], report: OnProgress | None) -> None:
        self._report = report
        self._sizes = {os.fsencode(path): _get_size(path) for path in files} if report else {}
        self._total = sum(self._sizes.values())
        self._done = 0
        self._shown = 0
        self._file = b""
        self._read = 0
        """Characters of the file that is being read; it may hold many documents."""
        self._since = time.monotonic()

    def finish(self, file: bytes) -> None:
        """Report that a file is done."""
        self._done += self._sizes.get(file, 0)
        self._show(self._done)

    def follow(self, file: bytes, document: ParsedDocument) -> ParsedDocument:
        """Report while the blocks of a document are read."""
        if not self._report:
            return document
        return replace(document, blocks=self._watch(file, document.blocks))

    def _watch(self, file: bytes, blocks: Iterable[SegmentedBlock]) -> Iterator[SegmentedBlock]:
        if file != self._file:
            self._file, self._read = file, 0
        size = self._sizes.get(file, 0)
        for block in blocks:
            yield block
            self._read += len(block.gap) + len(block.text)
            if time.monotonic() - self._since > MAX_BATCH_SECONDS:
                # A character is a byte or more; of a packed file this is only a guess.
                self._show(self._done + min(self._read, size))
                self._since = time.monotonic()

    def _show(self, done: int) -> None:
        """Report progress, which never goes back: a batch is read before its files are done."""
        if self._report:
            self._shown = max(self._shown, done)
            self._report(self._shown, self._total)


def _get_size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:  # reported when it is read
        return 0


def _group(
    documents: Iterable[Document], metadata: Mapping[str, str]
) -> Iterable[list[ParsedDocument]]:
    """Yield documents in batches that are committed together."""
    batch: list[ParsedDocument] = []
    sentences = 0
    for document in documents:
        parsed = convert_document(document, metadata)
        blocks = list(parsed.blocks)
        batch.append(replace(parsed, blocks=blocks))
        sentences += sum(len(block.sentences) for block in blocks)
        if sentences > MAX_BATCH_SENTENCES:
            yield batch
            batch, sentences = [], 0
    if batch:
        yield batch


def _to_json(metadata: Mapping[str, str] | None) -> str | None:
    if metadata is None:
        return None
    check_metadata(metadata)
    return json.dumps({key: str(value) for key, value in metadata.items()}, sort_keys=True)


def _find_below(files: Iterable[bytes], places: Set[Path]) -> set[bytes]:
    """Return the files that are one of the places or in one; there may be thousands of both."""
    paths = ((raw, Path(os.fsdecode(raw))) for raw in files)
    return {raw for raw, path in paths if not places.isdisjoint([path, *path.parents])}
