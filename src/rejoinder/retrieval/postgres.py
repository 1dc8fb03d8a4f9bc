"""An index in PostgreSQL with the extension pgvector.

    NAME_sentences    a row per sentence; the comment of the table is the schema
    NAME_documents    a row per document with its revision
    NAME_terms        how many sentences each term has; the empty term has all

PostgreSQL's own ranking ignores how rare a word is.  Here its arrays find the sentences with a
content word, and pgvector's sparse vectors score them by BM25 (bm25.py).
"""

import re
import socket
import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from typing import TYPE_CHECKING, Any, TypeVar

from rejoinder.errors import MissingExtraError, StoreError, shorten
from rejoinder.index.candidates import MAX_COPIES
from rejoinder.retrieval.bm25 import compute_rarity, number_term, weigh_query, weigh_terms
from rejoinder.retrieval.record import Schema, SentenceRecord, read_schema_json
from rejoinder.retrieval.remote import (
    LOAD_SECONDS,
    SECONDS,
    Found,
    RemoteIndex,
    SentenceQuery,
    TermCounts,
)
from rejoinder.retrieval.url import EngineUrl

if TYPE_CHECKING:
    import psycopg
    from psycopg import Connection

Result = TypeVar("Result")
OLDEST = (0, 8)
"""The first version of pgvector that searches its graph with filters until it has enough."""
OLDEST_SERVER = 13
"""The first version of PostgreSQL that pgvector 0.8 runs on."""
DIMENSIONS = 1 << 29
"""Of sparse vectors (`number_term`)."""
MAX_IDLE = 16
"""Connections that are kept."""
GRACE_SECONDS = 0.25
"""How much longer than the server the client waits, before it gives a connection up."""
EXACTNESS = 400
"""Rows that the search of the HNSW graph keeps; more find more of the nearest."""
_RECORD: Mapping[str, str] = {
    "id": "text PRIMARY KEY",
    "document": "text NOT NULL",
    "revision": "text NOT NULL",
    "position": "integer NOT NULL",
    "may_answer": "boolean NOT NULL",
    "text": "text NOT NULL",
    "title": "text NOT NULL",
    "path": "text[] NOT NULL",
    "term": "text NOT NULL",
    "raw": "text NOT NULL",
    "kind": "text NOT NULL",
    "block": "integer NOT NULL",
    "start": "integer NOT NULL",
    "end": "integer NOT NULL",
    "line": "integer",
    "page": "integer",
    "anchor": "text NOT NULL",
    "url": "text NOT NULL",
    "metadata": "jsonb NOT NULL",
    "tags": "text[] NOT NULL",
    "digest": "bigint NOT NULL",
    "sentences": "integer NOT NULL",
    "passage": "text NOT NULL",
}
"""The columns of a record, in its order."""
_SEARCHED: Mapping[str, str] = {
    "terms": "text[]",
    "weights": f"sparsevec({DIMENSIONS})",
    "vector": "halfvec",
}
_READ = [name for name in _RECORD if name != "passage"]
_PASSWORD = "give user and password in the URL: postgresql://USER:PASSWORD@HOST/DATABASE?name=NAME"
_UNREACHABLE = "check that it runs, and its URL"
_REMEDIES = {
    "28": _PASSWORD,
    "3D": "give the name of a database that exists: postgresql://HOST/DATABASE?name=NAME",
    "42501": "the user needs the right to do this (GRANT)",
    "25006": "the server or the user is read-only; give the URL of one that can be written",
    "53": "the server has no room or no connection left",
}
"""What to do, by the beginning of the error's code."""
_LATE = "57014"
"""The code of a statement that the server has stopped."""
_TERMS = """
SELECT unnest(terms) AS term, {change} AS change FROM {rows}
UNION ALL SELECT '', {change} FROM {rows} AND may_answer
"""
"""The terms of some rows, and the empty one, with what is to be added to their counts."""
_COUNT = """
INSERT INTO {terms} AS own SELECT * FROM pg_temp.counted ORDER BY term
ON CONFLICT (term) DO UPDATE SET sentences = own.sentences + excluded.sentences
"""
"""Adds to the counts.  Other writers wait for these rows, so this is the last statement of a
transaction, and the only one that locks them: in one order, so that writers do not deadlock."""


