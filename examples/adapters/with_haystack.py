"""Retrieve documents with Haystack's BM25 and rerank them by the sentence that answers.

Usage: python examples/adapters/with_haystack.py      (needs rejoinder[haystack])
"""

from pathlib import Path

from haystack import Document, Pipeline
from haystack.components.retrievers.in_memory import InMemoryBM25Retriever
from haystack.document_stores.in_memory import InMemoryDocumentStore

from rejoinder.adapters.haystack import RejoinderRanker

DOCS = Path(__file__).parents[1] / "docs"
QUESTION = "How many eggs does a queen lay?"


def main() -> None:
    store = InMemoryDocumentStore()
    store.write_documents(
        [
            Document(content=path.read_text(encoding="utf-8"), meta={"file": path.name})
            for path in sorted(DOCS.iterdir())
        ]
    )
    pipeline = Pipeline()
    pipeline.add_component("retriever", InMemoryBM25Retriever(store))
    pipeline.add_component("ranker", RejoinderRanker(top_k=2))
    pipeline.connect("retriever.documents", "ranker.documents")

    result = pipeline.run({"retriever": {"query": QUESTION}, "ranker": {"query": QUESTION}})
    for document in result["ranker"]["documents"]:
        print(
            f"{document.score:.2f}  {document.meta['file']}: {document.meta['rejoinder_sentence']}"
        )


if __name__ == "__main__":
    main()
