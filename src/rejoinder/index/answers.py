"""The stored answers of an index: makes them follow the truth, and finds them for candidates.

    folder/answers-HASH/    what the bundle with this hash made of the sentences (answer_store.py)

Derived like all but SQLite: it carries a generation, and who has the bundle brings it up.
"""

import logging
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path

import numpy as np

from rejoinder.errors import StoreError
from rejoinder.index.answer_store import AnswerStore
from rejoinder.index.store import Store
from rejoinder.index.stored import StoredSentences
from rejoinder.index.stored_documents import StoredDocument
from rejoinder.records import Candidate
from rejoinder.runtime.has import AnswerEncoder
from rejoinder.runtime.stored_rows import Bytes, StoredRows

MAX_UNCOMMITTED = 2_000
"""Sentences that are encoded, a few seconds' work, before they count."""
AT_ONCE = 256
"""Sentences that are encoded together."""

log = logging.getLogger(__name__)

Progress = Callable[[int, int], None]
"""Is told how many documents are done, and of how many."""


class IndexAnswers:
    """Finds the stored rows of an index's candidates."""

    def __init__(self, store: AnswerStore) -> None:
        self.store = store

    def find(self, candidates: Sequence[Candidate]) -> StoredRows:
        """Return where the rows of candidates stand; those from elsewhere have none."""
        numbers = [_get_number(candidate) for candidate in candidates]
        positions = [candidate.position or 0 for candidate in candidates]
        return self.store.find(np.array(numbers, np.int64), np.array(positions, np.int64))


