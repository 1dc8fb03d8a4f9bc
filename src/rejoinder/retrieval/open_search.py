"""Finds sentences with OpenSearch or Elasticsearch, through their official clients.

Both take the same query and return the same hits.  Each document of the server's index is a
sentence; `Fields` maps its parts to the server's field names.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from rejoinder.errors import MissingExtraError, StoreError, shorten
from rejoinder.types import Candidate, Document, ScoredCandidate, Where


@dataclass(frozen=True, slots=True)
class Fields:
    """Field names of the server's index."""

    text: str = "text"
    title: str = "title"
    document: str = "document"
    position: str = "position"
    metadata: str = "metadata"
    """An object of keyword fields, which `where` filters by."""


class _ServerRetriever:
    """An index on a search server; a `Retriever`."""

    def __init__(
        self,
        call: Callable[..., Any],
        errors: tuple[type[Exception], ...],
        index: str,
        fields: Fields | None,
    ) -> None:
        self._call = call
        self._errors = errors
        self._index = index
        self._fields = fields or Fields()

    def search(self, question: str, k: int, *, where: Where | None = None) -> list[ScoredCandidate]:
        """Return the k sentences that match a question best, best first.

        Raises:
            StoreError: the server does not answer, or some of its shards failed.
        """
        if not question.strip() or k < 1:
            return []
        body = to_body(question, k, self._fields, where)
        try:
            response = self._call(index=self._index, **body)
        except self._errors as error:
            raise StoreError(f"the search server does not answer ({shorten(error)})") from error
        if response["timed_out"] or response["_shards"]["failed"]:
            raise StoreError(f"{self._index!r}: some shards failed or timed out; ask again")
        return [
            ScoredCandidate(self._to_candidate(hit), float(hit["_score"]), rank)
            for rank, hit in enumerate(response["hits"]["hits"], start=1)
        ]

    def _to_candidate(self, hit: Mapping[str, Any]) -> Candidate:
        fields, source = self._fields, hit["_source"]
        name, position = source.get(fields.document), source.get(fields.position)
        title = source.get(fields.title) or ""
        document = None if name is None else Document(str(name), title)
        return Candidate(hit["_id"], source[fields.text], document, position)


class OpenSearchRetriever(_ServerRetriever):
    """Sentences in OpenSearch."""

    def __init__(self, address: str, index: str, *, fields: Fields | None = None) -> None:
        try:
            from opensearchpy import OpenSearch
            from opensearchpy.exceptions import OpenSearchException
        except ImportError as error:
            raise MissingExtraError("OpenSearch", extra="opensearch") from error
        client = OpenSearch(hosts=[address])

        def call(*, index: str, **body: Any) -> Any:
            return client.search(index=index, body=body)

        super().__init__(call, (OpenSearchException,), index, fields)


class ElasticsearchRetriever(_ServerRetriever):
    """Sentences in Elasticsearch."""

    def __init__(self, address: str, index: str, *, fields: Fields | None = None) -> None:
        try:
            from elasticsearch import ApiError, Elasticsearch, TransportError
        except ImportError as error:
            raise MissingExtraError("Elasticsearch", extra="elasticsearch") from error
        client = Elasticsearch(address)
        super().__init__(client.search, (ApiError, TransportError), index, fields)


def to_body(question: str, k: int, fields: Fields, where: Where | None) -> dict[str, Any]:
    """Return the query for a question: any word matches, the title with a low weight."""
    filters = [
        {"terms": {f"{fields.metadata}.{key}": [value] if isinstance(value, str) else list(value)}}
        for key, value in (where or {}).items()
    ]
    match = {"multi_match": {"query": question, "fields": [fields.text, f"{fields.title}^0.3"]}}
    return {"size": k, "query": {"bool": {"must": match, "filter": filters}}}
