"""The sentence vectors of an index folder: searched, brought up to date, rebuilt.

    folder/vectors-NUMBER/    a vector store (store.py)

Vectors are derived data: they carry the generation of SQLite that they have followed, and the
next writer brings them up to date.  SQLite names the folder in use, and the encoder's bundle.
A removed document keeps its rows, which no search returns, until a third of the rows are dead.

Where there are no vectors to use, a warning says why, once, and questions are answered by words.
"""

import logging
import shutil
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from rejoinder.documents.passages import Passage, iterate_passages
from rejoinder.errors import BundleError, StoreError
from rejoinder.index.sqlite.documents import DocumentStore, Place, StoredDocument
from rejoinder.index.vectors.filters import DocumentFilters
from rejoinder.index.vectors.store import CHUNK, VectorState, VectorStore, VectorWriter
from rejoinder.models.registry import SHIPPED_ENCODER, open_sentence_encoder
from rejoinder.models.sentence_encoder.encoder import SentenceEncoder
from rejoinder.types import Where

BATCH = 256
"""Sentences that are encoded together."""
MAX_UNCOMMITTED = 10_000
"""Sentences of stored documents that are encoded before their rows are committed."""
MAX_DEAD = 1 / 3
"""The share of rows of removed documents above which the store is rewritten."""
NONE, SHIPPED = "none", ""
"""Bundles in SQLite and in a store's state: no vectors, and the shipped encoder."""

OnProgress = Callable[[int, int], None]

log = logging.getLogger(__name__)


