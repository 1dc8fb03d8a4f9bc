"""What bundles have made of an index's sentences, in folders that follow the truth.

    folder/answers-HASH/    answers as bits, for HAS (answers.py)
    folder/context-HASH/    pages as vectors, for selectors that read context (pages.py)

Derived like all but SQLite: a folder carries a generation, and who has the bundle brings it up.
"""

import logging
import shutil
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from rejoinder.documents.parsed import Sentence
from rejoinder.errors import StoreError
from rejoinder.index.sidecar.rows import RowStore
from rejoinder.index.sidecar.state import State
from rejoinder.index.sqlite.documents import DocumentStore, StoredDocument
from rejoinder.models.stored_rows import Bytes

MAX_UNCOMMITTED = 2_000
"""Sentences of which rows are made, a few seconds' work, before they count."""
LOOK_AT_ALL = 0
"""The generation before all documents: who follows from it makes whatever is missing."""

log = logging.getLogger(__name__)

Progress = Callable[[int, int], None]
"""Is told how many documents are done, and of how many."""


@dataclass(frozen=True, slots=True)
class Kind:
    """What is made of sentences."""

    name: str
    option: str
    """Of `rejoinder index add`: what asks for it."""


ANSWERS = Kind("answers", "--hash")
CONTEXT = Kind("context", "--context")
KINDS = (ANSWERS, CONTEXT)


class Encoder(Protocol):
    """The part of a bundle that turns text into rows."""

    @property
    def folder(self) -> Path:
        """Where the bundle is."""
        ...

    @property
    def hash(self) -> str:
        """What tells its rows from those of others."""
        ...

    @property
    def row_bytes(self) -> int:
        """The length of a row."""
        ...


class RowMaker(Protocol):
    """Makes the rows of an index's documents."""

    @property
    def kind(self) -> Kind:
        """What it makes."""
        ...

    @property
    def encoder(self) -> Encoder:
        """With what it makes it."""
        ...

    def make(self, document: StoredDocument, sentences: Sequence[Sentence]) -> list[Bytes]:
        """Return the rows of each sentence of a document."""
        ...


