"""Keeps an index like the files it was made from: reads new and changed ones, drops gone ones."""

import hashlib
import json
import os
import time
from collections.abc import Iterable, Iterator, Mapping, Set
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from rejoinder.documents.discovery import SUFFIXES, list_files, say_empty, show_path
from rejoinder.documents.read import ReadDocument, check_file, read_file
from rejoinder.documents.sandbox import Child
from rejoinder.errors import InputError
from rejoinder.index.index import Index
from rejoinder.index.sqlite.documents import Store
from rejoinder.index.sqlite.records import FileState
from rejoinder.index.writer import Writer
from rejoinder.text.wordpiece import WordPiece

MAX_BATCH_SENTENCES = 5_000
MAX_BATCH_SECONDS = 0.5
"""A batch is committed, and so acknowledged, after so many sentences or so much time."""

UPLOADED = b"uploaded:"
"""Begins the key of what came without a file; no path of a file begins so."""

SUFFIX = "suffix"
"""What a document's metadata calls the ending of its file."""

What = Literal["added", "changed", "unchanged", "removed", "skipped"]


@dataclass(frozen=True, slots=True)
class Event:
    """What became of one file; it is on disk when this is given."""

    what: What
    path: str
    documents: int = 0
    sentences: int = 0
    reason: str = ""
    done: int = 0
    total: int = 0


def add_files(
    index: Index,
    paths: Iterable[Path],
    pieces: WordPiece,
    *,
    metadata: Mapping[str, str] | None = None,
) -> Iterator[Event]:
    """Bring an index up to date with files and folders, and give what became of each file.

    Files that were read before and are unchanged are not read again; of a folder, files that
    are gone are removed.  A folder that cannot be looked into keeps what was read from it.

    Args:
        metadata: what to say of every document; None leaves what was said before.

    Raises:
        InputError: a path does not exist, there is nothing to read, or the metadata cannot
            be said (`check_metadata`).
        StoreError: the index cannot be written.
    """
    named = [path.resolve() for path in paths]
    files, closed = list_files(named)
    given = _to_json(metadata)
    with index.changing() as writer, Child() as child:
        take_tokenizer(writer.store, pieces)
        known = writer.store.get_files()
        present = {os.fsencode(path) for path in files}
        meant = _below(known.keys() - present, set(named))
        gone = sorted(meant - _below(meant, closed.keys()))
        if not files and not gone and not closed:
            raise InputError(say_empty(named))
        batch = _Batch(writer, pieces, len(files) + len(gone) + len(closed))
        for folder, reason in closed.items():
            skipped = Event("skipped", show_path(folder), reason=reason)
            yield from batch.take(_Read(os.fsencode(folder), skipped))
        for path in files:
            yield from batch.take(_read(path, known.get(os.fsencode(path)), given, child))
        for raw in gone:
            yield from batch.take(_Read(raw, Event("removed", show_path(Path(os.fsdecode(raw))))))
        yield from batch.commit()
        writer.finish()


def check_metadata(metadata: Mapping[str, str]) -> None:
    """Refuse what cannot be said of documents.

    Raises:
        InputError: it is what their files say already.
    """
    if SUFFIX in metadata:
        raise InputError(f"{SUFFIX!r} is always how the file's name ends; take another key")


def remove_files(index: Index, paths: Iterable[Path]) -> Iterator[Event]:
    """Remove the documents of files, and of all files below folders.

    Raises:
        InputError: nothing in the index came from there.
    """
    named = [path.resolve() for path in paths]
    with index.changing() as writer:
        known = writer.store.get_files()
        meant = sorted(_below(known, set(named)))
        if not meant:
            raise InputError(f"nothing in the index is from {', '.join(map(show_path, named))}")
        for done, raw in enumerate(meant, start=1):
            numbers: list[int] = []

            def work(store: Store, generation: int) -> tuple[list[int], list[int]]:
                numbers.extend(store.remove_file(raw, generation))  # noqa: B023
                return [], numbers  # noqa: B023

            writer.change(work)
            shown = show_path(Path(os.fsdecode(raw)))
            yield Event("removed", shown, len(numbers), done=done, total=len(meant))
        writer.finish()


def add_upload(
    index: Index,
    name: str,
    path: Path,
    pieces: WordPiece,
    *,
    metadata: Mapping[str, str] | None = None,
) -> Event:
    """Add what was sent under a name, or let it replace what was sent under it before.

    Args:
        path: where the bytes are for now; its suffix says what they are.
        metadata: as in `add_files`.

    Raises:
        InputError: the metadata cannot be said.
        StoreError: the index cannot be written.
    """
    if path.suffix.lower() not in SUFFIXES:
        reason = f"cannot be read; files end in {', '.join(sorted(SUFFIXES))}"
        return Event("skipped", name, reason=reason, done=1, total=1)
    raw = UPLOADED + name.encode()
    given = _to_json(metadata)
    with index.changing() as writer, Child() as child:
        take_tokenizer(writer.store, pieces)
        known = writer.store.get_files().get(raw)
        read = _read(path, known, given, child, name=name)
        batch = _Batch(writer, pieces, total=1)
        (event,) = [*batch.take(replace(read, raw=raw)), *batch.commit()]
        writer.finish()
    return event


