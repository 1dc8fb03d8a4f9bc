"""Evaluate a scorer with the evaluators of sentence-transformers and BEIR.

Usage: python examples/adapters/with_evaluators.py      (needs sentence-transformers and beir)
"""

import json
from pathlib import Path
from typing import Any

from beir.reranking import Rerank
from beir.retrieval.evaluation import EvaluateRetrieval
from sentence_transformers.cross_encoder.evaluation import CrossEncoderRerankingEvaluator

from rejoinder.adapters.cross_encoder import CrossEncoder

QUESTIONS = Path(__file__).parents[1] / "questions.jsonl"
Questions = list[dict[str, Any]]


def main() -> None:
    lines = QUESTIONS.read_text(encoding="utf-8").splitlines()
    questions = [json.loads(line) for line in lines]
    answered = [item for item in questions if any(c["label"] for c in item["candidates"])]
    encoder = CrossEncoder()
    print("sentence-transformers", measure_as_samples(encoder, answered))
    print("BEIR", measure_as_corpus(encoder, answered))


def measure_as_samples(encoder: CrossEncoder, questions: Questions) -> dict[str, float]:
    samples = [
        {
            "query": item["question"],
            "positive": [c["text"] for c in item["candidates"] if c["label"]],
            "negative": [c["text"] for c in item["candidates"] if not c["label"]],
        }
        for item in questions
    ]
    metrics = CrossEncoderRerankingEvaluator(samples)(encoder)
    return {name: round(float(value), 3) for name, value in metrics.items()}


def measure_as_corpus(encoder: CrossEncoder, questions: Questions) -> dict[str, float]:
    corpus, retrieved, judged = {}, {}, {}
    for item in questions:
        by_id = {f"{item['id']}-{c['id']}": c for c in item["candidates"]}
        corpus.update({name: {"title": "", "text": c["text"]} for name, c in by_id.items()})
        retrieved[item["id"]] = dict.fromkeys(by_id, 0.0)
        judged[item["id"]] = {name: int(c["label"]) for name, c in by_id.items()}
    queries = {item["id"]: item["question"] for item in questions}
    reranked = Rerank(encoder).rerank(corpus, queries, retrieved, top_k=100)
    ndcg, *_ = EvaluateRetrieval.evaluate(judged, reranked, [1, 10])
    return dict(ndcg)


if __name__ == "__main__":
    main()
