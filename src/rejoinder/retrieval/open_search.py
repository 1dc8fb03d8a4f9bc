"""An index in OpenSearch or Elasticsearch: one entry per sentence, and one per document.

Words are searched by the query of the embedded index (index/fulltext/query.py): term queries over
four fields of stems, which the engine splits at spaces only.  Lucene's BM25 has the same formula
and the same figures as Tantivy's.  Vectors are searched in an HNSW graph.  Both searches are one
`_msearch`, together with a probe for each word that has not been seen before; only a question with
a word that the engine does not know needs another two requests.

The two engines differ in how vectors are mapped and searched, and in nothing else that is used.
"""

import json
import logging
import threading
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from hashlib import blake2b
from math import ceil
from time import monotonic, sleep
from typing import Any, NamedTuple

from rejoinder.errors import StoreError
from rejoinder.index.candidates import MAX_COPIES
from rejoinder.index.fulltext.query import (
    BOOSTS,
    FUNCTION_WORD,
    HEADING_SHARE,
    MAX_MISSPELT,
    OTHER_FIELDS,
)
from rejoinder.index.fulltext.spelling import (
    KEPT_LETTERS,
    MAX_TERMS,
    MIN_LENGTH,
    MIN_LENGTH_TWICE,
    list_edited,
)
from rejoinder.index.fulltext.terms import FIELDS, MAX_LENGTH, stem_words
from rejoinder.models.sentence_encoder.encoder import SentenceEncoder, Vector
from rejoinder.retrieval.nodes import (
    BUSY,
    PAUSE_SECONDS,
    NoAnswerError,
    Nodes,
    Reply,
    make_basic,
)
from rejoinder.retrieval.record import Schema, SentenceRecord, read_schema_json
from rejoinder.retrieval.remote import (
    LOAD_SECONDS,
    SECONDS,
    Found,
    RemoteIndex,
    SentenceQuery,
    TermCounts,
    sort_hits,
)
from rejoinder.retrieval.url import EngineUrl
from rejoinder.text.words import split_words

Json = dict[str, Any]

META = "rejoinder"
"""The key of the schema in the mapping."""
PAGE = 5_000
"""Entries of one reply, of which the engine allows 10,000."""
BULK_BYTES = 4_000_000
"""Of one request."""
BULK_PAUSE = 1.0
"""Seconds until a request is repeated that the engine was too busy for."""
KNOWN_WORDS = 200_000
"""Words that are remembered to be known."""
GRAPH = {"m": 16, "ef_construction": 128}
"""The links of a vector in the graph, and how many are compared for them."""
MAX_K = 10_000
"""Neighbours of one search."""
HIDDEN = ("terms", "vector")
"""Parts of a record that are indexed, and not stored."""

log = logging.getLogger(__name__)


class _Error(NamedTuple):
    """What an engine says is wrong."""

    status: int
    kind: str
    reason: str

    @property
    def may_pass(self) -> bool:
        """Whether the same request may succeed later, or at another node."""
        return self.status in BUSY and self.kind != _BLOCKED