def remove_document(index: Index, number: int) -> str | None:
    """Remove one document, and return its name; None where it is not there."""
    names: list[str] = []

    def work(store: Store, generation: int) -> tuple[list[int], list[int]]:
        found = store.remove_document(number, generation)
        if found is None:
            return [], []
        names.append(found.name)
        return [], [number]

    with index.changing() as writer:
        writer.change(work)
        writer.finish()
    return names[0] if names else None


@dataclass(frozen=True, slots=True)
class _Read:
    """A file as it was found: what to do about it, and its documents where it was read."""

    raw: bytes
    event: Event
    state: FileState | None = None
    documents: tuple[ReadDocument, ...] = ()


def _read(
    path: Path,
    known: FileState | None,
    given: str | None,
    child: Child,
    *,
    name: str | None = None,
) -> _Read:
    """Read a file where it is not as it was; it is called by its path where it has no name."""
    raw, shown = os.fsencode(path), name or show_path(path)
    try:
        found = check_file(path)
        metadata = given or (known.metadata if known else "{}")
        if known and (found.st_size, found.st_mtime_ns, metadata) == (*known[:2], known.metadata):
            return _Read(raw, Event("unchanged", shown))
        digest = _digest(path)
        state = FileState(found.st_size, found.st_mtime_ns, digest, metadata)
        if known and (known.digest, known.metadata) == (digest, metadata):
            return _Read(raw, Event("unchanged", shown), state)
        suffix, said = {SUFFIX: path.suffix.lower()}, json.loads(metadata)
        documents = tuple(
            replace(document, metadata={**suffix, **document.metadata, **said})
            for document in read_file(path, child=child, name=shown)
        )
    except (InputError, OSError) as error:
        reason = str(error).removeprefix(f"{shown}: ")
        if isinstance(error, OSError):
            reason = error.strerror or "cannot be read"
        return _Read(raw, Event("skipped", shown, reason=reason))
    sentences = sum(len(document.sentences) for document in documents)
    event = Event("changed" if known else "added", shown, len(documents), sentences)
    return _Read(raw, event, state, documents)


class _Batch:
    """Files that are committed together."""

    def __init__(self, writer: Writer, pieces: WordPiece, total: int) -> None:
        self._writer = writer
        self._pieces = pieces
        self._total = total
        self._done = 0
        self._reads: list[_Read] = []
        self._since = time.monotonic()

    def take(self, read: _Read) -> Iterator[Event]:
        self._reads.append(read)
        sentences = sum(item.event.sentences for item in self._reads)
        is_old = time.monotonic() - self._since > MAX_BATCH_SECONDS
        if is_old or sentences > MAX_BATCH_SENTENCES:
            yield from self.commit()

    def commit(self) -> Iterator[Event]:
        reads, self._reads = self._reads, []
        if any(read.state or read.event.what == "removed" for read in reads):
            self._writer.change(lambda store, generation: self._write(reads, store, generation))
        for read in reads:
            self._done += 1
            yield replace(read.event, done=self._done, total=self._total)
        self._since = time.monotonic()

    def _write(
        self, reads: list[_Read], store: Store, generation: int
    ) -> tuple[list[int], list[int]]:
        added: list[int] = []
        removed: list[int] = []
        for read in reads:
            if read.event.what in {"added", "changed", "removed"}:
                removed += store.remove_file(read.raw, generation)
            if read.state:
                store.put_file(read.raw, read.state)
            for document in read.documents:
                tokens = [self._pieces.encode(sentence.text) for sentence in document.sentences]
                added.append(store.add_document(read.raw, document, tokens, generation))
        return added, removed


def take_tokenizer(store: Store, pieces: WordPiece) -> None:
    """Cut all stored sentences again where another tokenizer cut them."""
    if store.get("tokenizer") != pieces.hash:
        with store.changing():
            store.replace_tokens(pieces.encode)
            store.set("tokenizer", pieces.hash)


def _to_json(metadata: Mapping[str, str] | None) -> str | None:
    if metadata is None:
        return None
    check_metadata(metadata)
    return json.dumps({key: str(value) for key, value in metadata.items()}, sort_keys=True)


def _digest(path: Path) -> bytes:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").digest()


def _below(files: Iterable[bytes], places: Set[Path]) -> set[bytes]:
    """Return the files that are one of the places or in one; there may be thousands of both."""
    found = set()
    for raw in files:
        path = Path(os.fsdecode(raw))
        if path in places or not places.isdisjoint(path.parents):
            found.add(raw)
    return found
