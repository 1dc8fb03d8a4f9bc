"""The sidecars of an index: folders of rows that models made of its sentences.

    folder/sidecar/NAME-HASH/    the rows of one encoder (rows.py)

Sidecars are derived from SQLite.  Each carries the generation that it has followed; with its
bundle, it is brought up to date.  An index keeps one folder per name.
"""

import logging
import shutil
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import suppress
from pathlib import Path

import numpy as np

from rejoinder.errors import BundleError, StoreError
from rejoinder.index.candidates import get_number
from rejoinder.index.sidecar.rows import RowStore, State
from rejoinder.index.sqlite.documents import DocumentStore, StoredDocument
from rejoinder.models.registry import open_sidecar
from rejoinder.models.sidecar import Bytes, SidecarEncoder, StoredRows
from rejoinder.types import Candidate, Document

MAX_UNCOMMITTED = 2_000
"""Sentences that are encoded, a few seconds' work, before their rows are committed."""
FROM_START = 0
"""The generation before all documents: following from it encodes whatever is missing."""

log = logging.getLogger(__name__)

Progress = Callable[[int, int, str], None]
"""Is called with the number of documents done, of all, and the name of the sidecar."""


class IndexRows:
    """The stored rows of one encoder, found by the candidates and documents of the index."""

    def __init__(self, store: RowStore) -> None:
        self.store = store

    def find(self, candidates: Sequence[Candidate]) -> StoredRows:
        """Return the rows of each candidate; candidates from elsewhere have none."""
        numbers = [get_number(candidate.document) for candidate in candidates]
        positions = [candidate.position or 0 for candidate in candidates]
        return self.store.find(np.array(numbers, np.int64), np.array(positions, np.int64))

    def find_document(self, document: Document) -> Bytes | None:
        """Return all rows of a document, shape (rows, row_bytes); None where they are not whole."""
        return self.store.find_document(get_number(document))