class VectorIndex:
    """The vectors of one index; not used where the encoder or the store is missing or corrupt."""

    def __init__(
        self, folder: Path, store: DocumentStore, encoder: SentenceEncoder | None = None
    ) -> None:
        self._folder = folder
        self._store = store
        self._encoder = encoder
        self._bundle = None if encoder is None else name_bundle(encoder)
        """The bundle of the encoder that is open."""
        self._is_given = encoder is not None
        self._current: VectorStore | None = None
        self._writer: VectorWriter | None = None
        self._is_followed = False
        """Whether the current store is up to date, so that changes can be added to it."""
        self._filters = DocumentFilters(store)
        self.problem = ""
        """Why the last search did not use vectors, or not all; empty where it did."""
        self._no_encoder = ""
        """Why no encoder is open."""
        self._warned: set[str] = set()
        self._corrupt: set[str] = set()
        """Names of folders that proved to be corrupt."""

    @property
    def is_stale(self) -> bool:
        """Whether SQLite has changed since the vectors were stored; False where there are none."""
        current = self._find()
        return current is not None and current.state.generation != self._store.generation

    @property
    def rows(self) -> int:
        """How many vectors the last search has compared; 0 before the first."""
        return self._current.state.rows if self._current else 0

    def close(self) -> None:
        """Close the files of the writer; uncommitted rows are dropped."""
        writer, self._writer = self._writer, None
        if writer:
            writer.close()

    def search(self, question: str, limit: int, where: Where | None) -> dict[Place, float]:
        """Return the cosines of the sentences nearest to a question, best first.

        None are returned, and `problem` says why, where there are no vectors to use.
        """
        self.problem = ""
        encoder, current = self.find_encoder(), self._find()
        if encoder is None:
            if self._no_encoder:
                self._warn(self._no_encoder)
            return {}
        if current is None:
            if not self._store.is_empty:
                self._warn(f"{self._folder}: no vectors can be read; {_HOW}")
            return {}
        if not self._fits(current, encoder):
            return {}
        allowed = self._filters.get(where)
        try:
            nearest = current.search(encoder.encode_question(question), limit, allowed)
        except StoreError as error:
            self._leave_out(current, str(error))
            return {}
        if nearest.corrupt:
            self._mark_corrupt(current)
            self._warn(f"{current.folder}: corrupt rows are left out; {_REBUILD}")
        least = encoder.min_cosine
        return {place: cosine for place, cosine in nearest.cosines.items() if cosine >= least}

    def catch_up(self, *, rebuild: bool, on_progress: OnProgress = lambda _, __: None) -> None:
        """Bring the vectors up to date with SQLite; the caller holds the lock.

        Args:
            rebuild: also store them where they are missing, corrupt, or of another encoder.
            on_progress: called with the number of documents done, and of all.
        """
        self._is_followed = False
        encoder, current = self.find_encoder(), self._find()
        if current is None and self._store.get("vectors"):
            # Also without an encoder: numbers of a restored backup will be given again.
            self._store.set("vectors", "")
        if encoder is None:
            return
        if current and not current.is_marked and self._fits(current, encoder):
            if current.state.generation != self._store.generation:
                self._follow(current, on_progress)
            self._is_followed = True
        elif rebuild and (current is None or current.is_marked or self._may_replace()):
            self._rebuild(encoder, on_progress)
            self._is_followed = True

    def record(self, document: StoredDocument, passages: Iterable[Passage]) -> Iterator[Passage]:
        """Yield the passages of a document while their vectors are stored."""
        writer, encoder = self._get_writer(), self._encoder
        if writer is None or encoder is None:
            yield from passages
            return
        batch: list[Passage] = []
        for passage in passages:
            yield passage
            batch.append(passage)
            if len(batch) == BATCH:
                self._record(writer, encoder, document, batch)
                batch.clear()
        if batch:
            self._record(writer, encoder, document, batch)

    def encode(
        self, encoder: SentenceEncoder, title: str, passages: Sequence[Passage]
    ) -> NDArray[np.float32]:
        """Return the vectors of some sentences of one document, shape (passages, width)."""
        if encoder.tokenizer not in (None, self._store.get("tokenizer")):
            passages = [_drop_tokens(passage) for passage in passages]
        return encoder.encode_passages(title, passages)

    def _record(
        self,
        writer: VectorWriter,
        encoder: SentenceEncoder,
        document: StoredDocument,
        passages: Sequence[Passage],
    ) -> None:
        positions = [passage.sentence.position for passage in passages]
        writer.add(document.id, positions, self.encode(encoder, document.title, passages))

    @contextmanager
    def changing(self) -> Iterator[None]:
        """Drop the rows of a change that fails."""
        writer = self._get_writer()
        rows = writer.rows if writer else 0
        try:
            yield
        except BaseException:
            if writer:
                self._roll_back(writer, rows)
            raise

    def remove(self, numbers: Iterable[int]) -> None:
        """Count the rows of removed documents."""
        if writer := self._get_writer():
            writer.remove(numbers)

    def commit(self, generation: int) -> None:
        """Commit all changes, as of a generation of SQLite; rewrite a store of many dead rows."""
        writer = self._get_writer()
        if writer is None or self._current is None:
            return
        writer.commit(generation)
        state = self._current.state
        if state.dead > MAX_DEAD * state.rows:
            try:
                self._rewrite(self._current)
            except StoreError as error:  # everything is committed; the next commit tries again
                log.info("not rewritten: %s", error)

    def drop(self) -> None:
        """Delete the vectors, and store none from now on; the caller holds the lock."""
        self._encoder, self._bundle, self._is_given = None, None, False
        self._is_followed = False
        self.close()
        self._point(None)

    def compact(self) -> None:
        """Rewrite the store without removed documents, or rebuild it; the caller holds the lock."""
        self.catch_up(rebuild=True)
        current, encoder = self._find(), self.find_encoder()
        if current is None:
            return
        if encoder and current.find_damage():
            self._rebuild(encoder)
        else:
            self._rewrite(current)

    def find_damage(self, candidates: int) -> list[str]:
        """Return the problems; none where the index is to have no vectors.

        Args:
            candidates: how many sentences of SQLite may answer.
        """
        encoder, current = self.find_encoder(), self._find()
        if current is None:
            is_lost = bool(self._store.get("vectors") or (encoder and candidates))
            return (
                [f"{self._folder}: vectors are missing or corrupt; {_COMPACT}"] if is_lost else []
            )
        if encoder and not self._fits(current, encoder):
            return [self.problem]
        if problems := current.find_damage():
            return [f"{problem}; {_COMPACT}" for problem in problems]
        if encoder and current.state.generation != self._store.generation:
            return ["the vectors are stale; they are brought up to date once no process writes"]
        alive = int(self._find_alive(current).sum())
        if encoder and alive != candidates:
            return [f"{current.folder}: {alive} of {candidates} vectors; {_COMPACT}"]
        return []

    def find_encoder(self) -> SentenceEncoder | None:
        """Return the encoder of this index; None where it has none, or it cannot be opened."""
        if self._is_given:
            return self._encoder
        bundle = str(self._store.get("encoder") or SHIPPED)
        if bundle != self._bundle:
            self._bundle, self._encoder = bundle, self._open_encoder(bundle)
        return self._encoder

    def _open_encoder(self, bundle: str) -> SentenceEncoder | None:
        self._no_encoder = ""
        if bundle == NONE:
            self._no_encoder = f"{self._folder}: has no vectors; questions are answered by words"
            return None
        folder = Path(bundle) if bundle else SHIPPED_ENCODER
        try:
            return open_sentence_encoder(folder) if bundle else _open_shipped(folder)
        except BundleError as error:
            if bundle or folder.exists():
                self._no_encoder = f"{self._folder}: vectors are neither used nor stored: {error}"
                self._warn(self._no_encoder)
            return None

    def _find(self) -> VectorStore | None:
        """Return the current store; None where it is missing, corrupt, or ahead of SQLite."""
        name, current = str(self._store.get("vectors") or ""), self._current
        if not name or name in self._corrupt:
            return None
        try:
            if current is None or current.folder.name != name:
                current = VectorStore(self._folder / Path(name).name)
                if not self._store.is_current:
                    return None
            current.refresh(lambda: self._store.is_current)
        except StoreError as error:
            if not self._store.is_current:  # deleted, or of another index: the rows are mapped
                return self._current
            if self._store.get("vectors") != name:  # another process has replaced it meanwhile
                return self._find()
            self._warn(f"{error}; {_HOW}")
            return None
        self._current = current
        is_ahead = current.state.generation > self._store.generation
        return None if is_ahead else current

    def _fits(self, store: VectorStore, encoder: SentenceEncoder) -> bool:
        """Whether a store is of this encoder; warn where it is not."""
        state = store.state
        if (state.hash, state.width) == (encoder.hash, encoder.width):
            return True
        what = f"{store.folder}: made by another encoder than {encoder.folder}"
        self._warn(f"{what}; {_HOW if self._may_replace() else _say_embed(encoder)}")
        return False

    def _may_replace(self) -> bool:
        """Whether vectors of another encoder are rebuilt: a bundle of --embed may be a mistake."""
        return self._is_given or self._bundle == SHIPPED

    def _leave_out(self, store: VectorStore, problem: str) -> None:
        self._corrupt.add(store.folder.name)
        self._mark_corrupt(store)
        self._warn(f"{problem}; {_HOW}")

    def _mark_corrupt(self, store: VectorStore) -> None:
        if self._store.is_current:  # else the folder is another index's
            store.mark_corrupt()

    def _warn(self, message: str) -> None:
        self.problem = message
        if message not in self._warned:
            self._warned.add(message)
            log.warning("%s", message)

    def _get_writer(self) -> VectorWriter | None:
        """Return the writer; None where vectors are not stored, or not up to date."""
        if self._writer is None and self._is_followed and self._current:
            self._writer = VectorWriter(self._current)
        return self._writer

    def _roll_back(self, writer: VectorWriter, rows: int) -> None:
        try:
            writer.roll_back(rows)
        except StoreError:  # a full disk: the next writer drops the rows
            self._is_followed = False
            self.close()

    def _rebuild(
        self, encoder: SentenceEncoder, on_progress: OnProgress = lambda _, __: None
    ) -> None:
        """Store all vectors again.

        The new store is in use from the start: an interrupted rebuild is continued.
        """
        self.close()
        state = VectorState(name_bundle(encoder), encoder.hash, encoder.width)
        created = self._create(state)
        self._point(created)
        self._follow(created, on_progress)

    def _follow(self, current: VectorStore, on_progress: OnProgress) -> None:
        """Store the documents that are missing, in the order of their numbers."""
        store, generation = self._store, self._store.generation
        self._writer = writer = VectorWriter(current)
        try:
            known = set(np.unique(current.mapped.places[:, 0]).tolist())
            documents = store.get_documents(after=current.state.generation)
            for done, document in enumerate(documents, start=1):
                if document.id not in known:
                    passages = iterate_passages(store.iterate_blocks(document.id))
                    deque(self.record(document, passages), maxlen=0)
                    if writer.rows - current.state.rows > MAX_UNCOMMITTED:
                        writer.commit()
                on_progress(done, len(documents))
            writer.set_dead(int((~self._find_alive(current)).sum()))
            writer.commit(generation)
        finally:
            self.close()

    def _rewrite(self, current: VectorStore) -> None:
        """Copy the rows of documents that are there to a new store, which takes its place."""
        self.close()
        try:
            mapped = current.verify()  # a copy would get checksums of its own
        except StoreError:
            current.mark_corrupt()
            raise
        rows = np.flatnonzero(self._find_alive(current))
        created = self._create(current.state)
        writer = VectorWriter(created)
        try:
            for first in range(0, len(rows), CHUNK):
                writer.copy(mapped, rows[first : first + CHUNK])
            writer.commit(current.state.generation)
        except StoreError:
            shutil.rmtree(created.folder, ignore_errors=True)  # a full disk needs the room
            raise
        finally:
            writer.close()
        self._point(created)

    def _find_alive(self, store: VectorStore) -> NDArray[np.bool_]:
        """Return which rows are of documents that are there."""
        alive = self._filters.get(None)
        numbers = store.mapped.places[:, 0]
        is_here: NDArray[np.bool_] = alive[np.minimum(numbers, len(alive) - 1)]
        return is_here & (numbers < len(alive))

    def _create(self, like: VectorState) -> VectorStore:
        """Create an empty store beside the current one."""
        numbers = (path.name.rpartition("-")[2] for path in self._folder.glob("vectors-*"))
        number = max((int(number) for number in numbers if number.isdecimal()), default=0) + 1
        folder = self._folder / f"vectors-{number}"
        return VectorStore.create(folder, VectorState(like.bundle, like.hash, like.width))

    def _point(self, store: VectorStore | None) -> None:
        """Use another store, or none, and delete all others."""
        with self._store.transaction():
            self._store.set("encoder", store.state.bundle if store else NONE)
            self._store.set("vectors", store.folder.name if store else "")
        self._current = store
        for folder in self._folder.glob("vectors-*"):
            if store is None or folder != store.folder:
                shutil.rmtree(folder, ignore_errors=True)


_COMPACT = "rebuild them with 'rejoinder index compact'"
_REBUILD = f"{_COMPACT}, or with the next 'index add'"
_HOW = f"questions are answered by words; {_REBUILD}"


@cache
def _open_shipped(folder: Path) -> SentenceEncoder:
    """Return the shipped encoder, opened once: a server opens its index for each change."""
    return open_sentence_encoder(folder)


def _say_embed(encoder: SentenceEncoder) -> str:
    return (
        "questions are answered by words, and new documents are not stored;"
        f" 'rejoinder index add … --embed {encoder.folder}' stores all with it"
    )


def name_bundle(encoder: SentenceEncoder) -> str:
    """Return how an index names the bundle of an encoder."""
    folder = encoder.folder.resolve()
    return SHIPPED if folder == SHIPPED_ENCODER.resolve() else str(folder)


def _drop_tokens(passage: Passage) -> Passage:
    sentence, headings, *around = passage
    return Passage(
        sentence._replace(tokens=None),
        headings,
        *(tuple(near._replace(tokens=None) for near in part) for part in around),
    )
