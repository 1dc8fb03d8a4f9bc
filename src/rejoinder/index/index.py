"""An index on disk: opens it, mends what is derived, and changes it.

    folder/index.sqlite       the truth (store.py)
    folder/search-*/          what finds sentences (derived_search.py), made from the truth
    folder/answers-*/         what bundles have made of sentences (derived_rows.py), where
    folder/context-*/         that was asked for
    folder/lock               held by the one that writes

A change is committed to SQLite first.  From then on it is kept: whatever happens to the rest,
the next one who opens the index makes it follow.
"""

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType

from rejoinder.errors import StoreError
from rejoinder.index.feedback import forget_sleeping
from rejoinder.index.fulltext.follower import DerivedSearch
from rejoinder.index.fulltext.search import Where
from rejoinder.index.sidecar.rows import RowStore
from rejoinder.index.sidecar.sidecar import KINDS, LOOK_AT_ALL, DerivedRows, Progress, RowMaker
from rejoinder.index.sqlite.checksums import is_sealed
from rejoinder.index.sqlite.documents import Store
from rejoinder.index.sqlite.lazy_sentences import StoredSentences, get_number
from rejoinder.index.sqlite.records import StoredDocument, StoredSentence
from rejoinder.index.writer import Writer
from rejoinder.storage.lock import writing
from rejoinder.types import Candidate, Document, ScoredCandidate, Source

TRUTH = "index.sqlite"

log = logging.getLogger(__name__)