class OpenSearchIndex(RemoteIndex):
    """An index in OpenSearch."""

    engine = "OpenSearch"
    distribution = "opensearch"
    versions = (2, 4), (4, 0)
    """The first version with filters of Lucene's graphs, and the first that is not known yet."""

    def __init__(self, url: EngineUrl) -> None:
        super().__init__(url)
        headers = make_basic(url.user, url.password)
        self._nodes = Nodes(url.addresses, headers, engine="OpenSearch")
        self._lock = threading.Lock()
        self._known: set[str] = set()
        """Terms that some sentence had."""
        self._has_vectors = False

    def close(self) -> None:
        """Close all connections."""
        self._nodes.close()

    def read_schema(self, seconds: float = SECONDS) -> Schema | None:
        """Return the stored schema; None where the engine has nothing of this name."""
        self._check_version(seconds)
        # The node's own copy, which it also has while the cluster has no leader.
        path = f"/{self.url.name}?local=true"
        reply, data = self._ask("GET", path, what="reading the mapping", seconds=seconds)
        if reply.status == 404:
            return None
        ((_, found),) = data.items()
        meta = found["mappings"].get("_meta", {}).get(META)
        if meta is None:
            raise self.foreign("the index")
        self._has_vectors = "vector" in found["mappings"].get("properties", {})
        return read_schema_json(self.label, meta)

    @property
    def has_vectors(self) -> bool:
        """Whether the index has vectors: not if the engine could not search them."""
        self.open()
        return self._has_vectors

    @cached_property
    def encoder(self) -> SentenceEncoder | None:
        """The encoder of the stored vectors; None where there are none."""
        if self.schema.encoder and not self.has_vectors:
            log.warning("%s: has no vectors; questions are answered by words", self.label)
            return None
        return super().encoder

    def find(self, query: SentenceQuery, seconds: float) -> Found:
        """Return the sentences that match, with their records."""
        end = monotonic() + seconds
        unseen = self._list_unseen(query)
        probes = [_probe(term) for _, term in unseen]
        searches = [_search_words(query, _to_terms(query)), self._search_vector(query), *probes]
        words, meaning, *counts = self._search_all(searches, end, is_partial=True)
        lost = [
            pair
            for pair, probe in zip(unseen, counts, strict=True)
            if not probe["hits"]["total"]["value"]
        ]
        gone = {term for _, term in lost}
        with self._lock:
            if len(self._known) > KNOWN_WORDS:
                self._known.clear()
            self._known.update(term for _, term in unseen if term not in gone)
        if lost:
            similar = self._find_similar(lost[:MAX_MISSPELT], end)
            query = replace(query, vector=self.encode(_correct(query.question, similar)))
            terms = _to_terms(query, {**dict.fromkeys(gone, ()), **similar})
            searches = [_search_words(query, terms), self._search_vector(query)]
            words, meaning = self._search_all(searches, end, is_partial=True)
        scores = {hit["_id"]: float(hit["_score"]) for hit in words["hits"]["hits"]}
        cosines = {hit["_id"]: 2 * hit["_score"] - 1 for hit in meaning["hits"]["hits"]}
        records = {hit["_id"]: _to_record(hit["_source"]) for hit in _list_hits(words, meaning)}
        cosines = {key: cosine for key, cosine in cosines.items() if cosine >= query.min_cosine}
        return Found(
            {records[key].id: score for key, score in sort_hits(scores, records)},
            {records[key].id: cosine for key, cosine in sort_hits(cosines, records)},
            {record.id: record for record in records.values()},
        )

    def fetch(
        self, ids: Sequence[str], digests: Sequence[int], seconds: float
    ) -> list[SentenceRecord]:
        """Return the records of these ids, and of copies with these digests, with passages."""
        keys = [_make_key(id_) for id_ in ids]
        searches: list[Json] = [
            {"size": PAGE, "query": {"ids": {"values": keys[first : first + PAGE]}}}
            for first in range(0, len(keys), PAGE)
        ]
        for digest in digests:
            own = [{"term": {"digest": str(digest)}}, {"term": {"may_answer": True}}]
            searches.append({"size": MAX_COPIES + 1, "query": {"bool": {"filter": own}}})
        if not searches:
            return []
        replies = self._search_all(searches, monotonic() + seconds)
        found = {hit["_id"]: _to_record(hit["_source"]) for hit in _list_hits(*replies)}
        return list(found.values())

    def count_terms(self, terms: Collection[str], seconds: float) -> TermCounts:
        """Return how many sentences have each term in their text."""
        filters: Json = {f"term-{term}": {"term": {"terms.text": term}} for term in terms}
        filters["total"] = {"term": {"may_answer": True}}
        search: Json = {"size": 0, "aggs": {"counts": {"filters": {"filters": filters}}}}
        (reply,) = self._search_all([search], monotonic() + seconds)
        buckets = reply["aggregations"]["counts"]["buckets"]
        counts = {term: buckets[f"term-{term}"]["doc_count"] for term in terms}
        return TermCounts(counts, buckets["total"]["doc_count"])

    def create(self, schema: Schema) -> None:
        """Create the index, with as many shards as a template of the cluster says."""
        properties: Json = {
            "terms": {"properties": {field: _TERMS for field in FIELDS}},
            **{key: _EXACT for key in ("document", "revision", "tags", "digest")},
            "may_answer": {"type": "boolean"},
            "is_document": {"type": "boolean"},
        }
        settings: Json = {
            # Changes become visible with `finish`, all together.
            "index": {"refresh_interval": "-1", "auto_expand_replicas": "0-1"},
            "analysis": {"analyzer": {"terms": {"type": "custom", "tokenizer": "whitespace"}}},
        }
        if schema.encoder and self._can_search_vectors():
            properties["vector"] = self._map_vector(schema.width)
            settings["index"] |= self._vector_settings
        mappings = {
            "dynamic": False,
            "_meta": {META: schema.to_json()},
            "_source": {"excludes": list(HIDDEN)},
            "properties": properties,
        }
        body = {"settings": settings, "mappings": mappings}
        self._load("PUT", f"/{self.url.name}", body, what="creating the index")

    def get_revisions(self, documents: Collection[str] | None = None) -> dict[str, str]:
        """Return the revisions by document that were put, of these documents or of all."""
        what = "reading the revisions"
        if documents is not None:
            if not documents:  # which the engine refuses
                return {}
            ids = {"ids": list(map(_make_document_key, documents))}
            data = self._load("POST", f"/{self.url.name}/_mget", ids, what=what)
            for each in data["docs"]:
                if "error" in each:
                    raise self._refuse(what, _to_error(503, each["error"]))
            sources = [each["_source"] for each in data["docs"] if each["found"]]
            return {source["document"]: source["revision"] for source in sources}
        self.finish()
        body = {"size": PAGE, "sort": ["_doc"], "query": {"term": {"is_document": True}}}
        path = f"/{self.url.name}/_search?scroll=2m"
        revisions: dict[str, str] = {}
        while True:
            data = self._load("POST", path, body, what=what)
            self._check_shards(data, what)
            sources = [hit["_source"] for hit in data["hits"]["hits"]]
            revisions |= {source["document"]: source["revision"] for source in sources}
            path, body = "/_search/scroll", {"scroll": "2m", "scroll_id": data["_scroll_id"]}
            if len(sources) < PAGE:
                scrolls = {"scroll_id": [data["_scroll_id"]]}
                self._ask("DELETE", "/_search/scroll", scrolls, what=what)
                return revisions

    def put_revisions(self, revisions: Mapping[str, str]) -> None:
        """Store the revision of each of these documents."""
        self._write(
            _index(
                _make_document_key(document),
                {"document": document, "revision": revision, "is_document": True},
            )
            for document, revision in revisions.items()
        )

    def write(self, records: Sequence[SentenceRecord]) -> None:
        """Store records; each replaces the one of the same id."""
        has_vectors = self.has_vectors
        self._write(
            _index(_make_key(record.id), _to_source(record, has_vectors=has_vectors))
            for record in records
        )

    def delete_sentences(self, revisions: Mapping[str, str]) -> None:
        """Delete the sentences of these documents that are not of the given revision."""
        self.finish()  # only what can be searched is deleted
        pairs = list(revisions.items())
        what = "deleting sentences"
        for first in range(0, len(pairs), 500):
            old = [_match_old(*pair) for pair in pairs[first : first + 500]]
            body = {"query": {"bool": {"should": old, "must_not": {"term": {"is_document": True}}}}}
            path = f"/{self.url.name}/_delete_by_query?conflicts=proceed"
            data = self._load("POST", path, body, what=what)
            if failures := data.get("failures"):
                cause = failures[0].get("cause") or failures[0].get("reason")
                raise self._refuse(what, _to_error(failures[0].get("status", 500), cause))

    def delete_revisions(self, documents: Collection[str]) -> None:
        """Delete the revisions of these documents."""
        keys = map(_make_document_key, documents)
        self._write(_encode({"delete": {"_id": key}}) for key in keys)

    def finish(self) -> None:
        """Make everything that was written or deleted visible to searches."""
        what = "making changes visible"
        path = f"/{self.url.name}/_refresh"
        self._check_shards(self._load("POST", path, what=what), what)

    # The two engines.

    _vector_settings: Json = {"knn": True}  # noqa: RUF012

    def _can_search_vectors(self) -> bool:
        _, data = self._ask("GET", "/_cat/plugins?format=json", what="reading its plugins")
        if any(plugin["component"] == "opensearch-knn" for plugin in data):
            return True
        log.warning("%s: has no k-NN plugin, so vectors are left out", self.label)
        return False

    def _map_vector(self, width: int) -> Json:
        method: Json = {"name": "hnsw", "engine": "lucene", "space_type": "cosinesimil"}
        method["parameters"] = GRAPH
        return {"type": "knn_vector", "dimension": width, "method": method}

    def _search_vector(self, query: SentenceQuery) -> Json | None:
        if query.vector is None:
            return None
        limit = min(query.limit, MAX_K)
        clause: Json = {"vector": _to_list(query.vector), "k": limit}
        if query.tags:
            clause["filter"] = {"bool": {"filter": _match_tags(query)}}
        return {"size": limit, "query": {"knn": {"vector": clause}}, **_WITHOUT_PASSAGE}

    # Requests.

    def _check_version(self, seconds: float) -> None:
        """Raise a StoreError if the server is another engine, or of another version."""
        _, data = self._ask("GET", "/", what="reading its version", seconds=seconds)
        version = data.get("version", {}) if isinstance(data, dict) else {}
        number, kind = version.get("number", ""), version.get("distribution", "elasticsearch")
        if not number:
            raise self.failed("reading its version", "another server is there", "correct the URL")
        if kind != self.distribution:
            raise self.failed(
                "reading its version", f"it is {kind} {number}", f"begin the URL with {kind}://"
            )
        least, above = self.versions
        if not least <= tuple(map(int, number.split(".")[:2])) < above:
            known = f"{least[0]}.{least[1]} up to {above[0] - 1}"
            raise self.failed(
                "reading its version", f"it is {number}", f"use a version from {known}"
            )

    def _find_similar(
        self, lost: Sequence[tuple[str, str]], end: float
    ) -> dict[str, tuple[str, ...]]:
        """Return terms that resemble unknown words, by the term that each word had."""
        searches = []
        fits = [
            (word, term)
            for word, term in lost
            if word.isalpha() and MIN_LENGTH <= len(word) <= MAX_LENGTH
        ]
        for word, _ in fits:
            filters = {edited: _match_any_field(edited) for edited in list_edited(word)}
            search: Json = {"size": 0, "track_total_hits": False}
            search["aggs"] = {"counts": {"filters": {"filters": filters}}}
            if len(word) >= MIN_LENGTH_TWICE:
                suggest = {"field": "terms.passage", "max_edits": 2, "size": MAX_TERMS}
                suggest |= {"prefix_length": KEPT_LETTERS, "min_word_length": MIN_LENGTH}
                suggest |= {"sort": "frequency", "suggest_mode": "always"}
                search["suggest"] = {"near": {"text": word, "term": suggest}}
            searches.append(search)
        replies = self._search_all(searches, end) if searches else []
        return {term: _take_similar(reply) for (_, term), reply in zip(fits, replies, strict=True)}

    def _list_unseen(self, query: SentenceQuery) -> list[tuple[str, str]]:
        pairs = {term: word.word for word in query.content for term in word.terms}
        with self._lock:
            return [(word, term) for term, word in pairs.items() if term not in self._known]

    def _search_all(
        self, searches: Sequence[Json | None], end: float, *, is_partial: bool = False
    ) -> list[Json]:
        """Return the replies of several searches; a None has no hits.

        Args:
            is_partial: what is found until the time is over is enough.
        """
        what = "a search"
        lines = []
        for search in searches:
            if search is not None:
                # A part of the records is no use: the client gives those up with the budget.
                share = 900 if is_partial else 1_000
                milliseconds = max(1, int(share * (end - monotonic())))
                search = {"track_total_hits": False, **search, "timeout": f"{milliseconds}ms"}
                search.setdefault("_source", True)
                # By the frequencies of words in all shards; neighbours have none.
                is_ranked = "query" in search and "bool" in search["query"]
                lines += [{"search_type": "dfs_query_then_fetch"} if is_ranked else {}, search]
        if not lines:
            return [_EMPTY for _ in searches]
        body = b"".join(map(_encode, lines))
        path = f"/{self.url.name}/_msearch"
        while True:
            left = end - monotonic()
            reply, data = self._ask("POST", path, body, what=what, seconds=left, raises=False)
            error = self._find_error(reply, data) or _find_failure(data)
            if error is None or not error.may_pass or end - monotonic() < 2 * PAUSE_SECONDS:
                break
            sleep(PAUSE_SECONDS)  # the next attempt is with another node
        if error is not None:
            raise self._refuse(what, error)
        given = iter(data["responses"])
        replies = [_EMPTY if search is None else next(given) for search in searches]
        if not is_partial and any(each.get("timed_out") for each in replies):
            raise self.failed(what, "it took too long", "allow more time")
        return replies

    def _write(self, entries: Iterable[bytes]) -> None:
        """Send entries in requests of a limited size."""
        for body in _join(entries):
            self._write_part(body)

    def _write_part(self, body: bytes) -> None:
        what = "writing"
        end = monotonic() + LOAD_SECONDS
        while True:
            left = end - monotonic()
            data = self._load("POST", f"/{self.url.name}/_bulk", body, what=what, seconds=left)
            failed = [item for each in data["items"] for item in each.values() if "error" in item]
            if not failed:
                return
            errors = [_to_error(item["status"], item["error"]) for item in failed]
            final = [error for error in errors if not error.may_pass]
            if final or end - monotonic() < BULK_PAUSE:
                raise self._refuse(what, (final or errors)[0])
            sleep(BULK_PAUSE)  # then all of it is sent again, which does no harm

    def _load(
        self,
        method: str,
        path: str,
        body: Json | bytes = b"",
        *,
        what: str,
        seconds: float = LOAD_SECONDS,
    ) -> Any:
        """Send a request of an export, which a node may work on for long; return the JSON."""
        _, data = self._ask(method, path, body, what=what, seconds=seconds, is_repeatable=False)
        return data

    def _ask(
        self,
        method: str,
        path: str,
        body: Json | bytes = b"",
        *,
        what: str,
        seconds: float = SECONDS,
        raises: bool = True,
        is_repeatable: bool = True,
    ) -> tuple[Reply, Any]:
        """Send a request, and return the reply and its JSON; 404 is a reply to GET.

        Raises:
            StoreError: no node answers, or the engine refuses.
        """
        kind = "x-ndjson" if isinstance(body, bytes) else "json"
        raw = body if isinstance(body, bytes) else json.dumps(body).encode()
        try:
            reply = self._nodes.request(
                method, path, raw, kind=kind, seconds=seconds, is_repeatable=is_repeatable
            )
        except NoAnswerError as error:
            remedy = "check that it runs, and its URL"
            raise self.failed(what, str(error), remedy) from error
        try:
            data = json.loads(reply.body)
        except ValueError:
            if reply.status not in (401, 403, *BUSY):
                found = f"status {reply.status}, and no JSON"
                raise self.failed(
                    what, found, f"check that the URL is that of {self.engine}"
                ) from None
            data = {}
        is_missing = method == "GET" and reply.status == 404
        if raises and not is_missing and (refused := self._find_error(reply, data)):
            raise self._refuse(what, refused)
        return reply, data

    def _find_error(self, reply: Reply, data: Any) -> _Error | None:
        if reply.status < 300:
            return None
        return _to_error(reply.status, data.get("error") if isinstance(data, dict) else None)

    def _check_shards(self, data: Json, what: str) -> None:
        shards = data.get("_shards", {})
        if shards.get("failed"):
            raise self._refuse(what, _to_error(503, "some shards failed"))

    def _refuse(self, what: str, error: _Error) -> StoreError:
        """Return the StoreError of what the engine says is wrong."""
        if error.status == 401:
            return self.failed(
                what, "it refuses the user or the password", "correct them in the URL"
            )
        if error.kind == "index_not_found_exception":
            return self.missing()
        if error.kind == _BLOCKED:
            remedy = "free disk space, then set index.blocks.read_only_allow_delete to null"
            return self.failed(what, f"the index is read-only: {error.reason}", remedy)
        if error.status == 403:
            remedy = f"grant the user read, write and monitor on {self.url.name!r}"
            return self.failed(what, f"the user may not: {error.reason}", remedy)
        if error.status == 429:
            return self.failed(what, "it is overloaded", "send fewer requests, or add nodes")
        if error.status == 503:
            return self._red(error.reason)
        remedy = f"see the log of {self.engine}; if the index is damaged, export to another name"
        return self.failed(what, f"{error.status} {error.kind}: {error.reason}", remedy)

    def _red(self, reason: str) -> StoreError:
        remedy = "start the missing nodes; GET _cluster/allocation/explain says which"
        return self.failed("reading the index", f"it is not whole: {reason}", remedy)


