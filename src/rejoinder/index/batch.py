"""Batches of files and documents that are committed together, and the progress of reading them."""

import os
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from rejoinder.documents.parsed import ParsedDocument, SegmentedBlock
from rejoinder.errors import InputError
from rejoinder.index.file_reader import ReadFile, explain
from rejoinder.index.report import FileEvent, OnEvent, OnProgress, UpdateReport
from rejoinder.index.writer import Writer
from rejoinder.types import Document

MAX_BATCH_SENTENCES = 5_000
MAX_BATCH_SECONDS = 0.5
"""A batch is committed, and its files acknowledged, after so many sentences or so much time."""


class FileBatch:
    """Files that are committed together."""

    def __init__(
        self, writer: Writer, total: int, on_event: OnEvent | None, progress: "ReadProgress"
    ) -> None:
        self.report = UpdateReport()
        self._writer = writer
        self._total = total
        self._on_event = on_event
        self._progress = progress
        self._done = 0
        self._reads: list[ReadFile] = []
        self._sentences = 0
        self._since = time.monotonic()

    def add(self, read: ReadFile) -> None:
        """Add a file; commit once the batch is large or old."""
        if read.is_large:
            self._commit()  # one that proves to be broken must not undo the others
        self._reads.append(read)
        self._sentences += read.sentences
        is_old = time.monotonic() - self._since > MAX_BATCH_SECONDS
        if read.is_large or is_old or self._sentences > MAX_BATCH_SENTENCES:
            self._commit()

    def finish(self) -> UpdateReport:
        """Commit the rest, and return the outcome of all files."""
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
                events = [FileEvent("skipped", event.path, reason=explain(error, event.path))]
        for read, event in zip(reads, events, strict=True):
            self._done += 1
            self._progress.finish(read.raw)
            numbered = replace(event, done=self._done, total=self._total)
            self.report.count(numbered)
            if self._on_event:
                self._on_event(numbered)
        self._since = time.monotonic()

    def _write(self, reads: list[ReadFile]) -> list[FileEvent]:
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


class ReadProgress:
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


def group_documents(
    documents: Iterable[Document], metadata: Mapping[str, str]
) -> Iterable[list[ParsedDocument]]:
    """Yield documents in batches that are committed together."""
    from rejoinder.documents.reading import convert_document

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