class DerivedRows:
    """All that one index keeps of one kind."""

    def __init__(self, folder: Path, store: DocumentStore, kind: Kind) -> None:
        self._folder = folder
        self._store = store
        self._kind = kind

    def list_folders(self) -> list[Path]:
        """Return the folders: one, but while another takes its place."""
        return sorted(self._folder.glob(f"{self._kind.name}-*"))

    def get_states(self) -> dict[Path, State]:
        """Return what each folder that is whole says about itself."""
        found = {}
        for folder in self.list_folders():
            with suppress(StoreError):
                found[folder] = RowStore(folder).state
        return found

    def open(self, maker: RowMaker) -> RowStore | None:
        """Return what a maker has stored; None where nothing is.

        Raises:
            StoreError: it is torn, or all there is was made by another bundle.
        """
        place = self._get_place(maker)
        folders = [place] if place.exists() else self.list_folders()
        if not folders:
            return None
        try:
            return _open_own(folders[0], maker)
        except StoreError as error:
            raise StoreError(f"{error}; {self._say_how(maker.encoder.folder)}") from error

    def open_or_create(self, maker: RowMaker) -> RowStore:
        """Return what a maker has stored, begun anew where it is torn; the lock is held."""
        place = self._get_place(maker)
        try:
            if place.exists():
                return _open_own(place, maker)
        except StoreError as error:
            log.warning("%s; made anew", error)
            shutil.rmtree(place)
        encoder = maker.encoder
        bundle = str(encoder.folder.resolve())
        return RowStore.create(
            place, bundle=bundle, hash_=encoder.hash, row_bytes=encoder.row_bytes
        )

    def follow(
        self,
        store: RowStore,
        maker: RowMaker,
        on_progress: Progress = lambda *_: None,
        *,
        since: int | None = None,
    ) -> None:
        """Bring a folder up to the truth, then drop those of other bundles.

        The lock is held.  What was made before an interruption is not made again.

        Args:
            since: look at all documents that were added after this generation, where the store
                may lack some that it has followed.

        Raises:
            StoreError: it is torn or cannot be written; what counted before still counts.
        """
        generation = self._store.generation
        with store.changing() as writer:
            followed = store.state.generation
            for number in self._store.get_removed(after=followed):
                writer.remove(number)
            documents = self._store.get_documents(after=followed if since is None else since)
            missing = [document for document in documents if document.id not in store]
            waiting = 0
            for done, document in enumerate(missing, start=1):
                sentences = self._store.get_sentences(document.id)
                writer.add(document.id, maker.make(document, sentences))
                waiting += document.sentences
                if waiting > MAX_UNCOMMITTED:
                    writer.commit()
                    waiting = 0
                on_progress(done, len(missing))
            writer.commit(generation)
        for other in self.list_folders():
            if other != store.folder:
                shutil.rmtree(other, ignore_errors=True)

    def fall_back(self) -> None:
        """Forget what is not in the truth where that is an earlier copy of itself, put back.

        The lock is held.  Numbers that were given since then will be given to other documents.

        Raises:
            StoreError: it cannot be written.
        """
        for folder, state in self.get_states().items():
            if state.generation > self._store.generation:
                known = {document.id for document in self._store.get_documents()}
                store = RowStore(folder)
                with store.changing() as writer:
                    for number in store.list_documents():
                        if number not in known:
                            writer.remove(number)
                    writer.commit(LOOK_AT_ALL)

    def drop_removed(self) -> None:
        """Forget removed documents, which needs no bundle; the lock is held."""
        for folder in self.list_folders():
            with suppress(StoreError):
                store = RowStore(folder)
                known = store.state.generation
                removed = self._store.get_removed(after=known)
                if removed:
                    is_behind = any(
                        document.id not in store
                        for document in self._store.get_documents(after=known)
                    )
                    with store.changing() as writer:
                        for number in removed:
                            writer.remove(number)
                        writer.commit(None if is_behind else self._store.generation)

    def get_generation(self) -> int:
        """Return the generation that all folders have followed."""
        followed = (state.generation for state in self.get_states().values())
        return min([self._store.generation, *followed])

    def compact(self) -> None:
        """Write folders anew without what was removed or is damaged; the lock is held.

        A damaged one is left behind the truth: who has the bundle brings it up.

        Raises:
            StoreError: it cannot be written; what counted before still counts.
        """
        for folder in self.list_folders():
            try:
                store = self._open(folder)
            except StoreError as error:
                log.warning("%s", error)
                continue
            self._rewrite(store)

    def find_damage(self) -> list[str]:
        """Return what is wrong with the folders."""
        problems = []
        numbers = {document.id for document in self._store.get_documents()}
        for folder in self.list_folders():
            try:
                store = self._open(folder)
            except StoreError as error:
                problems.append(str(error))
                continue
            problems += store.find_damage()
            missing = len(numbers.difference(store.list_documents()))
            if missing:
                problems.append(
                    f"{folder}: {missing} documents are missing; add files with"
                    f" {self._kind.option} {store.state.bundle}"
                )
        return problems

    def _open(self, folder: Path) -> RowStore:
        try:
            return RowStore(folder)
        except StoreError as error:
            raise StoreError(f"{error}; {self._say_how('BUNDLE')}") from error

    def _say_how(self, bundle: Path | str) -> str:
        return f"make it anew with 'rejoinder index add … {self._kind.option} {bundle}'"

    def _rewrite(self, store: RowStore) -> None:
        known = {document.id for document in self._store.get_documents()}
        kept = known.intersection(store.list_documents())
        is_whole = kept == known
        with store.rewriting() as writer:
            for number in sorted(kept):
                try:
                    writer.add(number, store.read_block(number))
                except StoreError:
                    is_whole = False
            writer.commit(None if is_whole else LOOK_AT_ALL)

    def _get_place(self, maker: RowMaker) -> Path:
        return self._folder / f"{self._kind.name}-{maker.encoder.hash}"


def _open_own(folder: Path, maker: RowMaker) -> RowStore:
    store = RowStore(folder)
    state, encoder = store.state, maker.encoder
    if (state.hash, state.row_bytes) != (encoder.hash, encoder.row_bytes):
        raise StoreError(
            f"{folder}: made by another bundle, {state.bundle}, not by {encoder.folder}"
        )
    return store
