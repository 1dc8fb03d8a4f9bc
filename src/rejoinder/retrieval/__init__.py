"""Finds sentences that may answer a question: in an index, or in a search engine of the user's own.

`Retriever` is the protocol that an engine (`rejoinder.Engine`) answers with.  The embedded index
satisfies it.  `open_retriever(url)` opens an index that `rejoinder index export --to URL` has
loaded into OpenSearch, Elasticsearch, PostgreSQL or Qdrant (`remote.py` and one module each).
"""

from rejoinder.retrieval.retriever import Retriever
from rejoinder.retrieval.url import open_retriever

__all__ = ["Retriever", "open_retriever"]
