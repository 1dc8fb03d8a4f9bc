"""Valid requests: for every route that takes JSON, one per dialect."""

from typing import Any

DOCUMENTS = ["It rained.", "Ünïcode first. Green tea is brewed at 75 °C. Bees dance.", ""]
OBJECTS = ["It rained.", {"text": "Green tea is hot.", "title": "Tea", "year": 1843}]
QUESTION = "how hot is green tea brewed?"

GOOD: dict[str, list[dict[str, Any]]] = {
    "/v1/answer": [
        {"question": QUESTION, "top": 2, "explain": True, "where": {"source": ["a", "b"]}},
        {"question": QUESTION, "text": "It rained. Green tea is brewed at 75 °C.", "budget_ms": 50},
        {"question": QUESTION},
        {"question": [QUESTION, "What do bees dance for?"], "context": "section", "top": 1},
    ],
    "/v1/rank": [
        {
            "question": QUESTION,
            "documents": [*DOCUMENTS, {"id": "b", "text": "Tea is hot.", "title": "Tea"}],
            "top": 2,
            "spans": 3,
            "budget_ms": 20.5,
        }
    ],
    "/v1/highlight": [
        {
            "question": QUESTION,
            "documents": [*DOCUMENTS, {"id": "b", "text": "Tea is hot.", "title": "Tea"}],
            "threshold": 0.4,
            "prune": True,
            "pruning_threshold": 0.1,
            "budget_ms": 50,
        },
        {"question": QUESTION, "documents": DOCUMENTS[:2]},
    ],
    "/v1/cite": [
        {"answer": "Green tea is brewed at 75 °C. Whales dance.", "top": 2, "budget_ms": 50},
        {
            "answer": "Tea is hot.",
            "sources": ["It rained.", {"id": "b", "text": "Green tea is hot.", "title": "Tea"}],
            "min_support": 0.4,
        },
    ],
    "/opensearch/highlight": [
        {"question": QUESTION, "context": DOCUMENTS[1], "inputs": []},
        {
            "question": "",
            "context": "",
            "inputs": [
                {"question": QUESTION, "context": DOCUMENTS[1]},
                {"question": "did it rain?", "context": "It rained 🌧. Bees dance."},
            ],
        },
    ],
    "/v1/feedback": [
        {"question": QUESTION, "sentence": "Green tea is brewed at 75 °C.", "right": True},
        {"question": QUESTION, "sentence": "Green tea is brewed at 75 °C.", "right": None},
    ],
    "/v2/rerank": [
        {
            "model": "rerank-v3.5",
            "query": QUESTION,
            "documents": DOCUMENTS,
            "top_n": 2,
            "max_tokens_per_doc": 4096,
            "relevant_spans": {"mode": "enabled", "threshold": 0.1, "max_spans": 2},
        },
        {"query": QUESTION, "documents": DOCUMENTS},
    ],
    "/v1/rerank": [
        {  # Cohere's v1
            "query": QUESTION,
            "documents": OBJECTS,
            "rank_fields": ["text"],
            "return_documents": True,
            "max_chunks_per_doc": 10,
        },
        {"model": "jina-reranker-v2", "query": QUESTION, "documents": DOCUMENTS, "top_n": 2},
        {  # Voyage's
            "model": "rerank-2",
            "query": QUESTION,
            "documents": DOCUMENTS,
            "top_k": 2,
            "truncation": True,
            "return_documents": True,
        },
    ],
    "/rerank": [
        {  # text-embeddings-inference's
            "query": QUESTION,
            "texts": DOCUMENTS,
            "raw_scores": True,
            "return_text": True,
            "truncate": True,
            "truncation_direction": "Right",
        },
        {  # infinity's and vLLM's
            "query": QUESTION,
            "documents": OBJECTS,
            "top_n": 1,
            "return_documents": True,
            "raw_scores": False,
        },
    ],
}
"""Those of /v1/answer and /v1/feedback are about the documents of `local.py`."""