class Index:
    """Documents and their sentences on disk; a retriever (`search`)."""

    def __init__(self, folder: Path, *, create: bool = False) -> None:
        self.folder = folder
        if create:
            _make_folder(folder)
        self.store = Store(folder / TRUTH, create=create)
        self.rows = {kind: DerivedRows(folder, self.store, kind) for kind in KINDS}
        self._search = DerivedSearch(folder, self.store)
        if self._search.is_behind:
            self._try_to_mend()

    def __enter__(self) -> "Index":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the files."""
        self._search.close()
        self.store.close()

    @property
    def tokenizer(self) -> str | None:
        """The hash of the tokenizer that cut the stored tokens; None where there are none."""
        found: str | None = self.store.get("tokenizer")
        return found

    @property
    def followed_generation(self) -> int:
        """The change up to which sentences can be found."""
        self._search.follow()
        return self._search.current.generation

    def search(
        self, question: str, k: int, *, where: Where | None = None
    ) -> Sequence[ScoredCandidate]:
        """Return the k sentences that share most with a question, best first.

        A sentence that stands in several places word for word counts once.
        """
        self._search.follow()
        found: dict[str, ScoredCandidate] = {}
        documents: dict[int, Document | None] = {}
        for hit in self._search.current.search(question, 2 * k, where):
            if hit.document not in documents:
                documents[hit.document] = self._get_document(hit.document)
            document = documents[hit.document]
            rows = self.store.get_sentences(hit.document, hit.position, hit.position)
            if document is None or not rows:  # removed since
                continue
            (row,) = rows
            if row.text not in found and len(found) < k:
                candidate = _to_candidate(document, row)
                found[row.text] = ScoredCandidate(candidate, hit.score, len(found) + 1)
        return list(found.values())

    def get_candidate(self, number: int, position: int) -> Candidate | None:
        """Return the sentence at a place of a document; None where it was removed."""
        document = self._get_document(number)
        rows = self.store.get_sentences(number, position, position)
        return _to_candidate(document, rows[0]) if document and rows else None

    def locate(self, candidate: Candidate) -> Source | None:
        """Return where a candidate of this index stands; None where it was removed."""
        document, position = candidate.document, candidate.position
        number = get_number(document)
        if document is None or position is None or number < 0:
            return None
        rows = self.store.get_sentences(number, position, position)
        if not rows:
            return None
        (row,) = rows
        return Source(document.id, document.title, row.line, row.start, row.stop, row.page)

    def open_rows(self, maker: RowMaker) -> RowStore | None:
        """Return what a bundle has stored, made to follow the truth where possible.

        None where nothing is stored.

        Raises:
            StoreError: it is torn, or all there is was made by another bundle.
        """
        kept = self.rows[maker.kind]
        found = kept.open(maker)
        if found is None:
            return None
        if found.state.generation != self.store.generation:
            try:
                with self._writing():
                    kept.follow(found, maker, _announce(found.folder))
                    self._forget_removed()
            except StoreError as error:
                log.info("%s: read as it is: %s", found.folder, error)
        return found

    def store_rows(self, maker: RowMaker, on_progress: Progress = lambda *_: None) -> None:
        """Store what a bundle makes of all sentences, beside what is stored already.

        What another bundle has made, or what is torn, is made anew, and what is missing is made.

        Raises:
            StoreError: it cannot be written, or someone else is writing.
        """
        kept = self.rows[maker.kind]
        with self._writing():
            store = kept.open_or_create(maker)
            kept.follow(store, maker, on_progress, since=LOOK_AT_ALL)
            self._forget_removed()

    def compact(self) -> None:
        """Write everything anew, so that what was removed is gone from the disk."""
        with self._writing():
            forget_sleeping(self.store)
            self.store.compact()
            for kept in self.rows.values():
                kept.compact()
            self._search.rebuild()

    def check(self) -> list[str]:
        """Return what is wrong; nothing where every document is there and whole."""
        problems = self.store.find_damage()
        for kept in self.rows.values():
            problems.extend(kept.find_damage())
        for document in self.store.get_documents():
            problems.extend(self._check_document(document))
        try:
            self._search.follow()
        except StoreError as error:
            return [*problems, str(error)]
        search = self._search.current
        if torn := search.find_damage():
            return problems + torn
        _, _, answers = self.store.count()
        if self._search.is_behind:
            problems.append("what finds sentences is behind; it is mended when nobody writes")
        elif search.sentence_count != answers:
            found = search.sentence_count
            problems.append(f"{found} sentences can be found, of {answers}; compact the index")
        return problems

    @contextmanager
    def changing(self) -> Iterator["Writer"]:
        """Give what changes the index; one at a time, others may read meanwhile."""
        with self._writing():
            self._mend()
            try:
                yield Writer(self.store, self._search.current, self._forget_removed)
            finally:
                self._search.close()

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """Hold the lock, over rows that are not ahead of the truth."""
        with writing(self.folder):
            for kept in self.rows.values():
                kept.fall_back()
            yield

    def _check_document(self, document: StoredDocument) -> Iterator[str]:
        text = self.store.get_text(document.id)
        rows = self.store.get_sentences(document.id)
        if [row.position for row in rows] != list(range(document.sentences)):
            yield f"{document.name}: {len(rows)} sentences, of {document.sentences}"
        elif any(" ".join(text[row.start : row.stop].split()) != row.text for row in rows):
            yield f"{document.name}: a sentence does not stand where it should"
        elif not is_sealed(self.store, document.id):
            yield f"{document.name}: not as it was stored; add its file again"

    def _get_document(self, number: int) -> Document | None:
        stored = self.store.get_document(number)
        if stored is None:
            return None
        sentences = StoredSentences(self.store, number, stored.sentences)
        return Document(stored.name, stored.title, sentences)

    def _try_to_mend(self) -> None:
        try:
            with self._writing():
                self._mend()
        except StoreError as error:
            log.info("%s: read as it is: %s", self.folder, error)

    def _mend(self) -> None:
        """Let what finds sentences follow the truth; the lock is held."""
        if self._search.is_behind:
            self._search.mend()
            self._forget_removed()

    def _forget_removed(self) -> None:
        """Let all that is derived forget removed documents, then the truth itself."""
        generation = self._search.current.generation
        for kept in self.rows.values():
            kept.drop_removed()
            generation = min(generation, kept.get_generation())
        self.store.forget_removed(until=generation)


def _announce(folder: Path) -> Progress:
    """Return what says once that a question has to wait."""

    def tell(done: int, total: int) -> None:
        if done == 1:
            log.warning("%s: %d documents that it lacks are stored first", folder, total)

    return tell


def _to_candidate(document: Document, row: StoredSentence) -> Candidate:
    return Candidate(f"{document.id}#{row.position}", row.text, document, row.position, row.tokens)


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        # What is in it is the user's own text: nobody else's to read.
        with suppress(PermissionError):
            folder.chmod(0o700)
    except OSError as error:
        raise StoreError(f"{folder}: cannot be made ({error.strerror})") from error
