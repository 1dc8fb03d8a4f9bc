"""The full-text index of an index folder: BM25 over sentences with Tantivy.

    folder/fulltext-NUMBER/    Tantivy's files

A sentence matches by its own words, by those of its passage (with the sentences around it), of the
headings above it, and of its document's title (query.py).  Its words are stemmed before they are
added, because it belongs to the passages of its neighbours too.

The full-text index is derived data: it carries the generation of SQLite that it was built from,
as one more entry, and the next writer brings it up to date.  SQLite names the folder in use; a
rebuild writes another folder beside it, which takes its place when complete.

Trap: Tantivy silently ignores a deletion by a number field, so document numbers are text here.
"""

import json
import logging
import shutil
import struct
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import tantivy

from rejoinder.documents.passages import Passage, iterate_passages
from rejoinder.errors import StoreError, is_panic, shorten
from rejoinder.index.fulltext.query import build_brief_query, build_query, correct
from rejoinder.index.fulltext.terms import FIELDS, join_fields, weigh_words
from rejoinder.index.sqlite.documents import DocumentStore, Place, StoredDocument
from rejoinder.types import Where

FORMAT = 5
"""A folder of another format is rebuilt."""

WRITER_BYTES = 100_000_000

log = logging.getLogger(__name__)

_CORRUPT = (ValueError, OSError, KeyError, IndexError, OverflowError)
_GENERATION = "generation"
_FOOTER_MAGIC = 1337


class FullTextIndex:
    """The Tantivy folder of one index: opened, refreshed, brought up to date, rebuilt."""

    def __init__(self, folder: Path, store: DocumentStore) -> None:
        self._folder = folder
        self._store = store
        self._current = self._open()

    @property
    def current(self) -> "TantivyIndex":
        """The Tantivy index; in memory where no folder exists and none could be written."""
        if self._current is None:
            self._current = TantivyIndex()
            self._add_missing(self._current)
        return self._current

    @property
    def is_stale(self) -> bool:
        """Whether SQLite has changed since it was built, or it does not exist."""
        return self._current is None or self._current.generation != self._store.generation

    def close(self) -> None:
        """Release the folder."""
        if self._current is not None:
            self._current.close()

    def refresh(self) -> None:
        """Read the latest commit of another process; not that of another index at this path."""
        if not self.is_stale:
            return
        if self._store.get("fulltext") != self.current.name:
            opened = self._open()
            self._current = opened if opened and self._store.is_current else self._current
        elif self._store.is_current:
            self.current.reload()

    def catch_up(self) -> None:
        """Bring it up to date with SQLite; the caller holds the lock."""
        if self._current is None:
            self.rebuild()
        try:
            self._add_missing(self.current)
        except StoreError as error:
            # A killed process can leave files whose names Tantivy needs next.
            log.info("%s: rebuilt: %s", self.current.name, error)
            self.rebuild()
        finally:
            self.close()

    def rebuild(self) -> None:
        """Build it again beside the old one, which is then deleted; the caller holds the lock."""
        number = int(self._store.get("fulltext number") or 0) + 1
        folder = self._folder / f"fulltext-{number}"
        shutil.rmtree(folder, ignore_errors=True)
        built = TantivyIndex(folder)
        try:
            self._add_missing(built)
        except StoreError:
            built.close()
            shutil.rmtree(folder, ignore_errors=True)  # a full disk needs the room
            raise
        built.close()
        self._store.set("fulltext number", number)
        self._store.set("fulltext format", FORMAT)
        self._store.set("fulltext", folder.name)
        self.close()
        self._current = built
        for old in self._folder.glob("fulltext-*"):
            if old != folder:
                shutil.rmtree(old, ignore_errors=True)

    def _open(self) -> "TantivyIndex | None":
        name = self._store.get("fulltext")
        if name is None or self._store.get("fulltext format") != FORMAT:
            return None
        folder = self._folder / Path(name).name
        if not (folder / "meta.json").exists():
            return None
        try:
            opened = TantivyIndex(folder)
            return opened if opened.generation <= self._store.generation else None
        except StoreError as error:
            log.info("%s: to be rebuilt: %s", folder, error)
            return None

    def _add_missing(self, index: "TantivyIndex") -> None:
        store = self._store
        known, generation = index.generation, store.generation
        if known == generation:
            return
        for number in store.get_removed(after=known):
            index.remove(number)
        for document in store.get_documents(after=known):
            if known >= 0:  # else the folder is new
                index.remove(document.id)
            adder = index.begin(document)
            for passage in iterate_passages(store.iterate_blocks(document.id)):
                adder.add(passage)
        index.commit(generation)


