"""An index in Qdrant, over its HTTP interface.

    NAME              a point per sentence: a dense vector `meaning` and a sparse vector `words`
    NAME-documents    a point per document with its revision, and one with the schema

Qdrant knows how rare each term is, so `words` and a question make BM25 (bm25.py).
"""

import json
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from typing import Any
from uuid import NAMESPACE_URL, UUID, uuid5

import numpy as np

from rejoinder.index.candidates import MAX_COPIES
from rejoinder.retrieval.bm25 import number_term, weigh_query, weigh_terms
from rejoinder.retrieval.nodes import BUSY, NoAnswerError, Nodes, Reply
from rejoinder.retrieval.record import Schema, SentenceRecord, read_schema_json
from rejoinder.retrieval.remote import (
    LOAD_SECONDS,
    SECONDS,
    Found,
    RemoteIndex,
    SentenceQuery,
    sort_hits,
    take_batches,
)
from rejoinder.retrieval.url import EngineUrl

OLDEST = (1, 10)
"""The first version that searches dense and sparse vectors with one request."""
PAGE = 5_000
DELETIONS = 100
EXACTNESS = 256
"""Points that the search of the HNSW graph keeps; more find more of the nearest."""
MIN_REORDERED = 1_000
"""Sentences with a content word whose order function words may change."""
_RED = "free disk space on its nodes, see the log of Qdrant, and repeat the command"
_SCHEMA = str(UUID(int=0))
_INDEXED = {"document": "keyword", "tags": "keyword", "digest": "integer"}


