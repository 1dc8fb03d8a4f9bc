"""The evaluators of sentence-transformers, BEIR and MTEB, unmodified, drive our scorers."""

import math
from pathlib import Path

import mteb
import numpy as np
import pytest
from beir.reranking import Rerank
from beir.retrieval.evaluation import EvaluateRetrieval
from mteb.abstasks.retrieval import AbsTaskRetrieval
from mteb.abstasks.task_metadata import TaskMetadata
from mteb.models import CrossEncoderProtocol
from sentence_transformers.cross_encoder.evaluation import (
    CrossEncoderClassificationEvaluator,
    CrossEncoderCorrelationEvaluator,
    CrossEncoderRerankingEvaluator,
)

from datasets import Dataset
from rejoinder.adapters.cross_encoder import CrossEncoder
from rejoinder.adapters.mteb import RejoinderCrossEncoder
from rejoinder.models.lexical.scorers import WordOverlap
from tests.adapters.texts import BEES, QUESTION, RAIN, TEA

RAINING = "does it rain?"
SAMPLES = [
    {"query": QUESTION, "positive": [TEA], "negative": [BEES, RAIN]},
    # Word overlap takes TEA ("spoils it") and RAIN for equals, and BEES for the worst.
    {"query": RAINING, "positive": [RAIN], "negative": [BEES]},
]


def test_the_reranking_evaluator_of_sentence_transformers(tmp_path: Path) -> None:
    evaluator = CrossEncoderRerankingEvaluator(SAMPLES, name="tiny")

    encoder = CrossEncoder("word-overlap")
    metrics = evaluator(encoder, output_path=str(tmp_path))

    assert metrics["tiny_mrr@10"] == 1.0
    assert metrics["tiny_map"] == 1.0
    assert encoder.model_card_data.metrics["tiny"] == metrics


def test_it_can_tell_a_bad_scorer() -> None:
    samples = [{"query": QUESTION, "positive": [BEES], "documents": [BEES, TEA]}]

    metrics = CrossEncoderRerankingEvaluator(samples)(CrossEncoder("word-overlap"))

    assert metrics["mrr@10"] == 0.5
    assert metrics["base_mrr@10"] == 1.0


def test_the_other_evaluators_of_sentence_transformers() -> None:
    pairs = [(QUESTION, TEA), (QUESTION, BEES), (RAINING, RAIN), (RAINING, BEES)]
    encoder = CrossEncoder("word-overlap")

    classified = CrossEncoderClassificationEvaluator(pairs, [1, 0, 1, 0])(encoder)
    correlated = CrossEncoderCorrelationEvaluator(pairs, [4.0, 0.0, 1.0, 0.0])(encoder)

    assert classified["average_precision"] == 1.0
    assert correlated["pearson"] == pytest.approx(1.0)


def test_beir_reranks_and_evaluates() -> None:
    corpus = {
        "tea": {"title": "", "text": TEA},
        "bees": {"title": "", "text": BEES},
        "rain": {"title": "", "text": RAIN},
    }
    queries = {"1": QUESTION, "2": RAINING}
    found = {name: {"bees": 3.0, "tea": 2.0, "rain": 1.0} for name in queries}

    reranked = Rerank(CrossEncoder(), batch_size=2).rerank(corpus, queries, found, top_k=3)
    ndcg, *_ = EvaluateRetrieval.evaluate({"1": {"tea": 1}, "2": {"rain": 1}}, reranked, [1, 3])

    assert ndcg == {"NDCG@1": 1.0, "NDCG@3": 1.0}


class Tiny(AbsTaskRetrieval):
    """A reranking task in memory: three documents, two questions."""

    metadata = TaskMetadata(
        name="Tiny",
        description="three documents",
        reference=None,
        dataset={"path": "none/none", "revision": "1"},
        type="Reranking",
        category="t2t",
        modalities=["text"],
        eval_splits=["test"],
        eval_langs=["eng-Latn"],
        main_score="map_at_1000",
        date=None,
        domains=None,
        task_subtypes=None,
        license=None,
        annotations_creators=None,
        dialect=None,
        sample_creation=None,
        bibtex_citation=None,
    )

    def load_data(self, **_: object) -> None:
        texts = {"bees": BEES, "tea": TEA, "rain": RAIN}
        asked = {"1": QUESTION, "2": RAINING}
        self.dataset = {
            "default": {
                "test": {
                    "corpus": Dataset.from_list([{"id": k, "text": v} for k, v in texts.items()]),
                    "queries": Dataset.from_list([{"id": k, "text": v} for k, v in asked.items()]),
                    "relevant_docs": {"1": {"tea": 1}, "2": {"rain": 1}},
                    "top_ranked": {"1": list(texts), "2": ["bees", "rain"]},
                }
            }
        }
        self.data_loaded = True


def test_mteb_evaluates_a_reranking_task() -> None:
    model = RejoinderCrossEncoder()

    (result,) = mteb.evaluate(model, Tiny(), cache=None, show_progress_bar=False).task_results

    assert isinstance(model, CrossEncoderProtocol)
    assert model.mteb_model_meta.name == "rejoinder/default"
    (scores,) = result.scores["test"]
    assert scores["main_score"] == 1.0


def test_mteb_pairs_are_regrouped_by_their_question() -> None:
    model = RejoinderCrossEncoder(WordOverlap(), budget_ms=60_000)

    scores = model.predict(
        [{"text": [QUESTION, RAINING]}, {"text": [QUESTION]}],
        [{"text": [TEA, RAIN]}, {"text": [BEES]}],
    )

    assert scores.tolist() == [4.0, 1.0, 0.0]
    assert not math.isnan(float(np.mean(scores)))