class TantivyIndex:
    """A Tantivy index in a folder, or in memory where no folder is given."""

    def __init__(self, folder: Path | None = None) -> None:
        self.name = folder.name if folder else None
        self._folder = folder
        with self._reading():
            if folder is not None:
                folder.mkdir(exist_ok=True)
            self._index = tantivy.Index(_make_schema(), str(folder) if folder else None)
        self._writer: tantivy.IndexWriter | None = None

    @property
    def generation(self) -> int:
        """The committed generation of SQLite; -1 before the first commit."""
        with self._reading():
            searcher = self._index.searcher()
            query = tantivy.Query.term_query(self._index.schema, "document", _GENERATION)
            hits = searcher.search(query, 1).hits
            return int(searcher.doc(hits[0][1])["position"][0]) if hits else -1

    @property
    def sentence_count(self) -> int:
        """The number of indexed sentences."""
        return self._index.searcher().num_docs - (self.generation >= 0)

    def begin(self, document: StoredDocument) -> "DocumentAdder":
        """Begin a document, whose sentences are then added one by one."""
        return DocumentAdder(self, document)

    def add_entry(self, entry: tantivy.Document) -> None:
        """Add the entry of one sentence."""
        writer = self._get_writer()
        with self._writing():
            writer.add_document(entry)

    def remove(self, number: int) -> None:
        """Remove the sentences of a document."""
        with self._writing():
            self._get_writer().delete_documents_by_term("document", str(number))

    def commit(self, generation: int) -> None:
        """Write all additions and removals to disk, as of a generation of SQLite."""
        writer = self._get_writer()
        entry = tantivy.Document()
        entry.add_text("document", _GENERATION)
        entry.add_unsigned("position", generation)
        with self._writing():
            writer.delete_documents_by_term("document", _GENERATION)
            writer.add_document(entry)
            writer.commit()
        self._index.reload()

    def close(self) -> None:
        """Release the folder and drop uncommitted changes."""
        writer, self._writer = self._writer, None
        if writer is not None:
            with suppress(ValueError, OSError):  # a full disk may have ended it already
                writer.wait_merging_threads()

    def reload(self) -> None:
        """Read the latest commit of another process."""
        with suppress(ValueError):  # a rebuild has replaced the folder; the next refresh opens it
            self._index.reload()

    def search(
        self, question: str, limit: int, where: Where | None, *, is_brief: bool = False
    ) -> dict[Place, float]:
        """Return the scores of the sentences that match a question best, best first.

        Args:
            is_brief: search only for the rarest words of the question.
        """
        scores = {}
        build = build_brief_query if is_brief else build_query
        with self._reading():
            searcher = self._index.searcher()
            query = build(self._index.schema, searcher, question)
            if query is None or limit < 1:
                return {}
            for key, value in (where or {}).items():
                query = self._restrict(query, key, [value] if isinstance(value, str) else value)
            for score, address in searcher.search(query, limit, count=False).hits:
                entry = searcher.doc(address).to_dict()
                scores[int(entry["document"][0]), int(entry["position"][0])] = float(score)
        # Tantivy orders equal scores by segments, which depend on the history of the index.
        return dict(sorted(scores.items(), key=lambda item: (-item[1], item[0])))

    def correct(self, question: str) -> str:
        """Return a question in which words that the index does not know are corrected."""
        with self._reading():
            return correct(self._index.searcher(), question)

    def weigh_words(self, words: Sequence[str]) -> list[float]:
        """Return how rare each word is in sentences, from 0 to 1."""
        with self._reading():
            return weigh_words(self._index.searcher(), words)

    def find_damage(self) -> list[str]:
        """Return the files whose content does not match the checksum at their end."""
        if self._folder is None:
            return []
        return [
            f"{path.parent.name}/{path.name} is corrupt; rebuild it with 'rejoinder index compact'"
            for path in _list_files(self._folder)
            if not _is_intact(path)
        ]

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """Raise Tantivy's errors while writing as a StoreError."""
        try:
            yield
        except (ValueError, OSError) as error:
            raise StoreError(
                f"cannot write the full-text index ({error}); no document is lost,"
                " and it is brought up to date when the index is opened again"
            ) from error

    @contextmanager
    def _reading(self) -> Iterator[None]:
        """Raise Tantivy's errors about corrupt files as a StoreError."""
        try:
            yield
        except BaseException as error:
            if not isinstance(error, _CORRUPT) and not is_panic(error):
                raise
            problem = f"{self._folder}: corrupt ({shorten(error)})"
            raise StoreError(f"{problem}; rebuild it with 'rejoinder index compact'") from error

    def _restrict(self, query: tantivy.Query, key: str, values: Sequence[str]) -> tantivy.Query:
        tags = [f"{key}={value}" for value in values]
        tagged = tantivy.Query.term_set_query(self._index.schema, "tag", tags)
        allowed = tantivy.Query.const_score_query(tagged, 0.0)
        must = tantivy.Occur.Must
        return tantivy.Query.boolean_query([(must, query), (must, allowed)])

    def _get_writer(self) -> tantivy.IndexWriter:
        if self._writer is None:
            with self._writing():
                self._writer = self._index.writer(WRITER_BYTES, 1)
        return self._writer