class QdrantIndex(RemoteIndex):
    """An index in Qdrant; a `Retriever`."""

    engine = "Qdrant"

    def __init__(self, url: EngineUrl) -> None:
        super().__init__(url)
        headers = {"api-key": url.password} if url.password else {}
        # A peer that has lost another one may answer with 500.
        self._nodes = Nodes(url.addresses, headers, engine=self.engine, busy=(500, *BUSY))
        self._points = f"/collections/{url.name}/points"
        self._documents = f"/collections/{url.name}-documents"

    def close(self) -> None:
        """Close all connections."""
        self._nodes.close()

    def read_schema(self, seconds: float = SECONDS) -> Schema | None:
        """Return the stored schema; None where there is no collection of this name."""
        self._check_version(seconds)
        if self._ask("GET", f"/collections/{self.url.name}", seconds=seconds) is None:
            return None
        found = self._ask("GET", f"{self._documents}/points/{_SCHEMA}", seconds=seconds)
        if found is None:
            raise self.foreign("the collection")
        return read_schema_json(self.label, found["payload"]["schema"])

    def find(self, query: SentenceQuery, seconds: float) -> Found:
        """Return the sentences that match, both searches in one request."""
        shared = {
            "limit": query.limit,
            "filter": {"must": [_match("tags", list(group)) for group in query.tags]},
            "with_payload": {"exclude": ["passage"]},
        }
        searches: dict[str, dict[str, Any]] = {}
        if query.content:
            prefetched = {
                **{key: shared[key] for key in ("limit", "filter")},
                "query": _to_sparse(weigh_query(query, is_content=True)),
                "using": "words",
            }
            if query.function:
                prefetched["limit"] = max(MIN_REORDERED, query.limit)
                own = {"query": _to_sparse(weigh_query(query)), "prefetch": prefetched}
                searches["words"] = {**shared, **own, "using": "words"}
            else:
                searches["words"] = {**shared, **prefetched}
        if query.vector is not None:
            searches["meaning"] = {
                **shared,
                "query": query.vector.tolist(),
                "using": "meaning",
                "score_threshold": max(query.min_cosine, 1e-6),
                "params": {"hnsw_ef": max(EXACTNESS, query.limit)},
            }
        scores: dict[str, dict[str, float]] = {"words": {}, "meaning": {}}
        records: dict[str, SentenceRecord] = {}
        replies = self._search(list(searches.values()), seconds)
        for name, reply in zip(searches, replies, strict=True):
            for point in reply["points"]:
                record = _to_record(point["payload"])
                records[record.id] = record
                scores[name][record.id] = point["score"]
        words, meaning = (dict(sort_hits(own, records)) for own in scores.values())
        return Found(words, meaning, records)

    def fetch(
        self, ids: Sequence[str], digests: Sequence[int], seconds: float
    ) -> list[SentenceRecord]:
        """Return the records of these ids, and copies of these digests."""
        searches: list[dict[str, Any]] = []
        if ids:
            wanted = {"must": [{"has_id": [_to_uuid(id_) for id_ in ids]}]}
            searches.append({"filter": wanted, "limit": len(ids), "with_payload": True})
        for digest in digests:
            copies = {"must": [_match("digest", digest), _match("may_answer", True)]}
            searches.append({"filter": copies, "limit": MAX_COPIES + 1, "with_payload": True})
        replies = self._search(searches, seconds)
        found = (_to_record(point["payload"]) for reply in replies for point in reply["points"])
        return list({record.id: record for record in found}.values())

    def create(self, schema: Schema) -> None:
        """Create the collections."""
        replicas = self._choose_replicas()
        if self._ask("GET", self._documents) is None:
            self._ask("PUT", self._documents, {"vectors": {}, **replicas})
        payload = {"schema": schema.to_json()}
        point = {"id": _SCHEMA, "vector": {}, "payload": payload}
        self._ask("PUT", f"{self._documents}/points?wait=true", {"points": [point]})
        dense = {"meaning": {"size": schema.width, "distance": "Dot"}} if schema.width else {}
        settings = {
            "vectors": dense,
            "sparse_vectors": {"words": {"modifier": "idf"}},
            "on_disk_payload": True,
            **replicas,
        }
        self._ask("PUT", f"/collections/{self.url.name}", settings)
        for name, kind in _INDEXED.items():
            field = {"field_name": name, "field_schema": kind}
            self._ask("PUT", f"/collections/{self.url.name}/index?wait=true", field)

    def get_revisions(self, documents: Collection[str] | None = None) -> dict[str, str]:
        """Return the revisions by document, of these documents or of all."""
        if documents is not None:
            wanted = {"ids": [_to_uuid(document) for document in documents], "with_payload": True}
            points = self._ask("POST", f"{self._documents}/points", wanted) or ()
            return dict(_get_revision(point) for point in points)
        revisions: dict[str, str] = {}
        offset = None
        while True:
            page = {"limit": PAGE, "offset": offset, "with_payload": ["document", "revision"]}
            found = self._ask("POST", f"{self._documents}/points/scroll", page) or {}
            points = (point for point in found["points"] if point["id"] != _SCHEMA)
            revisions.update(map(_get_revision, points))
            offset = found["next_page_offset"]
            if offset is None:
                return revisions

    def put_revisions(self, revisions: Mapping[str, str]) -> None:
        """Store the revision of each of these documents."""
        points = [
            {
                "id": _to_uuid(document),
                "vector": {},
                "payload": {"document": document, "revision": revision},
            }
            for document, revision in revisions.items()
        ]
        self._ask("PUT", f"{self._documents}/points?wait=true", {"points": points})

    def write(self, records: Sequence[SentenceRecord]) -> None:
        """Store records."""
        points = [_to_point(record) for record in records]
        self._ask("PUT", f"{self._points}?wait=true", {"points": points})

    def delete_sentences(self, revisions: Mapping[str, str]) -> None:
        """Delete the sentences of these documents that are not of the given revision."""
        for group in take_batches(revisions.items(), DELETIONS):
            operations = [
                {
                    "delete": {
                        "filter": {
                            "must": [_match("document", document)],
                            "must_not": [_match("revision", revision)],
                        }
                    }
                }
                for document, revision in group
            ]
            self._ask("POST", f"{self._points}/batch?wait=true", {"operations": operations})

    def delete_revisions(self, documents: Collection[str]) -> None:
        """Delete the revisions of these documents."""
        for group in take_batches(documents, PAGE):
            points = {"points": [_to_uuid(document) for document in group]}
            self._ask("POST", f"{self._documents}/points/delete?wait=true", points)

    def finish(self) -> None:
        """Check that what was written is kept; all writes were waited for, so it is visible."""
        for path in (f"/collections/{self.url.name}", self._documents):
            found = self._ask("GET", path) or {}
            if found.get("status") == "red":
                state = found.get("optimizer_status")
                reason = state.get("error", "") if isinstance(state, dict) else ""
                problem = (
                    f"its status is red: {' '.join(reason.split())[:200] or 'no reason given'}"
                )
                raise self.failed("checking the collection", problem, _RED)

    def _choose_replicas(self) -> dict[str, int]:
        """Return the settings by which no sentence is lost with one peer of a cluster."""
        cluster = self._ask("GET", "/cluster") or {}
        peers = len(cluster.get("peers", ()))
        return {"shard_number": peers, "replication_factor": 2} if peers > 1 else {}

    def _check_version(self, seconds: float) -> None:
        about = self._request("GET", "/", None, seconds)
        version = str(about.get("version", "")) if "qdrant" in str(about.get("title", "")) else ""
        if not version:
            raise self.failed("asking for the version", "something else answers", "check the URL")
        if tuple(map(int, version.split(".")[:2])) < OLDEST:
            oldest = ".".join(map(str, OLDEST))
            raise self.failed("opening", f"version {version}", f"use Qdrant {oldest} or later")

    def _search(self, searches: list[dict[str, Any]], seconds: float) -> list[Any]:
        if not searches:
            return []
        found = self._ask("POST", f"{self._points}/query/batch", {"searches": searches}, seconds)
        if found is None:
            raise self.missing()
        return list(found)

    def _ask(self, method: str, path: str, body: Any = None, seconds: float = LOAD_SECONDS) -> Any:
        """Return the result of a request; None where what it asks for does not exist."""
        return self._request(method, path, body, seconds).get("result")

    def _request(self, method: str, path: str, body: Any, seconds: float) -> dict[str, Any]:
        data = b"" if body is None else json.dumps(body).encode()
        is_write = method == "PUT" or "wait=true" in path
        try:
            reply = self._nodes.request(
                method, path, data, seconds=seconds, is_repeatable=not is_write
            )
        except NoAnswerError as error:
            remedy = "check that it runs, and its URL"
            raise self.failed(f"{method} {path}", str(error), remedy) from error
        return self._read(reply, method, path)

    def _read(self, reply: Reply, method: str, path: str) -> dict[str, Any]:
        if reply.status == 404:
            return {}
        request = f"{method} {path}"
        if reply.status in (401, 403):
            remedy = "give a key that may read and write: qdrant://:KEY@HOST:PORT/NAME"
            raise self.failed(request, _get_problem(reply.body) or "forbidden", remedy)
        if reply.status == 429:
            raise self.failed(request, "it is overloaded", "send fewer requests, or add nodes")
        if reply.status >= 400:
            said = _get_problem(reply.body)
            is_full = "No space left" in said
            remedy = "free disk space on its nodes" if is_full else "see the log of Qdrant"
            raise self.failed(request, f"status {reply.status}: {said}", remedy)
        try:
            found = json.loads(reply.body)
        except ValueError:
            found = None
        if not isinstance(found, dict):
            raise self.failed(request, "something else answers", "check the URL")
        return found