class ElasticsearchIndex(OpenSearchIndex):
    """An index in Elasticsearch."""

    engine = "Elasticsearch"
    distribution = "elasticsearch"
    versions = (8, 8), (10, 0)

    _vector_settings: Json = {}  # noqa: RUF012

    def _can_search_vectors(self) -> bool:
        return True

    def _map_vector(self, width: int) -> Json:
        graph = {"type": "hnsw", **GRAPH}
        kind = {"type": "dense_vector", "dims": width, "index": True, "index_options": graph}
        return {**kind, "similarity": "cosine"}

    def _search_vector(self, query: SentenceQuery) -> Json | None:
        if query.vector is None:
            return None
        limit = min(query.limit, MAX_K)
        clause: Json = {"field": "vector", "query_vector": _to_list(query.vector), "k": limit}
        clause["num_candidates"] = limit
        if query.tags:
            clause["filter"] = _match_tags(query)
        return {"size": limit, "knn": clause, **_WITHOUT_PASSAGE}


_TERMS: Json = {"type": "text", "analyzer": "terms", "index_options": "freqs"}
_BLOCKED = "cluster_block_exception"
_EXACT: Json = {"type": "keyword", "doc_values": False}
_EMPTY: Json = {"hits": {"hits": []}}


def _to_terms(
    query: SentenceQuery, replaced: Mapping[str, Sequence[str]] | None = None
) -> list[Sequence[str]]:
    """Return the terms that stand for each stem of a question, the likeliest first."""
    stems = dict.fromkeys(term for word in query.content for term in word.terms)
    given = replaced or {}
    return [terms for stem in stems if (terms := given.get(stem, (stem,)))]


