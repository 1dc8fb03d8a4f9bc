"""Finds sentences with PostgreSQL's full-text search.

    sentences(document, position, title, text, metadata, words)

`words` is the tsvector of text and title, with a GIN index.  A question matches by any of its
words; `ts_rank_cd` orders the hits, which is not BM25: leave the ranking to a scorer.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING, Any, overload

from rejoinder.errors import MissingExtraError, StoreError, shorten
from rejoinder.text.words import normalise_words, split_words
from rejoinder.types import Candidate, Document, ScoredCandidate, Where

if TYPE_CHECKING:
    from psycopg import Connection

MAX_QUESTION_WORDS = 64
CONNECT_SECONDS = 10


class PostgresRetriever:
    """A table of sentences; a `Retriever`.  Several threads may search at once."""

    def __init__(
        self, address: str, *, table: str = "sentences", language: str = "english"
    ) -> None:
        """Connect to a server; `create` creates the table.

        Args:
            address: a connection string: `postgresql://user@host/database`, or `host=… dbname=…`.
            language: the server's text search configuration.

        Raises:
            StoreError: the server cannot be reached, or refuses the connection.
        """
        try:
            import psycopg
            from psycopg import sql
        except ImportError as error:
            raise MissingExtraError("PostgreSQL", extra="postgres") from error
        self._sql, self._error = sql, psycopg.Error
        self._table = sql.Identifier(table)
        self._language = language
        with self._translating():
            self._connection: Connection[tuple[Any, ...]] = psycopg.connect(
                address, autocommit=True, connect_timeout=CONNECT_SECONDS
            )

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    def create(self) -> None:
        """Create the table and its index, unless they exist."""
        index = self._sql.Identifier(f"{self._table._obj[0]}_words")
        self._run(
            "CREATE TABLE IF NOT EXISTS {table} (document text, position integer, title text,"
            " text text NOT NULL, metadata jsonb NOT NULL DEFAULT '{{}}', words tsvector NOT NULL,"
            " PRIMARY KEY (document, position));"
            " CREATE INDEX IF NOT EXISTS {index} ON {table} USING gin (words)",
            index=index,
        )

    def add(
        self, documents: Iterable[Document], *, metadata: Mapping[str, str] | None = None
    ) -> None:
        """Add documents, all or none; each replaces the one of the same id."""
        from psycopg.types.json import Jsonb

        facts = Jsonb(dict(metadata or {}))
        insert = self._compose(
            "INSERT INTO {table} VALUES"
            " (%(document)s, %(position)s, %(title)s, %(text)s, %(facts)s,"
            " setweight(to_tsvector(%(language)s::regconfig, %(text)s), 'A') ||"
            " setweight(to_tsvector(%(language)s::regconfig, %(title)s), 'D'))"
        )
        with self._translating(), self._connection.transaction():
            for document in documents:
                self._run("DELETE FROM {table} WHERE document = %s", [document.id])
                shared = {"document": document.id, "title": document.title, "facts": facts}
                rows = [
                    {**shared, "position": place, "text": text, "language": self._language}
                    for place, text in enumerate(document.sentences)
                ]
                with self._connection.cursor() as cursor:
                    cursor.executemany(insert, rows)

    def search(self, question: str, k: int, *, where: Where | None = None) -> list[ScoredCandidate]:
        """Return the k sentences that match a question best, best first.

        Raises:
            StoreError: the server does not answer.
        """
        words = list(dict.fromkeys(normalise_words(question, split_words)))
        if not words or k < 1:
            return []
        terms = words[:MAX_QUESTION_WORDS]
        any_word = " || ".join(["plainto_tsquery(%s::regconfig, %s)"] * len(terms))
        values: list[Any] = [part for word in terms for part in (self._language, word)]
        filters = ""
        for key, value in (where or {}).items():
            filters += " AND metadata ->> %s = ANY(%s)"
            values += [key, [value] if isinstance(value, str) else list(value)]
        rows = self._run(
            f"SELECT document, position, title, text, ts_rank_cd(words, query) AS score"
            f" FROM {{table}}, (SELECT {any_word} AS query) AS question"
            f" WHERE words @@ query{filters} ORDER BY score DESC, document, position LIMIT %s",
            [*values, k],
        )
        documents = {
            name: Document(name, title or "", _Sentences(self, name)) for name, _, title, *_ in rows
        }
        return [
            ScoredCandidate(
                Candidate(f"{name}#{position}", text, documents[name], position), float(score), rank
            )
            for rank, (name, position, _, text, score) in enumerate(rows, start=1)
        ]

    def get_sentences(self, document: str) -> tuple[str, ...]:
        """Return the sentences of a document, in order."""
        sql = "SELECT text FROM {table} WHERE document = %s ORDER BY position"
        return tuple(text for (text,) in self._run(sql, [document]))

    def _compose(self, text: str, **names: Any) -> Any:
        return self._sql.SQL(text).format(table=self._table, **names)

    def _run(self, text: str, values: Sequence[Any] = (), **names: Any) -> list[tuple[Any, ...]]:
        with self._translating():
            cursor = self._connection.execute(self._compose(text, **names), values or None)
            return cursor.fetchall() if cursor.description else []

    @contextmanager
    def _translating(self) -> Iterator[None]:
        try:
            yield
        except self._error as error:
            raise StoreError(f"PostgreSQL: {shorten(error)}") from error


class _Sentences(Sequence[str]):
    """The sentences of a document, fetched on first access."""

    def __init__(self, retriever: PostgresRetriever, document: str) -> None:
        self._retriever = retriever
        self._document = document

    def __len__(self) -> int:
        return len(self._texts)

    @overload
    def __getitem__(self, place: int) -> str: ...
    @overload
    def __getitem__(self, place: slice) -> tuple[str, ...]: ...
    def __getitem__(self, place: int | slice) -> str | tuple[str, ...]:
        return self._texts[place]

    @cached_property
    def _texts(self) -> tuple[str, ...]:
        return self._retriever.get_sentences(self._document)
