from typing import Any

import numpy as np
import pytest

from rejoinder.adapters.cross_encoder import CrossEncoder
from rejoinder.errors import InputError
from rejoinder.models.lexical.scorers import Bm25, WordOverlap
from rejoinder.models.scorer import Candidates, Scores
from rejoinder.types import Candidate
from tests.adapters.texts import BEES, QUESTION, RAIN, TEA


class Kept:
    """Scores by word overlap, and keeps the lists that it was given."""

    name = "kept"

    def __init__(self) -> None:
        self.lists: list[tuple[str, list[str]]] = []

    def score(self, question: str, candidates: Candidates) -> Scores:
        texts = [item.text for item in candidates if isinstance(item, Candidate)]
        self.lists.append((question, texts))
        return WordOverlap().score(question, candidates)


def test_flattened_pairs_are_ranked_question_by_question() -> None:
    scorer = Kept()

    pairs = [("rain?", RAIN), (QUESTION, TEA), ("rain?", BEES), (QUESTION, RAIN)]
    scores = CrossEncoder(scorer).predict(pairs, batch_size=2, show_progress_bar=False)

    assert [question for question, _ in scorer.lists] == ["rain?", QUESTION]
    assert scorer.lists[0][1] == ["It rains.", "Bees dance.", "A colony has one queen."]
    assert scores.tolist() == [0.0, 4.0, 0.0, 0.0]


def test_a_listwise_scorer_sees_all_candidates_of_a_question() -> None:
    encoder = CrossEncoder(Bm25())
    texts = [RAIN, "Tea rains.", BEES]

    together = encoder.predict([("tea", text) for text in texts])

    alone = Bm25().score("tea", [RAIN, "Tea rains.", "Bees dance.", "A colony has one queen."])
    np.testing.assert_allclose(together[:2], alone[:2])


def test_one_pair_gives_one_number() -> None:
    assert CrossEncoder("word-overlap").predict((QUESTION, TEA)) == 4.0
    assert CrossEncoder("word-overlap").predict([(QUESTION, TEA)]).tolist() == [4.0]
    assert CrossEncoder("word-overlap").predict([]).tolist() == []


def test_rank_has_the_shape_of_the_original() -> None:
    encoder = CrossEncoder("word-overlap", budget_ms=60_000)

    assert encoder.rank(QUESTION, [RAIN, TEA], top_k=1, return_documents=True) == [
        {"corpus_id": 1, "score": 4.0, "text": TEA}
    ]
    assert encoder.rank(QUESTION, [RAIN, TEA], batch_size=32) == [
        {"corpus_id": 1, "score": 4.0},
        {"corpus_id": 0, "score": 0.0},
    ]


@pytest.mark.parametrize("pairs", [["text"], [("one",)], [("q", 7)], [("q", "a", "b")]])
def test_an_invalid_pair_is_refused(pairs: Any) -> None:
    with pytest.raises(InputError, match="pair 0 must be a question and a document, both text"):
        CrossEncoder("word-overlap").predict(pairs)


def test_tensors_are_refused() -> None:
    with pytest.raises(InputError, match=r"torch\.from_numpy"):
        CrossEncoder("word-overlap").predict([("q", "a")], convert_to_tensor=True)
    with pytest.raises(InputError, match=r"torch\.from_numpy"):
        CrossEncoder("word-overlap").predict([("q", "a")], convert_to_numpy=False)


def test_measures_are_stored_by_the_name_of_the_evaluator() -> None:
    class Evaluator:
        name = "dev"

    encoder = CrossEncoder("word-overlap")
    encoder.model_card_data.set_evaluation_metrics(Evaluator(), {"map": 0.5}, epoch=1, step=2)

    assert encoder.model_card_data.metrics == {"dev": {"map": 0.5}}