def _search_words(query: SentenceQuery, terms: Sequence[Sequence[str]]) -> Json | None:
    """Return the search of `index/fulltext/query.py`; None where no word is known."""
    if not terms:
        return None
    known = {term for each in terms for term in each}
    headings = [_match("headings", each[0], 1.0) for each in terms]
    lifted = _any(headings, ceil(HEADING_SHARE * len(terms)))
    function = [_match("text", term, FUNCTION_WORD) for term in query.function if term not in known]
    clauses: Json = {"must": _any([_match_word(each) for each in terms])}
    clauses["should"] = [lifted, *function]
    clauses["filter"] = _match_tags(query)
    return {"size": min(query.limit, MAX_K), "query": {"bool": clauses}, **_WITHOUT_PASSAGE}


_WITHOUT_PASSAGE: Json = {"_source": {"excludes": ["passage"]}}


def _match_word(terms: Sequence[str]) -> Json:
    matches: list[Json] = [
        {
            "dis_max": {
                "queries": [_match(field, term, boost) for field, boost in BOOSTS.items()],
                "tie_breaker": OTHER_FIELDS,
            }
        }
        for term in terms
    ]
    return {"dis_max": {"queries": matches}} if len(matches) > 1 else matches[0]


def _match(field: str, term: str, boost: float) -> Json:
    return {"term": {f"terms.{field}": {"value": term, "boost": boost}}}


