"""Keeps an index in step with files: reads new and changed ones, drops deleted ones."""

import json
import os
import re
from collections.abc import Iterable, Mapping, Sequence, Set
from pathlib import Path
from typing import TYPE_CHECKING

from rejoinder.documents.discovery import (
    FoundFiles,
    describe_empty,
    describe_formats,
    list_files,
    show_path,
)
from rejoinder.documents.formats import find_format
from rejoinder.errors import InputError
from rejoinder.index.batch import FileBatch, ReadProgress, group_documents
from rejoinder.index.file_reader import FOLDER, SUFFIX, UPLOADED, FileReader, ReadFile
from rejoinder.index.report import FileEvent, OnEvent, OnProgress, UpdateReport
from rejoinder.types import Document

if TYPE_CHECKING:
    from rejoinder.index.index import Index


def add_files(
    index: "Index",
    paths: Iterable[Path | str],
    metadata: Mapping[str, str] | None,
    on_event: OnEvent | None,
    on_progress: OnProgress | None,
) -> UpdateReport:
    """Bring an index up to date with files and folders (`Index.add`)."""
    named = [Path(path).resolve() for path in paths]
    report = update_files(index, named, list_files(named), metadata, on_event, on_progress)
    if not report.files:
        raise InputError(describe_empty(named))
    return report


def update_files(
    index: "Index",
    named: Sequence[Path],
    found: FoundFiles,
    metadata: Mapping[str, str] | None,
    on_event: OnEvent | None,
    on_progress: OnProgress | None,
) -> UpdateReport:
    """Read the files that were found at named paths, and remove others that were there."""
    given = _to_json(metadata)
    with (
        index.writing() as writer,
        FileReader(writer.store.get_files(map(os.fsencode, named)), given) as reader,
    ):
        missing = reader.known.keys() - {os.fsencode(path) for path in found.files}
        deleted = sorted(missing - _find_below(missing, found.unlisted.keys()))
        total = len(found.files) + len(deleted) + len(found.unlisted)
        batch = FileBatch(writer, total, on_event, ReadProgress(found.files, on_progress))
        batch.report.unread = found.unread
        for folder, reason in found.unlisted.items():
            event = FileEvent("skipped", show_path(folder), reason=reason)
            batch.add(ReadFile(os.fsencode(folder), event))
        for read in reader.read_all(found.files):
            batch.add(read)
        for raw in deleted:
            batch.add(ReadFile(raw, FileEvent("removed", show_path(Path(os.fsdecode(raw))))))
        return batch.finish()


def add_upload(
    index: "Index", name: str, path: Path, metadata: Mapping[str, str] | None
) -> FileEvent:
    """Add an uploaded file under a name (`Index.add_upload`)."""
    check_upload_name(name)
    if not find_format(path.name):
        reason = f"cannot be read; {describe_formats()}"
        return FileEvent("skipped", name, reason=reason, done=1, total=1)
    raw = f"{UPLOADED}{name}".encode()
    given = _to_json(metadata)
    events: list[FileEvent] = []
    with (
        index.writing() as writer,
        FileReader(writer.store.get_files([raw]), given) as reader,
    ):
        batch = FileBatch(writer, 1, events.append, ReadProgress([], None))
        batch.add(reader.read(path, reader.plan(path, name, raw)))
        batch.finish()
    return events[0]


def check_upload_name(name: str) -> None:
    """Raise InputError if a name is not that of a file, or of one below a folder.

    Whoever uploads must not make a document that seems to be another file of this machine.
    """
    parts = re.split(r"[/\\]", name)
    is_outside = parts[0].endswith(":") or any(part.strip() in ("", ".", "..") for part in parts)
    if is_outside or not name.isprintable():
        raise InputError(
            f"{name!r:.80} is not the name of an upload; use a file name, or a relative path"
            " without '..', such as tea.md or drinks/tea.md"
        )


def add_documents(
    index: "Index", documents: Iterable[Document], metadata: Mapping[str, str] | None
) -> int:
    """Add documents from memory (`Index.add_documents`)."""
    count = 0
    with index.writing() as writer:
        try:
            for batch in group_documents(documents, metadata or {}):
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
    for key in (SUFFIX, FOLDER):
        if key in metadata:
            raise InputError(
                f"metadata key {key!r} is reserved for the {key} of the file; choose another key"
            )


def _to_json(metadata: Mapping[str, str] | None) -> str | None:
    if metadata is None:
        return None
    check_metadata(metadata)
    return json.dumps({key: str(value) for key, value in metadata.items()}, sort_keys=True)


def _find_below(files: Iterable[bytes], places: Set[Path]) -> set[bytes]:
    """Return the files that are one of the places or in one; there may be thousands of both."""
    paths = ((raw, Path(os.fsdecode(raw))) for raw in files)
    return {raw for raw, path in paths if not places.isdisjoint([path, *path.parents])}
