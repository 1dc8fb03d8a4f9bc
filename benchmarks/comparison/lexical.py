"""BM25 by libraries that a user would take: bm25s, SQLite's FTS5 and Tantivy.

Over a corpus, a row is a sentence with the title of its document.  Inside a document, an index of
its sentences is built for each question, and the time of that counts.
"""

import re
import sqlite3
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Protocol

from benchmarks.comparison.setting import (
    ANSWERS,
    Find,
    Indexing,
    Rank,
    Search,
    Sentence,
    Setting,
    complete,
    read_sentences,
    take_five,
)
from benchmarks.function_words import FUNCTION_WORDS


class Engine(Protocol):
    """A BM25 index of sentences."""

    def build(self, sentences: Sequence[Sentence], folder: Path | None = None) -> None:
        """Index sentences, in a new folder or in memory."""

    def open(self, folder: Path) -> None:
        """Open what was built."""

    def find(self, question: str, k: int) -> list[Sentence]:
        """Return the best sentences, the best first."""


class Bm25s:
    """The library bm25s with its English stop words and a stemmer, as its README sets it up."""

    def __init__(self) -> None:
        import bm25s
        import Stemmer

        self._library = bm25s
        self._stemmer = Stemmer.Stemmer("english")
        self._index: Any = None

    def build(self, sentences: Sequence[Sentence], folder: Path | None = None) -> None:
        """Index sentences, in a new folder or in memory."""
        self._index = None
        words = self._split([item.titled for item in sentences])
        if not words.vocab:
            return  # stop words only: bm25s refuses an empty vocabulary
        self._index = self._library.BM25(corpus=[item._asdict() for item in sentences])
        self._index.index(words, show_progress=False)
        if folder:
            self._index.save(folder)

    def open(self, folder: Path) -> None:
        """Open what was built; it stays on disk, as its README advises for large corpora."""
        self._index = self._library.BM25.load(folder, load_corpus=True, mmap=True)

    def find(self, question: str, k: int) -> list[Sentence]:
        """Return the best sentences, the best first."""
        if self._index is None:
            return []
        count = min(k, len(self._index.corpus))
        found, scores = self._index.retrieve(
            self._split([question]), k=count, show_progress=False, n_threads=0
        )
        pairs = zip(found[0], scores[0], strict=True)
        return [Sentence(**item) for item, score in pairs if score > 0]

    def _split(self, texts: list[str]) -> Any:
        return self._library.tokenize(
            texts, stopwords="en", stemmer=self._stemmer, show_progress=False
        )


class Fts5:
    """SQLite's FTS5 with Porter's stemmer; a question's content words are joined by OR."""

    _database: sqlite3.Connection

    def build(self, sentences: Sequence[Sentence], folder: Path | None = None) -> None:
        """Index sentences, in a new folder or in memory."""
        if folder:
            folder.mkdir()
        self._database = sqlite3.connect(folder / "index.sqlite" if folder else ":memory:")
        self._database.execute(
            "CREATE VIRTUAL TABLE sentences USING fts5(title, text, tokenize = 'porter unicode61')"
        )
        self._database.executemany(
            "INSERT INTO sentences(rowid, title, text) VALUES (?, ?, ?)", sentences
        )
        self._database.commit()

    def open(self, folder: Path) -> None:
        """Open what was built."""
        self._database = sqlite3.connect(folder / "index.sqlite")

    def find(self, question: str, k: int) -> list[Sentence]:
        """Return the best sentences, the best first."""
        words = re.findall(r"\w+", question.lower())
        content = [word for word in words if word not in FUNCTION_WORDS] or words
        if not content:
            return []
        rows = self._database.execute(
            "SELECT rowid, title, text FROM sentences WHERE sentences MATCH ?"
            " ORDER BY rank LIMIT ?",
            (" OR ".join(f'"{word}"' for word in content), k),
        )
        return [Sentence(*row) for row in rows]


class Tantivy:
    """Tantivy with its English stemmer; both fields are asked, as its README does."""

    _index: Any

    def build(self, sentences: Sequence[Sentence], folder: Path | None = None) -> None:
        """Index sentences, in a new folder or in memory."""
        import tantivy

        fields = tantivy.SchemaBuilder()
        fields.add_unsigned_field("place", stored=True)
        fields.add_text_field("title", stored=True, tokenizer_name="en_stem")
        fields.add_text_field("text", stored=True, tokenizer_name="en_stem")
        if folder:
            folder.mkdir()
        self._index = tantivy.Index(fields.build(), path=str(folder) if folder else None)
        writer = self._index.writer()
        for item in sentences:
            writer.add_document(tantivy.Document(**item._asdict()))
        writer.commit()
        writer.wait_merging_threads()
        self._index.reload()

    def open(self, folder: Path) -> None:
        """Open what was built."""
        import tantivy

        self._index = tantivy.Index.open(str(folder))

    def find(self, question: str, k: int) -> list[Sentence]:
        """Return the best sentences, the best first."""
        query, _ = self._index.parse_query_lenient(question, ["title", "text"])
        searcher = self._index.searcher()
        found = (searcher.doc(address) for _, address in searcher.search(query, k).hits)
        return [Sentence(item["place"][0], item["title"][0], item["text"][0]) for item in found]


ENGINES: dict[str, Callable[[], Engine]] = {"bm25s": Bm25s, "fts5": Fts5, "tantivy": Tantivy}


def open_ranker(_: Setting, engine: str) -> Rank:
    """Return what ranks the sentences of a document; those without a common word come last."""
    index = ENGINES[engine]()

    def rank(question: str, texts: Sequence[str]) -> list[int]:
        index.build([Sentence(place, "", text) for place, text in enumerate(texts)])
        return complete([item.place for item in index.find(question, len(texts))], len(texts))

    return rank


def index(setting: Setting, engine: str) -> Indexing:
    """Return what indexes a corpus."""
    sentences = read_sentences(setting)
    return lambda: ENGINES[engine]().build(sentences, setting.folder / engine)


def open_index(setting: Setting, engine: str) -> Find:
    """Return the search over the sentences of a corpus."""
    opened = ENGINES[engine]()
    opened.open(setting.folder / engine)
    return opened.find


def open_search(setting: Setting, engine: str) -> Search:
    """Return what answers from a corpus."""
    find = open_index(setting, engine)
    # Some sentences of a corpus are the same: a few more are asked for.
    return Search(lambda question: take_five(find(question, 2 * ANSWERS)))