def _match_any_field(term: str) -> Json:
    return _any([{"term": {f"terms.{field}": term}} for field in FIELDS])


def _match_tags(query: SentenceQuery) -> list[Json]:
    return [{"terms": {"tags": list(group)}} for group in query.tags]


def _match_old(document: str, revision: str) -> Json:
    own = {"term": {"document": document}}
    return {"bool": {"filter": own, "must_not": {"term": {"revision": revision}}}}


def _any(queries: Sequence[Json], least: int = 1) -> Json:
    return {"bool": {"should": list(queries), "minimum_should_match": least}}


def _probe(term: str) -> Json:
    """Return a search that tells whether a term has any sentence, and ends at the first."""
    query = {"constant_score": {"filter": _match_any_field(term)}}
    return {"size": 0, "terminate_after": 1, "track_total_hits": 1, "query": query}


def _correct(question: str, similar: Mapping[str, Sequence[str]]) -> str:
    """Return a question with the likeliest terms in place of its unknown words."""
    parts, end = [], 0
    for word in split_words(question):
        terms = [similar[term][0] for term in stem_words(word.text) if similar.get(term)]
        if terms:
            parts += [question[end : word.start], terms[0]]
            end = word.end
    return "".join([*parts, question[end:]])


def _take_similar(reply: Json) -> tuple[str, ...]:
    """Return the most frequent terms that are one edit away from a word, else two."""
    buckets = reply["aggregations"]["counts"]["buckets"]
    counts = {term: each["doc_count"] for term, each in buckets.items() if each["doc_count"]}
    if counts:
        return tuple(sorted(counts, key=lambda term: (-counts[term], term))[:MAX_TERMS])
    near = reply.get("suggest", {}).get("near", [])
    return tuple(option["text"] for each in near for option in each["options"])[:MAX_TERMS]