class Answers:
    """All that one index stores of answers."""

    def __init__(self, folder: Path, store: Store) -> None:
        self._folder = folder
        self._store = store

    def list_folders(self) -> list[Path]:
        """Return the folders of stored answers: one, but while another takes its place."""
        return sorted(self._folder.glob("answers-*"))

    def get_bundles(self) -> dict[Path, Path]:
        """Return of each folder that is whole the bundle that made it."""
        found = {}
        for folder in self.list_folders():
            with suppress(StoreError):
                found[folder] = Path(AnswerStore(folder).state.bundle)
        return found

    def open(self, encoder: AnswerEncoder) -> AnswerStore | None:
        """Return what an encoder has stored; None where nothing is.

        Raises:
            StoreError: it is torn, or all there is was made by another bundle.
        """
        place = self._get_place(encoder)
        if place.exists():
            return AnswerStore(place)
        for folder, bundle in self.get_bundles().items():
            raise StoreError(
                f"{folder}: the stored answers were made by another bundle, {bundle}, not by"
                f" {encoder.folder}; make them anew with 'rejoinder index add … --hash"
                f" {encoder.folder}'"
            )
        return None

    def make(self, encoder: AnswerEncoder) -> AnswerStore:
        """Return what an encoder has stored, made anew where it is torn; the lock is held."""
        place = self._get_place(encoder)
        try:
            if place.exists():
                return AnswerStore(place)
        except StoreError as error:
            log.warning("%s", error)
            shutil.rmtree(place)
        bundle = str(encoder.folder.resolve())
        return AnswerStore.create(
            place, bundle=bundle, hash_=encoder.hash, row_bytes=encoder.row_bytes
        )

    def follow(
        self, store: AnswerStore, encoder: AnswerEncoder, on_progress: Progress = lambda *_: None
    ) -> None:
        """Bring stored answers up to the truth, then drop those of other bundles.

        The lock is held.  What was encoded before an interruption is not encoded again.

        Raises:
            StoreError: they cannot be written; what counted before still counts.
        """
        generation = self._store.generation
        removed = self._store.get_removed(after=store.state.generation)
        documents = self._store.get_documents(after=store.state.generation)
        missing = [document for document in documents if document.id not in store]
        if store.state.generation != generation:
            with store.changing() as writer:
                for number in removed:
                    writer.remove(number)
                waiting = 0
                for done, document in enumerate(missing, start=1):
                    writer.add(document.id, self._encode(document, encoder))
                    waiting += document.sentences
                    if waiting > MAX_UNCOMMITTED:
                        writer.commit()
                        waiting = 0
                    on_progress(done, len(missing))
                writer.commit(generation)
        for other in self.list_folders():
            if other != store.folder:
                shutil.rmtree(other, ignore_errors=True)

    def drop_removed(self) -> None:
        """Forget removed documents, which needs no encoder; the lock is held."""
        for folder in self.list_folders():
            with suppress(StoreError):
                store = AnswerStore(folder)
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
        """Return the generation that all stored answers have followed."""
        generation = self._store.generation
        for folder in self.list_folders():
            with suppress(StoreError):
                generation = min(generation, AnswerStore(folder).state.generation)
        return generation

    def compact(self) -> None:
        """Write stored answers anew without what was removed or is damaged; the lock is held.

        A damaged or torn store is left behind the truth: who has the bundle brings it up.
        """
        for folder in self.list_folders():
            part = folder.with_name(f".{folder.name}")
            shutil.rmtree(part, ignore_errors=True)
            try:
                old = AnswerStore(folder)
            except StoreError as error:
                log.warning("%s", error)
                continue
            self._copy(old, part)
            shutil.rmtree(folder)
            part.rename(folder)

    def find_damage(self) -> list[str]:
        """Return what is wrong with stored answers."""
        problems = []
        numbers = {document.id for document in self._store.get_documents()}
        for folder in self.list_folders():
            try:
                store = AnswerStore(folder)
            except StoreError as error:
                problems.append(str(error))
                continue
            problems += store.find_damage()
            missing = len(numbers.difference(store.list_documents()))
            if missing:
                problems.append(
                    f"{folder}: the answers of {missing} documents are not stored; add files with"
                    f" --hash {store.state.bundle}"
                )
        return problems

    def _copy(self, old: AnswerStore, folder: Path) -> None:
        state = old.state
        new = AnswerStore.create(
            folder, bundle=state.bundle, hash_=state.hash, row_bytes=state.row_bytes
        )
        known = {document.id for document in self._store.get_documents()}
        kept = known.intersection(old.list_documents())
        is_whole = True
        with new.changing() as writer:
            for number in sorted(kept):
                try:
                    writer.add(number, old.read_block(number))
                except StoreError:
                    is_whole = False
            # From generation 0 on, following looks at every document, and encodes what is not here.
            writer.commit(state.generation if is_whole and kept == known else 0)

    def _encode(self, document: StoredDocument, encoder: AnswerEncoder) -> list[Bytes]:
        """Return the rows of each sentence; a heading is no candidate, and has none."""
        none = np.empty((0, encoder.row_bytes), dtype=np.uint8)
        rows: list[Bytes] = [none] * document.sentences
        waiting: list[tuple[int, str]] = []
        for sentence in self._store.get_sentences(document.id):
            if not sentence.is_heading:
                waiting.append((sentence.position, sentence.text))
                if encoder.texts.tokens.is_too_long(sentence.text):
                    log.warning(
                        "%s: sentence %d is longer than %d tokens; its end is not stored",
                        document.name,
                        sentence.position + 1,
                        encoder.texts.max_tokens,
                    )
        for group in _cut(waiting):
            for (position, _), found in zip(
                group, encoder.encode([text for _, text in group]), strict=True
            ):
                rows[position] = found
        return rows

    def _get_place(self, encoder: AnswerEncoder) -> Path:
        return self._folder / f"answers-{encoder.hash}"


def _get_number(candidate: Candidate) -> int:
    document = candidate.document
    if document is None or not isinstance(document.sentences, StoredSentences):
        return -1
    return document.sentences.number


def _cut(items: list[tuple[int, str]]) -> Iterator[list[tuple[int, str]]]:
    given = iter(items)
    while group := list(islice(given, AT_ONCE)):
        yield group