class PostgresIndex(RemoteIndex):
    """An index in PostgreSQL; a `Retriever`.  Each thread has a connection while it asks."""

    engine = "PostgreSQL"

    def __init__(self, url: EngineUrl) -> None:
        super().__init__(url)
        try:
            import psycopg
        except ImportError as error:
            raise MissingExtraError("PostgreSQL", extra="postgres") from error
        self._psycopg = psycopg
        self._idle: list[Connection[Any]] = []
        self._lock = threading.Lock()

    def close(self) -> None:
        """Close all connections."""
        with self._lock:
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()

    def read_schema(self, seconds: float = SECONDS) -> Schema | None:
        """Return the stored schema; None where there is no table of this name."""
        sql = "SELECT obj_description(oid, 'pg_class') FROM pg_class WHERE oid = to_regclass(%s)"
        values = [f'"{self.url.name}_sentences"']
        rows = self._read("reading the schema", seconds, lambda run: run(sql, values))
        if not rows:
            return None
        if rows[0][0] is None:
            raise self.foreign("the table")
        return read_schema_json(self.label, rows[0][0])

    def find(self, query: SentenceQuery, seconds: float) -> Found:
        """Return the sentences that match, both searches in one statement."""
        rows = self._read("searching", seconds, lambda run: self._search(run, query))
        scores: dict[str, dict[str, float]] = {"words": {}, "meaning": {}}
        records: dict[str, SentenceRecord] = {}
        for source, score, *row in rows:
            if source == "words" or (score > 0 and score >= query.min_cosine):
                records[row[0]] = record = _to_record(row)
                scores[source][record.id] = score
        return Found(scores["words"], scores["meaning"], records)

    def _search(self, run: "_Run", query: SentenceQuery) -> list[tuple[Any, ...]]:
        searches: dict[str, str] = {}
        values: dict[str, Any] = {"limit": query.limit, "least": query.min_cosine}
        filters = ""
        for place, group in enumerate(query.tags):
            values[f"tags{place}"] = list(group)
            filters += f" AND tags && %(tags{place})s::text[]"
        content = [term for word in query.content for term in word.terms]
        if content:
            values |= {"terms": content, "weights": self._weigh(run, query)}
            searches["words"] = (
                "SELECT id, -(weights <#> %(weights)s::sparsevec) AS score FROM {sentences}"
                f" WHERE terms && %(terms)s::text[]{filters} ORDER BY score DESC, id"
            )
        if query.vector is not None:
            values["vector"] = _to_vector(query.vector)
            searches["meaning"] = (
                "SELECT id, -(vector <#> %(vector)s::halfvec) AS score FROM {sentences}"
                f" WHERE vector IS NOT NULL{filters} ORDER BY vector <#> %(vector)s::halfvec"
            )
        if not searches:
            return []
        hits = " UNION ALL ".join(
            f"(SELECT '{name}' AS source, own.* FROM ({sql} LIMIT %(limit)s) AS own)"
            for name, sql in searches.items()
        )
        columns = ", ".join(f'{{sentences}}."{name}"' for name in _READ)
        run(f"SET LOCAL hnsw.ef_search = {min(1_000, max(EXACTNESS, query.limit))}")
        run("SET LOCAL hnsw.iterative_scan = strict_order")
        return run(
            f"SELECT hits.source, hits.score, {columns} FROM ({hits}) AS hits"
            " JOIN {sentences} USING (id) ORDER BY hits.score DESC, id",
            values,
        )

    def fetch(
        self, ids: Sequence[str], digests: Sequence[int], seconds: float
    ) -> list[SentenceRecord]:
        """Return the records of these ids, and copies of these digests."""
        columns = ", ".join(f'"{name}"' for name in _RECORD)
        sql = (
            f"SELECT {columns} FROM {{sentences}} WHERE id = ANY(%s)"
            f" UNION SELECT copy.* FROM unnest(%s::bigint[]) AS wanted(digest),"
            f" LATERAL (SELECT {columns} FROM {{sentences}} AS other"
            " WHERE other.digest = wanted.digest AND may_answer LIMIT %s) AS copy"
        )
        values = [list(ids), list(digests), MAX_COPIES + 1]
        rows = self._read("reading sentences", seconds, lambda run: run(sql, values))
        return [_to_record(row) for row in rows]

    def count_terms(self, terms: Collection[str], seconds: float) -> TermCounts:
        """Return how many sentences have each term in any field."""
        return self._read("counting terms", seconds, lambda run: _read_counts(run, terms))

    def create(self, schema: Schema) -> None:
        """Create the extension, the tables, and the indexes that filters need."""
        columns = ", ".join(f'"{name}" {kind}' for name, kind in {**_RECORD, **_SEARCHED}.items())
        if schema.width:
            columns = columns.replace("halfvec", f"halfvec({schema.width})")
        name = self.url.name
        with self._running("creating the tables", LOAD_SECONDS) as run:
            run("CREATE EXTENSION IF NOT EXISTS vector")
            ((version,),) = run("SELECT extversion FROM pg_extension WHERE extname = 'vector'")
            if tuple(map(int, re.findall(r"\d+", version)[:2])) < OLDEST:
                oldest = ".".join(map(str, OLDEST))
                raise self.failed("opening", f"pgvector {version}", f"update it to {oldest}")
            # Rows stay whole: a search reads weights and vectors of many.
            run(f"CREATE TABLE {{sentences}} ({columns}) WITH (toast_tuple_target = 8160)")
            run("ALTER TABLE {sentences} ALTER passage SET STORAGE EXTERNAL")
            run("CREATE TABLE {documents} (document text PRIMARY KEY, revision text NOT NULL)")
            run("CREATE TABLE {terms} (term text PRIMARY KEY, sentences bigint NOT NULL)")
            for index, definition in {
                "document": "(document)",
                "digest": "(digest) WHERE may_answer",
                "tags": "USING gin (tags)",
                "terms": "USING gin (terms) WITH (fastupdate = off)",
            }.items():
                run(f'CREATE INDEX "{name}_sentences_{index}" ON {{sentences}} {definition}')
            comment = schema.to_json().replace("'", "''").replace("{", "{{").replace("}", "}}")
            run(f"COMMENT ON TABLE {{sentences}} IS '{comment}'")

    def get_revisions(self, documents: Collection[str] | None = None) -> dict[str, str]:
        """Return the revisions by document, of these documents or of all."""
        sql = "SELECT document, revision FROM {documents}"
        values = None if documents is None else [list(documents)]
        if values:
            sql += " WHERE document = ANY(%s)"
        return dict(self._read("reading revisions", LOAD_SECONDS, lambda run: run(sql, values)))

    def put_revisions(self, revisions: Mapping[str, str]) -> None:
        """Store the revision of each of these documents."""
        with self._running("storing revisions", LOAD_SECONDS) as run:
            run(
                "INSERT INTO {documents} SELECT * FROM unnest(%s::text[], %s::text[])"
                " ON CONFLICT (document) DO UPDATE SET revision = excluded.revision",
                [list(revisions), list(revisions.values())],
            )

    def write(self, records: Sequence[SentenceRecord]) -> None:
        """Store records."""
        columns = [*_RECORD, *_SEARCHED]
        names = ", ".join(f'"{name}"' for name in columns)
        updates = ", ".join(f'"{name}" = excluded."{name}"' for name in columns[1:])
        copied = f"COPY pg_temp.loaded ({names}) FROM STDIN"
        with self._running("storing sentences", LOAD_SECONDS) as run:
            run("CREATE TEMP TABLE loaded (LIKE {sentences}) ON COMMIT DROP")
            with run.connection.cursor() as cursor, cursor.copy(copied) as copy:
                for record in records:
                    copy.write_row(_to_row(record))
            _lock(run, {record.document for record in records})
            loaded = "pg_temp.loaded WHERE true"
            replaced = f"{{sentences}} WHERE id IN (SELECT id FROM {loaded})"
            is_counted = _take_counts(run, {loaded: 1, replaced: -1})
            run(
                f"INSERT INTO {{sentences}} SELECT * FROM pg_temp.loaded"
                f" ON CONFLICT (id) DO UPDATE SET {updates}"
            )
            if is_counted:
                run(_COUNT)

    def delete_sentences(self, revisions: Mapping[str, str]) -> None:
        """Delete the sentences of these documents that are not of the given revision."""
        with self._running("deleting sentences", LOAD_SECONDS) as run:
            _lock(run, revisions)
            run(
                "CREATE TEMP TABLE deleted ON COMMIT DROP AS"
                " SELECT id FROM {sentences} AS own, unnest(%s::text[], %s::text[])"
                " AS kept(document, revision)"
                " WHERE own.document = kept.document AND own.revision <> kept.revision",
                [list(revisions), list(revisions.values())],
            )
            rows = "{sentences} WHERE id IN (SELECT id FROM pg_temp.deleted)"
            is_counted = _take_counts(run, {rows: -1})
            run(f"DELETE FROM {rows}")
            if is_counted:
                run(_COUNT)

    def delete_revisions(self, documents: Collection[str]) -> None:
        """Delete the revisions of these documents."""
        with self._running("deleting revisions", LOAD_SECONDS) as run:
            run("DELETE FROM {documents} WHERE document = ANY(%s)", [list(documents)])

    def finish(self) -> None:
        """Count the terms and build the HNSW graph after the first load; changes update both."""
        with self._running("building indexes", 0) as run:
            if not _is_counted(run):
                run(
                    "INSERT INTO {terms} SELECT each, count(*) FROM {sentences},"
                    " unnest(terms) AS each GROUP BY each UNION ALL"
                    " SELECT '', count(*) FROM {sentences} WHERE may_answer"
                )
            if self.open(LOAD_SECONDS).width:
                run(
                    f'CREATE INDEX IF NOT EXISTS "{self.url.name}_sentences_vector"'
                    " ON {sentences} USING hnsw (vector halfvec_ip_ops)"
                )
            run("ANALYZE {sentences}")

    def _weigh(self, run: "_Run", query: SentenceQuery) -> str:
        """Return the sparse vector of a question."""
        weights = weigh_query(query)
        counts, total = _read_counts(run, weights)
        return _to_sparse(
            {
                term: weight * compute_rarity(counts.get(term, 0), total)
                for term, weight in weights.items()
            }
        )

    def _read(self, request: str, seconds: float, read: "Callable[[_Run], Result]") -> Result:
        """Return what a function reads; where its connection is lost, over a new one.

        The new one is to the first host of the URL that accepts it.
        """
        end = time.monotonic() + seconds
        try:
            with self._running(request, seconds) as run:
                return read(run)
        except _LostError:
            left = end - time.monotonic()
            if left <= 0:
                raise
        with self._running(request, left) as run:
            return read(run)

    @contextmanager
    def _running(self, request: str, seconds: float) -> Iterator["_Run"]:
        """Yield what runs statements in one transaction, and raise errors as StoreErrors.

        The server stops a statement after `seconds` (0: never).  Where it does not even answer,
        the connection is closed a little later.
        """
        connection = self._take(request, seconds)
        guard = _Guard(connection.fileno(), seconds + GRACE_SECONDS if seconds else None)
        try:
            with closing(guard), connection.transaction():
                milliseconds = max(1, int(1000 * seconds)) if seconds else 0
                run = _Run(connection, self.url.name)
                run(f"SET LOCAL statement_timeout = {milliseconds}")
                yield run
        except self._psycopg.Error as error:
            is_lost = connection.broken and not guard.has_ended
            connection.close()
            explained = self._explain(request, error, seconds, is_late=guard.has_ended)
            raise (_LostError(str(explained)) if is_lost else explained) from error
        except BaseException:
            connection.close()
            raise
        with self._lock:
            if len(self._idle) < MAX_IDLE:
                self._idle.append(connection)
                return
        connection.close()

    def _take(self, request: str, seconds: float) -> "Connection[Any]":
        """Return a connection that is alive: an idle one, or a new one."""
        while True:
            with self._lock:
                connection = self._idle.pop() if self._idle else None
            if connection is None:
                break
            if not _is_cut(connection):
                return connection
            connection.close()
        wait = max(2, round(min(seconds or SECONDS, SECONDS)))  # whole seconds, 2 or more
        try:
            connection = self._psycopg.connect(
                self.url.rest, autocommit=True, connect_timeout=wait, prepare_threshold=2
            )
        except self._psycopg.errors.ConnectionTimeout as error:
            late = f"no answer within {1000 * (seconds or wait):.0f} ms"
            raise self.failed(request, late, _UNREACHABLE) from error
        except self._psycopg.Error as error:
            raise self._explain(request, error, seconds) from error
        if (version := connection.info.server_version // 10_000) < OLDEST_SERVER:
            connection.close()
            remedy = f"use PostgreSQL {OLDEST_SERVER} or later"
            raise self.failed("opening", f"version {version}", remedy)
        return connection

    def _explain(
        self, request: str, error: "psycopg.Error", seconds: float, *, is_late: bool = False
    ) -> StoreError:
        code = error.sqlstate or ""
        reason = shorten(error)
        if is_late or code == _LATE:
            remedy = "allow more time, or see what the server is busy with (pg_stat_activity)"
            return self.failed(request, f"no answer within {1000 * seconds:.0f} ms", remedy)
        if code == "42P01":
            return self.missing()
        if code in ("0A000", "58P01") and "vector" in reason:
            return self.failed(request, reason, "install pgvector on the server")
        needs_password = error.pgconn is not None and error.pgconn.needs_password
        if needs_password or (not code and "password" in reason):
            return self.failed(request, reason, _PASSWORD)
        remedy = next((text for start, text in _REMEDIES.items() if code.startswith(start)), "")
        if not remedy and isinstance(error, self._psycopg.OperationalError):
            remedy = _UNREACHABLE
        return self.failed(request, reason, remedy)


class _Run:
    """Runs statements on a connection, with the names of the tables put in."""

    def __init__(self, connection: "Connection[Any]", name: str) -> None:
        self.connection = connection
        self._names = {table: f'"{name}_{table}"' for table in ("sentences", "documents", "terms")}

    def __call__(self, sql: str, values: Any = None) -> list[tuple[Any, ...]]:
        text: Any = sql.format(**self._names)
        cursor = self.connection.execute(text, values)
        return cursor.fetchall() if cursor.description else []


class _LostError(StoreError):
    """The connection was ended before the answer came."""


class _Guard:
    """Ends a connection after some seconds (None: never), unless it is closed before."""

    def __init__(self, descriptor: int, seconds: float | None) -> None:
        self.has_ended = False
        self._descriptor = descriptor
        self._timer = None if seconds is None else threading.Timer(seconds, self._end)
        if self._timer:
            self._timer.daemon = True
            self._timer.start()

    def close(self) -> None:
        """Leave the connection alone."""
        if self._timer:
            self._timer.cancel()

    def _end(self) -> None:
        self.has_ended = True
        _shut(self._descriptor)


def _is_counted(run: _Run) -> bool:
    """Return whether the terms were counted, so that changes are to be added."""
    return bool(run("SELECT 1 FROM {terms} WHERE term = ''"))


def _read_counts(run: _Run, terms: Collection[str]) -> TermCounts:
    counts = dict(run("SELECT * FROM {terms} WHERE term = ANY(%s)", [[*terms, ""]]))
    return TermCounts(counts, counts.get("", 0))


def _lock(run: _Run, documents: Collection[str]) -> None:
    """Wait for other writers of these documents, so that what they have counted is seen."""
    run(
        "SELECT FROM {documents} WHERE document = ANY(%s) ORDER BY document FOR UPDATE",
        [list(documents)],
    )


def _take_counts(run: _Run, changes: Mapping[str, int]) -> bool:
    """Keep what `_COUNT` adds for some rows, by how it changes; False if terms are not counted."""
    if not _is_counted(run):
        return False
    each = " UNION ALL ".join(
        _TERMS.format(change=change, rows=rows) for rows, change in changes.items()
    )
    run(
        "CREATE TEMP TABLE counted ON COMMIT DROP AS SELECT term, sum(change) AS sentences"
        f" FROM ({each}) AS each GROUP BY term HAVING sum(change) <> 0"
    )
    return True


def _shut(descriptor: int) -> None:
    """End a connection whose server does not answer, so that whoever waits for it is woken."""
    with suppress(OSError), socket.socket(fileno=descriptor) as own:
        try:
            own.shutdown(socket.SHUT_RDWR)
        finally:
            own.detach()  # the connection closes it


def _is_cut(connection: "Connection[Any]") -> bool:
    """Return whether the server has closed an idle connection."""
    import select

    readable, _, _ = select.select([connection.fileno()], [], [], 0)
    return bool(readable) or connection.closed


def _to_sparse(weights: Mapping[str, float]) -> str:
    numbered = sorted((number_term(term) + 1, weight) for term, weight in weights.items())
    unique = {number: weight for number, weight in numbered if weight}
    return f"{{{','.join(f'{key}:{own:.4f}' for key, own in unique.items())}}}/{DIMENSIONS}"


def _to_vector(vector: Any) -> str:
    return f"[{','.join(f'{number:.5f}' for number in vector.tolist())}]"


def _to_row(record: SentenceRecord) -> list[Any]:
    from psycopg.types.json import Jsonb

    fields = record._asdict()
    fields |= {
        "metadata": Jsonb(dict(record.metadata)),
        "path": list(record.path),
        "tags": list(record.tags),
    }
    weights = None if record.terms is None else weigh_terms(record.terms)
    vector = None if record.vector is None else _to_vector(record.vector)
    searched = [weights and list(weights), weights and _to_sparse(weights), vector]
    return [*(fields[name] for name in _RECORD), *searched]


def _to_record(row: Sequence[Any]) -> SentenceRecord:
    fields = dict(zip(_RECORD, row, strict=False))
    fields |= {"path": tuple(fields["path"]), "tags": tuple(fields["tags"])}
    return SentenceRecord(**fields)