def _list_hits(*replies: Json) -> Iterator[Json]:
    for reply in replies:
        yield from reply["hits"]["hits"]


def _to_record(source: Json) -> SentenceRecord:
    source["path"], source["tags"] = tuple(source["path"]), tuple(source["tags"])
    return SentenceRecord(**source)


def _to_source(record: SentenceRecord, *, has_vectors: bool) -> Json:
    source = record._asdict()
    vector = source.pop("vector")
    if has_vectors and vector is not None and vector.any():
        source["vector"] = _to_list(vector)
    return source


def _to_list(vector: Vector) -> list[float]:
    numbers: list[float] = vector.astype(float).round(7).tolist()
    return numbers


def _make_key(id_: str) -> str:
    """Return the id of an entry, which has at most 512 bytes in these engines."""
    return blake2b(id_.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def _make_document_key(document: str) -> str:
    return "document-" + _make_key(document)


def _index(key: str, source: Json) -> bytes:
    return _encode({"index": {"_id": key}}) + _encode(source)


def _encode(line: Json) -> bytes:
    return json.dumps(line, separators=(",", ":")).encode() + b"\n"


def _join(entries: Iterable[bytes]) -> Iterator[bytes]:
    body = bytearray()
    for entry in entries:
        if body and len(body) + len(entry) > BULK_BYTES:
            yield bytes(body)
            body.clear()
        body += entry
    if body:
        yield bytes(body)


def _to_error(status: int, error: Any) -> _Error:
    if not isinstance(error, dict):
        return _Error(status, "", str(error or "")[:200])
    causes = error.get("root_cause") or [error]
    first = causes[0] if isinstance(causes[0], dict) else error
    kind, reason = (
        first.get("type") or error.get("type"),
        first.get("reason") or error.get("reason"),
    )
    return _Error(status, str(kind), " ".join(str(reason).split())[:200])


def _find_failure(data: Any) -> _Error | None:
    """Return the first error of several searches; None where all shards have answered."""
    for reply in data["responses"]:
        if "error" in reply:
            return _to_error(reply.get("status", 500), reply["error"])
        if reply["_shards"]["failed"]:
            failures = reply["_shards"].get("failures") or [{}]
            return _to_error(503, failures[0].get("reason", "some shards failed"))
    return None