def _get_problem(data: bytes) -> str:
    """Return the message of an error, on one line."""
    text = data.decode(errors="replace")
    with suppress(ValueError, KeyError, TypeError):
        text = str(json.loads(text)["status"]["error"])
    return " ".join(text.split())[:200]


def _to_uuid(id_: str) -> str:
    """Return an id as Qdrant takes it, always the same."""
    return str(uuid5(NAMESPACE_URL, id_))


def _get_revision(point: Mapping[str, Any]) -> tuple[str, str]:
    """Return a document and its revision."""
    return point["payload"]["document"], point["payload"]["revision"]


def _match(key: str, value: object) -> dict[str, Any]:
    return {"key": key, "match": {"any": value} if isinstance(value, list) else {"value": value}}


def _to_sparse(weights: Mapping[str, float]) -> dict[str, list[Any]]:
    numbered = {number_term(term): weight for term, weight in weights.items()}
    return {"indices": list(numbered), "values": list(numbered.values())}


def _to_point(record: SentenceRecord) -> dict[str, Any]:
    vectors: dict[str, Any] = {}
    if record.terms is not None:
        weights = weigh_terms(record.terms)
        vectors["words"] = _to_sparse({term: round(own, 4) for term, own in weights.items()})
    if record.vector is not None:
        vectors["meaning"] = np.round(record.vector.astype(float), 5).tolist()
    payload = {**record._asdict(), "metadata": dict(record.metadata)}
    del payload["terms"], payload["vector"]
    return {"id": _to_uuid(record.id), "vector": vectors, "payload": payload}


def _to_record(payload: Mapping[str, Any]) -> SentenceRecord:
    path, tags = tuple(payload["path"]), tuple(payload["tags"])
    return SentenceRecord(**{**payload, "path": path, "tags": tags})