class Sidecars:
    """All sidecars of one index."""

    def __init__(self, folder: Path, store: DocumentStore) -> None:
        self._folder = folder
        self._store = store

    def list_folders(self, name: str | None = None) -> list[Path]:
        """Return the folders of a name, or all: one per name, except while one replaces another."""
        folders = (folder for folder in self._folder.glob("*-*") if folder.name[0] != ".")
        return sorted(folder for folder in folders if name in (None, get_name(folder)))

    def get_states(self) -> dict[Path, State]:
        """Return the state of each folder that is not corrupt."""
        return {store.folder: store.state for store in self._open_all(lambda _: None)}

    def open(self, encoder: SidecarEncoder) -> RowStore | None:
        """Return the rows of an encoder, if any; refuse corrupt ones, and another bundle's."""
        place = self._get_place(encoder)
        folders = [place] if place.exists() else self.list_folders(encoder.name)
        if not folders:
            return None
        try:
            return self._open_own(folders[0], encoder)
        except StoreError as error:
            raise StoreError(f"{error}; {_say_how(encoder.folder)}") from error

    def open_or_create(self, encoder: SidecarEncoder) -> RowStore:
        """Return the rows of an encoder, rebuilt where they are corrupt; the lock is held."""
        place = self._get_place(encoder)
        try:
            if place.exists():
                return self._open_own(place, encoder)
        except StoreError as error:
            log.warning("%s; rebuilding it", error)
            shutil.rmtree(place)
        bundle, row_bytes = str(encoder.folder.resolve()), encoder.row_bytes
        return RowStore.create(place, bundle=bundle, hash_=encoder.hash, row_bytes=row_bytes)

    def open_encoders(
        self, on_warning: Callable[[str], None], *, leave_out: Collection[str]
    ) -> list[SidecarEncoder]:
        """Return the encoders that made the rows; warn where a bundle is gone or has changed."""
        encoders: dict[str, SidecarEncoder] = {}
        for folder, state in self.get_states().items():
            name = get_name(folder)
            if name in leave_out:
                continue
            try:
                encoder = open_sidecar(Path(state.bundle))
            except BundleError as error:
                on_warning(f"{folder}: new documents are not stored: {error}")
                continue
            if (encoder.name, encoder.hash) == (name, state.hash):
                encoders[name] = encoder
            else:
                on_warning(
                    f"{folder}: new documents are not stored: {state.bundle} is another"
                    f" bundle now; --sidecar {state.bundle} stores all with it"
                )
        return list(encoders.values())

    def store(self, encoder: SidecarEncoder, on_progress: Progress) -> None:
        """Store the rows that an encoder makes of all sentences; the lock is held."""
        self.follow(self.open_or_create(encoder), encoder, on_progress, since=FROM_START)

    def follow(
        self,
        store: RowStore,
        encoder: SidecarEncoder,
        on_progress: Progress,
        *,
        since: int | None = None,
    ) -> None:
        """Bring a folder up to date, then delete those of other bundles with its name.

        The lock is held.  Rows that were committed before an interruption are not made again.
        With `since`, documents after an earlier generation are encoded where they are missing.
        """
        generation = self._store.generation
        with store.changing() as writer:
            followed = store.state.generation
            for number in self._store.get_removed(after=followed):
                writer.remove(number)
            documents = self._store.get_documents(after=followed if since is None else since)
            missing = [document for document in documents if document.id not in store]
            uncommitted = 0
            for done, document in enumerate(missing, start=1):
                writer.add(document.id, self.encode(encoder, document))
                uncommitted += document.sentences
                if uncommitted > MAX_UNCOMMITTED:
                    writer.commit()
                    uncommitted = 0
                on_progress(done, len(missing), encoder.name)
            writer.commit(generation)
        for other in self.list_folders(encoder.name):
            if other != store.folder:
                shutil.rmtree(other, ignore_errors=True)

    def encode(self, encoder: SidecarEncoder, document: StoredDocument) -> list[Bytes]:
        """Return the rows of a stored document."""
        sentences = {item.position: item for item in self._store.get_sentences(document.id)}
        places = range(document.sentences)
        texts = tuple(sentences[at].text if at in sentences else "" for at in places)
        context = {at for at in places if at not in sentences or not sentences[at].may_answer}
        return encoder.encode(Document(document.name, document.title, texts), context)

    def fall_back(self) -> None:
        """Drop rows that SQLite no longer knows, after a backup was restored.

        The lock is held.  Document numbers given since the backup will be given again.
        """
        for folder, state in self.get_states().items():
            if state.generation > self._store.generation:
                known = {document.id for document in self._store.get_documents()}
                store = RowStore(folder)
                with store.changing() as writer:
                    for number in set(store.list_documents()) - known:
                        writer.remove(number)
                    writer.commit(FROM_START)

    def drop_removed(self) -> None:
        """Drop the rows of removed documents, which needs no bundle; the lock is held."""
        for folder in self.list_folders():
            with suppress(StoreError):
                store = RowStore(folder)
                known = store.state.generation
                if removed := self._store.get_removed(after=known):
                    added = self._store.get_documents(after=known)
                    is_behind = any(document.id not in store for document in added)
                    with store.changing() as writer:
                        for number in removed:
                            writer.remove(number)
                        writer.commit(None if is_behind else self._store.generation)

    def get_generation(self) -> int:
        """Return the generation that all folders have followed."""
        followed = (state.generation for state in self.get_states().values())
        return min([self._store.generation, *followed])

    def compact(self) -> None:
        """Rewrite folders without rows that were removed or are damaged; the lock is held.

        A folder with damaged rows is left behind SQLite, to be brought up to date.
        """
        known = {document.id for document in self._store.get_documents()}
        for store in self._open_all(log.warning):
            _rewrite(store, known)

    def find_damage(self) -> list[str]:
        """Return the problems of all folders."""
        problems: list[str] = []
        known = {document.id for document in self._store.get_documents()}
        for store in self._open_all(problems.append):
            problems += store.find_damage()
            if missing := len(known.difference(store.list_documents())):
                problems.append(
                    f"{store.folder}: {missing} documents are missing; add files with"
                    f" --sidecar {store.state.bundle}"
                )
        return problems

    def _open_all(self, on_problem: Callable[[str], None]) -> Iterator[RowStore]:
        """Yield the stores of all folders that are not corrupt; report the others."""
        for folder in self.list_folders():
            try:
                yield RowStore(folder)
            except StoreError as error:
                on_problem(f"{error}; {_say_how('BUNDLE')}")

    def _open_own(self, folder: Path, encoder: SidecarEncoder) -> RowStore:
        store = RowStore(folder, is_own=lambda: self._store.is_current)
        state = store.state
        if (state.hash, state.row_bytes) != (encoder.hash, encoder.row_bytes):
            raise StoreError(
                f"{folder}: made by another bundle, {state.bundle}, not by {encoder.folder}"
            )
        return store

    def _get_place(self, encoder: SidecarEncoder) -> Path:
        return self._folder / f"{encoder.name}-{encoder.hash}"


def get_name(folder: Path) -> str:
    """Return the name of the rows in a folder of an index."""
    return folder.name.rpartition("-")[0]


def _say_how(bundle: Path | str) -> str:
    return f"rebuild it with 'rejoinder index add … --sidecar {bundle}'"


def _rewrite(store: RowStore, known: set[int]) -> None:
    kept = known.intersection(store.list_documents())
    is_whole = kept == known
    with store.rewriting() as writer:
        for number in sorted(kept):
            try:
                writer.add(number, store.read_block(number))
            except StoreError:
                is_whole = False
        writer.commit(None if is_whole else FROM_START)