class DocumentAdder:
    """Adds the sentences of one document that may answer."""

    def __init__(self, index: TantivyIndex, document: StoredDocument) -> None:
        self._index = index
        self._number = str(document.id)
        self._tags = [f"{key}={value}" for key, value in document.metadata.items()]
        self._title = document.title

    def add(self, passage: Passage) -> None:
        """Add a sentence, which is also found by its passage, its headings and its title."""
        entry = tantivy.Document()
        entry.add_text("document", self._number)
        entry.add_unsigned("position", passage.sentence.position)
        for field, terms in join_fields(self._title, passage).items():
            entry.add_text(field, terms)
        for tag in self._tags:
            entry.add_text("tag", tag)
        self._index.add_entry(entry)


def _list_files(folder: Path) -> list[Path]:
    """Return the committed files: a kill or a full disk leaves others, partly written."""
    try:
        meta = json.loads((folder / "meta.json").read_text(encoding="utf-8"))
        names = {item["segment_id"].replace("-", "") for item in meta["segments"]}
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return sorted(folder.glob("[!.]*.*"))  # check all of them
    return sorted(path for name in names for path in folder.glob(f"{name}.*"))


def _is_intact(path: Path) -> bool:
    """Whether a file matches the checksum in its footer.

    The footer is a JSON object, its length and a magic number, four bytes each.  Files that
    Tantivy replaces (`meta.json`, …) have none; they are small, and parsed at each opening.
    """
    if path.suffix in {".json", ".lock"}:
        return True
    try:
        raw = path.read_bytes()
        size, magic = struct.unpack("<II", raw[-8:])
        start = len(raw) - 8 - size
        checksum = json.loads(raw[start:-8])["crc"]
        return bool(magic == _FOOTER_MAGIC and checksum == zlib.crc32(raw[:start]))
    except FileNotFoundError:  # merged into another meanwhile
        return True
    except (OSError, ValueError, KeyError, TypeError, struct.error):
        return False


def _make_schema() -> tantivy.Schema:
    builder = tantivy.SchemaBuilder()
    builder.add_text_field("document", stored=True, tokenizer_name="raw", index_option="basic")
    builder.add_unsigned_field("position", stored=True)
    builder.add_text_field("tag", tokenizer_name="raw", index_option="basic")
    for name in FIELDS:
        builder.add_text_field(name, tokenizer_name="whitespace", index_option="freq")
    return builder.build()
